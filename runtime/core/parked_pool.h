// Parks the pool of a lane's tree, and wakes it: the step region by the contents that are asked
// for, the lasting region (kept outputs, what eager runs and bodies hold) always with its bytes.
//
//             step region         lasting region
//   kKeep     to the host         to the host
//   kDrop     dropped             to the host          and the tree's step ends
//   kPinned   stays               stays
//
// Pieces that are pinned stay in any case.
//
// REQUIRES of all: no step of the lane is under way, and none begins. Threads: any.
#ifndef GRAPHTREE_RUNTIME_CORE_PARKED_POOL_H_
#define GRAPHTREE_RUNTIME_CORE_PARKED_POOL_H_

#include <cstdint>

#include "absl/status/status.h"
#include "runtime/core/lane.h"
#include "runtime/park/canaries.h"
#include "runtime/parking.h"

namespace graphtree {

class ParkedPool {
 public:
  // `lane` outlives it.
  explicit ParkedPool(Lane& lane) : lane_(lane) {}

  // After a failure Wake has it back as it was.
  absl::Status Park(Contents contents);
  // All or nothing; checks nothing. No effect if it is not parked.
  absl::Status Wake();
  // Of what is still live. Functions beside programs may write meanwhile to memory that stays: then
  // other bytes are no damage. REQUIRES: was woken.
  absl::Status Check();
  void GiveUpContents() { canaries_ = Canaries(); }

  Lane& lane() const { return lane_; }
  // What a wake maps.
  uint64_t bytes_to_wake() const;
  // Of contents, on the host.
  uint64_t saved_bytes() const;

 private:
  absl::Status ParkInside(Contents contents);
  absl::Status AwaitParked();

  Lane& lane_;
  Canaries canaries_;
  bool stays_ = false;         // parked with kPinned
  uint64_t calls_before_ = 0;  // of the tree, before it was parked
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_CORE_PARKED_POOL_H_
