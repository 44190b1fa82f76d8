// A ledger and the calls that its tests make most.
#ifndef GRAPHTREE_ALLOCATOR_BOOKS_LEDGER_FIXTURE_H_
#define GRAPHTREE_ALLOCATOR_BOOKS_LEDGER_FIXTURE_H_

#include <cstdint>

#include "absl/types/span.h"
#include "allocator/books/block_record.h"
#include "allocator/books/checkpoint_tree.h"
#include "allocator/books/ledger.h"
#include "gtest/gtest.h"

namespace graphtree {

class LedgerFixture : public testing::Test {
 protected:
  BlockId Allocate(uint64_t bytes) { return ledger_.Allocate({.bytes = bytes}).block; }
  BlockId AllocateKept(uint64_t bytes) {
    return ledger_.Allocate({.bytes = bytes, .region = Region::kLasting}).block;
  }
  HandleState Free(BlockId id) { return ledger_.Free(id, 0); }
  bool IsLive(BlockId id) const { return ledger_.Check(id) == HandleState::kLive; }
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

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_BOOKS_LEDGER_FIXTURE_H_
