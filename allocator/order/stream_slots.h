// The streams that a pool has seen, and which bit stands for each of them.
//
//   bit    0     1     2       3
//        [ A ] [ B ] [ C D ] [ (E) F ]     C and D share a bit, as there are no more of them
//                              E was forgotten: the courier (courier.h) carries its work
//
// A bit that means more than one stream, or a forgotten one, is shared. A stream that captures is
// known with the capture in which it was seen first, and the one in which it was looked up last.
//
// Threads: none of its own.
#ifndef GRAPHTREE_ALLOCATOR_ORDER_STREAM_SLOTS_H_
#define GRAPHTREE_ALLOCATOR_ORDER_STREAM_SLOTS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "allocator/order/use_times.h"
#include "device/device.h"
#include "device/stream.h"

namespace graphtree {

struct KnownStream {
  std::shared_ptr<StreamLife> life;
  // The capture that the stream was in when it was seen first; 0: none; kSomeCapture: the stream
  // could not say.
  uint64_t seen_in = 0;
  uint64_t used_in = 0;  // ... and when it was looked up last; each use of one that captures is

  // The stream ended in the capture in which it was first seen: nothing else has to wait for it. If
  // it could not say which capture it ended in, that is taken for the one in which it was always
  // seen.
  bool was_of_capture() const {
    const uint64_t ended_in = life->ended_in();
    const bool is_named = ended_in != StreamLife::kSomeCapture;
    return ended_in != 0 && seen_in != 0 && seen_in == (is_named ? ended_in : used_in);
  }
  // Whether the stream's work from before this capture, in which it is, can be awaited meanwhile.
  bool MayBeAwaitedBefore(uint64_t capture) const {
    return used_in != capture && life->HasLeftEventBefore(capture);
  }
};

struct StreamSlot {
  std::vector<KnownStream> streams;
  bool has_forgotten = false;  // the courier carries work of streams that had this bit

  bool IsOfCapture(uint64_t capture) const {
    return std::any_of(streams.begin(), streams.end(), [capture](const KnownStream& known) {
      return known.used_in == capture;
    });
  }
  // Whether one of the streams is in a capture now, and `may(stream, capture)` is true.
  template <typename May>
  bool AnyCaptures(const May& may) const {
    return std::any_of(streams.begin(), streams.end(), [&may](const KnownStream& known) {
      const absl::StatusOr<CaptureInfo> info = known.life->Capture();
      return info.ok() && info->state != CaptureState::kNone && may(known, info->id);
    });
  }
};

class StreamSlots {
 public:
  static constexpr uint32_t kMost = UseTimes::kMostNumbers;

  explicit StreamSlots(Device& device) : device_(device) {}
  StreamSlots(const StreamSlots&) = delete;
  StreamSlots& operator=(const StreamSlots&) = delete;

  uint32_t size() const { return static_cast<uint32_t>(slots_.size()); }
  // After a change of a slot it is refreshed.
  StreamSlot& operator[](uint32_t number) { return slots_[number]; }
  const StreamSlot& operator[](uint32_t number) const { return slots_[number]; }
  std::vector<StreamSlot>::const_iterator begin() const { return slots_.begin(); }
  std::vector<StreamSlot>::const_iterator end() const { return slots_.end(); }
  void Refresh(uint32_t number);

  // Bits that mean more than one stream, or forgotten ones.
  uint32_t shared() const { return shared_; }
  bool IsShared(uint32_t number) const { return (shared_ >> number & 1) != 0; }

  // The stream's entry and its bit number; null if it has none.
  KnownStream* Find(const StreamLife* life, uint32_t* number);
  uint32_t SlotForNew();
  // The capture in which that stream of the slot was looked up last; 0: none.
  uint64_t CaptureOf(uint32_t number, const StreamLife* life) const;
  // A stream with one of these bits; null if all of them were forgotten or are gone.
  std::shared_ptr<StreamLife> AnyOf(uint32_t bits) const;
  // Whether one of the streams with these bits is in a capture and was looked up since that began.
  bool IsUsedByCapture(uint32_t bits) const;
  // Whether one of the number's streams is in a capture that takes nothing from the pool.
  bool IsInForeignCapture(uint32_t number) const;

 private:
  Device& device_;
  std::vector<StreamSlot> slots_;
  uint32_t next_shared_ = 0;
  uint32_t shared_ = 0;
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_ORDER_STREAM_SLOTS_H_
