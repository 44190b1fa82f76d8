// What a watch undoes, and blocks that move before anybody has used them.
#include <cstdint>
#include <vector>

#include "allocator/books/block_record.h"
#include "allocator/books/checkpoint_tree.h"
#include "allocator/books/ledger.h"
#include "allocator/books/ledger_fixture.h"
#include "allocator/placement/placement.h"
#include "allocator/placement/run.h"
#include "allocator/placement/slab.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

using Indexes = std::vector<uint32_t>;

class LedgerKeptTest : public LedgerFixture {
 protected:
  void Undo(uint32_t mark) {
    ledger_.UndoWatch(mark, 0, &dies_, &wakes_);
    ledger_.CheckConsistency();
  }

  Indexes dies_ = {99}, wakes_ = {99};  // of a watch before this one
};

TEST_F(LedgerKeptTest, WhatCameGoesAndWhatWentComesBack) {
  const BlockId old = AllocateKept(100);
  const uint32_t mark = ledger_.Watch();
  const BlockId made = AllocateKept(200);
  EXPECT_EQ(Free(old), HandleState::kLive);
  EXPECT_EQ(ledger_.Check(old), HandleState::kAlreadyFree) << "the watch remembers it";
  Undo(mark);
  EXPECT_EQ(dies_, Indexes{made.index});
  EXPECT_EQ(wakes_, Indexes{old.index});
  EXPECT_TRUE(IsLive(old));
  EXPECT_EQ(ledger_.Check(made), HandleState::kStale) << "nobody can bring it back";
}

TEST_F(LedgerKeptTest, WhatCameAndWentMeanwhileIsNoChange) {
  const uint32_t mark = ledger_.Watch();
  EXPECT_EQ(Free(AllocateKept(100)), HandleState::kLive);
  Undo(mark);
  EXPECT_TRUE(dies_.empty() && wakes_.empty());
  EXPECT_EQ(ledger_.placement(Region::kLasting).live_count(), 0u);
}

TEST_F(LedgerKeptTest, BlockWithSeveralDeedsIsToldOnce) {
  const BlockId old = AllocateKept(100);
  const uint32_t mark = ledger_.Watch();
  const BlockId brief = AllocateKept(100);
  EXPECT_EQ(Free(brief), HandleState::kLive);
  EXPECT_EQ(Free(old), HandleState::kLive);
  Undo(mark);
  EXPECT_EQ(wakes_, Indexes{old.index});
  EXPECT_TRUE(dies_.empty());
}

TEST_F(LedgerKeptTest, InnerWatchIsUndoneAlone) {
  const uint32_t outer = ledger_.Watch();
  const BlockId a = AllocateKept(1);
  const uint32_t inner = ledger_.Watch();
  const BlockId b = AllocateKept(1);
  EXPECT_EQ(Free(a), HandleState::kLive);
  Undo(inner);
  EXPECT_EQ(dies_, Indexes{b.index});
  EXPECT_EQ(wakes_, Indexes{a.index});
  EXPECT_TRUE(IsLive(a));
  Undo(outer);
  EXPECT_EQ(dies_, Indexes{a.index});
  EXPECT_EQ(ledger_.Check(a), HandleState::kStale);
  EXPECT_EQ(ledger_.placement(Region::kLasting).live_count(), 0u);
}

TEST_F(LedgerKeptTest, WhatAnInnerWatchLeavesIsUndoneByTheOuter) {
  const uint32_t outer = ledger_.Watch();
  ledger_.Watch();
  const BlockId a = AllocateKept(1);
  ledger_.EndWatch();
  EXPECT_TRUE(IsLive(a));
  Undo(outer);
  EXPECT_FALSE(IsLive(a));
}

TEST_F(LedgerKeptTest, BehindAWatchNothingIsRememberedOrNoted) {
  const BlockId old = AllocateKept(1);
  ledger_.Watch();
  EXPECT_EQ(Free(old), HandleState::kLive);
  ledger_.EndWatch();
  EXPECT_EQ(ledger_.Check(old), HandleState::kStale);
  const BlockId a = AllocateKept(1);
  const uint32_t mark = ledger_.Watch();
  EXPECT_EQ(mark, 0u) << "no deeds are left";
  Undo(mark);
  EXPECT_EQ(Free(a), HandleState::kLive);
  EXPECT_EQ(ledger_.Check(a), HandleState::kStale);
}

TEST_F(LedgerKeptTest, OneWatchAfterTheOther) {
  const BlockId old = AllocateKept(1);
  for (int i = 0; i < 3; ++i) {
    const uint32_t mark = ledger_.Watch();
    EXPECT_EQ(mark, 0u);
    EXPECT_EQ(Free(old), HandleState::kLive);
    Undo(mark);
    EXPECT_EQ(wakes_, Indexes{old.index});
    EXPECT_TRUE(IsLive(old));
  }
}

class LedgerMoveTest : public LedgerFixture {
 protected:
  // Only at this offset, in quanta.
  static Placement::FirstPlace At(uint32_t offset) {
    return [offset](uint32_t begin, uint32_t end, LastUse) {
      return begin <= offset && offset < end ? offset : kNoId;
    };
  }
};

TEST_F(LedgerMoveTest, BlockLeavesItsBytesToThoseWhoUsedThemAndTakesOverTheOthers) {
  const BlockId end = ledger_.AllocateAt(100 * kQuantum, {.bytes = 1}).block;
  const BlockId used = ledger_.AllocateAt(50 * kQuantum, {.bytes = 1, .streams = 8}).block;
  ledger_.Free(used, 5);
  const Allocation got = ledger_.AllocateAt(0, {.bytes = 1, .streams = 1});
  LastUse last_use = {2, 3};
  ASSERT_TRUE(ledger_.Move(got.block, At(50), /*with_tail=*/false, &last_use));
  EXPECT_EQ(OffsetOf(got.block), 50u);
  EXPECT_EQ(ledger_.Find(50), got.block);
  EXPECT_EQ(ledger_.record(got.block.index).streams, 1u);
  EXPECT_EQ(last_use.streams & 8u, 8u);
  ledger_.CheckConsistency();
  // Whoever comes next hears of the users from before, and not of one who never wrote there.
  EXPECT_EQ(ledger_.AllocateAt(0, {.bytes = 1}).last_use.streams & 3u, 2u);
  EXPECT_TRUE(IsLive(end));
}

TEST_F(LedgerMoveTest, WithoutAPlaceNothingHasChanged) {
  const Allocation got = ledger_.Allocate({.bytes = 1, .streams = 1});
  const BlockId end = Allocate(1);
  const uint32_t offset = OffsetOf(got.block);
  LastUse last_use = {2, 3};
  EXPECT_FALSE(ledger_.Move(got.block, At(70), /*with_tail=*/false, &last_use));
  EXPECT_EQ(OffsetOf(got.block), offset);
  EXPECT_EQ(ledger_.Find(offset), got.block);
  EXPECT_EQ(ledger_.record(got.block.index).streams, 1u);
  EXPECT_EQ(last_use.streams, 2u);
  ledger_.CheckConsistency();
  EXPECT_TRUE(IsLive(end));
}

TEST_F(LedgerMoveTest, BlockOfTheKeptRegionStaysThere) {
  const Allocation got = ledger_.Allocate({.bytes = 1, .region = Region::kLasting});
  LastUse last_use;
  ASSERT_TRUE(ledger_.Move(got.block, At(70), /*with_tail=*/true, &last_use));
  EXPECT_EQ(OffsetOf(got.block), ledger_.region_begin(Region::kLasting) + 70);
}

}  // namespace
}  // namespace graphtree
