// Whether a shape gets the place of another one among those that may be recorded. Pure: no device,
// no clock, no lock.
//
//   places are free   whoever comes has one at once
//   none is free      it runs eagerly, and pays rent: it takes the place of the least used one when
//                     it has run kRent times without one and was used kLead times as often as that
//                     one, lately (keep.h)
//
// What churn may cost, where a recording costs as much as five eager runs or less:
//
//   any traffic       at most kMostOverEager times what running all of it eagerly costs, and the
//                     first recordings: each later one has paid rent
//   rotations of any  at most kMostChurn times what the best fixed choice of shapes costs, known
//   length, and uses  beforehand, recorded once and all others left eager. In a rotation uses are
//   by Zipf's law     alike, none leads, and those that have places keep them
//
// A shape that is left eager in the long run is used at most kLead times as often as any that has a
// place. What was forgotten keeps its count (Ghosts), or a rotation through more shapes than are
// known at a time would bring nothing but newcomers.
//
// Asking costs a comparison: the least used one is looked for only where a newcomer has more than
// that one could have by now at the least.
#ifndef GRAPHTREE_GRAPHS_MATCH_ADMISSION_H_
#define GRAPHTREE_GRAPHS_MATCH_ADMISSION_H_

#include <cstddef>
#include <cstdint>

#include "absl/container/flat_hash_map.h"

namespace graphtree {

// How often a shape was used, lately.
struct Standing {
  double uses = 0;
  double paid = 0;  // of those: without a place, since it last had one
};

class Admission {
 public:
  static constexpr double kRent = 3;
  static constexpr double kLead = 2;
  static constexpr double kMostChurn = 1.25;
  static constexpr double kMostOverEager = 2.5;

  // Has a newcomer earned the place of one that has so many uses?
  static bool HasEarned(const Standing& newcomer, double least, uint64_t half_life);

  // Whether the least used one should be looked for; false where the answer would be no.
  bool IsWorthALook(const Standing& newcomer, uint64_t now, uint64_t half_life) const;
  // It was looked for: `least` is the fewest uses of any that has a place, may it go or not.
  void Looked(double least, uint64_t now);
  // A place was given away for nothing.
  void PlaceGiven() { least_ = 0; }

 private:
  double least_ = 0;  // at that time; uses fall no faster than by half in a half-life
  uint64_t as_of_ = 0;
};

// How shapes stand that are forgotten otherwise, by a hash of each. The least used are forgotten
// for good when there are too many.
class Ghosts {
 public:
  // Keeps at least the `most` most used ones, and never more than twice as many.
  Ghosts(size_t most, uint64_t half_life) : most_(most), half_life_(half_life) {}

  void Put(uint64_t shape, const Standing& standing, uint64_t now);
  // How it stands now, and it is no ghost any more; nothing if it was none.
  Standing Take(uint64_t shape, uint64_t now);
  size_t size() const { return ghosts_.size(); }

 private:
  struct Ghost {
    Standing standing;
    uint64_t as_of = 0;
  };

  void ForgetHalf(uint64_t now);

  const size_t most_;
  const uint64_t half_life_;
  absl::flat_hash_map<uint64_t, Ghost> ghosts_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_MATCH_ADMISSION_H_
