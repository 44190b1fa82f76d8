// What is told of recordings that were not made, against a body whose costs are known.
#include "runtime/plan/estimate.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/plan/guess.h"
#include "runtime/shapes/key.h"

namespace graphtree {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

Key Tokens(int32_t tokens) { return {.tokens = tokens}; }

TEST(CostModelTest, KnowsNothingBeforeTheFirstRecording) {
  const RecordingGuess guess = CostModel().Of(Tokens(8));
  EXPECT_FALSE(guess.pool.is_known());
  EXPECT_FALSE(guess.executables.is_known());
}

TEST(CostModelTest, AKeyThatIsRecordedCostsWhatItDid) {
  CostModel model;
  model.Learn(Tokens(8), {.pool_bytes = 1000, .executable_bytes = 70, .host_bytes = 5});
  model.Learn(Tokens(16), {.pool_bytes = 1, .executable_bytes = 70, .host_bytes = 5});
  model.Learn(Tokens(8), {.pool_bytes = 3000, .executable_bytes = 70, .host_bytes = 5});
  EXPECT_EQ(model.count(), 2u);
  EXPECT_EQ(model.Of(Tokens(8)).pool.bytes, 3000);
  EXPECT_EQ(model.Of(Tokens(8)).pool.error, 0);
}

// The body allocates by tokens, or by requests, or for each pair of token and context; blocks are
// rounded up. Three recordings tell the others.
TEST(CostModelTest, FindsWhatRecordingsGrowWith) {
  const auto rounded = [](double bytes) {
    return static_cast<uint64_t>(std::ceil(bytes / 512) * 512);
  };
  uint64_t within = 0, all = 0;
  for (int kind = 0; kind < 4; ++kind) {
    const auto cost = [&](const Key& key) {
      const double numbers[] = {1.0 * key.tokens, 1.0 * key.requests,
                                1.0 * key.tokens * key.context, 1.0 * key.context};
      return RecordingCost{.pool_bytes = rounded(20000 + 3000 * numbers[kind]),
                           .executable_bytes = 250000,
                           .host_bytes = 60000};
    };
    CostModel model;
    std::vector<Key> keys;
    std::mt19937_64 random(kind);
    for (int i = 0; i < 40; ++i) {
      keys.push_back({.tokens = 1 + static_cast<int32_t>(random() % 512),
                      .requests = 1 + static_cast<int32_t>(random() % 64),
                      .context = 1 + static_cast<int32_t>(random() % 4096)});
    }
    for (int i = 0; i < 4; ++i) model.Learn(keys[i], cost(keys[i]));
    for (const Key& key : keys) {
      const RecordingGuess guess = model.Of(key);
      const auto truth = static_cast<double>(cost(key).pool_bytes);
      EXPECT_NEAR(guess.pool.bytes, truth, truth * 0.05 + 512) << kind << " " << ToString(key);
      within += std::abs(guess.pool.bytes - truth) <= guess.pool.error + 512;
      ++all;
      EXPECT_NEAR(guess.executables.bytes, 250000, 1e-3);
      EXPECT_NEAR(guess.executables.error, 0, 1e-3);
    }
  }
  EXPECT_GE(within, all * 90 / 100);
}

TEST(CostModelTest, AShapeOfAnyContextHasNone) {
  CostModel model;
  for (const int32_t tokens : {1, 64, 512}) {
    model.Learn({.tokens = tokens, .context = kAny}, {.pool_bytes = 100u * tokens});
  }
  EXPECT_NEAR(model.Of({.tokens = 256, .context = kAny}).pool.bytes, 25600, 1e-6);
}

// The driver hands out pieces of 2 MiB: it takes nothing for most executables.
class StubbornDriver {
 public:
  explicit StubbornDriver(double true_ratio) : ratio_(true_ratio) {}
  uint64_t Take(uint64_t said) {
    used_ += static_cast<double>(said) * ratio_;
    uint64_t taken = 0;
    while (static_cast<double>(held_) < used_) {
      held_ += 2 * kMiB;
      taken += 2 * kMiB;
    }
    return taken;
  }
  uint64_t held() const { return held_; }

 private:
  const double ratio_;
  double used_ = 0;
  uint64_t held_ = 0;
};

TEST(DriverModelTest, TakesTheDevicesOwnFigureUntilItHasSeenEnough) {
  DriverModel model;
  EXPECT_EQ(model.Executables({1000, 7}).bytes, 1000);
  EXPECT_EQ(model.Executables({1000, 7}).error, 7);
  model.LearnExecutables(200 << 10, 2 << 20);  // it may be the end of the piece
  EXPECT_EQ(model.Executables(Guess::Exactly(10 << 20)).bytes, 10 << 20);
  model.LearnExecutables(1 << 20, 2 << 20);  // twice as much, by one piece
  const Guess guess = model.Executables(Guess::Exactly(10 << 20));
  EXPECT_LT(guess.bytes, 2 * (10 << 20));
  EXPECT_GT(guess.error, 0);
}

// As many as a plan looks at.
TEST(DriverModelTest, ADozenOfLargeExecutablesSayMost) {
  for (const double ratio : {0.5, 0.65, 1.0, 1.6}) {
    StubbornDriver driver(ratio);
    DriverModel model;
    constexpr uint64_t kSaid = 1000 << 10;
    for (int seen = 0; seen < 12; ++seen) model.LearnExecutables(kSaid, driver.Take(kSaid));
    const Guess guess = model.Executables(Guess::Exactly(51.0 * kSaid));
    const double truth = 51.0 * kSaid * ratio;
    EXPECT_NEAR(guess.bytes, truth, 0.17 * truth) << ratio;
    EXPECT_LE(std::abs(guess.bytes - truth), guess.error) << ratio;
  }
}

// What destroyed executables have left is given first.
TEST(DriverModelTest, ADriverWithMemoryLeftTakesNothing) {
  DriverModel model;
  for (int seen = 0; seen < 20; ++seen) model.LearnExecutables(1 << 20, 0);
  EXPECT_LT(model.Executables(Guess::Exactly(10 << 20)).bytes, 2 << 20);
}

TEST(DriverModelTest, LearnsWhatTheDriverReallyTakes) {
  for (const double ratio : {0.5, 1.0, 1.7}) {
    StubbornDriver driver(ratio);
    DriverModel model;
    constexpr uint64_t kSaid = 300 << 10;
    double off = 0;
    for (int seen = 0; seen < 200; ++seen) {
      model.LearnExecutables(kSaid, driver.Take(kSaid));
      if (seen % 50 != 49) continue;
      const Guess guess = model.Executables(Guess::Exactly(1000.0 * kSaid));
      off = std::abs(guess.bytes - 1000.0 * kSaid * ratio);
      EXPECT_LE(off, guess.error * 1.5) << ratio << " after " << seen;
    }
    EXPECT_LT(off, 0.1 * 1000 * kSaid * ratio);
  }
}

TEST(DriverModelTest, LaterShapesSayWhatFurtherCodeCosts) {
  DriverModel model;
  EXPECT_EQ(model.Code(10).bytes, 0);
  model.LearnCode(30 * kMiB);
  EXPECT_EQ(model.Code(10).bytes, 0);
  EXPECT_EQ(model.Code(10).error, 30.0 * kMiB);
  model.LearnCode(0);
  model.LearnCode(2 * kMiB);
  EXPECT_EQ(model.Code(10).bytes, 10.0 * kMiB);
  EXPECT_GT(model.Code(10).error, 0);
  EXPECT_EQ(model.Code(0).bytes, 0);
}

// Against a walk over bytes: who uses each.
TEST(PoolGuessTest, SharedIsWhatASecondOneUses) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<Guess> recordings;
    for (uint64_t i = random() % 6; i-- > 0;) {
      recordings.push_back(Guess::Exactly(static_cast<double>(random() % 40)));
    }
    double alone = 0, shared = 0;
    for (int byte = 0; byte < 40; ++byte) {
      const auto users =
          std::count_if(recordings.begin(), recordings.end(),
                        [byte](const Guess& one) { return one.bytes > byte; });
      alone += users == 1;
      shared += users > 1;
    }
    const PoolGuess pool = PoolOf(recordings, 1);
    EXPECT_EQ(pool.alone.bytes, alone) << "seed " << seed;
    EXPECT_EQ(pool.shared.bytes, shared) << "seed " << seed;
    EXPECT_EQ(std::fmod(PoolOf(recordings, 16).alone.bytes + shared, 16), 0) << "seed " << seed;
  }
}

}  // namespace
}  // namespace graphtree
