// The line against lines that are known, and the error bar against points that it has not seen.
#include "runtime/plan/line_fit.h"

#include <cmath>
#include <cstdint>
#include <random>

#include "gtest/gtest.h"

namespace graphtree {
namespace {

TEST(LineFitTest, KnowsNothingWithoutPoints) {
  EXPECT_FALSE(LineFit().At(5).is_known());
}

TEST(LineFitTest, OnePointIsTheSameThereAndUncertainElsewhere) {
  LineFit fit;
  fit.Add(100, 800);
  EXPECT_EQ(fit.At(100).bytes, 800);
  EXPECT_EQ(fit.At(100).error, 0);
  const Guess twice = fit.At(200);
  EXPECT_EQ(twice.bytes, 1200);
  EXPECT_EQ(twice.error, 400);  // from 800, the same, to 1600, as much for each unit
}

TEST(LineFitTest, TwoPointsMakeALineWithAnErrorAwayFromThem) {
  LineFit fit;
  fit.Add(10, 200);
  fit.Add(110, 400);
  EXPECT_NEAR(fit.At(10).error, 0, 1e-9);
  EXPECT_NEAR(fit.At(210).bytes, 600, 1e-9);
  EXPECT_NEAR(fit.At(210).error, 100, 1e-9);
}

TEST(LineFitTest, FindsALineThatIsOne) {
  LineFit fit;
  for (const double size : {1.0, 4.0, 64.0, 512.0}) fit.Add(size, 1000 + 7 * size);
  EXPECT_NEAR(fit.At(256).bytes, 1000 + 7 * 256, 1e-6);
  EXPECT_NEAR(fit.At(256).error, 0, 1e-3);
  EXPECT_NEAR(fit.Scatter(), 0, 1e-6);
}

TEST(LineFitTest, IsNeverNegative) {
  LineFit fit;
  fit.Add(10, 100);
  fit.Add(20, 200);
  fit.Add(30, 310);
  EXPECT_EQ(fit.At(0.5).bytes, 0);
  LineFit two;
  two.Add(10, 0);
  two.Add(20, 200);
  EXPECT_EQ(two.At(1).bytes, 0);
}

// Points scatter around a line; further ones lie within the error bar as often as it says.
TEST(LineFitTest, TheErrorBarHolds) {
  uint64_t within = 0, all = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> noise(0, 50);
    std::uniform_real_distribution<double> sizes(1, 512);
    LineFit fit;
    const int count = 3 + static_cast<int>(seed % 12);
    for (int i = 0; i < count; ++i) {
      const double size = sizes(random);
      fit.Add(size, 5000 + 11 * size + noise(random));
    }
    for (int i = 0; i < 20; ++i) {
      const double size = sizes(random);
      const Guess guess = fit.At(size);
      within += std::abs(5000 + 11 * size + noise(random) - guess.bytes) <= guess.error;
      ++all;
    }
  }
  EXPECT_GT(within, all * 93 / 100);
  EXPECT_LT(within, all * 99 / 100);  // and is no wider than that
}

}  // namespace
}  // namespace graphtree
