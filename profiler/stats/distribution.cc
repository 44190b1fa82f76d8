// Buckets by the eight leading bits of a value.
#include "profiler/stats/distribution.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace graphtree::trace {
namespace {

constexpr int kLeadingBits = 8;
constexpr uint64_t kHalf = 1 << (kLeadingBits - 1);

// Of a value that is not in octave 0: how far it is from its eight leading bits.
int ShiftOf(uint64_t ns) { return static_cast<int>(std::bit_width(ns)) - kLeadingBits; }

void AddTo(uint32_t& count, uint32_t more) {
  count = more > std::numeric_limits<uint32_t>::max() - count ? std::numeric_limits<uint32_t>::max()
                                                              : count + more;
}

}  // namespace

int64_t Distribution::MiddleOf(uint32_t octave, size_t bucket) {
  if (octave == 0) return static_cast<int64_t>(bucket);
  const uint32_t shift = octave - 1;
  const uint64_t first = (kHalf + bucket) << shift;
  return static_cast<int64_t>(shift == 0 ? first : first + (uint64_t{1} << (shift - 1)));
}

Distribution::Octave& Distribution::OctaveOf(uint32_t number) {
  if (last_ < octaves_.size() && octaves_[last_].number == number) return octaves_[last_];
  const auto at = std::lower_bound(
      octaves_.begin(), octaves_.end(), number,
      [](const Octave& octave, uint32_t wanted) { return octave.number < wanted; });
  last_ = static_cast<size_t>(at - octaves_.begin());
  if (at == octaves_.end() || at->number != number) {
    octaves_.insert(at, Octave{.number = number});
  }
  return octaves_[last_];
}

void Distribution::Add(int64_t ns) {
  ns = std::max<int64_t>(ns, 0);
  min_ = count_ == 0 ? ns : std::min(min_, ns);
  max_ = std::max(max_, ns);
  sum_ += static_cast<double>(ns);
  ++count_;
  const uint64_t value = static_cast<uint64_t>(ns);
  if (value < kHalf) {
    AddTo(OctaveOf(0).counts[value], 1);
  } else {
    const int shift = ShiftOf(value);
    AddTo(OctaveOf(static_cast<uint32_t>(shift) + 1).counts[(value >> shift) - kHalf], 1);
  }
}

void Distribution::Merge(const Distribution& other) {
  if (other.count_ == 0) return;
  min_ = count_ == 0 ? other.min_ : std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  count_ += other.count_;
  sum_ += other.sum_;
  for (const Octave& from : other.octaves_) {
    Octave& into = OctaveOf(from.number);
    for (size_t i = 0; i < kBuckets; ++i) AddTo(into.counts[i], from.counts[i]);
  }
}

int64_t Distribution::Quantile(double share) const {
  if (count_ == 0) return 0;
  const double wanted = std::ceil(std::clamp(share, 0.0, 1.0) * static_cast<double>(count_));
  uint64_t passed = 0;
  for (const Octave& octave : octaves_) {
    for (size_t i = 0; i < kBuckets; ++i) {
      passed += octave.counts[i];
      if (static_cast<double>(passed) < wanted || passed == 0) continue;
      return std::clamp(MiddleOf(octave.number, i), min_, max_);
    }
  }
  return max_;
}

double Distribution::ChanceOfLess(const Distribution& other) const {
  if (count_ == 0 || other.count_ == 0) return 0.5;
  double below = 0;  // of this, below the bucket at hand
  double pairs = 0;
  auto ours = octaves_.begin();
  for (const Octave& theirs : other.octaves_) {
    for (; ours != octaves_.end() && ours->number < theirs.number; ++ours) {
      for (const uint32_t count : ours->counts) below += count;
    }
    const bool is_both = ours != octaves_.end() && ours->number == theirs.number;
    for (size_t i = 0; i < kBuckets; ++i) {
      const double here = is_both ? ours->counts[i] : 0;
      pairs += theirs.counts[i] * (below + here / 2);
      below += here;
    }
    if (is_both) ++ours;
  }
  return pairs / (static_cast<double>(count_) * static_cast<double>(other.count_));
}

}  // namespace graphtree::trace
