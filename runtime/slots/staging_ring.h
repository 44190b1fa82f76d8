// Page-locked host memory from which steps take their blocks, one after another, and which comes
// round again once the device has read what lies there.
//
//   +-----------+-----------+-----------+-----------+
//   | segment 0 | segment 1 | segment 2 | segment 3 |     4 segments, each at least the greatest
//   | # # # # # | # # . .   |           |           |     block
//   +-----------+------^----+-----------+-----------+
//     event            next block
//
// Where a block does not fit into the rest of a segment the ring goes on to the next one: an event
// is recorded after all that was launched from this one, and that of the next one is awaited. Work
// of different streams is fine as long as each stream is ordered after the one before, as a tree
// orders its replays.
//
// Why segments: an event for each step would cost more than the rest of staging.
//
// The ring also knows what the device's cursor (block_cursor.h) is going to be once all that was
// launched has run, or that it does not know: after anything but a replay that went well. Where the
// cursor is going to be right, AddressFor gives the one address that is the same in every step.
//
// Thread rule: like a container. Cost of a block: an addition; once in a segment an event is
// recorded, and one is awaited, which seldom waits.
#ifndef GRAPHTREE_RUNTIME_SLOTS_STAGING_RING_H_
#define GRAPHTREE_RUNTIME_SLOTS_STAGING_RING_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/address.h"
#include "device/device.h"
#include "device/memory.h"
#include "device/stream.h"
#include "device/stream_life.h"
#include "runtime/slots/block_cursor.h"

namespace graphtree {

class StagingRing {
 public:
  // `device` outlives the ring.
  static absl::StatusOr<std::unique_ptr<StagingRing>> Create(Device& device,
                                                             uint64_t greatest_block);
  StagingRing(const StagingRing&) = delete;
  StagingRing& operator=(const StagingRing&) = delete;
  // Waits for all work that reads its blocks.
  ~StagingRing();

  // Memory of `bytes` at a multiple of 256, for one step. A step that launches nothing need not say
  // so: the next one is given the same memory. After an error the call may be made again. REQUIRES:
  // bytes are no more than the greatest block.
  absl::StatusOr<uint8_t*> Next(uint64_t bytes);
  // What the unpack op is given so that it reads the block of `bytes` that Next gave last: the
  // block's address, or the one that stands for the block at the cursor.
  Address AddressFor(uint64_t bytes);
  // Work on `stream` reads the block that Next gave last, and all work that reads earlier blocks
  // comes before it. `moves_cursor`: an unpack op is launched, just once, in this order, so the
  // cursor is going to be where the block ends; else nothing is known of the cursor.
  void Launched(uint64_t bytes, Stream& stream, bool moves_cursor = false);
  // The same for a step that failed: work on `stream` may read the block, and need not come after
  // that of earlier blocks. A stream that captures has no such work.
  void Failed(uint64_t bytes, Stream& stream);

  // Waits for all work that reads its blocks, and so for all launches that Launched was told of. An
  // error if some of it cannot be awaited now.
  absl::Status Await();
  // Nothing is known of the cursor any more, as its memory was lost.
  void ForgetCursor() { cursor_ = std::nullopt; }

  AddressRange memory() const { return buffer_->range(); }
  // How often Next had to wait for the device.
  uint64_t waits() const { return waits_; }
  // How often an op had to be told where its block is.
  uint64_t told() const { return told_; }
  // For the unpack op; its block and the cursor are others' to say.
  unpack::Ring ring() const;

 private:
  static constexpr uint64_t kSegments = unpack::kSegments;
  struct Segment {
    std::unique_ptr<Event> event;  // after all that reads the segment; fresh: nothing does
  };

  StagingRing(std::unique_ptr<HostBuffer> buffer, uint64_t segment_bytes)
      : buffer_(std::move(buffer)), segment_bytes_(segment_bytes) {}
  Address start() const;
  // Where the next block goes.
  unpack::Place place() const;
  // Goes on to the next segment, once the device has read what lies there.
  absl::Status GoOn();
  // Records the event of this segment.
  absl::Status NoteLast();
  // For a stream that is gone or takes no event: its work is waited for at once.
  absl::Status WaitForLast();

  const std::unique_ptr<HostBuffer> buffer_;
  const uint64_t segment_bytes_;
  std::array<Segment, kSegments> segments_;
  uint64_t segment_ = 0;
  uint64_t used_ = 0;                 // bytes of the segment
  std::shared_ptr<StreamLife> last_;  // whose work reads this segment; null: nobody's
  std::optional<unpack::Place> cursor_;  // once all has run that was launched; none: unknown
  uint64_t waits_ = 0;
  uint64_t told_ = 0;
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_SLOTS_STAGING_RING_H_
