// Whether a shape gets the place of another one among the shapes that may be recorded. Pure: no
// device, no clock, no lock.
//
//   a place is free   a new shape has it at once
//   none is free      the new shape runs eagerly, and so pays rent: it takes the place of the least
//                     used shape when it has run kRent times without a place and was used kLead
//                     times as often as that shape, lately (keep.h)
//
// What churn may cost, where a recording costs as much as five eager runs or less:
//
//   any traffic       at most kMostOverEager times what running all of it eagerly costs, and the
//                     first recordings: each later one has paid rent
//   rotations of any  at most kMostChurn times what it costs to know the best shapes beforehand, to
//   length, and uses  record them once and to leave all others eager. In a rotation all shapes are
//   by Zipf's law     used alike: none leads, and those that have places keep them
//
// A shape that is left eager in the long run is used at most kLead times as often as any that has a
// place. Ghosts keeps the counts of shapes that the tree has forgotten: else a rotation through
// more shapes than the tree knows at a time would bring nothing but newcomers.
//
// Asking costs a comparison: the least used shape is looked for only where the newcomer has more
// uses than the fewest that any shape could have by now.
#ifndef GRAPHTREE_GRAPHS_MATCH_ADMISSION_H_
#define GRAPHTREE_GRAPHS_MATCH_ADMISSION_H_

#include <cstddef>
#include <cstdint>

#include "absl/container/flat_hash_map.h"

namespace graphtree {

// How often a shape was used, lately.
struct Standing {
  double uses = 0;
  double paid = 0;  // those of them that it ran without a place, since it last had one
};

class Admission {
 public:
  static constexpr double kRent = 3;
  static constexpr double kLead = 2;
  static constexpr double kMostChurn = 1.25;
  static constexpr double kMostOverEager = 2.5;

  // Has a newcomer earned the place of a shape with `least` uses?
  static bool HasEarned(const Standing& newcomer, double least, uint64_t half_life);

  // Whether to look for the least used shape. False where the newcomer could not have earned its
  // place.
  bool IsWorthALook(const Standing& newcomer, uint64_t now, uint64_t half_life) const;
  // The least used shape was looked for: no shape that has a place has fewer uses than `least`,
  // whether that shape may go or not.
  void Looked(double least, uint64_t now);
  // A shape took a place without a look: it may be used less than the least that was seen.
  void PlaceGiven() { least_ = 0; }

 private:
  double least_ = 0;  // as of as_of_; uses fall no faster than by half in a half-life
  uint64_t as_of_ = 0;
};

// The standings of shapes that the tree has otherwise forgotten, by a hash of each. When there are
// too many, the least used are forgotten for good.
class Ghosts {
 public:
  // Keeps at least the `most` most used ones, and never more than twice as many.
  Ghosts(size_t most, uint64_t half_life) : most_(most), half_life_(half_life) {}

  void Put(uint64_t shape, const Standing& standing, uint64_t now);
  // A shape's standing as of `now`; an empty one if the shape is no ghost.
  Standing Find(uint64_t shape, uint64_t now) const;
  // The same, and the shape is no ghost any more.
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
