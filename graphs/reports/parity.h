// Whether a replay left what a run of its body leaves (Tree::RunCompared).
#ifndef GRAPHTREE_GRAPHS_REPORTS_PARITY_H_
#define GRAPHTREE_GRAPHS_REPORTS_PARITY_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

namespace graphtree {

// How far a number may be from the one that was expected: by `absolute`, or by `relative` times the
// larger of the two. Numbers that are no numbers are as good as each other.
struct Tolerance {
  double absolute = 0;
  double relative = 0;

  bool is_none() const { return absolute == 0 && relative == 0; }
  bool Allows(double expected, double found) const {
    if (std::isnan(expected) || std::isnan(found)) return std::isnan(expected) == std::isnan(found);
    if (expected == found) return true;
    const double apart = std::abs(expected - found);
    return apart <= absolute ||
           apart <= relative * std::max(std::abs(expected), std::abs(found));
  }
};

enum class Parity : uint8_t {
  kNotCompared,  // `text` says why
  kSame,
  kDiffers,      // `text` says where, and which op differs first
};

struct ParityResult {
  Parity parity = Parity::kNotCompared;
  std::string text;
  // Of kDiffers: the first op that was found to differ, by name; empty if none was found.
  std::string op;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_REPORTS_PARITY_H_
