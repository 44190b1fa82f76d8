// Noise is never called a difference, over seeds; a difference is found; and rows find one another.
#include "tools/profile/compare.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "profiler/stats/batch_medians.h"
#include "profiler/stats/trace_statistics.h"
#include "profiler/trace/records.h"
#include "profiler/trace/sample_trace.h"
#include "profiler/trace/tables.h"

namespace graphtree::profile {
namespace {

using trace::PlainReplays;

struct Trace {
  trace::TraceTables tables;
  trace::TraceStatistics statistics{tables};
};

std::unique_ptr<Trace> Played(const PlainReplays& plan) {
  auto played = std::make_unique<Trace>();
  trace::PlayReplays(plan, played->tables, played->statistics);
  return played;
}

// Durations as a device gives them: a spread of some per cent, stragglers, and a clock that rises
// and falls by some per cent over the trace.
Sample Noisy(uint32_t seed, size_t count, double median, double drift = 0.03) {
  std::mt19937 random(seed);
  std::normal_distribution<double> spread(0, 0.02);
  std::uniform_real_distribution<double> lot(0, 1);
  const double phase = lot(random) * 6.28;
  Sample sample;
  trace::BatchMedians batches;
  for (size_t i = 0; i < count; ++i) {
    const double wave =
        drift * std::sin(phase + 9 * static_cast<double>(i) / static_cast<double>(count));
    const double straggler = lot(random) < 0.01 ? 3 : 1;
    const auto ns = static_cast<int64_t>(median * (1 + wave + spread(random)) * straggler);
    sample.times.Add(ns);
    batches.Add(ns);
  }
  sample.batches = batches.medians();
  return sample;
}

TEST(CompareTest, NoiseIsNeverADifference) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    for (size_t count : {5, 12, 40, 400, 4000}) {
      const Verdict verdict =
          Judge(Noisy(seed, count, 10000), Noisy(seed + 1000, count, 10000), 100, {});
      EXPECT_EQ(verdict, Verdict::kSame) << "seed " << seed << ", count " << count;
    }
  }
}

TEST(CompareTest, AChangeIsFoundAndItsDirectionTold) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    for (size_t count : {100, 1000, 10000}) {
      SCOPED_TRACE(seed);
      const Sample old_sample = Noisy(seed, count, 10000), slow = Noisy(seed + 7, count, 11500);
      EXPECT_EQ(Judge(old_sample, slow, 100, {}), Verdict::kSlower) << count;
      EXPECT_EQ(Judge(slow, old_sample, 100, {}), Verdict::kFaster) << count;
    }
  }
}

// Without drift a change of four per cent is enough.
TEST(CompareTest, ASmallChangeOfAQuietTraceIsFound) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    EXPECT_EQ(Judge(Noisy(seed, 2000, 10000, 0), Noisy(seed + 9, 2000, 10400, 0), 20, {}),
              Verdict::kSlower)
        << seed;
  }
}

TEST(CompareTest, TooFewAreNotJudged) {
  Sample one;
  one.times.Add(1000);
  Sample other;
  for (int i = 0; i < 100; ++i) other.times.Add(9000);
  EXPECT_EQ(Judge(one, other, 1, {}), Verdict::kTooFew);
  EXPECT_EQ(Judge({}, other, 1, {}), Verdict::kOnlyAfter);
  EXPECT_EQ(Judge(other, {}, 1, {}), Verdict::kOnlyBefore);
}

TEST(CompareTest, LeastChangeIsTheUsers) {
  const Sample before = Noisy(1, 2000, 10000, 0), after = Noisy(2, 2000, 10600, 0);
  EXPECT_EQ(Judge(before, after, 1, {.least_change = 0.03}), Verdict::kSlower);
  EXPECT_EQ(Judge(before, after, 1, {.least_change = 0.10}), Verdict::kSame);
}

TEST(CompareTest, TheOneSlowOpOfAGraphIsNamed) {
  const auto before = Played({.replays = 200, .ops = 5});
  const auto after = Played({.replays = 200, .ops = 5, .noise = [](int, int op) -> int64_t {
                               return op == 3 ? 700 : 0;
                             }});
  const Comparison comparison = Compare(before->statistics, after->statistics, {});
  ASSERT_EQ(comparison.ops.size(), 5u);
  EXPECT_EQ(comparison.ops[0].name, "kernel_3");
  EXPECT_EQ(comparison.ops[0].verdict, Verdict::kSlower);
  EXPECT_NEAR(comparison.ops[0].cost, 200 * 700, 200 * 30);
  EXPECT_EQ(comparison.ops[0].place, "op 4 of decode, batch 4");
  for (size_t i = 1; i < 5; ++i) EXPECT_EQ(comparison.ops[i].verdict, Verdict::kSame);
  ASSERT_EQ(comparison.replays.size(), 1u);
  EXPECT_EQ(comparison.replays[0].verdict, Verdict::kSlower);
}

TEST(CompareTest, NewAndGoneOpsAreToldWithTheirTime) {
  const auto before = Played({.replays = 50, .ops = 3});
  const auto after = Played({.replays = 50, .ops = 4});
  const Comparison forth = Compare(before->statistics, after->statistics, {});
  EXPECT_EQ(forth.ops[0].verdict, Verdict::kOnlyAfter);
  EXPECT_EQ(forth.ops[0].name, "kernel_3");
  EXPECT_GT(forth.ops[0].cost, 50 * 1900.0);
  const Comparison back = Compare(after->statistics, before->statistics, {});
  EXPECT_EQ(back.ops[0].verdict, Verdict::kOnlyBefore);
  EXPECT_LT(back.ops[0].cost, -50 * 1900.0);
}

TEST(CompareTest, ATraceIsTheSameAsItself) {
  const auto trace = Played({.replays = 100, .ops = 10, .slow_replay = 7});
  const Comparison comparison = Compare(trace->statistics, trace->statistics, {});
  for (const Compared& op : comparison.ops) EXPECT_EQ(op.verdict, Verdict::kSame) << op.name;
}

}  // namespace
}  // namespace graphtree::profile
