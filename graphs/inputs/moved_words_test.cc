// Recordings made by hand, compared.
#include "graphs/inputs/moved_words.h"

#include <cstring>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "device/address.h"
#include "device/graph.h"
#include "device/kernel.h"
#include "graphs/inputs/pointer_slots.h"

namespace graphtree {
namespace {

constexpr Address kX = 0x7000'1000, kY = 0x7100'0000, kOut = 0x6000'0000;
constexpr Address kMovedX = 0x9000'1000, kMovedY = 0x9555'0000;

// A struct argument with an address at an odd multiple of 4.
constexpr uint32_t kPackedAt = 16, kPackedAddress = 20;

Op KernelOp(OpId id, Address out, Address in, uint64_t packed) {
  Op op;
  op.id = id;
  op.kind = OpKind::kKernel;
  op.name = "library";
  op.parameters = {{0, 8}, {8, 8}, {kPackedAt, 14}};
  op.argument_bytes.resize(kPackedAt + 14, 7);
  std::memcpy(op.argument_bytes.data(), &out, 8);
  std::memcpy(op.argument_bytes.data() + 8, &in, 8);
  std::memcpy(op.argument_bytes.data() + kPackedAddress, &packed, 8);
  return op;
}

Op CopyOp(OpId id, Address target, Address source, uint64_t bytes = 24) {
  Op op;
  op.id = id;
  op.kind = OpKind::kCopy;
  op.copy = {target, source, bytes};
  return op;
}

Op FillOp(OpId id, Address target) {
  Op op;
  op.id = id;
  op.kind = OpKind::kFill;
  op.fill = {target, 1, 4, 9};
  return op;
}

MovedWords Find(const std::vector<Op>& here, const std::vector<Op>& there,
                const std::vector<PointerOp>& known = {}, std::vector<OpId> skipped = {}) {
  const std::vector<MovedInput> moved = {{0, {kX, 256}, kMovedX}, {3, {kY, 256}, kMovedY}};
  return FindMovedWords(here, there, known, skipped, moved);
}

using Inputs = std::vector<uint32_t>;

void ExpectSlot(const PointerOp& op, size_t index, const PointerSlot& wanted) {
  ASSERT_LT(index, op.slots().size());
  const PointerSlot& slot = op.slots()[index];
  EXPECT_EQ(slot.input, wanted.input);
  EXPECT_EQ(slot.argument, wanted.argument);
  EXPECT_EQ(slot.offset, wanted.offset);
}

TEST(MovedWordsTest, WordsThatMoveWithTheirInputAreItsSlots) {
  const MovedWords words = Find({KernelOp(0, kOut, kX + 8, kY + 255), FillOp(1, kX),
                                 CopyOp(2, kOut, kX), KernelOp(3, kOut, 5, 6)},
                                {KernelOp(0, kOut, kMovedX + 8, kMovedY + 255),
                                 FillOp(1, kMovedX), CopyOp(2, kOut, kMovedX),
                                 KernelOp(3, kOut, 5, 6)});
  EXPECT_EQ(words.hidden, Inputs{});
  ASSERT_EQ(words.ops.size(), 3u) << "the last op has nobody's address";
  EXPECT_TRUE(words.ops[0].is_by_bytes());
  ASSERT_EQ(words.ops[0].slots().size(), 2u);
  ExpectSlot(words.ops[0], 0, {0, 8, 8});
  ExpectSlot(words.ops[0], 1, {3, kPackedAddress, 255});
  EXPECT_EQ(words.ops[1].id(), 1u);
  EXPECT_EQ(words.ops[1].kind(), OpKind::kFill);
  ExpectSlot(words.ops[1], 0, {0, kTargetArgument, 0});
  ExpectSlot(words.ops[2], 0, {0, kSourceArgument, 0});
}

TEST(MovedWordsTest, AnInputThatMovedNothingIsHidden) {
  EXPECT_EQ(Find({KernelOp(0, kOut, kX, 0)}, {KernelOp(0, kOut, kMovedX, 0)}).hidden, Inputs{3});
}

TEST(MovedWordsTest, AnAddressThatDidNotMoveHidesItsInput) {
  EXPECT_EQ(Find({KernelOp(0, kX + 4, kX, kY)}, {KernelOp(0, kX + 4, kMovedX, kMovedY)}).hidden,
            Inputs{0});
  EXPECT_EQ(Find({KernelOp(0, kX, kY, 0), CopyOp(1, kOut, kY)},
                 {KernelOp(0, kMovedX, kMovedY, 0), CopyOp(1, kOut, kY)})
                .hidden,
            Inputs{3});
}

TEST(MovedWordsTest, ADifferenceThatIsNoAddressHidesEverything) {
  const Op op = KernelOp(0, kX, kY, 12);
  const std::pair<const char*, Op> others[] = {
      {"a count", KernelOp(0, kMovedX, kMovedY, 13)},
      {"an address by another offset", KernelOp(0, kMovedX + 4, kMovedY, 12)},
      {"an address on its own", KernelOp(0, kMovedX, kMovedY + 1, 12)},
  };
  for (const auto& [what, other] : others) {
    EXPECT_EQ(Find({op}, {other}).hidden, (Inputs{0, 3})) << what;
  }
  Op tail = KernelOp(0, kMovedX, kMovedY, 12);
  tail.argument_bytes.back() = 8;
  EXPECT_EQ(Find({op}, {tail}).hidden, (Inputs{0, 3})) << "a byte behind the last whole word";
  Op shape = KernelOp(0, kMovedX, kMovedY, 12);
  shape.shape.grid.x = 2;
  EXPECT_EQ(Find({op}, {shape}).hidden, (Inputs{0, 3})) << "a shape";
  Op edge = KernelOp(0, kMovedX, kMovedY, 12);
  edge.dependencies.push_back({});
  EXPECT_EQ(Find({op}, {edge}).hidden, (Inputs{0, 3})) << "an edge";
  EXPECT_EQ(Find({op}, {CopyOp(0, kMovedX, kMovedY)}).hidden, (Inputs{0, 3})) << "a kind";
  EXPECT_EQ(Find({op}, {KernelOp(0, kMovedX, kMovedY, 12), FillOp(1, kOut)}).hidden,
            (Inputs{0, 3}))
      << "one op more";
}

TEST(MovedWordsTest, SlotsOfOurOwnLaunchesAreKnownAlready) {
  std::vector<PointerOp> known;
  known.emplace_back(CopyParams{kY, kX, 24});
  known[0].slots() = {{0, kSourceArgument, 0}, {3, kTargetArgument, 0}};
  const MovedWords words =
      Find({CopyOp(0, kY, kX)}, {CopyOp(0, kMovedY, kMovedX)}, known);
  EXPECT_EQ(words.hidden, Inputs{});
  EXPECT_TRUE(words.ops.empty());
  known[0].slots().pop_back();
  EXPECT_EQ(Find({CopyOp(0, kY, kX)}, {CopyOp(0, kMovedY, kMovedX)}, known).hidden, Inputs{3})
      << "a word that our own launch does not declare";
}

TEST(MovedWordsTest, SkippedOpsAreNotLookedAt) {
  EXPECT_EQ(Find({KernelOp(0, kX, 1, 2), KernelOp(1, kX, kY, 0)},
                 {KernelOp(0, kOut, 3, 4), KernelOp(1, kMovedX, kMovedY, 0)}, {}, {0})
                .hidden,
            Inputs{});
}

}  // namespace
}  // namespace graphtree
