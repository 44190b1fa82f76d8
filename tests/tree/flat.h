// What a soak needs: how far it has come, and figures that may not grow from its first part to its
// last.
//
//   share    0      0.2 -- early -- 0.4            0.8 -- late -- 1
#ifndef GRAPHTREE_TESTS_TREE_FLAT_H_
#define GRAPHTREE_TESTS_TREE_FLAT_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>

namespace graphtree {

// In steps, or in time where GRAPHTREE_SOAK_SECONDS=N asks for N seconds.
class SoakProgress {
 public:
  explicit SoakProgress(int64_t steps_by_default)
      : start_(Clock::now()), steps_(steps_by_default) {
    const char* seconds = std::getenv("GRAPHTREE_SOAK_SECONDS");
    if (seconds != nullptr) seconds_ = std::strtod(seconds, nullptr);
  }
  double share(int64_t steps) const {
    if (seconds_ <= 0) return static_cast<double>(steps) / static_cast<double>(steps_);
    return std::chrono::duration<double>(Clock::now() - start_).count() / seconds_;
  }

 private:
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start_;
  const int64_t steps_;
  double seconds_ = 0;
};

// The most of a figure in the second fifth and in the last.
class Flat {
 public:
  void Note(double share, uint64_t value) {
    if (share >= 0.2 && share < 0.4) early_ = std::max(early_, value);
    if (share >= 0.8) late_ = std::max(late_, value);
  }
  uint64_t early() const { return early_; }
  uint64_t late() const { return late_; }

 private:
  uint64_t early_ = 0;
  uint64_t late_ = 0;
};

}  // namespace graphtree

#endif  // GRAPHTREE_TESTS_TREE_FLAT_H_
