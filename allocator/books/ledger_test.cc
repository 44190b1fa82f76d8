// The ledger's promises, one by one.
#include "allocator/books/ledger.h"

#include <vector>

#include "allocator/books/block_record.h"
#include "allocator/books/checkpoint_tree.h"
#include "allocator/books/ledger_fixture.h"
#include "allocator/placement/placement.h"
#include "allocator/placement/run.h"
#include "allocator/placement/slab.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

class LedgerTest : public LedgerFixture {};

TEST_F(LedgerTest, RestoringWhatWasSavedChangesNothing) {
  const BlockId a = Allocate(1000), b = Allocate(2000);
  const CheckpointTree::NodeId saved = ledger_.Take(0);
  EXPECT_EQ(Restore(saved), RestoreOutcome::kReady);
  EXPECT_TRUE(plan_.dies.empty() && plan_.wakes.empty());
  EXPECT_TRUE(IsLive(a) && IsLive(b));
}

TEST_F(LedgerTest, RestoreGoesBetweenSiblings) {
  const BlockId shared = Allocate(4096);
  const CheckpointTree::NodeId root = ledger_.Take(0);
  const BlockId left = Allocate(1000);
  Free(shared);
  const CheckpointTree::NodeId in_left = ledger_.Take(0);
  ASSERT_EQ(Restore(root), RestoreOutcome::kReady);
  EXPECT_TRUE(IsLive(shared));
  const BlockId right = Allocate(1000);
  EXPECT_EQ(OffsetOf(right), OffsetOf(left)) << "siblings share memory";
  const CheckpointTree::NodeId in_right = ledger_.Take(0);
  ASSERT_EQ(Restore(in_left), RestoreOutcome::kReady);
  EXPECT_TRUE(IsLive(left));
  EXPECT_FALSE(IsLive(right) || IsLive(shared));
  ASSERT_EQ(Restore(in_right), RestoreOutcome::kReady);
  EXPECT_TRUE(IsLive(right) && IsLive(shared));
  EXPECT_FALSE(IsLive(left));
}

TEST_F(LedgerTest, BlocksNamedAsDyingDie) {
  const BlockId a = Allocate(1), b = Allocate(1);
  const CheckpointTree::NodeId saved = ledger_.Take(0);
  const BlockId later = Allocate(1);
  ASSERT_EQ(Restore(saved, {}, {a}), RestoreOutcome::kReady);
  EXPECT_FALSE(IsLive(a));
  EXPECT_TRUE(IsLive(b));
  EXPECT_EQ(ledger_.Check(later), HandleState::kStale);
  ASSERT_EQ(Restore(saved), RestoreOutcome::kReady);
  EXPECT_TRUE(IsLive(a)) << "the checkpoint itself is untouched";
}

TEST_F(LedgerTest, NamedSurvivorsStayWhereTheCheckpointDoesNotKnowThem) {
  const CheckpointTree::NodeId root = ledger_.Take(0);
  const BlockId guest = Allocate(1);
  ASSERT_EQ(Restore(root, {guest}), RestoreOutcome::kReady);
  EXPECT_TRUE(IsLive(guest));
  EXPECT_EQ(Free(guest), HandleState::kLive);
}

TEST_F(LedgerTest, SurvivorInTheWayIsRefusedAndNothingChanges) {
  const CheckpointTree::NodeId root = ledger_.Take(0);
  const BlockId left = Allocate(100);
  const CheckpointTree::NodeId in_left = ledger_.Take(0);
  ASSERT_EQ(Restore(root), RestoreOutcome::kReady);
  const BlockId right = Allocate(100), more = Allocate(1);
  EXPECT_EQ(Restore(in_left, {right}), RestoreOutcome::kOverlap);
  EXPECT_EQ(plan_.culprit, left);
  EXPECT_EQ(plan_.other, right);
  EXPECT_TRUE(IsLive(right) && IsLive(more));
  EXPECT_FALSE(IsLive(left));
  ledger_.CheckConsistency();
}

TEST_F(LedgerTest, KeptRegionIsUntouchedByRestores) {
  const CheckpointTree::NodeId root = ledger_.Take(0);
  const BlockId kept = ledger_.Allocate({.bytes = 100, .region = Region::kLasting}).block;
  EXPECT_GE(OffsetOf(kept), 1u << 20);
  ASSERT_EQ(Restore(root), RestoreOutcome::kReady);
  EXPECT_TRUE(IsLive(kept));
  EXPECT_EQ(Restore(root, {}, {kept}), RestoreOutcome::kNotLiveThere);
  EXPECT_EQ(Free(kept), HandleState::kLive);
}

TEST_F(LedgerTest, NamingABlockThatIsNowhereLiveIsRefused) {
  const BlockId gone = Allocate(1);
  const CheckpointTree::NodeId saved = ledger_.Take(0);
  const BlockId later = Allocate(1);
  Free(later);
  EXPECT_EQ(Restore(saved, {later}), RestoreOutcome::kNotLiveThere);
  Free(gone);
  EXPECT_EQ(Restore(saved, {gone}, {gone}), RestoreOutcome::kNotLiveThere);
  EXPECT_EQ(plan_.culprit, gone);
  EXPECT_EQ(Restore(saved, {gone}), RestoreOutcome::kReady);
}

TEST_F(LedgerTest, FreeingTellsTwiceFromStaleFromForeign) {
  const BlockId a = Allocate(1);
  EXPECT_EQ(Free(a), HandleState::kLive);
  EXPECT_EQ(Free(a), HandleState::kStale);
  EXPECT_EQ(Free({12345, 0}), HandleState::kUnknown);
  const BlockId b = Allocate(1);
  ledger_.Take(0);
  EXPECT_EQ(Free(b), HandleState::kLive);
  EXPECT_EQ(Free(b), HandleState::kAlreadyFree) << "a checkpoint remembers it";
}

TEST_F(LedgerTest, WhatComesAndGoesBetweenCheckpointsLeavesNoTrace) {
  ledger_.Take(0);
  const CheckpointTree::NodeId quiet = [&] {
    for (int i = 0; i < 10000; ++i) Free(Allocate(100 + i));
    return ledger_.Take(0);
  }();
  EXPECT_TRUE(ledger_.checkpoints().node(quiet).changes.empty());
}

TEST_F(LedgerTest, SizesThatOverflowAndOddAlignmentsAreRefused) {
  EXPECT_EQ(ledger_.Allocate({.bytes = ~uint64_t{0}}).outcome, AllocateOutcome::kTooLarge);
  EXPECT_EQ(ledger_.Allocate({.bytes = uint64_t{0xffffffff} * kQuantum}).outcome,
            AllocateOutcome::kOutOfSpace);
  EXPECT_EQ(ledger_.Allocate({.bytes = 1, .alignment = 768}).outcome,
            AllocateOutcome::kBadAlignment);
  EXPECT_EQ(ledger_.Allocate({.bytes = 1, .alignment = uint64_t{1} << 62}).outcome,
            AllocateOutcome::kTooLarge);
  EXPECT_EQ(ledger_.AllocateAt(100, {.bytes = 1}).outcome, AllocateOutcome::kBadAlignment);
  EXPECT_EQ(ledger_.AllocateAt(uint64_t{1} << 60, {.bytes = 1}).outcome,
            AllocateOutcome::kOutOfSpace);
}

TEST_F(LedgerTest, AlignedBlocksAreAlignedAlsoBehindAGuard) {
  Allocate(1);
  for (bool guarded : {false, true}) {
    for (uint64_t alignment : {512u, 4096u, 2u << 20}) {
      const BlockId id =
          ledger_.Allocate({.bytes = 1000, .alignment = alignment, .guarded = guarded}).block;
      const BlockRecord& record = ledger_.record(id.index);
      EXPECT_EQ(record.user_offset() * kQuantum % alignment, 0u);
      EXPECT_EQ(record.requested_bytes(), 1000u);
      EXPECT_EQ(guarded, record.user_offset() > record.offset);
    }
  }
}

TEST_F(LedgerTest, EmptyBlocksHaveAPlaceOfTheirOwn) {
  const BlockId a = Allocate(0), b = Allocate(0);
  EXPECT_NE(OffsetOf(a), OffsetOf(b));
  EXPECT_EQ(ledger_.record(a.index).requested_bytes(), 0u);
}

// Remembered by a checkpoint, and live neither now nor at the one that is restored.
TEST_F(LedgerTest, NamingABlockThatIsRememberedAndNowhereLiveIsRefused) {
  const CheckpointTree::NodeId root = ledger_.Take(0);
  const BlockId gone = Allocate(1), kept = AllocateKept(1);
  const CheckpointTree::NodeId later = ledger_.Take(0);
  Free(gone);
  EXPECT_EQ(Restore(root, {}, {gone}), RestoreOutcome::kNotLiveThere);
  EXPECT_EQ(plan_.culprit, gone);
  EXPECT_EQ(Restore(root, {}, {kept}), RestoreOutcome::kNotLiveThere);
  EXPECT_EQ(plan_.culprit, kept);
  EXPECT_EQ(Restore(root, {gone}), RestoreOutcome::kNotLiveThere);
  EXPECT_EQ(plan_.culprit, gone);
  const BlockId made_up = {12345, 0};
  EXPECT_EQ(Restore(root, {made_up}), RestoreOutcome::kNotLiveThere);
  EXPECT_EQ(plan_.culprit, made_up);
  EXPECT_EQ(Restore(later), RestoreOutcome::kReady);
  EXPECT_TRUE(IsLive(gone));
}

TEST_F(LedgerTest, BlockMayBeNamedAsDyingTwice) {
  const BlockId a = Allocate(1), b = Allocate(1);
  const CheckpointTree::NodeId saved = ledger_.Take(0);
  Free(a);
  ASSERT_EQ(Restore(saved, {}, {a, b, a, b}), RestoreOutcome::kReady);
  EXPECT_FALSE(IsLive(a) || IsLive(b));
  EXPECT_EQ(plan_.doomed.size(), 2u);
}

TEST_F(LedgerTest, PlansForgetTheOneBefore) {
  const CheckpointTree::NodeId root = ledger_.Take(0);
  const BlockId guest = Allocate(1), doomed = Allocate(1);
  ASSERT_EQ(Restore(root, {guest}, {doomed}), RestoreOutcome::kReady);
  EXPECT_EQ(plan_.guests.size() + plan_.doomed.size(), 2u);
  ASSERT_EQ(Restore(root), RestoreOutcome::kReady);
  EXPECT_TRUE(plan_.guests.empty() && plan_.doomed.empty());
  EXPECT_FALSE(IsLive(guest));
}

TEST_F(LedgerTest, BlockThatComesBackIsAlsoOfThoseWhoUsedItsBytesMeanwhile) {
  const BlockId a = ledger_.Allocate({.bytes = 1, .streams = 1}).block;
  const CheckpointTree::NodeId saved = ledger_.Take(0);
  Free(a);
  const BlockId b = ledger_.Allocate({.bytes = 1, .streams = 4}).block;
  ASSERT_EQ(OffsetOf(a), OffsetOf(b));
  ASSERT_EQ(Restore(saved), RestoreOutcome::kReady);
  EXPECT_EQ(ledger_.record(a.index).streams, 5u);
}

//   at the checkpoint:  | a ... a ... a |      now:  |   | in the way |   |
TEST_F(LedgerTest, WhoIsInTheWayIsNamedBehindFreeBytes) {
  const BlockId a = Allocate(8 * kQuantum), end = Allocate(1);
  const CheckpointTree::NodeId saved = ledger_.Take(0);
  Free(a);
  const BlockId in_the_way = ledger_.AllocateAt(4 * kQuantum, {.bytes = 1}).block;
  EXPECT_EQ(Restore(saved, {in_the_way}), RestoreOutcome::kOverlap);
  EXPECT_EQ(plan_.culprit, a);
  EXPECT_EQ(plan_.other, in_the_way);
  EXPECT_TRUE(IsLive(end) && IsLive(in_the_way));
}

}  // namespace
}  // namespace graphtree
