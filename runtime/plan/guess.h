// Bytes that nobody has measured yet: how many they will be, and by how much that may be wrong.
#ifndef GRAPHTREE_RUNTIME_PLAN_GUESS_H_
#define GRAPHTREE_RUNTIME_PLAN_GUESS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace graphtree {

struct Guess {
  double bytes = 0;
  double error = 0;  // most likely no further off than this

  static Guess Exactly(double bytes) { return {bytes, 0}; }
  static Guess Unknown() { return {0, std::numeric_limits<double>::infinity()}; }
  bool is_known() const { return std::isfinite(error); }
  // What to reserve, so that it is enough.
  uint64_t most() const {
    return static_cast<uint64_t>(std::ceil(std::min(std::max(bytes + error, 0.0), 9e18)));
  }
  // Errors add up: what one guess has wrong the next one of the same model has wrong alike.
  friend Guess operator+(const Guess& a, const Guess& b) {
    return {a.bytes + b.bytes, a.error + b.error};
  }
  Guess& operator+=(const Guess& more) { return *this = *this + more; }
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_PLAN_GUESS_H_
