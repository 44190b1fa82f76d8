// What the adaptor knows of one tree: who calls it, and where its path stands in torch's terms.
//
//   torch's generations   each outer call of a compiled function, or mark_step_begin, is a new one
//   our steps             the path ends, and held outputs go stale, when the generation is new, no
//                         forward waits for its backward, and no recording goes on from here
//
//   kNone --call--> kWarmUp --> kRecording --> kReplay      the route of the last call
//
// Threads: a call of the tree holds `mutex`. A thread gives Python's lock up before it waits for
// `mutex`, since the call that has `mutex` may need Python's lock for its body. The holds have a
// lock of their own.
#ifndef GRAPHTREE_RUNTIME_TORCH_TREE_STATE_H_
#define GRAPHTREE_RUNTIME_TORCH_TREE_STATE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include <c10/core/Device.h>
#include <c10/cuda/CUDAStream.h>

#include "runtime/c/graphtree.h"
#include "runtime/torch/hold.h"

namespace graphtree::torch_adaptor {

enum class PathState : int { kNone = 0, kWarmUp = 1, kRecording = 2, kReplay = 3 };

struct CallCounts {
  std::atomic<uint64_t> calls{0}, bodies{0}, steps{0}, carried{0};
};

struct TreeState {
  TreeState(gt_device of, gt_tree made, gt_generator from, c10::DeviceIndex number)
      : device(of), tree(made), generator(from), index(number),
        holds(std::make_shared<HoldList>()) {}
  ~TreeState();
  TreeState(const TreeState&) = delete;
  TreeState& operator=(const TreeState&) = delete;

  // A view of torch's stream. REQUIRES: mutex is held.
  gt_stream Adopt(cudaStream_t stream);
  // The path ends, for a call of the function with that name. REQUIRES: mutex is held.
  void EndStep(const std::string& by);
  bool is_this_thread_inside() const {
    return owner.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }

  const gt_device device;
  const gt_tree tree;
  const gt_generator generator;
  const c10::DeviceIndex index;
  const std::shared_ptr<HoldList> holds;
  CallCounts counts;
  // Set once, when the tree is closed: calls are errors from then on.
  std::atomic<bool> is_closed{false};

  std::mutex mutex;
  std::atomic<std::thread::id> owner{};
  // Guarded by mutex.
  PathState state = PathState::kNone;
  std::atomic<int64_t> generation{-1};  // read without the mutex, too
  bool awaits_backward = false;
  std::vector<uint64_t> path;  // numbers of functions that were called in this step
  std::unordered_map<cudaStream_t, gt_stream> streams;
};

// Holds the tree's mutex, and says who does.
class InTree {
 public:
  explicit InTree(TreeState& tree) : tree_(tree), lock_(tree.mutex) {
    tree_.owner.store(std::this_thread::get_id(), std::memory_order_relaxed);
  }
  ~InTree() { tree_.owner.store(std::thread::id(), std::memory_order_relaxed); }
  InTree(const InTree&) = delete;
  InTree& operator=(const InTree&) = delete;

 private:
  TreeState& tree_;
  const std::lock_guard<std::mutex> lock_;
};

}  // namespace graphtree::torch_adaptor

#endif  // GRAPHTREE_RUNTIME_TORCH_TREE_STATE_H_
