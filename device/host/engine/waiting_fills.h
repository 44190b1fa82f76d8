// Fills of bytes that became live or dead while queued work may still touch them.
//
//   issued to    a: [x, opaque]                      fill of r waits for x, which may touch all
//                b:               [y, writes half of r]
//   runs         y, then x
//
//   r            |                      | half y's: filled before y starts    |
//                | filled after x       | y's result, which nothing fills now |
//
// A fill waits for everything issued before it that may touch its bytes. Most of these ops touch
// other bytes: an opaque op of an unrelated stream (one that reads a table of addresses, a
// library's kernel) holds up every fill. So an op that was issued later and names some of the bytes
// may start first, and a fill must not overwrite its results. If an earlier op that is yet to run
// touched those bytes, nothing would order it and the later op: a race, which is an error anyway.
// So the bytes are filled at once, before the op that names them, which still finds poison where
// nobody has written. An opaque op that was issued later may write any bytes and names none: fills
// that wait are then given up. A fill too few may hide a fault; one too many would make one.
//
// Pure: says what to fill. Guarded by the engine's lock.
#ifndef GRAPHTREE_DEVICE_HOST_ENGINE_WAITING_FILLS_H_
#define GRAPHTREE_DEVICE_HOST_ENGINE_WAITING_FILLS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "device/address.h"
#include "device/host/engine/stream_queue.h"
#include "device/host/ops/work.h"

namespace graphtree::host {

struct ByteFill {
  AddressRange range;
  uint8_t byte = 0;
};

class WaitingFills {
 public:
  bool empty() const { return jobs_.empty(); }

  // `fill` waits until all of `units` are over, which it marks. `issued` units were issued before.
  // REQUIRES: there are some.
  void Add(ByteFill fill, uint64_t issued, absl::Span<Unit* const> units);

  // Over and Starts return the fills to do now, in this order.
  //
  // Call Over when a unit that a fill has marked is over.
  std::vector<ByteFill> Over(const Unit& unit);
  // Call Starts before an op of the `number`-th unit runs; the op touches what `work` says.
  std::vector<ByteFill> Starts(uint64_t number, const Work& work);

 private:
  struct Job {
    uint64_t issued = 0;
    size_t units_left = 0;
    uint8_t byte = 0;
    std::vector<AddressRange> parts;  // empty: nothing is left to do
  };

  static void TakeOut(AddressRange range, Job& job, std::vector<ByteFill>* taken);
  void DropDone();

  std::vector<std::shared_ptr<Job>> jobs_;  // oldest first
  absl::flat_hash_map<const Unit*, std::vector<std::shared_ptr<Job>>> behind_;
};

}  // namespace graphtree::host

#endif  // GRAPHTREE_DEVICE_HOST_ENGINE_WAITING_FILLS_H_
