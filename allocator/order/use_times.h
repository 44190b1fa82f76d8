// Until when streams may have been given work that uses free bytes, as far as one LastUse of joined
// bytes and the table's clock can tell.
//
//   bits of a LastUse     those of all bytes that were joined, and one time: that of the last free
//   freed_at, by bit      no bytes with that bit were freed later, so the bit is no younger
//   everywhere, by bit    a graph was launched there: until that time its work may use any bytes
//   aside                 ranges that count apart, and not in the above (set_aside.h)
//
// All bytes that a stream may have used can be set aside. As long as the stream is given no new
// work and no new memory it uses no other bytes. Other bytes may still carry its bit: those that
// were joined to bytes of the stream's, or were placed there before. That bit is not counted, so
// bytes that are mapped later may be had without a wait for the stream.
//
//   SetAllAside --> all of it is apart --the stream is at work again--> its bit counts from then on
//                         `---------------- Settle ----------------`--> the ranges count as well
//
// Time 0 is before every use. Pure. Cost: Until is asked for each allocation of bytes that several
// streams have used, and is a few loads.
#ifndef GRAPHTREE_ALLOCATOR_ORDER_USE_TIMES_H_
#define GRAPHTREE_ALLOCATOR_ORDER_USE_TIMES_H_

#include <algorithm>
#include <array>
#include <cstdint>

#include "absl/types/span.h"
#include "allocator/order/set_aside.h"
#include "allocator/placement/run.h"

namespace graphtree {

class UseTimes {
 public:
  static constexpr uint32_t kMostNumbers = 32;

  // Work of that stream may use any bytes, until `now`.
  void UsedEverywhere(uint32_t number, uint32_t now) {
    IsAtWork(number);
    everywhere_ |= 1u << number;
    everywhere_at_[number] = now;
  }
  // Bytes with that bit are freed now.
  void Freed(uint32_t number, uint32_t now) {
    if (!IsAllAside(number)) freed_at_[number] = now;
  }
  // The same for these bytes, which are known by their range.
  void FreedApart(uint32_t number, Quanta bytes, uint32_t now) {
    if (!IsAllAside(number) && !aside_.Add(number, bytes)) Freed(number, now);
  }
  // All that the stream may use lies in these bytes. Changes nothing if there are too many ranges,
  // or if all is set aside already.
  void SetAllAside(uint32_t number, absl::Span<const Quanta> bytes) {
    if (IsAllAside(number) || !aside_.Replace(number, bytes)) return;
    freed_at_[number] = 0;
    everywhere_aside_ |= everywhere_ & 1u << number;
    everywhere_ &= ~(1u << number);
    all_aside_ |= 1u << number;
  }
  // The stream is given work or memory from now on.
  void IsAtWork(uint32_t number) { all_aside_ &= ~(1u << number); }
  // What is set aside for the stream counts as all other bytes again, used until `now`.
  void Settle(uint32_t number, uint32_t now) {
    IsAtWork(number);
    aside_.Drop(number);
    Freed(number, now);
    if ((everywhere_aside_ >> number & 1) != 0) UsedEverywhere(number, now);
    everywhere_aside_ &= ~(1u << number);
  }

  // Who may have used the bytes, if they are not set aside.
  uint32_t UsersOf(LastUse last_use) const {
    return (last_use.streams & ~all_aside_) | everywhere_;
  }
  // Whether the bytes may be set aside.
  bool MayBeAside(LastUse last_use) const {
    return (last_use.streams & aside_.bits()) != 0 || (everywhere_aside_ != 0);
  }
  // Who may have used bytes that are set aside.
  const SetAside& aside() const { return aside_; }
  // The time from which on one must have waited for the stream to have the bytes. `is_last`: what
  // is freed with this bit is not told to Freed.
  uint32_t Until(uint32_t number, LastUse last_use, bool is_last) const {
    const uint32_t bit = 1u << number;
    const uint32_t latest = is_last ? last_use.time : freed_at_[number];
    const bool carries = (last_use.streams & bit & ~all_aside_) != 0;
    const uint32_t freed = carries ? std::min(last_use.time, latest) : 0;
    return std::max(freed, (everywhere_ & bit) != 0 ? everywhere_at_[number] : 0);
  }

 private:
  using Times = std::array<uint32_t, kMostNumbers>;

  bool IsAllAside(uint32_t number) const { return (all_aside_ >> number & 1) != 0; }

  Times freed_at_ = {};
  uint32_t everywhere_ = 0;        // bits
  uint32_t everywhere_aside_ = 0;  // bits that were in everywhere_ before all was set aside
  uint32_t all_aside_ = 0;         // bits of streams that have used nothing but what is set aside
  Times everywhere_at_ = {};
  SetAside aside_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_ORDER_USE_TIMES_H_
