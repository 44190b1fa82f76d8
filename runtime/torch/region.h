// Where this thread's allocations of torch go: a region is open while a body runs.
//
//   body of a tree's call                 any other thread, or no body
//   torch.empty -> shim -> Region         torch.empty -> shim -> torch's own allocator
//                            `-> gt_launcher_empty, with a handle that the storage holds
//
// The body's inputs that a tree made are told of their death while the body runs, so that what it
// makes next may have their bytes.
//
// Threads: a region belongs to the thread that opens it; memory of it is dropped on any.
#ifndef GRAPHTREE_RUNTIME_TORCH_REGION_H_
#define GRAPHTREE_RUNTIME_TORCH_REGION_H_

#include <cstddef>
#include <memory>
#include <vector>

#include <c10/core/Allocator.h>
#include <c10/cuda/CUDAStream.h>

#include "runtime/c/graphtree.h"
#include "runtime/torch/hold.h"

namespace graphtree::torch_adaptor {

class Region {
 public:
  // REQUIRES: no region is open on this thread.
  Region(gt_launcher on, gt_device device, c10::DeviceIndex index,
         std::shared_ptr<HoldList> list);
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  // This thread's, or null.
  static Region* Open();
  // This thread's, if it is for the current device; else null.
  static Region* Here();

  c10::DataPtr Allocate(size_t bytes);
  // Memory without a storage of torch's. Raises where there is none.
  void* AllocateRaw(size_t bytes);
  // Whether the address is one of AllocateRaw's, of whatever region; it is free then.
  static bool FreeRaw(void* address);
  void UsedOn(const Hold& hold, void* address, size_t bytes, cudaStream_t stream);

  // The body is given the input as it is, with the hold of the call's own tensor.
  void GiveInput(const Hold* hold, size_t index) { inputs_.push_back({hold, index}); }
  // The input with that hold that has not died yet, or -1.
  int64_t InputOf(const Hold* hold) const;
  // Memory that stands in for an input: the body's tensor of it tells when it dies.
  c10::DataPtr StandIn(void* address, size_t index);
  // The input that a stand-in is for, or -1.
  static int64_t InputOf(const c10::DataPtr& data);
  // How many allocations there were.
  size_t allocations() const { return allocations_; }

 private:
  struct Input {
    const Hold* hold;
    size_t index;
  };
  static void Dropped(Hold* hold);
  static void DropStandIn(void* context);
  gt_value Take(size_t bytes);

  const gt_launcher on_;
  const gt_device device_;
  const c10::DeviceIndex index_;
  const std::shared_ptr<HoldList> list_;
  std::vector<Input> inputs_;
  size_t allocations_ = 0;
};

}  // namespace graphtree::torch_adaptor

#endif  // GRAPHTREE_RUNTIME_TORCH_REGION_H_
