// Plans and the host body, against a naive copy.
#include "graphs/inputs/ingest/ingest.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>

#include "absl/types/span.h"
#include "graphs/inputs/ingest/random_inputs.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

using Runner = std::function<void(const IngestPlan&)>;

void RunHostBody(const IngestPlan& plan) {
  const Argument table = plan.Table();
  ASSERT_EQ(ArgumentMismatch(plan.kernel(), {table}), "");
  const void* data = table.data();
  plan.kernel().host()(HostCall(plan.shape(), absl::MakeConstSpan(&data, 1)));
}

// What the CUDA body does, one thread after the other.
void RunEveryThread(const IngestPlan& plan) {
  const Argument table = plan.Table();
  const auto* words = static_cast<const uint64_t*>(table.data());
  const uint32_t threads = plan.shape().block.x;
  for (uint32_t block = 0; block < plan.shape().grid.x; ++block) {
    for (uint32_t thread = 0; thread < threads; ++thread) {
      ingest::IngestThread(words, block, thread, threads);
    }
  }
}

ByteVector RandomBytes(uint64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  ByteVector bytes(count);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

void CheckRandomInputs(uint64_t seed, const Runner& run) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  const RandomInputs inputs(seed);
  const ByteVector source = RandomBytes(inputs.source_bytes(), seed + 1);
  const ByteVector before = RandomBytes(inputs.target_bytes(), seed + 2);
  ByteVector after = before;
  const std::vector<IngestCopy> copies =
      inputs.CopiesAt(AddressOf(after.data()), AddressOf(source.data()));
  for (const IngestPlan& plan : IngestPlan::For(copies, {})) run(plan);
  ASSERT_EQ(inputs.Mistake(source, before, after), "");
}

uint64_t FirstSeed() {
  const char* seed = std::getenv("GRAPHTREE_SEED");
  return seed != nullptr ? std::strtoull(seed, nullptr, 10) : std::random_device()();
}

TEST(IngestTest, RandomInputsOnTheHostBody) {
  const uint64_t first = FirstSeed();
  for (uint64_t i = 0; i < 150 && !HasFailure(); ++i) CheckRandomInputs(first + i, RunHostBody);
}

TEST(IngestTest, RandomInputsThreadByThread) {
  const uint64_t first = FirstSeed();
  for (uint64_t i = 0; i < 40 && !HasFailure(); ++i) CheckRandomInputs(first + i, RunEveryThread);
}

TEST(IngestTest, NothingToDoIsNoOp) { EXPECT_TRUE(IngestPlan::For({}, {}).empty()); }

TEST(IngestTest, RetargetedCopiesReadTheirNewSource) {
  const Layout* layout = Layout::Of(DType::kU8, {1000});
  const ByteVector a(1000, 1), b(1000, 2), c(1001, 3);
  ByteVector x(1000), y(1000);
  const IngestCopy copies[] = {{AddressOf(x.data()), AddressOf(a.data()), layout},
                               {AddressOf(y.data()), AddressOf(b.data()), layout}};
  IngestPlan plan = IngestPlan::For(copies, {}).front();
  plan.Retarget(1, AddressOf(c.data() + 1));  // not aligned any more
  EXPECT_EQ(plan.source(0), AddressOf(a.data()));
  EXPECT_EQ(plan.source(1), AddressOf(c.data() + 1));
  RunHostBody(plan);
  EXPECT_EQ(x, a);
  EXPECT_EQ(y, ByteVector(1000, 3));
}

TEST(IngestTest, StridedCopiesTakeASourceOfAnyAlignment) {
  const Layout* layout = Layout::Strided(DType::kF64, {10, 2}, {4, 1});
  const ByteVector source = RandomBytes(layout->extent_bytes() + 16, 5);
  for (uint64_t shift = 0; shift < 16; ++shift) {
    ByteVector target(layout->extent_bytes());
    const IngestCopy copy = {AddressOf(target.data()), AddressOf(source.data()), layout};
    IngestPlan plan = IngestPlan::For({copy}, {}).front();
    plan.Retarget(0, AddressOf(source.data() + shift));
    RunEveryThread(plan);
    for (uint64_t row = 0; row < 10; ++row) {
      EXPECT_TRUE(std::equal(target.begin() + 32 * row, target.begin() + 32 * row + 16,
                             source.begin() + shift + 32 * row))
          << "row " << row << " shift " << shift;
    }
  }
}

TEST(IngestTest, ScalarsAreWrittenBesideCopies) {
  const Layout* layout = Layout::Of(DType::kF32, {50000});
  const ByteVector source = RandomBytes(200000, 9);
  ByteVector target(200000);
  std::vector<uint64_t> words(3);
  const IngestCopy copy = {AddressOf(target.data()), AddressOf(source.data()), layout};
  const IngestScalar scalars[] = {{AddressOf(&words[0]), 7}, {AddressOf(&words[2]), 9}};
  IngestPlan plan = IngestPlan::For({copy}, scalars).front();
  plan.SetScalar(1, ~uint64_t{0});
  RunEveryThread(plan);
  EXPECT_EQ(words, (std::vector<uint64_t>{7, 0, ~uint64_t{0}}));
  EXPECT_EQ(target, source);
}

TEST(IngestTest, TableSizesFollowWhatIsInThem) {
  const Layout* layout = Layout::Of(DType::kF32, {4});
  const auto bytes = [&](size_t copies) {
    return IngestPlan::For(std::vector<IngestCopy>(copies, {16, 16, layout}), {})
        .front().Table().bytes();
  };
  EXPECT_EQ(bytes(15), 512u);
  EXPECT_EQ(bytes(16), 1536u);
  EXPECT_EQ(bytes(47), 1536u);
  EXPECT_EQ(bytes(48), 4000u);
  EXPECT_EQ(bytes(124), 4000u);
}

TEST(IngestTest, WhatDoesNotFitGoesIntoFurtherOps) {
  const Layout* layout = Layout::Of(DType::kU8, {1});
  const ByteVector source = RandomBytes(300, 3);
  ByteVector target(300);
  std::vector<uint64_t> words(300);
  std::vector<IngestCopy> copies;
  std::vector<IngestScalar> scalars;
  for (size_t i = 0; i < 300; ++i) {
    copies.push_back({AddressOf(&target[i]), AddressOf(&source[i]), layout});
    scalars.push_back({AddressOf(&words[i]), i + 1});
  }
  const std::vector<IngestPlan> plans = IngestPlan::For(copies, scalars);
  // 600 words of scalars and 1200 of copies, 498 to an op.
  ASSERT_EQ(plans.size(), 4u);
  size_t next_copy = 0, next_scalar = 0;
  for (const IngestPlan& plan : plans) {
    EXPECT_EQ(plan.first_copy(), next_copy);
    EXPECT_EQ(plan.first_scalar(), next_scalar);
    next_copy += plan.copies();
    next_scalar += plan.scalars();
    EXPECT_LE(plan.Table().bytes(), 4000u);
    RunHostBody(plan);
  }
  EXPECT_EQ(next_copy, 300u);
  EXPECT_EQ(target, source);
  for (size_t i = 0; i < 300; ++i) EXPECT_EQ(words[i], i + 1);
}

TEST(IngestTest, LargeInputsGetManyBlocksAndSmallOnesOne) {
  const Layout* small = Layout::Of(DType::kU8, {16});
  const Layout* large = Layout::Of(DType::kU8, {1 << 20});
  const Layout* huge = Layout::Of(DType::kU8, {int64_t{8} << 30});
  const IngestCopy two[] = {{16, 16, small}, {16, 16, large}};
  EXPECT_EQ(IngestPlan::For(two, {}).front().shape().grid.x, 1u + 64u);
  EXPECT_EQ(IngestPlan::For({{16, 16, huge}}, {}).front().shape().grid.x, 2048u);
}

TEST(IngestTest, EveryKernelHasAHostBodyAndALargerTableThanTheOneBefore) {
  uint32_t bytes = 0;
  for (const Kernel* kernel : IngestKernels()) {
    EXPECT_TRUE(kernel->host()) << kernel->name();
    ASSERT_EQ(kernel->parameter_bytes().size(), 1u);
    EXPECT_GT(kernel->parameter_bytes()[0], bytes);
    bytes = kernel->parameter_bytes()[0];
  }
  EXPECT_LE(bytes, 4000u);
}

}  // namespace
}  // namespace graphtree
