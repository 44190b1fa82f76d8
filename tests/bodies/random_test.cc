// Random numbers are the same bytes on every device, by value and from device words.
#include <vector>

#include "device/base/status_matchers.h"
#include "gmock/gmock.h"
#include "graphs/random/random_state.h"
#include "graphs/random/uniform.h"
#include "gtest/gtest.h"
#include "tests/bodies/on_device.h"

namespace graphtree {
namespace {

class RandomOnDeviceTest : public OnEveryDevice {};
GRAPHTREE_ON_HOST_AND_CUDA(RandomOnDeviceTest);

TEST_P(RandomOnDeviceTest, UniformFloatsAreTheHostBodys) {
  for (uint32_t count : {1u, 7u, 100003u}) {
    BodyCall call;
    call.Pointer(call.Room(count * sizeof(float)));
    call.Value(count);
    call.Value(RandomState{nullptr, 0x123456789abcdef, (uint64_t{1} << 33) - 5});
    const absl::StatusOr<ByteVector> bytes =
        call.RunOn(device(), UniformKernel(), UniformShape(count));
    ASSERT_THAT(bytes, IsOk());
    EXPECT_EQ(*bytes, call.RunHostBody(UniformKernel(), UniformShape(count))) << count;
  }
}

TEST_P(RandomOnDeviceTest, WordsInDeviceMemorySayWhereTheNumbersStart) {
  constexpr uint32_t kCount = 1000;
  const std::vector<uint64_t> words = {42, 900};
  ByteVector memory(256 + kCount * sizeof(float));
  std::memcpy(memory.data(), words.data(), 16);
  const absl::StatusOr<ByteVector> after =
      Through(device(), memory, [&](Stream& stream, Address base) {
        const RandomState state = {PointerTo<const uint64_t>(base), 0, 77};
        return stream.Launch(UniformKernel(), UniformShape(kCount),
                             {Argument::Out({base + 256, kCount * sizeof(float)}),
                              Argument::Value(kCount), Argument::Value(state)});
      });
  ASSERT_THAT(after, IsOk());
  BodyCall call;
  call.Pointer(call.Room(kCount * sizeof(float)));
  call.Value(kCount);
  call.Value(RandomState{nullptr, 42, 977});
  const ByteVector expected = call.RunHostBody(UniformKernel(), UniformShape(kCount));
  EXPECT_EQ(std::memcmp(after->data() + 256, expected.data(), kCount * sizeof(float)), 0);
}

}  // namespace
}  // namespace graphtree
