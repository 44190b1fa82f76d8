// Work holds everything it needs, describes itself, and can be copied and used again.
#include "device/host/ops/work.h"

#include <vector>

#include "gtest/gtest.h"

namespace graphtree::host {
namespace {

struct Large {
  uint64_t words[20];
};

uint64_t seen = 0;

const Kernel& Sum() {
  static const Kernel* const kernel = new Kernel(
      "sum", Params<void*, uint8_t, Large, uint32_t>(),
      [](const HostCall& call) {
        seen = call.Get<uint8_t>(1) + call.Get<Large>(2).words[19] + call.Get<uint32_t>(3);
      },
      {});
  return *kernel;
}

Work SumWork(uint8_t a, uint64_t b, uint32_t c) {
  Large large = {};
  large.words[19] = b;
  Work work;
  work.SetKernel(Sum(), {},
                 std::vector<Argument>{Argument::InOut({0x4000, 32}), Argument::Value(a),
                                       Argument::Value(large), Argument::Value(c)});
  return work;
}

TEST(WorkTest, ArgumentsAreTakenAlong) {
  const Work work = SumWork(1, 20, 300);
  work.Run();
  EXPECT_EQ(seen, 321u);
  ASSERT_EQ(work.footprints().size(), 1u);
  EXPECT_EQ(work.footprints()[0].range, (AddressRange{0x4000, 32}));
  EXPECT_TRUE(work.footprints()[0].writes());
}

TEST(WorkTest, ACopyStandsByItself) {
  Work copy;
  {
    Work original = SumWork(1, 20, 300);
    copy.CopyFrom(original);
    original.SetFill({0x100, 1, 1, 1});
  }
  copy.Run();
  EXPECT_EQ(seen, 321u);
  EXPECT_EQ(copy.footprints().size(), 1u);
}

TEST(WorkTest, UsedAgainForSmallerAndLargerThings) {
  Work work = SumWork(1, 2, 3);
  uint32_t words[4] = {};
  work.SetFill({AddressOf(words), 7, 4, 3});
  work.Run();
  EXPECT_EQ(words[2], 7u);
  EXPECT_EQ(words[3], 0u);
  EXPECT_EQ(work.name(), "fill");
  work.SetCopy({AddressOf(words + 3), AddressOf(words), 4});
  work.Run();
  EXPECT_EQ(words[3], 7u);
  EXPECT_EQ(work.footprints().size(), 2u);
  work = SumWork(2, 2, 2);
  work.Run();
  EXPECT_EQ(seen, 6u);
}

TEST(WorkTest, AFrozenCopyHasItsSourceAlong) {
  uint32_t source = 5, target = 0;
  Work work;
  work.SetFrozenCopy({AddressOf(&target), AddressOf(&source), 4});
  source = 6;
  work.Run();
  EXPECT_EQ(target, 5u);
  ASSERT_EQ(work.footprints().size(), 1u);
  EXPECT_EQ(work.footprints()[0].range.base, AddressOf(&target));
}

TEST(WorkTest, ParametersLieAsAligned) {
  Op op;
  SumWork(1, 20, 300).Describe(op);
  EXPECT_EQ(op.kind, OpKind::kKernel);
  EXPECT_EQ(op.name, "sum");
  ASSERT_EQ(op.parameters.size(), 4u);
  EXPECT_EQ(op.parameters[1].offset, 8u);
  EXPECT_EQ(op.parameters[2].offset, 16u);
  EXPECT_EQ(op.parameters[3].offset, 16u + sizeof(Large));
  uint32_t last = 0;
  std::memcpy(&last, op.argument_bytes.data() + op.parameters[3].offset, sizeof(last));
  EXPECT_EQ(last, 300u);
}

TEST(WorkTest, ValueWordsAreFoundInLargeValuesToo) {
  const Work work = SumWork(1, 0xabcdef, 3);
  EXPECT_TRUE(work.AnyValueWord([](uint64_t word) { return word == 0xabcdef; }));
  EXPECT_FALSE(work.AnyValueWord([](uint64_t word) { return word == 0xabcde0; }));
}

}  // namespace
}  // namespace graphtree::host
