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
// of the graph, which orders nothing outside of it. Work that was put on a stream before the
// capture cannot be awaited from within it, nor is it known where the graph will be launched: while
// a capture's scope is open all earlier users of what is handed out are noted, and whoever launches
// the graph lets the launch wait for those streams.
//
// What a stream that is forgotten has queued is carried on by a stream of the table's own, the
// courier, which waits for it. Its bit goes to the next stream that needs one. A stream that was
// destroyed is forgotten when the next new one comes; until then its life orders what it queued.
//
// Threads: none of its own. At most 32 bits: further streams share one. Who shares a bit is taken
// for a stranger by all, itself included, which only waits more.
#ifndef GRAPHTREE_ALLOCATOR_ORDER_STREAM_TABLE_H_
#define GRAPHTREE_ALLOCATOR_ORDER_STREAM_TABLE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "allocator/placement/run.h"
#include "device/device.h"
#include "device/stream.h"

namespace graphtree {

class StreamTable {
 public:
  explicit StreamTable(Device* device) : device_(*device) {}
  StreamTable(const StreamTable&) = delete;
  StreamTable& operator=(const StreamTable&) = delete;

  // The stream's bit number. The stream is of this device.
  uint32_t NumberOf(Stream& stream) {
    return IsLast(stream) ? last_number_ : LookUp(stream);
  }
  // The one that was named last: no more need be asked about it.
  bool IsLast(const Stream& stream) const { return stream.life().get() == last_stream_; }
  // What was put on the stream so far can still be awaited; the stream itself may go. Refused while
  // it captures.
  absl::Status Forget(Stream& stream);

  // A stream with one of these bits; null if all of them were forgotten or are gone.
  std::shared_ptr<StreamLife> AnyOf(uint32_t bits) const;
  // Waits for all streams and forgotten work, but for streams that are capturing: these are left
  // alone, and the first of them or the first failure is told.
  absl::Status SynchronizeAll();
  // The same, and forgets the streams that were waited for, and those of a lost device. The others
  // stay, and are told.
  absl::Status SynchronizeAndForget();
  // A stream that carries all work there is, but for that of streams that are capturing; null if
  // there is none. The table is of no more use.
  std::unique_ptr<Stream> CarryAll();
  // Whether one of the streams is in a capture.
  bool AnyIsCapturing() const;
  // Whether a capture takes memory from the pool: one of its scopes is open.
  bool is_in_scope() const { return !awaited_.empty(); }

  // The time of what is freed now.
  uint32_t now() const { return clock_; }
  // False in the usual case: all users of the bytes are the stream itself or were waited for.
  bool MustOrder(uint32_t number, LastUse last_use) const {
    last_use.Merge(everywhere_);
    if ((last_use.streams & untold_) != 0) return true;
    const uint32_t others = OthersOf(number, last_use.streams);
    return others != 0 && HasUnordered(number, others, last_use.time);
  }
  // Lets the stream's next work run after all other users of the bytes. Fails, having done nothing
  // that matters, if that cannot be expressed. Those that only launches will wait for are added to
  // `users`: as long as none has, whoever gets the bytes next has to wait for them too.
  absl::Status Order(uint32_t number, Stream& stream, LastUse last_use, uint32_t* users);
  // The bits of those behind whose work `stream` cannot be ordered now: another capture has them.
  absl::StatusOr<uint32_t> OutOfReach(Stream& stream) const;
  // From here on any bytes may be in use on that stream: a graph that was launched there touches
  // memory that is free in the books.
  void UsedEverywhereOn(uint32_t number) {
    everywhere_.streams |= 1u << number;
    everywhere_.time = clock_;
  }

  // Around a capture.
  void EnterCapture();
  // Returns the streams whose earlier work the graph's launches must wait for.
  StreamLives LeaveCapture();
  // The same, so far, for a graph that is launched inside the capture's scope.
  StreamLives AwaitedAtLaunch() const;

 private:
  static constexpr uint32_t kMostSlots = 32;
  // [waiter][awaited]: the clock just behind the last wait.
  using Matrix = std::array<std::array<uint32_t, kMostSlots>, kMostSlots>;
  struct Known {
    std::shared_ptr<StreamLife> life;
    uint64_t seen_in = 0;  // the capture that it was in when it was seen first; 0: none
    // It was there for a capture alone, and ended in it: nothing else has to wait for it.
    bool was_of_capture() const { return life->ended_in() != 0 && life->ended_in() == seen_in; }
  };
  struct Slot {
    std::vector<Known> streams;
    bool has_forgotten = false;  // the courier carries work of streams that had this bit
  };

  uint32_t LookUp(Stream& stream);
  uint32_t SlotForNew();
  // Whether the slot's bit still means one stream and nobody else.
  void Refresh(uint32_t number);
  bool IsShared(uint32_t number) const { return (shared_ >> number & 1) != 0; }
  uint32_t OthersOf(uint32_t number, uint32_t streams) const {
    return streams & (shared_ | ~(1u << number));
  }
  bool HasUnordered(uint32_t number, uint32_t others, uint32_t time) const;
  absl::Status OrderBehind(uint32_t all, uint32_t number, Stream& stream, uint32_t time,
                           uint32_t* users);
  void NoteForLaunches(uint32_t streams);
  Matrix& SyncedIn(uint64_t capture);
  absl::Status OrderAfter(Stream& stream, uint64_t capture, const Slot& slot);
  absl::Status Await(StreamLife& other, Stream& stream);
  absl::Status Carry(StreamLife& life);
  absl::Status Synchronize(StreamLife& life) const;
  void AllCarriedIsDone();
  void ForgetEnded();
  bool ForgetIfEnded(const Known& known);
  absl::Status OrderAfterOne(const Known& other, Stream& stream, uint64_t capture);

  Device& device_;
  std::vector<Slot> slots_;
  uint32_t next_shared_ = 0;
  uint32_t shared_ = 0;  // bits that mean more than one stream, or forgotten ones
  uint32_t clock_ = 0;   // grows with every wait
  Matrix synced_ = {};
  Matrix synced_inside_ = {};  // by edges of the capture `inside_`
  uint64_t inside_ = 0;
  LastUse everywhere_;
  std::vector<uint32_t> awaited_;  // by launches, for each open scope
  uint32_t untold_ = 0;  // in a scope: bits that are not in its `awaited_`
  std::unique_ptr<Event> event_;
  std::unique_ptr<Stream> courier_;
  const StreamLife* last_stream_ = nullptr;  // in a slot, which holds it
  uint32_t last_number_ = 0;
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_ORDER_STREAM_TABLE_H_
