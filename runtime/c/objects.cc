// The table, and how what is in it ends.
#include "runtime/c/objects.h"

#include <cstring>

#include "runtime/c/values.h"

namespace graphtree::c {
namespace {

void* NewChunk(size_t bytes) {
  void* const memory = NewHostMemory(bytes);
  if (memory != nullptr) std::memset(memory, 0, bytes);
  return memory;
}

}  // namespace

constinit HandleTable all_handles(&NewChunk);

void EndSlot(HandleTable::Slot* slot, Kind kind) {
  if (kind == kStorage) {
    EndValue(slot);
  } else if (kind != kLayout) {
    const std::unique_ptr<Object> last(ObjectIn(*slot));
  }
  Table().Free(slot);
}

void EndHandle(Handle handle) {
  const Kind kind = HandleTable::KindOf(handle);
  if (kind == kLayout) return;
  HandleTable::Slot* slot = nullptr;
  if (Table().Retire(handle, &slot) && slot != nullptr) EndSlot(slot, kind);
}

}  // namespace graphtree::c
