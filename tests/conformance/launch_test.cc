// Kernels: every test kernel gives its bytes on every device, and a launch that cannot work is
// refused.
#include "tests/conformance/conformance.h"

namespace graphtree {
namespace {

class LaunchTest : public ConformanceTest {};
GRAPHTREE_ON_EVERY_DEVICE(LaunchTest);

TEST_P(LaunchTest, EveryTestKernelLoads) {
  for (const Kernel* kernel : TestKernels()) {
    EXPECT_THAT(device().Load(*kernel), IsOk()) << kernel->name();
    EXPECT_THAT(device().Load(*kernel), IsOk()) << kernel->name() << " again";
  }
}

TEST_P(LaunchTest, ArithmeticIsExact) {
  const AddressRange x = NewWords(1000), y = NewWords(1000), sum = NewWords(1000);
  ASSERT_THAT(FillPattern(a(), x, 1), IsOk());
  ASSERT_THAT(FillPattern(a(), y, 2), IsOk());
  ASSERT_THAT(Add(a(), sum, x, y), IsOk());
  ASSERT_THAT(Increment(a(), sum, 3), IsOk());
  ASSERT_THAT(a().Synchronize(), IsOk());
  std::vector<uint32_t> wanted = Pattern(1, 1000);
  for (uint32_t i = 0; i < 1000; ++i) wanted[i] += PatternWord(2, i) + 3;
  EXPECT_EQ(Read(x), Pattern(1, 1000));
  EXPECT_EQ(Read(sum), wanted);
}

TEST_P(LaunchTest, FloatsTimesPowersOfTwoAreExact) {
  const float value = 3.1415927f;
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  const AddressRange data = NewWordsWith(std::vector<uint32_t>(100, bits));
  ASSERT_THAT(Scale(a(), data, 0.25f), IsOk());
  ASSERT_THAT(a().Synchronize(), IsOk());
  const float quarter = value * 0.25f;
  std::memcpy(&bits, &quarter, sizeof(bits));
  EXPECT_EQ(Read(data), std::vector<uint32_t>(100, bits));
}

TEST_P(LaunchTest, StridesAndChecksums) {
  const AddressRange x = NewWordsWith(Pattern(3, 700));
  const AddressRange every_seventh = NewWords(100);
  const AddressRange sum = NewWords(2);
  ASSERT_THAT(StridedCopy(a(), every_seventh, x, 7), IsOk());
  ASSERT_THAT(Checksum(a(), sum, x), IsOk());
  ASSERT_THAT(a().Synchronize(), IsOk());
  std::vector<uint32_t> picked;
  uint64_t wanted = 0;
  for (uint32_t i = 0; i < 700; ++i) {
    if (i % 7 == 0) picked.push_back(PatternWord(3, i));
    wanted += MixedWord(PatternWord(3, i), i);
  }
  EXPECT_EQ(Read(every_seventh), picked);
  EXPECT_EQ(ReadLog(sum), wanted);
}

TEST_P(LaunchTest, LargeValuesAreCopiedByTheLaunchCall) {
  const AddressRange out = NewWords(512);
  BigTable table;
  for (uint32_t i = 0; i < 512; ++i) table.words[i] = PatternWord(4, i);
  ASSERT_THAT(Delay(a(), 1000), IsOk());
  ASSERT_THAT(ReadBigTable(a(), out, table), IsOk());
  for (uint32_t& word : table.words) word = 0;
  ASSERT_THAT(a().Synchronize(), IsOk());
  std::vector<uint32_t> wanted(512);
  for (uint32_t i = 0; i < 512; ++i) wanted[i] = PatternWord(4, i) * 3 + i;
  EXPECT_EQ(Read(out), wanted);
}

TEST_P(LaunchTest, AProgrammaticLaunchGivesTheSameBytes) {
  const AddressRange x = NewWords(256);
  LaunchShape shape = TestShape();
  shape.programmatic = true;
  ASSERT_THAT(FillPattern(a(), x, 5), IsOk());
  ASSERT_THAT(a().Launch(EmptyKernel(), shape, {}), IsOk());
  ASSERT_THAT(a().Synchronize(), IsOk());
  EXPECT_EQ(Read(x), Pattern(5, 256));
}

TEST_P(LaunchTest, TooFewOrTooManyArgumentsAreRefused) {
  const AddressRange x = NewWordsWith(Pattern(6, 16));
  std::vector<Argument> arguments = IncrementArguments(x, 1);
  arguments.pop_back();
  EXPECT_THAT(a().Launch(IncrementKernel(), TestShape(), arguments),
              HasError(ErrorCode::kInvalidValue, "kernel increment takes 3 arguments, got 2"));
  arguments = IncrementArguments(x, 1);
  arguments.push_back(Argument::Value(1));
  EXPECT_THAT(a().Launch(IncrementKernel(), TestShape(), arguments),
              HasError(ErrorCode::kInvalidValue, "kernel increment takes 3 arguments, got 4"));
  EXPECT_THAT(a().Synchronize(), IsOk());
  EXPECT_EQ(Read(x), Pattern(6, 16));
}

TEST_P(LaunchTest, AnArgumentOfTheWrongSizeIsRefused) {
  const AddressRange x = NewWordsWith(Pattern(7, 16));
  std::vector<Argument> arguments = IncrementArguments(x, 1);
  arguments[1] = Argument::Value(uint64_t{1});
  EXPECT_THAT(
      a().Launch(IncrementKernel(), TestShape(), arguments),
      HasError(ErrorCode::kInvalidValue, "argument 1 of kernel increment takes 4 bytes, got 8"));
  EXPECT_THAT(a().Synchronize(), IsOk());
  EXPECT_EQ(Read(x), Pattern(7, 16));
}

TEST_P(LaunchTest, AKernelWithoutABodyForThisDeviceIsRefused) {
  const Kernel none("bodiless", {}, nullptr, {});
  EXPECT_THAT(device().Load(none), HasError(ErrorCode::kNoBinaryForGpu, "bodiless"));
  EXPECT_THAT(a().Launch(none, OneThread(), {}), HasError(ErrorCode::kNoBinaryForGpu, "bodiless"));
}

TEST_P(LaunchTest, AnEmptyGridOrBlockIsRefused) {
  LaunchShape shape;
  shape.grid.y = 0;
  EXPECT_THAT(a().Launch(EmptyKernel(), shape, {}),
              HasError(ErrorCode::kInvalidConfiguration, "empty"));
  shape = LaunchShape{};
  shape.block.x = 0;
  EXPECT_THAT(a().Launch(EmptyKernel(), shape, {}),
              HasError(ErrorCode::kInvalidConfiguration, "empty"));
}

TEST_P(LaunchTest, ABlockOfTooManyThreadsIsRefused) {
  LaunchShape shape;
  shape.block = {1024, 2, 1};
  EXPECT_THAT(a().Launch(EmptyKernel(), shape, {}),
              HasError(ErrorCode::kInvalidConfiguration, "1024"));
  shape.block = {1u << 31, 1u << 31, 4};  // 2 to the 64th threads
  EXPECT_THAT(a().Launch(EmptyKernel(), shape, {}),
              HasError(ErrorCode::kInvalidConfiguration, "1024"));
  EXPECT_THAT(Empty(a()), IsOk());
  EXPECT_THAT(a().Synchronize(), IsOk());
}

TEST_P(LaunchTest, AGridBeyondTheLimitIsRefused) {
  LaunchShape shape;
  shape.grid = {1, 65536, 1};
  EXPECT_THAT(a().Launch(EmptyKernel(), shape, {}),
              HasError(ErrorCode::kInvalidConfiguration, "65535"));
  EXPECT_THAT(Empty(a()), IsOk());
  EXPECT_THAT(a().Synchronize(), IsOk());
}

TEST_P(LaunchTest, TooMuchSharedMemoryIsRefused) {
  LaunchShape shape;
  shape.shared_bytes = 64 << 20;
  EXPECT_THAT(a().Launch(EmptyKernel(), shape, {}),
              HasError(ErrorCode::kInvalidValue, std::to_string(shape.shared_bytes)));
  EXPECT_THAT(Empty(a()), IsOk());
  EXPECT_THAT(a().Synchronize(), IsOk());
}

}  // namespace
}  // namespace graphtree
