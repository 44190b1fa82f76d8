// Against sorted values, over seeds.
#include "profiler/stats/distribution.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "profiler/stats/batch_medians.h"

namespace graphtree::trace {
namespace {

std::vector<int64_t> Values(uint32_t seed, size_t count, double sigma) {
  std::mt19937 random(seed);
  std::lognormal_distribution<double> draw(8, sigma);
  std::vector<int64_t> values;
  for (size_t i = 0; i < count; ++i) values.push_back(static_cast<int64_t>(draw(random)));
  return values;
}

Distribution Of(const std::vector<int64_t>& values) {
  Distribution distribution;
  for (int64_t value : values) distribution.Add(value);
  return distribution;
}

TEST(DistributionTest, QuantilesAreWithinTheirPromise) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    std::vector<int64_t> values = Values(seed, 1000 + seed, 2.0);
    const Distribution distribution = Of(values);
    std::sort(values.begin(), values.end());
    for (double share : {0.0, 0.01, 0.25, 0.5, 0.9, 0.99, 1.0}) {
      const size_t rank = static_cast<size_t>(
          std::max(1.0, std::ceil(share * static_cast<double>(values.size()))));
      const double exact = static_cast<double>(values[rank - 1]);
      EXPECT_NEAR(static_cast<double>(distribution.Quantile(share)), exact, 0.008 * exact + 0.5);
    }
    EXPECT_EQ(distribution.min(), values.front());
    EXPECT_EQ(distribution.max(), values.back());
    EXPECT_EQ(distribution.count(), values.size());
  }
}

TEST(DistributionTest, MergingIsAddingAll) {
  const std::vector<int64_t> first = Values(1, 500, 1), second = Values(2, 700, 3);
  Distribution merged = Of(first);
  merged.Merge(Of(second));
  merged.Merge(Distribution());
  std::vector<int64_t> all = first;
  all.insert(all.end(), second.begin(), second.end());
  const Distribution whole = Of(all);
  for (double share : {0.0, 0.1, 0.5, 0.9, 1.0}) {
    EXPECT_EQ(merged.Quantile(share), whole.Quantile(share));
  }
  EXPECT_EQ(merged.count(), whole.count());
  EXPECT_NEAR(merged.mean(), whole.mean(), 1e-6 * whole.mean());
}

TEST(DistributionTest, ExtremesNeitherWrapNorStop) {
  Distribution distribution;
  distribution.Add(-5);
  distribution.Add(std::numeric_limits<int64_t>::max());
  EXPECT_EQ(distribution.min(), 0);
  EXPECT_EQ(distribution.max(), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(distribution.Quantile(0), 0);
  EXPECT_GT(distribution.Quantile(1), int64_t{1} << 62);
  EXPECT_EQ(Distribution().Quantile(0.5), 0);
}

// Every value lies in a bucket near it, at the edges of octaves, too.
TEST(DistributionTest, EveryPowerOfTwoAndItsNeighbours) {
  for (int bit = 0; bit < 63; ++bit) {
    for (int64_t value : {(int64_t{1} << bit) - 1, int64_t{1} << bit, (int64_t{1} << bit) + 1}) {
      Distribution distribution = Of({0, value, std::numeric_limits<int64_t>::max()});
      const double exact = static_cast<double>(value);
      EXPECT_NEAR(static_cast<double>(distribution.median()), exact, 0.004 * exact + 0.5) << value;
    }
  }
}

TEST(DistributionTest, ChanceOfLessIsThatOfAllPairs) {
  const std::vector<int64_t> first = Values(3, 60, 1), second = Values(4, 80, 1.2);
  double pairs = 0;
  for (int64_t a : first) {
    for (int64_t b : second) pairs += a < b ? 1 : a == b ? 0.5 : 0;
  }
  const double exact = pairs / static_cast<double>(first.size() * second.size());
  EXPECT_NEAR(Of(first).ChanceOfLess(Of(second)), exact, 0.01);
  EXPECT_EQ(Of({5}).ChanceOfLess(Of({9})), 1);
  EXPECT_EQ(Of({9}).ChanceOfLess(Of({5})), 0);
  EXPECT_EQ(Of({7}).ChanceOfLess(Of({7})), 0.5);
  EXPECT_EQ(Of({7}).ChanceOfLess(Distribution()), 0.5);
}

TEST(BatchMediansTest, FollowsADriftInFixedMemory) {
  BatchMedians batches;
  for (int64_t i = 0; i < 100000; ++i) batches.Add(1000 + i / 100);
  EXPECT_GE(batches.medians().size(), BatchMedians::kMostBatches / 2);
  EXPECT_LT(batches.medians().size(), BatchMedians::kMostBatches);
  EXPECT_TRUE(std::is_sorted(batches.medians().begin(), batches.medians().end()));
  EXPECT_NEAR(batches.medians().front(), 1000 + 1000.0 / 32, 40);
}

TEST(BatchMediansTest, FewValuesMakeNoBatch) {
  BatchMedians batches;
  for (int i = 0; i < 14; ++i) batches.Add(5);
  EXPECT_TRUE(batches.medians().empty());
  batches.Add(5);
  EXPECT_EQ(batches.medians().size(), 1u);
}

}  // namespace
}  // namespace graphtree::trace
