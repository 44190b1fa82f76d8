// The ledger's promises, one by one.
#include "allocator/ledger.h"

#include <vector>

#include "absl/types/span.h"
#include "allocator/block_record.h"
#include "allocator/checkpoint_tree.h"
#include "allocator/placement.h"
#include "allocator/run.h"
#include "allocator/slab.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

class LedgerTest : public testing::Test {
 protected:
  BlockId Allocate(uint64_t bytes) { return ledger_.Allocate({.bytes = bytes}).block; }
  FreeOutcome Free(BlockId id) { return ledger_.Free(id, 0); }
  bool IsLive(BlockId id) const { return ledger_.Check(id) == FreeOutcome::kFreed; }
  uint32_t OffsetOf(BlockId id) const { return ledger_.record(id.index).offset; }

  RestoreOutcome Restore(CheckpointTree::NodeId target, absl::Span<const BlockId> surviving = {},
                         absl::Span<const BlockId> dying = {}) {
    ledger_.Plan(target, surviving, dying, &plan_);
    if (plan_.outcome != RestoreOutcome::kReady) return plan_.outcome;
    return ledger_.Apply(&plan_, 0);
  }

  Ledger ledger_{1u << 20, 1u << 20, 1u << 16};
  RestorePlan plan_;
};

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
  EXPECT_EQ(ledger_.Check(later), FreeOutcome::kStale);
  ASSERT_EQ(Restore(saved), RestoreOutcome::kReady);
  EXPECT_TRUE(IsLive(a)) << "the checkpoint itself is untouched";
}

TEST_F(LedgerTest, NamedSurvivorsStayWhereTheCheckpointDoesNotKnowThem) {
  const CheckpointTree::NodeId root = ledger_.Take(0);
  const BlockId guest = Allocate(1);
  ASSERT_EQ(Restore(root, {guest}), RestoreOutcome::kReady);
  EXPECT_TRUE(IsLive(guest));
  EXPECT_EQ(Free(guest), FreeOutcome::kFreed);
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

TEST_F(LedgerTest, KeptWhereItLiesSurvivesUntilTheDeclarationIsTakenBack) {
  const CheckpointTree::NodeId root = ledger_.Take(0);
  const BlockId block = Allocate(100);
  ledger_.SetKeep(block, true);
  ASSERT_EQ(Restore(root), RestoreOutcome::kReady);
  EXPECT_TRUE(IsLive(block));
  ledger_.SetKeep(block, false);
  ASSERT_EQ(Restore(root), RestoreOutcome::kReady);
  EXPECT_FALSE(IsLive(block));
}

TEST_F(LedgerTest, KeptRegionIsUntouchedByRestores) {
  const CheckpointTree::NodeId root = ledger_.Take(0);
  const BlockId kept = ledger_.Allocate({.bytes = 100, .region = Region::kKept}).block;
  EXPECT_GE(OffsetOf(kept), 1u << 20);
  ASSERT_EQ(Restore(root), RestoreOutcome::kReady);
  EXPECT_TRUE(IsLive(kept));
  EXPECT_EQ(Restore(root, {}, {kept}), RestoreOutcome::kNotLiveThere);
  EXPECT_EQ(Free(kept), FreeOutcome::kFreed);
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
  EXPECT_EQ(Free(a), FreeOutcome::kFreed);
  EXPECT_EQ(Free(a), FreeOutcome::kStale);
  EXPECT_EQ(Free({12345, 0}), FreeOutcome::kUnknown);
  const BlockId b = Allocate(1);
  ledger_.Take(0);
  EXPECT_EQ(Free(b), FreeOutcome::kFreed);
  EXPECT_EQ(Free(b), FreeOutcome::kAlreadyFree) << "a checkpoint remembers it";
}

TEST_F(LedgerTest, WhatComesAndGoesBetweenCheckpointsLeavesNoTrace) {
  ledger_.Take(0);
  const CheckpointTree::NodeId quiet = [&] {
    for (int i = 0; i < 10000; ++i) Free(Allocate(100 + i));
    return ledger_.Take(0);
  }();
  EXPECT_TRUE(ledger_.checkpoints().node(quiet).changes.empty());
}

TEST_F(LedgerTest, DroppedCheckpointsJoinTheirNeighbours) {
  const CheckpointTree::NodeId root = ledger_.Take(0);
  const BlockId a = Allocate(1);
  const CheckpointTree::NodeId middle = ledger_.Take(0);
  Free(a);
  const BlockId b = Allocate(1);
  const CheckpointTree::NodeId end = ledger_.Take(0);
  ledger_.Drop(middle);
  EXPECT_EQ(ledger_.checkpoints().count(), 2u);
  EXPECT_EQ(ledger_.Check(a), FreeOutcome::kStale) << "nothing can bring it back";
  ASSERT_EQ(Restore(root), RestoreOutcome::kReady);
  ASSERT_EQ(Restore(end), RestoreOutcome::kReady);
  EXPECT_TRUE(IsLive(b));
  ledger_.Drop(root);
  ledger_.Drop(end);
  EXPECT_EQ(ledger_.checkpoints().count(), 0u);
  EXPECT_TRUE(IsLive(b));
}

TEST_F(LedgerTest, PlacesAreCountedForEveryCheckpointThatTouchedThem) {
  ledger_.Touch(3);
  EXPECT_EQ(ledger_.place_references(3), 0u) << "no checkpoint, no footprint";
  const CheckpointTree::NodeId root = ledger_.Take(0);
  ledger_.Touch(3);
  ledger_.Touch(3);
  EXPECT_EQ(ledger_.place_references(3), 1u);
  const CheckpointTree::NodeId a = ledger_.Take(0);
  ledger_.Touch(3);
  ledger_.Touch(4);
  EXPECT_EQ(ledger_.place_references(3), 2u);
  ASSERT_EQ(Restore(root), RestoreOutcome::kReady);
  EXPECT_EQ(ledger_.place_references(4), 0u);
  ledger_.Drop(a);
  EXPECT_EQ(ledger_.place_references(3), 0u);
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

}  // namespace
}  // namespace graphtree
