// Which stream may use which freed bytes, and what must be waited for first. Nobody waits on the
// host.
//
// Every stream that a pool sees has a bit. Freed bytes carry the bits of the streams that used them
// and the time of the free (LastUse). When another stream gets the bytes, an event is recorded on
// each of those streams and awaited by the new one, unless it has waited for them since that time:
//
//   A  ---use---free(t=3)---------record----------
//   B  ------------------allocate---\--wait--use--     and B knows A up to now: synced[B][A] = 4
//
// On one stream nothing happens and nothing costs. Inside a capture the same two calls make an edge
// of the graph. Work that was put on a stream before the capture cannot be awaited from within it:
// it is noted, and whoever launches the graph lets the launch wait for those streams.
//
// Threads: none of its own. At most 32 bits: further streams share one, which only waits more.
#ifndef GRAPHTREE_ALLOCATOR_STREAM_TABLE_H_
#define GRAPHTREE_ALLOCATOR_STREAM_TABLE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "allocator/run.h"
#include "device/device.h"
#include "device/stream.h"

namespace graphtree {

class StreamTable {
 public:
  explicit StreamTable(Device* device) : device_(*device) {}
  StreamTable(const StreamTable&) = delete;
  StreamTable& operator=(const StreamTable&) = delete;

  // The stream's bit number. The stream must stay until it is forgotten.
  uint32_t NumberOf(Stream& stream) {
    return &stream == last_stream_ ? last_number_ : LookUp(stream);
  }
  // What was put on the stream so far can still be awaited; the stream itself may go.
  absl::Status Forget(Stream& stream);

  // A stream with one of these bits; null if all of them were forgotten.
  Stream* AnyOf(uint32_t bits) const;
  // Waits for all streams and forgotten work, but for streams that are capturing: these are left
  // alone, and the first of them or the first failure is told.
  absl::Status SynchronizeAll();
  // All streams, without a way to await what is on them. REQUIRES: nobody needs to.
  void ForgetAll();
  // Whether one of the streams is in a capture.
  bool AnyIsCapturing() const;

  // The time of what is freed now.
  uint32_t now() const { return clock_; }
  // False in the usual case: all users of the bytes are the stream itself or were waited for.
  bool MustOrder(uint32_t number, LastUse last_use) const {
    last_use.Merge(everywhere_);
    const uint32_t others = last_use.streams & ~(1u << number);
    return others != 0 && HasUnordered(number, others, last_use.time);
  }
  // Lets the stream's next work run after all other users of the bytes. Fails, having done nothing
  // that matters, if that cannot be expressed.
  absl::Status Order(uint32_t number, Stream& stream, LastUse last_use);
  // From here on any bytes may be in use on that stream: a graph that was launched there touches
  // memory that is free in the books.
  void UsedEverywhereOn(uint32_t number) {
    everywhere_.streams |= 1u << number;
    everywhere_.time = clock_;
  }

  // Around a capture. What is ordered inside it orders nothing outside.
  void EnterCapture();
  // Returns the streams whose earlier work the graph's launches must wait for.
  std::vector<Stream*> LeaveCapture();
  bool in_capture() const { return !captures_.empty(); }

 private:
  using Matrix = std::array<std::array<uint32_t, 32>, 32>;
  struct Slot {
    std::vector<Stream*> streams;
    std::unique_ptr<Event> last_of_forgotten;
  };
  struct Capture {
    uint32_t began = 0;
    uint32_t awaited_at_launch = 0;
    Matrix synced_outside;
  };

  uint32_t LookUp(Stream& stream);
  bool HasUnordered(uint32_t number, uint32_t others, uint32_t time) const;
  absl::Status OrderAfter(Stream& stream, uint64_t capture, const Slot& slot, bool* beyond_reach);
  absl::Status AwaitForgotten(Stream& stream, uint64_t capture, const Slot& slot,
                              bool* beyond_reach);

  Device& device_;
  std::vector<Slot> slots_;
  uint32_t next_shared_ = 0;
  uint32_t clock_ = 0;   // grows with every wait
  Matrix synced_ = {};   // [waiter][awaited]: the clock just behind the last wait
  LastUse everywhere_;
  std::vector<Capture> captures_;
  std::unique_ptr<Event> event_;
  Stream* last_stream_ = nullptr;
  uint32_t last_number_ = 0;
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_STREAM_TABLE_H_
