// The demo's kernels give the same bytes on every device, and so the model says the same, whichever
// way it is served.
#include <cstdint>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "device/base/status_matchers.h"
#include "device/open.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/bodies/on_device.h"
#include "tools/demo_model/comparison.h"
#include "tools/demo_model/day.h"
#include "tools/demo_model/kernels/dims.h"
#include "tools/demo_model/kernels/kernels.h"
#include "tools/demo_model/trace.h"

namespace graphtree::demo {
namespace {

std::vector<float> Numbers(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> between(-2, 2);
  std::vector<float> numbers(count);
  for (float& number : numbers) number = between(random);
  return numbers;
}

constexpr int kRows = 5;
constexpr int kLive = 4;  // the last row is padding, and stays as it was
constexpr uint64_t kHiddenBytes = kRows * kHidden * sizeof(float);
constexpr uint64_t kCacheFloats = uint64_t{2} * kCacheRows * kHidden;

size_t LiveRows(BodyCall& call) { return call.Buffer(std::vector<int>{kLive}); }

class ModelOnDeviceTest : public OnEveryDevice {
 protected:
  void ExpectSameBytes(const BodyCall& call, const Kernel& kernel, const LaunchShape& shape) {
    const absl::StatusOr<ByteVector> bytes = call.RunOn(device(), kernel, shape);
    ASSERT_THAT(bytes, IsOk());
    EXPECT_TRUE(*bytes == call.RunHostBody(kernel, shape)) << kernel.name();
  }
};
GRAPHTREE_ON_HOST_AND_CUDA(ModelOnDeviceTest);

TEST_P(ModelOnDeviceTest, EmbedAndNormAndAdd) {
  BodyCall embed;
  embed.Pointer(embed.Room(kHiddenBytes));
  embed.Pointer(embed.Buffer(Numbers(kVocabulary * kHidden, 1)));
  embed.Pointer(embed.Buffer(std::vector<int>{0, 511, 7, 7, 300}));
  embed.Pointer(LiveRows(embed));
  ExpectSameBytes(embed, EmbedKernel(), EmbedShape(kRows));

  BodyCall norm;
  norm.Pointer(norm.Room(kHiddenBytes));
  norm.Pointer(norm.Buffer(Numbers(kRows * kHidden, 2)));
  norm.Pointer(norm.Buffer(Numbers(kHidden, 3)));
  norm.Pointer(LiveRows(norm));
  ExpectSameBytes(norm, NormKernel(), NormShape(kRows));

  BodyCall add;
  add.Pointer(add.Buffer(Numbers(kRows * kHidden, 4)));
  add.Pointer(add.Buffer(Numbers(kRows * kHidden, 5)));
  add.Pointer(LiveRows(add));
  ExpectSameBytes(add, AddKernel(), AddShape(kRows));
}

TEST_P(ModelOnDeviceTest, MatmulAndGate) {
  for (const auto& [inner, columns] :
       std::vector<std::pair<int, int>>{{kHidden, 3 * kHidden}, {kFeed, kHidden}, {32, 70}}) {
    BodyCall matmul;
    matmul.Pointer(matmul.Room(kRows * columns * sizeof(float)));
    matmul.Pointer(matmul.Buffer(Numbers(kRows * inner, 6)));
    matmul.Pointer(matmul.Buffer(Numbers(inner * columns, 7)));
    matmul.Pointer(LiveRows(matmul));
    matmul.Value(inner);
    matmul.Value(columns);
    ExpectSameBytes(matmul, MatmulKernel(), MatmulShape(kRows, columns));
  }
  BodyCall gate;
  gate.Pointer(gate.Room(kRows * kFeed * sizeof(float)));
  gate.Pointer(gate.Buffer(Numbers(kRows * 2 * kFeed, 8)));
  gate.Pointer(LiveRows(gate));
  ExpectSameBytes(gate, GateKernel(), GateShape(kRows));
}

// More rows than a block of threads has, of which the last ones are padding, as is a request.
TEST_P(ModelOnDeviceTest, PrepareAndGather) {
  constexpr int kTokens = 100, kRequests = 4;
  std::vector<int> tables(kRequests * kTableBlocks);
  for (size_t i = 0; i < tables.size(); ++i) tables[i] = static_cast<int>(i * 37 % kBlocks);
  const std::vector<int> starts = {0, 1, 71, 90, 90}, lengths = {200, 70, 33, 0};
  BodyCall prepare;
  for (int i = 0; i < 3; ++i) prepare.Pointer(prepare.Room(kTokens * sizeof(int)));
  for (int i = 0; i < 2; ++i) prepare.Pointer(prepare.Room(sizeof(int)));
  prepare.Pointer(prepare.Buffer(starts));
  prepare.Pointer(prepare.Buffer(lengths));
  prepare.Pointer(prepare.Buffer(tables));
  prepare.Value(kTokens);
  prepare.Value(kRequests);
  ExpectSameBytes(prepare, PrepareKernel(), PrepareShape(kTokens));

  BodyCall gather;
  gather.Pointer(gather.Room(kRequests * kHidden * sizeof(float)));
  gather.Pointer(gather.Buffer(Numbers(kTokens * kHidden, 13)));
  gather.Pointer(gather.Buffer(starts));
  gather.Pointer(gather.Buffer(std::vector<int>{3}));
  ExpectSameBytes(gather, GatherKernel(), GatherShape(kRequests));
}

TEST_P(ModelOnDeviceTest, RopeAppendAndAttend) {
  const std::vector<int> positions = {0, 1, 31, 255, 127}, owners = {0, 2, 1, 3, 0};
  const std::vector<int> places = {40, 17, 0, kCacheRows - 1, 1};
  std::vector<int> tables(4 * kTableBlocks);
  for (size_t i = 0; i < tables.size(); ++i) tables[i] = static_cast<int>(i * 29 % kBlocks);
  const std::vector<float> qkv = Numbers(kRows * 3 * kHidden, 9), cache = Numbers(kCacheFloats, 10);
  BodyCall rope;
  rope.Pointer(rope.Buffer(qkv));
  rope.Pointer(rope.Buffer(Numbers(kPositions * kHeadDim, 11)));
  rope.Pointer(rope.Buffer(positions));
  rope.Pointer(LiveRows(rope));
  ExpectSameBytes(rope, RopeKernel(), RopeShape(kRows));

  BodyCall append;
  append.Pointer(append.Buffer(cache));
  append.Pointer(append.Buffer(qkv));
  append.Pointer(append.Buffer(places));
  append.Pointer(LiveRows(append));
  ExpectSameBytes(append, AppendKernel(), AppendShape(kRows));

  BodyCall attend;
  attend.Pointer(attend.Room(kHiddenBytes));
  attend.Pointer(attend.Buffer(qkv));
  attend.Pointer(attend.Buffer(cache));
  attend.Pointer(attend.Buffer(positions));
  attend.Pointer(attend.Buffer(owners));
  attend.Pointer(attend.Buffer(tables));
  attend.Pointer(LiveRows(attend));
  ExpectSameBytes(attend, AttendKernel(), AttendShape(kRows, kPositions));
}

TEST_P(ModelOnDeviceTest, Picks) {
  std::vector<float> logits = Numbers(kRows * kVocabulary, 12);
  logits[3] = logits[400] = 5;  // equal ones in different lanes
  BodyCall sample;
  sample.Pointer(sample.Room(kRows * sizeof(int)));
  sample.Pointer(sample.Buffer(logits));
  sample.Pointer(sample.Buffer(std::vector<float>{0, 1, 0.5f, 2, 0}));
  sample.Pointer(sample.Buffer(std::vector<int64_t>{1, 2, -3, 4, 5}));
  sample.Pointer(sample.Buffer(std::vector<int>{1, 20, 300, 4000, 5}));
  sample.Pointer(LiveRows(sample));
  ExpectSameBytes(sample, SampleKernel(), SampleShape(kRows));
}

// Every token of a short day, served in all ways.
std::vector<std::vector<int>> TokensOn(Device& device) {
  DemoOptions options;
  options.requests = MakeTrace(1, 60, options.most_requests);
  const absl::StatusOr<Comparison> comparison = Compare(device, options);
  EXPECT_THAT(comparison, IsOk());
  if (!comparison.ok()) return {};
  EXPECT_TRUE(comparison->tokens_are_equal());
  EXPECT_GT(FiguresOf(*comparison, kEngine).replays, 0u);
  EXPECT_GT(FiguresOf(*comparison, kGraphtree).replays, 0u);
  std::vector<std::vector<int>> tokens;
  for (const StepRecord& step : comparison->days[kEager].steps) tokens.push_back(step.picked);
  return tokens;
}

TEST_P(ModelOnDeviceTest, EveryWaySaysTheSameAsOnTheHost) {
  auto host = OpenDevice("host");
  ASSERT_THAT(host, IsOk());
  EXPECT_EQ(TokensOn(device()), TokensOn(**host));
  EXPECT_THAT((*host)->Close(), IsOk());
}

}  // namespace
}  // namespace graphtree::demo
