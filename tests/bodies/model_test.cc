// The demo's kernels give the same bytes on every device, and so the model says the same.
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "device/base/status_matchers.h"
#include "device/open.h"
#include "gmock/gmock.h"
#include "graphs/random/random_state.h"
#include "gtest/gtest.h"
#include "tests/bodies/on_device.h"
#include "tools/demo_model/decode_loop.h"
#include "tools/demo_model/eager_executor.h"
#include "tools/demo_model/kernels/dims.h"
#include "tools/demo_model/kernels/kernels.h"

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
constexpr uint64_t kHiddenBytes = kRows * kHidden * sizeof(float);
constexpr uint64_t kCacheFloats = uint64_t{2} * kSlots * kPositions * kHidden;

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
  embed.Value(kRows);
  ExpectSameBytes(embed, EmbedKernel(), EmbedShape(kRows));

  BodyCall norm;
  norm.Pointer(norm.Room(kHiddenBytes));
  norm.Pointer(norm.Buffer(Numbers(kRows * kHidden, 2)));
  norm.Pointer(norm.Buffer(Numbers(kHidden, 3)));
  norm.Value(kRows);
  ExpectSameBytes(norm, NormKernel(), NormShape(kRows));

  BodyCall add;
  add.Pointer(add.Buffer(Numbers(kRows * kHidden, 4)));
  add.Pointer(add.Buffer(Numbers(kRows * kHidden, 5)));
  add.Value(kRows * kHidden);
  ExpectSameBytes(add, AddKernel(), AddShape(kRows * kHidden));
}

TEST_P(ModelOnDeviceTest, MatmulAndGate) {
  for (const auto& [inner, columns] :
       std::vector<std::pair<int, int>>{{kHidden, 3 * kHidden}, {kFeed, kHidden}, {32, 70}}) {
    BodyCall matmul;
    matmul.Pointer(matmul.Room(kRows * columns * sizeof(float)));
    matmul.Pointer(matmul.Buffer(Numbers(kRows * inner, 6)));
    matmul.Pointer(matmul.Buffer(Numbers(inner * columns, 7)));
    matmul.Value(kRows);
    matmul.Value(inner);
    matmul.Value(columns);
    ExpectSameBytes(matmul, MatmulKernel(), MatmulShape(kRows, columns));
  }
  BodyCall gate;
  gate.Pointer(gate.Room(kRows * kFeed * sizeof(float)));
  gate.Pointer(gate.Buffer(Numbers(kRows * 2 * kFeed, 8)));
  gate.Value(kRows);
  ExpectSameBytes(gate, GateKernel(), GateShape(kRows));
}

TEST_P(ModelOnDeviceTest, RopeAppendAndAttend) {
  const std::vector<int> positions = {0, 1, 31, 32, 127}, slots = {4, 0, 7, 2, 1};
  const std::vector<float> qkv = Numbers(kRows * 3 * kHidden, 9), cache = Numbers(kCacheFloats, 10);
  BodyCall rope;
  rope.Pointer(rope.Buffer(qkv));
  rope.Pointer(rope.Buffer(Numbers(kPositions * kHeadDim, 11)));
  rope.Pointer(rope.Buffer(positions));
  rope.Value(kRows);
  ExpectSameBytes(rope, RopeKernel(), RopeShape(kRows));

  BodyCall append;
  append.Pointer(append.Buffer(cache));
  append.Pointer(append.Buffer(qkv));
  append.Pointer(append.Buffer(positions));
  append.Pointer(append.Buffer(slots));
  append.Value(kRows);
  ExpectSameBytes(append, AppendKernel(), AppendShape(kRows));

  BodyCall attend;
  attend.Pointer(attend.Room(kHiddenBytes));
  attend.Pointer(attend.Buffer(qkv));
  attend.Pointer(attend.Buffer(cache));
  attend.Pointer(attend.Buffer(positions));
  attend.Pointer(attend.Buffer(slots));
  attend.Value(kRows);
  ExpectSameBytes(attend, AttendKernel(), AttendShape(kRows));
}

TEST_P(ModelOnDeviceTest, Picks) {
  std::vector<float> logits = Numbers(kRows * kVocabulary, 12);
  logits[3] = logits[400] = 5;  // equal ones in different lanes
  BodyCall greedy;
  greedy.Pointer(greedy.Room(kRows * sizeof(int)));
  greedy.Pointer(greedy.Buffer(logits));
  greedy.Value(kRows);
  ExpectSameBytes(greedy, GreedyKernel(), PickShape(kRows));

  BodyCall sample;
  sample.Pointer(sample.Room(kRows * sizeof(int)));
  sample.Pointer(sample.Buffer(logits));
  sample.Pointer(sample.Buffer(std::vector<float>{0, 1, 0.5f, 2, 0}));
  sample.Value(kRows);
  sample.Value(RandomState{nullptr, 99, 12345});
  ExpectSameBytes(sample, SampleKernel(), PickShape(kRows));
}

// Every token of a short day, greedy and sampled requests alike.
std::vector<std::vector<int>> TokensOn(Device& device) {
  const std::unique_ptr<Stream> stream = *device.NewStream();
  const std::unique_ptr<Weights> weights = *Weights::Load(device, *stream, 1);
  const std::unique_ptr<StepInputs> inputs = *StepInputs::Create(device);
  const std::unique_ptr<EagerExecutor> executor =
      *EagerExecutor::Create(device, *stream, std::make_shared<Generator>(3));
  const auto day =
      RunDay(*stream, *weights, *inputs, *executor, {MakeRequests(1, 40, kSlots), kSlots});
  EXPECT_THAT(day, IsOk());
  std::vector<std::vector<int>> tokens;
  for (const StepRecord& step : day->steps) tokens.push_back(step.picked);
  return tokens;
}

TEST_P(ModelOnDeviceTest, TheModelSaysTheSameAsOnTheHost) {
  auto host = OpenDevice("host");
  ASSERT_THAT(host, IsOk());
  EXPECT_EQ(TokensOn(device()), TokensOn(**host));
  EXPECT_THAT((*host)->Close(), IsOk());
}

}  // namespace
}  // namespace graphtree::demo
