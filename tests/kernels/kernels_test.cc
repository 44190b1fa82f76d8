// The host bodies compute what their comments say; that CUDA agrees is the conformance suite's
// part.
#include "tests/kernels/kernels.h"

#include <vector>

#include "gtest/gtest.h"
#include "tests/kernels/launches.h"

namespace graphtree {
namespace {

void RunHostBody(const Kernel& kernel, const std::vector<Argument>& arguments) {
  ASSERT_EQ(ArgumentMismatch(kernel, arguments), "");
  std::vector<const void*> pointers;
  for (const Argument& argument : arguments) pointers.push_back(argument.data());
  kernel.host()(HostCall(TestShape(), pointers));
}

AddressRange RangeOf(const std::vector<uint32_t>& words) {
  return {AddressOf(words.data()), words.size() * sizeof(uint32_t)};
}

TEST(TestKernelsTest, EveryOneHasAHostBodyAndANameOfItsOwn) {
  for (const Kernel* kernel : TestKernels()) {
    EXPECT_TRUE(kernel->host()) << kernel->name();
    for (const Kernel* other : TestKernels()) {
      EXPECT_TRUE(kernel == other || kernel->name() != other->name()) << kernel->name();
    }
  }
}

TEST(TestKernelsTest, AllOrNoneHaveACudaBody) {
  const bool linked = std::holds_alternative<CudaSymbol>(EmptyKernel().cuda());
  for (const Kernel* kernel : TestKernels()) {
    EXPECT_EQ(std::holds_alternative<CudaSymbol>(kernel->cuda()), linked) << kernel->name();
  }
}

TEST(TestKernelsTest, PatternsOfDifferentSeedsDiffer) {
  std::vector<uint32_t> a(100), b(100);
  RunHostBody(FillPatternKernel(), FillPatternArguments(RangeOf(a), 1));
  RunHostBody(FillPatternKernel(), FillPatternArguments(RangeOf(b), 2));
  EXPECT_NE(a, b);
  EXPECT_EQ(a[7], PatternWord(1, 7));
}

TEST(TestKernelsTest, AddAndIncrement) {
  std::vector<uint32_t> a = {1, 2, 3}, b = {10, 20, 30}, sum(3);
  RunHostBody(AddKernel(), AddArguments(RangeOf(sum), RangeOf(a), RangeOf(b)));
  RunHostBody(IncrementKernel(), IncrementArguments(RangeOf(sum), 5));
  EXPECT_EQ(sum, (std::vector<uint32_t>{16, 27, 38}));
}

TEST(TestKernelsTest, AppendTellsOrdersApart) {
  std::vector<uint32_t> ab(2), ba(2);
  RunHostBody(AppendKernel(), AppendArguments(RangeOf(ab), 1));
  RunHostBody(AppendKernel(), AppendArguments(RangeOf(ab), 2));
  RunHostBody(AppendKernel(), AppendArguments(RangeOf(ba), 2));
  RunHostBody(AppendKernel(), AppendArguments(RangeOf(ba), 1));
  EXPECT_EQ(ab[0], 33u);
  EXPECT_EQ(ba[0], 63u);
}

}  // namespace
}  // namespace graphtree
