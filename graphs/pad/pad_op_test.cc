// What the op writes: random pads on the host body, and as every thread of the CUDA body would,
// against an element by element copy.
#include "graphs/pad/pad_op.h"

#include <cstdint>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device/base/status_matchers.h"
#include "gmock/gmock.h"
#include "graphs/pad/random_pads.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

using testing::HasSubstr;

using Runner = void (*)(const PadOp& op, Address target, Address source);

// As a device calls it: the target of a pad in place is its first byte that is written.
void RunHostBody(const PadOp& op, Address target, Address source) {
  const Kernel& kernel = source == 0 ? PadInPlaceKernel() : PadCopyKernel();
  if (source == 0) {
    const Address first = target + op.written().base;
    const void* const arguments[] = {&first, &op.table()};
    kernel.host()(HostCall(op.shape(), arguments));
  } else {
    const void* const arguments[] = {&target, &source, &op.table()};
    kernel.host()(HostCall(op.shape(), arguments));
  }
}

void RunEveryThread(const PadOp& op, Address target, Address source) {
  if (source == 0) target += op.written().base;
  for (uint32_t block = 0; block < op.shape().grid.x; ++block) {
    for (uint32_t thread = 0; thread < op.shape().block.x; ++thread) {
      pad::PadThread(op.table(), target, source, block, thread, op.shape().block.x);
    }
  }
}

void CheckRandomPad(uint64_t seed, Runner run) {
  std::mt19937_64 random(seed);
  const RandomPad drawn = RandomPad::Draw(random);
  SCOPED_TRACE(absl::StrCat("seed ", seed, ": ", drawn.ToString()));
  const absl::StatusOr<PadOp> op =
      drawn.copies ? PadOp::Copy(*drawn.from, *drawn.to, drawn.bits)
                   : PadOp::InPlace(*drawn.from, *drawn.to, drawn.bits);
  ASSERT_THAT(op, IsOk());
  const std::vector<uint8_t> before = drawn.Arena(random);
  std::vector<uint8_t> after = before;
  const Address base = AddressOf(after.data());
  run(*op, base + drawn.target, drawn.copies ? base + drawn.source : 0);
  ASSERT_EQ(drawn.Mistake(before, after), "");
}

TEST(PadOpTest, RandomPadsOnTheHostBody) {
  const uint64_t first = std::random_device()();
  for (uint64_t i = 0; i < 2000 && !HasFailure(); ++i) CheckRandomPad(first + i, RunHostBody);
}

TEST(PadOpTest, RandomPadsThreadByThread) {
  const uint64_t first = std::random_device()();
  for (uint64_t i = 0; i < 300 && !HasFailure(); ++i) CheckRandomPad(first + i, RunEveryThread);
}

PadOp InPlace(const Layout* from, const Layout* to) {
  return *PadOp::InPlace(*from, *to, 0);
}
PadOp Copied(const Layout* from, const Layout* to) { return *PadOp::Copy(*from, *to, 0); }

TEST(PadOpTest, DenseTensorsAreOneDimensionInWidePieces) {
  const PadOp op =
      InPlace(Layout::Of(DType::kF16, {3, 8, 16}), Layout::Of(DType::kF16, {9, 8, 16}));
  EXPECT_EQ(op.table().dims, 1u);
  EXPECT_EQ(op.table().piece, 16u);
  EXPECT_EQ(op.written(), (AddressRange{3 * 256, 6 * 256}));
  const PadOp rows = Copied(Layout::Of(DType::kF32, {5, 12}), Layout::Of(DType::kF32, {5, 16}));
  EXPECT_EQ(rows.table().dims, 2u);
  EXPECT_EQ(rows.table().piece, 16u);
  const PadOp odd = Copied(Layout::Of(DType::kF32, {5, 13}), Layout::Of(DType::kF32, {5, 16}));
  EXPECT_EQ(odd.table().piece, 4u);
  const PadOp even = Copied(Layout::Of(DType::kU8, {5, 6}), Layout::Of(DType::kU8, {5, 8}));
  EXPECT_EQ(even.table().piece, 2u);
  // Columns are taken in the order in which they lie.
  const PadOp turned = InPlace(Layout::Strided(DType::kU8, {16, 4}, {1, 32}),
                               Layout::Strided(DType::kU8, {32, 4}, {1, 32}));
  EXPECT_EQ(turned.table().piece, 16u);
  EXPECT_EQ(turned.written(), (AddressRange{16, 112}));
}

TEST(PadOpTest, EveryPieceIsWrittenOnce) {
  const PadOp op = Copied(Layout::Of(DType::kU8, {3, 5, 7}), Layout::Of(DType::kU8, {4, 6, 9}));
  std::multiset<uint64_t> written;
  for (uint32_t box = 0; box <= op.table().dims; ++box) {
    for (uint64_t piece = 0; piece < pad::PiecesOf(op.table(), box); ++piece) {
      written.insert(pad::PlaceOf(op.table(), box, piece).target);
    }
  }
  EXPECT_EQ(written.size(), 4u * 6 * 9);
  EXPECT_EQ(std::set<uint64_t>(written.begin(), written.end()).size(), written.size());
}

TEST(PadOpTest, LargePadsGetManyBlocksAndSmallOnesOne) {
  const auto blocks = [](int64_t from, int64_t to) {
    return InPlace(Layout::Of(DType::kU8, {from}), Layout::Of(DType::kU8, {to})).shape().grid.x;
  };
  EXPECT_EQ(blocks(16, 32), 1u);
  EXPECT_EQ(blocks(0, 1 << 20), 64u);
  EXPECT_EQ(blocks(0, int64_t{8} << 30), 2048u);
}

// More pieces than 32 bits can count: only where they lie, nothing is written.
TEST(PadOpTest, PlacesBeyondFourBillionPieces) {
  const int64_t most = int64_t{1} << 34;
  const PadOp op = InPlace(Layout::Of(DType::kU8, {1, 3}), Layout::Of(DType::kU8, {most, 3}));
  EXPECT_EQ(op.table().dims, 1u);
  const PadOp rows = InPlace(Layout::Strided(DType::kU8, {2, 3}, {5, 1}),
                             Layout::Strided(DType::kU8, {most, 4}, {5, 1}));
  const uint64_t last = pad::PiecesOf(rows.table(), 0) - 1;
  EXPECT_EQ(last, static_cast<uint64_t>(most - 2) * 4 - 1);
  EXPECT_EQ(pad::PlaceOf(rows.table(), 0, last).target + rows.table().skipped,
            static_cast<uint64_t>(most - 1) * 5 + 3);
}

TEST(PadOpTest, TooManyDimensionsAreAnErrorInWords) {
  const std::vector<int64_t> from(9, 1), to(9, 2);
  const Layout* const small = Layout::Of(DType::kU8, from);
  const Layout* const large = Layout::Of(DType::kU8, to);
  EXPECT_THAT(PadOp::Copy(*small, *large, 0).status().message(),
              HasSubstr("9 dimensions are left once those that lie side by side are joined; at "
                        "most 8 can be"));
}

TEST(PadOpTest, TheTableFitsIntoTheArgumentsOfAnyGpu) {
  EXPECT_LE(PadCopyKernel().parameter_bytes()[2], 512u);
  EXPECT_TRUE(PadInPlaceKernel().host());
  EXPECT_TRUE(PadCopyKernel().host());
}

}  // namespace
}  // namespace graphtree
