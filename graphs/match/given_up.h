// When a shape is recorded again whose recording was given up, as a run lacked the memory that it
// held. Until then the shape runs eagerly, and so pays rent as a shape without a place does
// (admission.h):
//
//   given up        after replays that have paid for the recording     kRent eager runs
//                   before that                                        twice as many as last time
//
// So shapes that take turns, and that memory does not hold together, end up eager, but for a
// recording now and then; a shape that comes for long between two such runs is replayed nearly
// always.
//
// Pure.
#ifndef GRAPHTREE_GRAPHS_MATCH_GIVEN_UP_H_
#define GRAPHTREE_GRAPHS_MATCH_GIVEN_UP_H_

#include <algorithm>
#include <cstdint>

namespace graphtree {

// A recording costs as much as so many eager runs, or less.
constexpr uint64_t kReplaysThatPay = 5;

// `last`: the rent that was paid last, 0 if none was; `replays`: of the recording that goes.
inline uint64_t RentAfterGivingUp(uint64_t last, uint64_t replays, uint64_t most) {
  constexpr uint64_t kRent = 3;
  const bool has_paid = replays >= kReplaysThatPay;
  if (has_paid || last == 0) return std::min(kRent, most);
  return last < most / 2 ? 2 * last : most;
}

// How many recordings are given up at a time for one allocation, which asks again as long as that
// was not enough: one, so that no more goes than has to, and then more and more.
inline uint64_t RecordingsToGiveUp(int attempt) {
  constexpr int kOneByOne = 4;
  return attempt < kOneByOne ? 1 : uint64_t{2} << std::min(attempt - kOneByOne, 40);
}

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_MATCH_GIVEN_UP_H_
