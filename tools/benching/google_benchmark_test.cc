// Rows from Google Benchmark functions: numbers from both sides, and a body that gives up.
#include "tools/benching/google_benchmark.h"

#include "absl/status/status.h"
#include "device/base/status_matchers.h"
#include "gtest/gtest.h"
#include "tools/benching/timing.h"

namespace graphtree::bench {
namespace {

void Count(benchmark::State& state, int* steps) {
  for (auto _ : state) DoNotOptimize(++*steps);
}

class GoogleBenchmarkTest : public ::testing::Test {
 protected:
  GoogleBenchmarkTest() { SetSmoke(true); }
  ~GoogleBenchmarkTest() override { SetSmoke(false); }
};

TEST_F(GoogleBenchmarkTest, BothSidesRunAndBothAreTimed) {
  int ours = 0;
  int base = 0;
  const auto pair = CompareBenchmarks([&](benchmark::State& state) { Count(state, &ours); },
                                      [&](benchmark::State& state) { Count(state, &base); });
  ASSERT_THAT(pair, IsOk());
  EXPECT_GT(ours, 0);
  EXPECT_GT(base, 0);
  EXPECT_GT(pair->ours, 0);
  EXPECT_GT(*pair->baseline, 0);
}

TEST_F(GoogleBenchmarkTest, OneSideHasNoBaselineAndASecondRunStartsAfresh) {
  int first = 0;
  int second = 0;
  ASSERT_THAT(MeasureBenchmark([&](benchmark::State& state) { Count(state, &first); }), IsOk());
  const int after_first = first;
  const auto alone = MeasureBenchmark([&](benchmark::State& state) { Count(state, &second); });
  ASSERT_THAT(alone, IsOk());
  EXPECT_FALSE(alone->baseline.has_value());
  EXPECT_EQ(first, after_first);
  EXPECT_GT(second, 0);
}

TEST_F(GoogleBenchmarkTest, ABodyThatGivesUpIsAnError) {
  const auto failed = MeasureBenchmark([](benchmark::State& state) {
    state.SkipWithError("no");
    for (auto _ : state) {
    }
  });
  EXPECT_THAT(failed, FailsWith(absl::StatusCode::kInternal, "\"ours\" ended with SkipWithError"));
}

}  // namespace
}  // namespace graphtree::bench
