// What torch's storages hold of a tree's memory: the context of their DataPtr.
//
//   torch storage --DataPtr{address, Hold, &Drop}--> Hold { a handle of the tree's storage }
//        ^                                             |
//        `------- weak: to be told when it is stale ---'   in the list of its tree
//
// A storage that dies drops its hold, on whatever thread, and the tree learns of the death from the
// handle. When a step ends whoever holds an output of it is told at the next access, in torch's
// own words and ours.
//
// Threads: any; a lock of the list's for each hold that is made or dropped.
#ifndef GRAPHTREE_RUNTIME_TORCH_HOLD_H_
#define GRAPHTREE_RUNTIME_TORCH_HOLD_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include <c10/core/StorageImpl.h>

#include "runtime/c/graphtree.h"

namespace graphtree::torch_adaptor {

class HoldList;

// Who made an output, for whoever uses it too late.
class Maker {
 public:
  virtual ~Maker() = default;
  virtual std::string Where(size_t output) const = 0;
};

class Hold {
 public:
  // Takes the handle over.
  static c10::DataPtr Make(std::shared_ptr<HoldList> list, gt_storage storage, void* address,
                           c10::Device device);
  // A new storage of torch's, that is told when it is stale.
  static c10::Storage MakeStorage(std::shared_ptr<HoldList> list, gt_storage storage,
                                  void* address, size_t bytes, c10::Device device,
                                  std::shared_ptr<const Maker> maker, uint32_t output);
  // Of a storage whose memory is a tree's; else null.
  static Hold* Of(const c10::DataPtr& data) {
    return data.get_deleter() == &Drop ? static_cast<Hold*>(data.get_context()) : nullptr;
  }
  static Hold* Of(c10::StorageImpl* storage) { return Of(storage->_mutable_data_ptr_no_checks()); }
  static void Drop(void* context);

  // REQUIRES: made, and not dropped.
  ~Hold();
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

  gt_storage storage() const { return storage_; }
  const HoldList* list() const { return list_.get(); }
  // Its step has ended.
  bool is_stale() const { return is_stale_; }

 private:
  friend class HoldList;
  Hold(std::shared_ptr<HoldList> list, gt_storage storage);

  const std::shared_ptr<HoldList> list_;
  const gt_storage storage_;
  // Guarded by the list's lock.
  Hold* before_ = nullptr;
  Hold* after_ = nullptr;
  bool is_stale_ = false;
  c10::weak_intrusive_ptr<c10::StorageImpl> torch_storage_;
  std::shared_ptr<const Maker> maker_;
  uint32_t output_ = 0;
};

// All holds of one tree that are not stale.
class HoldList {
 public:
  // Nothing of the path is held outside.
  bool is_empty() const;
  size_t size() const;
  // The step ends: who holds a storage is told so at its next access, with the name of the function
  // that begins the next step.
  void EndStep(const std::string& by);

 private:
  friend class Hold;
  void Link(Hold* hold);
  void Unlink(Hold* hold);

  mutable std::mutex mutex_;
  Hold* first_ = nullptr;
  size_t size_ = 0;
};

// Is called on the thread that drops a hold, before it goes: a body is told of its inputs.
using DropListener = void (*)(Hold* hold);
void SetDropListener(DropListener listener);

}  // namespace graphtree::torch_adaptor

#endif  // GRAPHTREE_RUNTIME_TORCH_HOLD_H_
