// Clocks that run apart, readings that are noisy, numbers as large as real ones.
#include "profiler/activity/clock_fit.h"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace graphtree::activity {
namespace {

constexpr int64_t kSource = 1764300000000000000;  // a clock of the day, in ns since 1970
constexpr int64_t kTarget = 987654321;

TEST(ClockFitTest, WithoutAPairTimesStayAsTheyAre) {
  const ClockFit fit;
  EXPECT_TRUE(fit.empty());
  EXPECT_EQ(fit.ToTarget(kSource), kSource);
  EXPECT_EQ(fit.drift_ppm(), 0);
  EXPECT_EQ(fit.worst_ns(), 0);
}

TEST(ClockFitTest, OnePairShifts) {
  ClockFit fit;
  fit.Add({kSource, kTarget, 0});
  EXPECT_EQ(fit.ToTarget(kSource), kTarget);
  EXPECT_EQ(fit.ToTarget(kSource + 12345), kTarget + 12345);
  EXPECT_EQ(fit.drift_ppm(), 0);
}

TEST(ClockFitTest, PairsAtOneTimeDoNotDivideByNothing) {
  ClockFit fit;
  for (int i = 0; i < 3; ++i) fit.Add({kSource, kTarget + i, 0});
  EXPECT_EQ(fit.ToTarget(kSource), kTarget + 1);
  EXPECT_EQ(fit.drift_ppm(), 0);
}

TEST(ClockFitTest, FindsTheDriftBetweenNoisyReadings) {
  for (const double ppm : {-200.0, -1.0, 0.0, 3.5, 80.0}) {
    std::mt19937 random(7);
    std::uniform_int_distribution<int64_t> noise(-500, 500);
    ClockFit fit;
    const auto true_target = [&](int64_t since) {
      return kTarget + since + std::llround(static_cast<double>(since) * ppm / 1e6);
    };
    for (int i = 0; i < 300; ++i) {
      const int64_t since = int64_t{100'000'000} * i;  // every 0.1 s for half a minute
      fit.Add({kSource + since, true_target(since) + noise(random), 0});
    }
    EXPECT_NEAR(fit.drift_ppm(), ppm, 0.1);
    for (const int64_t since : {int64_t{0}, int64_t{15'000'000'000}, int64_t{30'000'000'000}}) {
      EXPECT_NEAR(static_cast<double>(fit.ToTarget(kSource + since)),
                  static_cast<double>(true_target(since)), 400) << ppm;
    }
    EXPECT_LE(fit.worst_ns(), 1000);
  }
}

TEST(ClockFitTest, KeepsABoundedNumberOfPairs) {
  ClockFit fit(64);
  for (int64_t i = 0; i < 10'000; ++i) {
    fit.Add({kSource + i * 1'000'000, kTarget + i * 1'000'010, 0});
    EXPECT_LE(fit.size(), 64u);
  }
  EXPECT_NEAR(fit.drift_ppm(), 10, 0.01);
  EXPECT_NEAR(static_cast<double>(fit.ToTarget(kSource + 5'000'000'000)),
              static_cast<double>(kTarget + 5'000'050'000), 2);
}

TEST(ClockFitTest, AReadingIsTakenAtTheMiddleOfTheShortestTry) {
  const std::vector<int64_t> targets = {100, 160, 200, 210, 300, 400};
  size_t next = 0;
  int64_t source = 7;
  const ClockPair pair = ReadPair([&] { return source++; }, [&] { return targets[next++]; }, 3);
  EXPECT_EQ(pair.source_ns, 8);
  EXPECT_EQ(pair.target_ns, 205);
  EXPECT_EQ(pair.uncertainty_ns, 10);
}

}  // namespace
}  // namespace graphtree::activity
