// Arguments hold their bytes and ranges, and a mismatch with the kernel is named.
#include "device/kernel.h"

#include <cstdint>
#include <set>
#include <vector>

#include "gtest/gtest.h"

namespace graphtree {
namespace {

struct Large {
  uint64_t words[5];
};

const Kernel& Sample() {
  static const Kernel* kernel = new Kernel("sample", Params<float*, int, Large>(), nullptr, {});
  return *kernel;
}

// Under -Wextra a part may be left out only if it has an initialiser of its own.
TEST(BodyTest, PartsMayBeNamedAndLeftOut) {
  const CudaSource source = {.text = "text", .entry = "entry"};
  EXPECT_TRUE(source.options.empty());
  const CudaImage image = {.bytes = "bytes"};
  EXPECT_EQ(image.entry, "");
  const LaunchShape shape = {.grid = {2}};
  EXPECT_EQ(shape.block, Dim3{});
}

TEST(ArgumentTest, SmallValuesAreHeldInside) {
  int n = 7;
  const Argument argument = Argument::Value(n);
  n = 8;
  int held = 0;
  std::memcpy(&held, argument.data(), sizeof(held));
  EXPECT_EQ(held, 7);
  EXPECT_TRUE(argument.range().empty());
}

TEST(ArgumentTest, LargeValuesAreReferredTo) {
  const Large large = {{1, 2, 3, 4, 5}};
  EXPECT_EQ(Argument::Value(large).data(), &large);
}

TEST(ArgumentTest, PointersCarryTheRangeBehindThem) {
  const Argument argument = Argument::InOut({0x1000, 64});
  EXPECT_EQ(argument.range(), (AddressRange{0x1000, 64}));
  EXPECT_EQ(argument.access(), Access::kReadWrite);
  EXPECT_EQ(argument.bytes(), sizeof(void*));
}

TEST(ArgumentTest, CopiesOfAnArgumentKeepTheirOwnBytes) {
  Argument first = Argument::Value(1);
  const Argument copy = first;
  first = Argument::Value(2);
  EXPECT_NE(copy.data(), first.data());
  EXPECT_EQ(*static_cast<const int*>(copy.data()), 1);
}

TEST(KernelTest, MismatchNamesTheArgument) {
  const Large large = {};
  const std::vector<Argument> good = {Argument::In({0x1000, 4}), Argument::Value(1),
                                      Argument::Value(large)};
  EXPECT_EQ(ArgumentMismatch(Sample(), good), "");
  const std::vector<Argument> few = {Argument::In({0x1000, 4})};
  EXPECT_EQ(ArgumentMismatch(Sample(), few), "kernel sample takes 3 arguments, got 1");
  std::vector<Argument> wide = good;
  wide[1] = Argument::Value(1.0);
  EXPECT_EQ(ArgumentMismatch(Sample(), wide),
            "argument 1 of kernel sample takes 4 bytes, got 8");
}

TEST(KernelTest, IdsAreNeverUsedTwice) {
  std::set<uint64_t> ids;
  for (int i = 0; i < 100; ++i) {
    const Kernel kernel("short lived", {}, {}, {});  // very likely at the same address every time
    EXPECT_TRUE(ids.insert(kernel.id()).second);
  }
}

}  // namespace
}  // namespace graphtree
