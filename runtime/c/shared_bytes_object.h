// A handle's object for memory that pools and trees may have together.
#ifndef GRAPHTREE_RUNTIME_C_SHARED_BYTES_OBJECT_H_
#define GRAPHTREE_RUNTIME_C_SHARED_BYTES_OBJECT_H_

#include <cstdint>
#include <memory>

#include "allocator/shared_bytes.h"
#include "runtime/c/entry.h"
#include "runtime/c/graphtree.h"
#include "runtime/c/objects.h"

namespace graphtree::c {

class SharedBytesObject : public Object {
 public:
  static constexpr Kind kKind = c::kSharedBytes;
  explicit SharedBytesObject(uint64_t limit) : bytes_(std::make_shared<SharedBytes>(limit)) {}
  const std::shared_ptr<SharedBytes>& bytes() const { return bytes_; }

 private:
  const std::shared_ptr<SharedBytes> bytes_;
};

// The field of that name in somebody's options; null: none. A wrong handle is the entry's failure.
inline std::shared_ptr<SharedBytes> SharedBytesOf(gt_shared_bytes shared, Entry* entry) {
  if (shared == nullptr) return nullptr;
  const Ref<SharedBytesObject> named = entry->Get<SharedBytesObject>(shared, "shared_bytes");
  return named ? named->bytes() : nullptr;
}

}  // namespace graphtree::c

#endif  // GRAPHTREE_RUNTIME_C_SHARED_BYTES_OBJECT_H_
