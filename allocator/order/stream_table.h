// Orders a stream that is given freed bytes after the streams that used them before. The host never
// waits for that.
//
// Every stream that a pool sees has a bit. Freed bytes carry the bits of the streams that used them
// and the time of the free (LastUse). When another stream gets the bytes, an event is recorded on
// each of those streams and awaited by the new one, unless it has waited for them since that time:
//
//   A  ---use---free(t=3)---------record----------
//   B  ------------------allocate---\--wait--use--     and B knows A up to now: synced[B][A] = 4
//
// Bytes that stay on one stream need no order and cost nothing. Graphs that are launched with a
// pool's free memory are ordered by whoever launches them, so a launch on another stream than the
// launch before it is such a wait, too.
//
// A stream that captures can be awaited only by the event that it left where it began the capture,
// and not if the capture itself uses the pool's bytes. Where there is no such event, bytes that the
// stream may still use are left alone, and others are taken; so bytes that were freed while another
// stream was the last one are known by their ranges, until an allocation has to know in which order
// they come (set_aside.h).
//
// Inside a capture the same two calls make an edge of the graph, which orders nothing outside of
// it. Work that was put on a stream before the capture cannot be awaited from within it, nor is it
// known where the graph will be launched: while a capture's scope is open the table notes all
// earlier users of the bytes that it hands out, and whoever launches the graph lets the launch wait
// for those streams (launch_waits.h).
//
// The courier (courier.h) waits for the work of every stream that is forgotten, and is awaited in
// its place. The forgotten stream's bit goes to the next stream that needs one (stream_slots.h). A
// destroyed stream is forgotten when the next new one comes; until then its life orders its work
// (device/stream_life.h). For a stream that had ended before the table heard of it the courier has
// a bit as well. Who has waited for whom, and when, is in waits.h.
//
// Threads: none of its own. There are 32 bits, and further streams share one. Whatever carries a
// shared bit counts as another stream's, which costs a wait too many and never one too few.
#ifndef GRAPHTREE_ALLOCATOR_ORDER_STREAM_TABLE_H_
#define GRAPHTREE_ALLOCATOR_ORDER_STREAM_TABLE_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "allocator/order/courier.h"
#include "allocator/order/launch_waits.h"
#include "allocator/order/set_aside.h"
#include "allocator/order/stream_slots.h"
#include "allocator/order/use_times.h"
#include "allocator/order/waits.h"
#include "allocator/placement/run.h"
#include "device/device.h"
#include "device/stream.h"

namespace graphtree {

class StreamTable {
 public:
  explicit StreamTable(Device* device)
      : device_(*device), slots_(*device), courier_(*device) {}
  StreamTable(const StreamTable&) = delete;
  StreamTable& operator=(const StreamTable&) = delete;

  // The stream's bit number. The stream is of this device.
  uint32_t NumberOf(Stream& stream) {
    return IsLast(stream) ? last_number_ : LookUp(stream);
  }
  // The bit number of a stream whose work uses the pool's bytes, whatever it is in now: nothing is
  // given to it.
  uint32_t NumberOfUser(Stream& stream);
  // The bit of the stream that NumberOf was asked about last; 0: none.
  uint32_t last_bit() const { return last_stream_ == nullptr ? 0 : 1u << last_number_; }
  // Whether NumberOf was asked about this very stream last: no other check is needed then. While a
  // capture is open outside of the pool's scopes it is looked up each time, as that capture may use
  // the pool.
  bool IsLast(const Stream& stream) const {
    return stream.life().get() == last_stream_ && (device_.open_captures() == 0 || is_in_scope());
  }
  // The courier takes over the stream's work, and the stream may be destroyed. Refused while the
  // stream captures.
  absl::Status Forget(Stream& stream);

  // The streams that were seen.
  const StreamSlots& streams() const { return slots_; }
  // Waits for all streams and for forgotten work. Streams that are capturing are left alone;
  // returns an error about the first of them, or the first failure.
  absl::Status SynchronizeAll();
  enum class Forgets { kAll, kEnded };
  // The same, and forgets the streams that it waited for, and those of a lost device. The others
  // stay, and the error names the first. kEnded: a stream that has not ended stays, too, as it may
  // be given more work that uses the bytes.
  absl::Status SynchronizeAndForget(Forgets whom);
  // A stream that carries all work there is; null if there is none. Adds to `left` the streams that
  // it cannot come after, as they capture. Nothing may be asked of the table afterwards.
  std::unique_ptr<Stream> CarryAll(StreamLives* left);
  // Whether a capture takes memory from the pool: one of its scopes is open.
  bool is_in_scope() const { return launches_.is_open(); }

  // The time for a LastUse of bytes that are freed now.
  uint32_t now() const { return clock_; }
  // Whether Order has to be called. False in the usual case: the stream itself is the bytes' only
  // user, or has waited for the others.
  bool MustOrder(uint32_t number, LastUse last_use) const {
    const uint32_t users = UsersOf(last_use);
    if (launches_.MustNote(users) || uses_.MayBeAside(last_use)) return true;
    const uint32_t others = OthersOf(number, users);
    return others != 0 && HasUnordered(number, others, last_use);
  }
  // Lets the stream's next work run after the work of all other users of the bytes. Fails if CUDA
  // cannot express that order. Adds to `users` the bits that only the graph's launches will wait
  // for: until a launch has, whoever gets the bytes next has to wait for these, too.
  absl::Status Order(uint32_t number, Stream& stream, LastUse last_use, uint32_t* users);
  // The bits of streams that `stream` cannot wait for now, because another capture has them, and
  // whose work it has not waited for.
  absl::StatusOr<uint32_t> OutOfReach(uint32_t number, Stream& stream) const;
  // These bytes are freed now by a call of the pool's user's, and until now these streams may have
  // been given work that uses them. Needed only where they are not the last bit's alone.
  void NoteFreed(uint32_t streams, Quanta bytes);
  // The same for bytes that lie anywhere.
  void NoteFreedByBooks(uint32_t streams);
  // Called before Order. From then on only bytes of streams that another capture has are set aside.
  void SettleAside();
  // All that these streams may have used lies in these bytes, while other captures have them, and
  // until they are given something new.
  void SetAsideAll(uint32_t streams, absl::Span<const Quanta> bytes);
  // Which free bytes may not be had yet, wherever they lie.
  const SetAside& aside() const { return uses_.aside(); }
  // Who used bytes that may be free only in the books, and are not set aside.
  uint32_t UsersOf(LastUse last_use) const { return uses_.UsersOf(last_use); }
  // From here on any bytes may be in use on that stream.
  void UsedEverywhereOn(uint32_t number) { uses_.UsedEverywhere(number, clock_); }
  // That stream has waited for all that was put on the stream that was named before it.
  void ContinuesOn(uint32_t number) {
    if (number != continues_on_) PassTo(number);
  }

  // The same for a stream that has ended. The host does not wait.
  absl::Status UsedEverywhereBy(StreamLife& ended);

  // Called before a capture begins.
  void EnterCapture();
  // Called after the capture has ended: the streams whose earlier work the graph's launches must
  // wait for.
  StreamLives LeaveCapture();
  // These streams as known so far, for a graph that is launched inside the capture's scope.
  StreamLives AwaitedAtLaunch() const;

 private:
  static constexpr uint32_t kNoSlot = ~0u;

  KnownStream& Add(Stream& stream, uint64_t capture, uint32_t* number);
  uint32_t LookUp(Stream& stream);
  // Finds out anew whether the slot's bit means one stream and nobody else.
  void Refresh(uint32_t number);
  uint32_t OthersOf(uint32_t number, uint32_t streams) const {
    return streams & (slots_.shared() | ~(1u << number));
  }
  uint32_t UsedUntil(uint32_t other, LastUse last_use) const {
    return uses_.Until(other, last_use, 1u << other == last_bit());
  }
  bool HasWaitedFor(uint32_t number, uint32_t other) const;
  bool HasUnordered(uint32_t number, uint32_t others, LastUse last_use) const;
  absl::Status OrderAfter(uint32_t all, uint32_t number, Stream& stream, LastUse last_use,
                          uint32_t* users);
  void LeaveLast();
  void PassTo(uint32_t number);
  // A capture that the last asked stream is not in holds this stream, and left no event from
  // before the capture that could be awaited.
  bool IsLostToCapture(const StreamSlot& slot) const;
  void AllCarriedIsDone();
  void ForgetEnded();

  Device& device_;
  StreamSlots slots_;
  uint32_t clock_ = 1;   // grows with every wait; what was never used was used at 0
  Waits waits_;
  UseTimes uses_;
  uint32_t continues_on_ = kNoSlot;  // the number that ContinuesOn was told last
  LaunchWaits launches_;
  Courier courier_;
  const StreamLife* last_stream_ = nullptr;  // held by a slot
  uint32_t last_number_ = 0;
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_ORDER_STREAM_TABLE_H_
