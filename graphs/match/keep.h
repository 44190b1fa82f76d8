// What is worth keeping: of all that a tree holds (recordings, executables, shapes), the least
// valuable goes first when a budget is full. Pure: no device, no clock, no lock.
//
//   worth = uses x cost of getting it back / bytes held
//
// Uses are weighted by how recent they are: a use counts one when it happens, half after
// `half_life` calls of the tree, a quarter after two. The clock is the number of calls, so that a
// tree that rests for a night forgets nothing. Nothing is aged while calls hit: a use counts up and
// notes the clock, and the weight is brought up to date when somebody asks. Uses since the last
// time are all taken to be as old as the newest of them.
//
//   asked at call 100:  weight 8; then 4 uses, the last at call 200
//   asked at call 300:  8 / 4 + 4 / 2 = 4           (half_life 100)
//
// Where all places are taken, admission.h says when a newcomer gets one.
#ifndef GRAPHTREE_GRAPHS_MATCH_KEEP_H_
#define GRAPHTREE_GRAPHS_MATCH_KEEP_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace graphtree {

// What is left of a weight after so many calls.
double Aged(double weight, uint64_t calls, uint64_t half_life);

// How often something was used, lately.
class Uses {
 public:
  // `count` is the number of uses ever, the last of them at `last`; `now` is the clock. REQUIRES:
  // none of them goes back, and last <= now.
  double At(uint64_t now, uint64_t count, uint64_t last, uint64_t half_life);
  // The same, but brings nothing up to date.
  double Seen(uint64_t now, uint64_t count, uint64_t last, uint64_t half_life) const;
  // The weight as of the last call of At.
  double weight() const { return weight_; }
  // Uses up to now do not count any more.
  void Forget(uint64_t now, uint64_t count) {
    weight_ = 0;
    counted_ = count;
    as_of_ = now;
  }
  // Takes over uses that were counted elsewhere, with their weight as of `now`.
  void Inherit(double weight, uint64_t now, uint64_t half_life);

 private:
  double weight_ = 0;
  uint64_t counted_ = 0;
  uint64_t as_of_ = 0;
};

// A candidate for eviction.
struct Candidate {
  double uses = 0;
  uint64_t bytes = 0;  // that its going gives back
  uint64_t cost = 1;   // of getting it back, in any unit that is the same for all
  uint64_t count = 1;  // as how many things it counts
  bool pinned = false;
};

double Worth(const Candidate& candidate);

// What must go so that `count` things fewer and `bytes` bytes fewer are held, in the order in which
// it goes: least worth first, of equals the one that comes first. Empty, and nothing may go, if all
// that is not pinned would not do; also if nothing must go.
std::vector<size_t> ChooseVictims(absl::Span<const Candidate> candidates, uint64_t count,
                                  uint64_t bytes);

// The one to go first; candidates.size() if all are pinned.
size_t LeastWorth(absl::Span<const Candidate> candidates);

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_MATCH_KEEP_H_
