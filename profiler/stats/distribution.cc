// Buckets by the eight leading bits of a value.
#include "profiler/stats/distribution.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace graphtree::trace {
namespace {

constexpr int kBits = 8;
constexpr uint64_t kExact = 1 << kBits;    // values below have a bucket each
constexpr uint64_t kHalf = kExact / 2;     // buckets in a power of two

}  // namespace

size_t Distribution::BucketOf(uint64_t ns) {
  if (ns < kExact) return ns;
  const int shift = std::bit_width(ns) - kBits;
  return kExact + static_cast<size_t>(shift - 1) * kHalf + (ns >> shift) - kHalf;
}

int64_t Distribution::MiddleOf(size_t bucket) {
  if (bucket < kExact) return static_cast<int64_t>(bucket);
  const uint64_t shift = (bucket - kExact) / kHalf + 1;
  const uint64_t lead = (bucket - kExact) % kHalf + kHalf;
  return static_cast<int64_t>((lead << shift) + (uint64_t{1} << (shift - 1)));
}

void Distribution::Add(int64_t ns) {
  ns = std::max<int64_t>(ns, 0);
  min_ = count_ == 0 ? ns : std::min(min_, ns);
  max_ = std::max(max_, ns);
  sum_ += static_cast<double>(ns);
  ++count_;
  const size_t bucket = BucketOf(static_cast<uint64_t>(ns));
  if (counts_.empty()) first_ = bucket;
  if (bucket < first_) {
    counts_.insert(counts_.begin(), first_ - bucket, 0);
    first_ = bucket;
  }
  if (bucket - first_ >= counts_.size()) counts_.resize(bucket - first_ + 1);
  uint32_t& count = counts_[bucket - first_];
  if (count != std::numeric_limits<uint32_t>::max()) ++count;
}

uint64_t Distribution::CountAt(size_t bucket) const {
  return bucket < first_ || bucket - first_ >= counts_.size() ? 0 : counts_[bucket - first_];
}

void Distribution::Merge(const Distribution& other) {
  if (other.count_ == 0) return;
  min_ = count_ == 0 ? other.min_ : std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  const size_t first = count_ == 0 ? other.first_ : std::min(first_, other.first_);
  const size_t end = std::max(counts_.empty() ? 0 : first_ + counts_.size(),
                              other.first_ + other.counts_.size());
  std::vector<uint32_t> counts(end - first);
  for (size_t bucket = first; bucket < end; ++bucket) {
    counts[bucket - first] = static_cast<uint32_t>(std::min<uint64_t>(
        CountAt(bucket) + other.CountAt(bucket), std::numeric_limits<uint32_t>::max()));
  }
  counts_ = std::move(counts);
  first_ = first;
  count_ += other.count_;
  sum_ += other.sum_;
}

int64_t Distribution::Quantile(double share) const {
  if (count_ == 0) return 0;
  const double wanted = std::ceil(std::clamp(share, 0.0, 1.0) * static_cast<double>(count_));
  uint64_t passed = 0;
  for (size_t i = 0; i < counts_.size(); ++i) {
    passed += counts_[i];
    if (static_cast<double>(passed) < wanted || passed == 0) continue;
    return std::clamp(MiddleOf(first_ + i), min_, max_);
  }
  return max_;
}

double Distribution::ChanceOfLess(const Distribution& other) const {
  if (count_ == 0 || other.count_ == 0) return 0.5;
  double below = 0;  // of this, below the bucket at hand
  double pairs = 0;
  const size_t end = std::max(first_ + counts_.size(), other.first_ + other.counts_.size());
  for (size_t bucket = std::min(first_, other.first_); bucket < end; ++bucket) {
    const double ours = static_cast<double>(CountAt(bucket));
    pairs += static_cast<double>(other.CountAt(bucket)) * (below + ours / 2);
    below += ours;
  }
  return pairs / (static_cast<double>(count_) * static_cast<double>(other.count_));
}

}  // namespace graphtree::trace
