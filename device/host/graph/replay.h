// The inside of an executable: one Work for every op, and the state of the launch that runs now.
//
// Launches of one executable never overlap (as on CUDA: each waits for the one before), so there is
// one set of counters. A patch gives an op new work; launches issued before it still run the old
// one, so each op keeps the works that launches in flight may need, newest first:
//
//   op 3:  [since patch 7] -> [since patch 2] -> [since 0]       a launch issued at patch 5 takes 2
//
// A patch waits for nothing, and frees no Work that a launch in flight needs. Guarded by the
// engine's lock; a Work that runs is read without the lock.
#ifndef GRAPHTREE_DEVICE_HOST_GRAPH_REPLAY_H_
#define GRAPHTREE_DEVICE_HOST_GRAPH_REPLAY_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "device/address.h"
#include "device/host/graph/replay_plan.h"
#include "device/host/ops/vector_clock.h"
#include "device/host/ops/work.h"

namespace graphtree::host {

// An op that sets an event. Each of its runs has a number, which is its ticket's in a slot of its
// own, so that the op's end can be waited for while the launch goes on.
struct EventOp {
  uint32_t op = 0;
  bool has_slot = false;
  uint32_t slot = 0;
  VectorClock::Chains before;  // what the op waits for
};

class Replay {
 public:
  // Copies the works: the graph may go.
  Replay(std::shared_ptr<const std::vector<Op>> ops, const std::vector<Work>& works);

  const ReplayPlan& plan() const { return plan_; }
  // As captured: kinds and edges, which no patch changes.
  const std::vector<Op>& ops() const { return *ops_; }
  // The newest work of an op.
  const Work& newest(uint32_t op) const { return *entries_[op].work; }
  // The work of an op for a launch that was issued at `patch`.
  const Work& At(uint32_t op, uint64_t patch) const {
    const Entry* entry = &entries_[op];
    while (entry->since > patch) entry = entry->older.get();
    return *entry->work;
  }

  void Patch(uint32_t op, Work work);
  // Every op at once. Returns what no launch needs any more, to be dropped without the lock: host
  // calls may own objects of the device. REQUIRES: as many works as ops.
  std::vector<std::shared_ptr<const void>> PatchAll(const std::vector<Work>& works);

  // Call Issued when a launch is issued, and Over when it is over; launches are over in the order
  // in which they were issued. Issued returns the `patch` for At.
  uint64_t Issued();
  void Over() { in_flight_.pop_front(); }

  // Running: Start, then Finish each op; the ops that may run next are appended to `ready`.
  void Start(std::vector<uint32_t>& ready);
  void Finish(uint32_t op, std::vector<uint32_t>& ready);
  bool finished() const { return left_ == 0; }

  // The ops that set events, in their order. A launch's slots are the engine's to give.
  std::vector<EventOp>& event_ops() { return event_ops_; }
  // Null if the op sets none.
  const EventOp* FindEventOp(uint32_t op) const {
    for (const EventOp& event_op : event_ops_) {
      if (event_op.op == op) return &event_op;
    }
    return nullptr;
  }

  // May a launch of this touch `range`?
  bool Touches(AddressRange range);

  // The last launch, and what its stream knew: the next launch comes after it.
  Ticket last_launch;
  VectorClock last_clock;

 private:
  struct Entry {
    std::unique_ptr<const Work> work;
    uint64_t since = 0;
    std::unique_ptr<Entry> older;
  };

  std::unique_ptr<Entry> Replace(uint32_t op, Work work);
  std::unique_ptr<Entry> TakeUnneeded(Entry& newest) const;
  void CollectExtents();

  const std::shared_ptr<const std::vector<Op>> ops_;
  const ReplayPlan plan_;
  std::vector<Entry> entries_;
  std::vector<EventOp> event_ops_;
  uint64_t patches_ = 0;
  std::deque<uint64_t> in_flight_;  // the patch of each launch
  std::vector<uint32_t> waits_left_;
  uint32_t left_ = 0;
  // Touched ranges by base, joined; stale after a patch.
  std::vector<AddressRange> extents_;
  bool extents_opaque_ = false;
  bool extents_stale_ = true;
};

}  // namespace graphtree::host

#endif  // GRAPHTREE_DEVICE_HOST_GRAPH_REPLAY_H_
