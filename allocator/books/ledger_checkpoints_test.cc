// Checkpoints that are taken, dropped and joined, and what the books then no longer hold.
#include <cstddef>
#include <cstdint>

#include "allocator/books/block_record.h"
#include "allocator/books/change_list.h"
#include "allocator/books/checkpoint_tree.h"
#include "allocator/books/ledger.h"
#include "allocator/books/ledger_fixture.h"
#include "allocator/placement/slab.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

class LedgerCheckpointsTest : public LedgerFixture {
 protected:
  const CheckpointTree::Node& node(CheckpointTree::NodeId id) {
    return ledger_.checkpoints().node(id);
  }
};

TEST_F(LedgerCheckpointsTest, DroppedCheckpointsJoinTheirNeighbours) {
  const CheckpointTree::NodeId root = ledger_.Take(0);
  const BlockId a = Allocate(1);
  const CheckpointTree::NodeId middle = ledger_.Take(0);
  Free(a);
  const BlockId b = Allocate(1);
  const CheckpointTree::NodeId end = ledger_.Take(0);
  ledger_.Drop(middle);
  EXPECT_EQ(ledger_.checkpoints().count(), 2u);
  EXPECT_EQ(ledger_.Check(a), HandleState::kStale) << "nothing can bring it back";
  ASSERT_EQ(Restore(root), RestoreOutcome::kReady);
  ASSERT_EQ(Restore(end), RestoreOutcome::kReady);
  EXPECT_TRUE(IsLive(b));
  ledger_.Drop(root);
  ledger_.Drop(end);
  EXPECT_EQ(ledger_.checkpoints().count(), 0u);
  EXPECT_TRUE(IsLive(b));
}

TEST_F(LedgerCheckpointsTest, PlacesAreCountedForEveryCheckpointThatTouchedThem) {
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

TEST_F(LedgerCheckpointsTest, WayToTheNextIsForgottenByARestore) {
  const CheckpointTree::NodeId root = ledger_.Take(0);
  ledger_.Touch(3);
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(Restore(root), RestoreOutcome::kReady);
    EXPECT_EQ(ledger_.place_references(3), 0u);
  }
  ledger_.Touch(3);
  EXPECT_EQ(ledger_.place_references(3), 1u) << "a new way";
}

TEST_F(LedgerCheckpointsTest, EveryWayCountsAPlaceForItself) {
  ledger_.Take(0);
  ledger_.Touch(3);
  const CheckpointTree::NodeId next = ledger_.Take(0);
  ASSERT_EQ(Restore(next), RestoreOutcome::kReady);
  ledger_.Touch(3);
  EXPECT_EQ(ledger_.place_references(3), 2u);
}

TEST_F(LedgerCheckpointsTest, WithTheLastCheckpointNoPlaceIsNoted) {
  const CheckpointTree::NodeId only = ledger_.Take(0);
  ledger_.Touch(3);
  ledger_.Drop(only);
  EXPECT_EQ(ledger_.place_references(3), 0u);
  EXPECT_FALSE(ledger_.notes_places());
}

// Nobody can go back to before a root.
TEST_F(LedgerCheckpointsTest, WhatDiedBehindADroppedRootIsForgotten) {
  const BlockId a = Allocate(1);
  const CheckpointTree::NodeId root = ledger_.Take(0);
  Free(a);
  const CheckpointTree::NodeId child = ledger_.Take(0);
  EXPECT_EQ(ledger_.Check(a), HandleState::kAlreadyFree);
  ledger_.Drop(root);
  EXPECT_EQ(ledger_.checkpoints().count(), 1u);
  EXPECT_EQ(ledger_.Check(a), HandleState::kStale);
  EXPECT_EQ(node(child).parent, kNoId);
  EXPECT_TRUE(node(child).changes.empty());
}

TEST_F(LedgerCheckpointsTest, HandlesOfDroppedOnesNameNothing) {
  const CheckpointTree::NodeId id = ledger_.Take(7);
  const uint32_t generation = node(id).generation;
  EXPECT_EQ(node(id).time, 7u);
  EXPECT_EQ(ledger_.FindCheckpoint(id, generation), id);
  EXPECT_EQ(ledger_.FindCheckpoint(id + 1, generation), kNoId) << "never taken";
  EXPECT_EQ(ledger_.FindCheckpoint(id + 1000, generation), kNoId);
  ledger_.Drop(id);
  for (uint32_t guess = 0; guess < 4; ++guess) {
    EXPECT_EQ(ledger_.FindCheckpoint(id, generation + guess), kNoId);
  }
  EXPECT_EQ(ledger_.Take(8), id) << "its place is used again";
  EXPECT_EQ(node(id).time, 8u);
  EXPECT_EQ(ledger_.FindCheckpoint(id, generation), kNoId);
}

//   root --- middle --- a --- b
//                        \--- c --- d
TEST_F(LedgerCheckpointsTest, DepthsFollowWhenOneIsTakenOutAbove) {
  const CheckpointTree::NodeId root = ledger_.Take(0), middle = ledger_.Take(0);
  const CheckpointTree::NodeId a = ledger_.Take(0), b = ledger_.Take(0);
  ASSERT_EQ(Restore(a), RestoreOutcome::kReady);
  const BlockId block = Allocate(1);
  const CheckpointTree::NodeId c = ledger_.Take(0), d = ledger_.Take(0);
  EXPECT_EQ(node(d).depth, 4u);
  ledger_.Drop(middle);
  EXPECT_EQ(node(a).depth, 1u);
  EXPECT_EQ(node(b).depth, 2u);
  EXPECT_EQ(node(c).depth, 2u);
  EXPECT_EQ(node(d).depth, 3u);
  EXPECT_EQ(node(root).depth, 0u);
  ASSERT_EQ(Restore(b), RestoreOutcome::kReady);
  EXPECT_FALSE(IsLive(block));
  ASSERT_EQ(Restore(d), RestoreOutcome::kReady);
  EXPECT_TRUE(IsLive(block));
}

TEST_F(LedgerCheckpointsTest, DroppedOnesGiveTheirListsBack) {
  const size_t before = ledger_.checkpoints().bytes();
  EXPECT_EQ(before, 0u);
  const CheckpointTree::NodeId root = ledger_.Take(0);
  const size_t with_one = ledger_.checkpoints().bytes();
  for (int i = 0; i < 100; ++i) Allocate(1);
  for (uint32_t place = 0; place < 100; ++place) ledger_.Touch(place);
  const CheckpointTree::NodeId full = ledger_.Take(0);
  EXPECT_GE(ledger_.checkpoints().bytes(), with_one + 100 * (sizeof(Change) + sizeof(uint32_t)));
  ledger_.Drop(full);
  ASSERT_EQ(Restore(root), RestoreOutcome::kReady);
  EXPECT_LT(ledger_.checkpoints().bytes(), with_one + 100 * sizeof(uint32_t));
}

}  // namespace
}  // namespace graphtree
