// The kernels' arithmetic against plain double precision, and the functions that math.h makes.
#include "tools/demo_model/kernels/kernels.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "tools/demo_model/kernels/dims.h"
#include "tools/demo_model/kernels/math.h"

namespace graphtree::demo {
namespace {

template <typename... Arguments>
void RunBody(const Kernel& kernel, const Arguments&... arguments) {
  const std::vector<Argument> checked = {Argument::Value(arguments)...};
  ASSERT_EQ(ArgumentMismatch(kernel, checked), "");
  const std::vector<const void*> pointers = {&arguments...};
  kernel.host()(HostCall(LaunchShape(), pointers));
}

std::vector<float> Numbers(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> between(-1, 1);
  std::vector<float> numbers(count);
  for (float& number : numbers) number = between(random);
  return numbers;
}

TEST(MathTest, ExpIsExp) {
  for (float x = -86; x < 88; x += 0.0371f) {
    EXPECT_NEAR(Exp(x) / std::exp(double{x}), 1.0, 1e-6) << x;
  }
  EXPECT_EQ(Exp(-100), 0.0f);
  EXPECT_EQ(Exp(0), 1.0f);
}

TEST(MathTest, LogIsLog) {
  for (float x = 1e-30f; x < 1e30f; x *= 1.37f) {
    const double log = std::log(double{x});
    EXPECT_NEAR(Log(x), log, 4e-7 * std::max(1.0, std::fabs(log))) << x;
  }
}

TEST(MathTest, GumbelNoiseIsFiniteForEveryWord) {
  for (uint32_t word : {0u, 1u, 511u, 512u, 0x7fffffffu, 0x80000000u, 0xffffffffu}) {
    EXPECT_TRUE(std::isfinite(Gumbel(word))) << word;
  }
}

TEST(ModelKernelsTest, MatmulIsAProductAndLeavesRowsOfPadding) {
  const int rows = 3, inner = 128, columns = 70, live = 2;
  const std::vector<float> x = Numbers(rows * inner, 1), weight = Numbers(inner * columns, 2);
  std::vector<float> out(rows * columns, 99);
  RunBody(MatmulKernel(), out.data(), x.data(), weight.data(), &live, inner, columns);
  for (int r = 0; r < live; ++r) {
    for (int c = 0; c < columns; ++c) {
      double sum = 0;
      for (int k = 0; k < inner; ++k) sum += double{x[r * inner + k]} * weight[k * columns + c];
      EXPECT_NEAR(out[r * columns + c], sum, 1e-5);
    }
  }
  for (int c = 0; c < columns; ++c) EXPECT_EQ(out[live * columns + c], 99);
}

TEST(ModelKernelsTest, NormMakesRowsOfUnitMeanSquare) {
  const int rows = 2;
  const std::vector<float> x = Numbers(rows * kHidden, 3), ones(kHidden, 1);
  std::vector<float> out(rows * kHidden);
  RunBody(NormKernel(), out.data(), x.data(), ones.data(), &rows);
  for (int r = 0; r < rows; ++r) {
    double sum = 0;
    for (int i = 0; i < kHidden; ++i) sum += double{out[r * kHidden + i]} * out[r * kHidden + i];
    EXPECT_NEAR(sum / kHidden, 1, 1e-3);
    EXPECT_GT(out[r * kHidden] * x[r * kHidden], 0);
  }
}

// Two requests read prompts of 3 and 18 tokens, behind 0 and 5 that they have already; the third
// is padding.
TEST(ModelKernelsTest, PrepareSaysWhoseEachRowIsAndWhereItLies) {
  const int tokens = 24, requests = 3;
  const std::vector<int> starts = {0, 3, 21, 21}, lengths = {3, 23, 0};
  std::vector<int> tables(requests * kTableBlocks);
  tables[0] = 7;
  tables[kTableBlocks] = 2;
  tables[kTableBlocks + 1] = 11;
  std::vector<int> positions(tokens, -1), owners(tokens, -1), places(tokens, -1);
  int live_tokens = -1, live_requests = -1;
  RunBody(PrepareKernel(), positions.data(), owners.data(), places.data(), &live_tokens,
          &live_requests, starts.data(), lengths.data(), tables.data(), tokens, requests);
  EXPECT_EQ(live_tokens, 21);
  EXPECT_EQ(live_requests, 2);
  for (int row = 0; row < 3; ++row) {
    EXPECT_EQ(positions[row], row);
    EXPECT_EQ(owners[row], 0);
    EXPECT_EQ(places[row], 7 * kBlockTokens + row);
  }
  for (int row = 3; row < 21; ++row) {
    const int position = 5 + row - 3;
    EXPECT_EQ(positions[row], position);
    EXPECT_EQ(owners[row], 1);
    EXPECT_EQ(places[row], position < 16 ? 2 * 16 + position : 11 * 16 + position - 16);
  }
  for (int row = 21; row < tokens; ++row) EXPECT_EQ(owners[row], -1);
}

TEST(ModelKernelsTest, AttentionMixesTheValuesOfItsOwnBlocks) {
  const int rows = 2;
  const std::vector<int> positions = {40, 2}, owners = {1, 0};
  std::vector<int> tables(2 * kTableBlocks);
  tables[0] = 9;
  for (int i = 0; i < 3; ++i) tables[kTableBlocks + i] = 100 - 10 * i;
  const std::vector<float> qkv = Numbers(rows * 3 * kHidden, 4);
  const size_t half = size_t{kCacheRows} * kHidden;
  const std::vector<float> cache = Numbers(2 * half, 5);
  std::vector<float> out(rows * kHidden);
  RunBody(AttendKernel(), out.data(), qkv.data(), cache.data(), positions.data(), owners.data(),
          tables.data(), &rows);
  for (int r = 0; r < rows; ++r) {
    for (int h = 0; h < kHeads; ++h) {
      const float* q = &qkv[r * 3 * kHidden + h * kHeadDim];
      double total = 0, mixed = 0;
      for (int t = 0; t <= positions[r]; ++t) {
        const int block = tables[owners[r] * kTableBlocks + t / kBlockTokens];
        const float* k =
            &cache[(block * kBlockTokens + t % kBlockTokens) * kHidden + h * kHeadDim];
        double dot = 0;
        for (int d = 0; d < kHeadDim; ++d) dot += double{q[d]} * k[d];
        total += std::exp(dot / std::sqrt(32.0));
        mixed += std::exp(dot / std::sqrt(32.0)) * k[half];
      }
      EXPECT_NEAR(out[r * kHidden + h * kHeadDim], mixed / total, 1e-5);
    }
  }
}

TEST(ModelKernelsTest, RopeTurnsQueriesAndKeysAndLeavesValues) {
  const int rows = 1;
  const std::vector<int> positions = {1};
  std::vector<float> angles(2 * kHeadDim);
  for (size_t i = kHeadDim; i < angles.size(); i += 2) {
    angles[i] = std::cos(0.3f);
    angles[i + 1] = std::sin(0.3f);
  }
  const std::vector<float> before = Numbers(3 * kHidden, 6);
  std::vector<float> after = before;
  RunBody(RopeKernel(), after.data(), angles.data(), positions.data(), &rows);
  for (int i = 0; i < 2 * kHidden; i += kHeadDim) {
    const float x = before[i], y = before[i + kHeadDim / 2];
    EXPECT_NEAR(after[i], x * std::cos(0.3f) - y * std::sin(0.3f), 1e-6);
    EXPECT_NEAR(after[i + kHeadDim / 2], x * std::sin(0.3f) + y * std::cos(0.3f), 1e-6);
  }
  EXPECT_TRUE(std::equal(after.begin() + 2 * kHidden, after.end(), before.begin() + 2 * kHidden));
}

TEST(ModelKernelsTest, GatherTakesEachRequestsLastRow) {
  const int live = 2;
  const std::vector<int> starts = {0, 3, 5, 5};
  const std::vector<float> x = Numbers(5 * kHidden, 7);
  std::vector<float> out(3 * kHidden, 99);
  RunBody(GatherKernel(), out.data(), x.data(), starts.data(), &live);
  EXPECT_EQ(out[0], x[2 * kHidden]);
  EXPECT_EQ(out[kHidden + 5], x[4 * kHidden + 5]);
  EXPECT_EQ(out[2 * kHidden], 99);
}

TEST(ModelKernelsTest, ATemperatureOfZeroTakesTheFirstOfTheLargest) {
  const int live = 2;
  std::vector<float> logits(2 * kVocabulary, -1);
  logits[7] = logits[9] = 3;
  logits[kVocabulary + 511] = 1;
  const std::vector<float> temperatures(2, 0);
  const std::vector<int64_t> seeds = {1, 2};
  const std::vector<int> lengths = {3, 4};
  std::vector<int> tokens(2);
  RunBody(SampleKernel(), tokens.data(), logits.data(), temperatures.data(), seeds.data(),
          lengths.data(), &live);
  EXPECT_EQ(tokens, (std::vector<int>{7, 511}));
}

TEST(ModelKernelsTest, SamplingFollowsTheDistribution) {
  const int rows = 400;
  std::vector<float> logits(rows * kVocabulary, -30);
  std::vector<int64_t> seeds;
  std::vector<int> lengths;
  for (int r = 0; r < rows; ++r) {
    logits[r * kVocabulary + 5] = std::log(3.0f);
    logits[r * kVocabulary + 6] = 0;
    seeds.push_back(r / 20);
    lengths.push_back(r % 20);
  }
  const std::vector<float> temperatures(rows, 1);
  std::vector<int> tokens(rows), again(rows);
  RunBody(SampleKernel(), tokens.data(), logits.data(), temperatures.data(), seeds.data(),
          lengths.data(), &rows);
  EXPECT_NEAR(std::count(tokens.begin(), tokens.end(), 5), 300, 40);
  EXPECT_NEAR(std::count(tokens.begin(), tokens.end(), 6), 100, 40);
  // A row draws the same wherever it stands.
  std::reverse(seeds.begin(), seeds.end());
  std::reverse(lengths.begin(), lengths.end());
  RunBody(SampleKernel(), again.data(), logits.data(), temperatures.data(), seeds.data(),
          lengths.data(), &rows);
  std::reverse(again.begin(), again.end());
  EXPECT_EQ(again, tokens);
}

}  // namespace
}  // namespace graphtree::demo
