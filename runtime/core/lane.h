// A lane: one tree, whose graphs share memory and run one after another, and the step that is under
// way in it. Graphs of different lanes may overlap on the device. A lane belongs to one device.
//
// Every dependency of the runtime is a workspace of the tree, since a tree knows already how to
// make a recording again whose workspace has changed.
//
// A step takes the lane when it begins, and gives the lane back when it was run or canceled:
//
//   thread 1   Begin ---- Stage ---- Run --|
//   thread 2         Begin: refused        Begin: takes the lane
//
// Threads: one at a time, but for `under_way`, which tells a second thread that it is the second;
// and where lanes share memory, others' threads set `given_up` and look into `tree`.
#ifndef GRAPHTREE_RUNTIME_CORE_LANE_H_
#define GRAPHTREE_RUNTIME_CORE_LANE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "allocator/pool.h"
#include "device/device.h"
#include "graphs/function_options.h"
#include "graphs/tree.h"
#include "graphs/workspaces.h"
#include "runtime/loan_state.h"
#include "runtime/core/open_step.h"
#include "runtime/shapes/launch_history.h"
#include "runtime/watch/lane_calls.h"
#include "runtime/watch/lane_watch.h"

namespace graphtree {

struct Lane {
  Lane(Device& device, uint32_t device_number, uint32_t number,
       std::shared_ptr<LaneWatch> watch)
      : device(device),
        device_number(device_number),
        number(number),
        watch(std::move(watch)) {}

  // False if a step is under way.
  bool Take(ProgramState* program) {
    ProgramState* nobody = nullptr;
    return under_way.compare_exchange_strong(nobody, program, std::memory_order_acquire);
  }
  void GiveBack() { under_way.store(nullptr, std::memory_order_release); }
  // Whether a step has the lane, or another thread is in the tree, by a function beside programs:
  // whoever looks into the tree then waits, and may be waited for in turn.
  bool IsBusy() const { return under_way.load() != nullptr || tree->IsOthers(); }
  // Device memory that the tree's pool has just now. From any thread.
  uint64_t mapped_bytes() const { return tree->pool().mapped_bytes(); }

  Device& device;
  const uint32_t device_number;  // among the runtime's
  const uint32_t number;         // among the device's lanes
  std::atomic<ProgramState*> under_way{nullptr};  // whose step has the lane
  std::atomic<bool> is_parking{false};  // no step has it: its memory is parked or woken
  // A call of ours in the tree: its thread, and no other one that has the tree, may call the
  // functions of programs by number.
  LaneCalls calls;
  std::unique_ptr<Tree> tree;
  std::vector<WorkspaceId> workspaces;  // by dependency
  FunctionId carry = 0;  // RegisterCarry
  OpenStep step;
  // Its step has asked how it is going to run, and ends the one before. What that lets go may be an
  // object of the caller's, whose destructor must not change the answer.
  std::atomic<bool> is_beginning{false};
  // Apart for each lane, as each may have a thread of its own.
  const std::shared_ptr<LaneWatch> watch;
  LaneCounts& counts = watch->counts;
  LaunchHistory history;
  uint64_t asked_bytes = 0;  // at most, by one run of a body
  // Recordings of the tree's that went for memory, when somebody last looked.
  std::atomic<uint64_t> given_up{0};
  bool is_short = false;     // a call has found no memory, and nobody was asked for some yet
  // Free in the books, and held for recordings (Lanes::InUseBy), when the tree had made and had so
  // many.
  uint64_t pinned_bytes = 0;
  std::pair<uint64_t, uint64_t> pinned_by = {0, 0};
  uint64_t done = 0;  // steps that went well
  std::vector<std::shared_ptr<LoanState>> loans;  // some of which may be over
  uint32_t since_compared = 0;  // replays that were begun since one was compared
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_CORE_LANE_H_
