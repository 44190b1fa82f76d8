// Random programs of allocate, free, checkpoint, restore, keep and drop, against a model that
// copies the whole live set at every checkpoint.
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "allocator/books/block_record.h"
#include "allocator/books/checkpoint_tree.h"
#include "allocator/books/ledger.h"
#include "allocator/placement/run.h"
#include "allocator/placement/slab.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

struct Extent {
  uint32_t offset;
  uint32_t length;
  uint32_t generation;
  friend bool operator==(const Extent& a, const Extent& b) {
    return a.offset == b.offset && a.length == b.length && a.generation == b.generation;
  }
};
using LiveSet = std::map<uint32_t, Extent>;

struct Saved {
  CheckpointTree::NodeId node;
  uint32_t generation;
  LiveSet live;
  std::vector<uint32_t> probe;  // where the next blocks went
};

bool Overlap(const Extent& a, const Extent& b) {
  return a.offset < b.offset + b.length && b.offset < a.offset + a.length;
}

class Program {
 public:
  explicit Program(uint64_t seed) : random_(seed), ledger_(1u << 20, 1u << 20, 1u << 16) {}

  void Run(int steps) {
    for (int step = 0; step < steps && !testing::Test::HasFatalFailure(); ++step) {
      const uint64_t dice = random_() % 100;
      if (dice < 42) {
        Allocate();
      } else if (dice < 74) {
        Free();
      } else if (dice < 80) {
        Take();
      } else if (dice < 94) {
        Restore();
      } else {
        Drop();
      }
      Compare();
    }
    while (!saved_.empty()) Drop();
    while (!live_.empty()) Free();
    Compare();
    ledger_.CheckConsistency();
    EXPECT_EQ(ledger_.placement(Region::kStep).live_length(), 0u);
    EXPECT_EQ(ledger_.checkpoints().count(), 0u);
  }

 private:
  void Allocate() {
    const uint64_t bytes = random_() % (kQuantum << (random_() % 8));
    const Allocation got = ledger_.Allocate({.bytes = bytes, .tag = static_cast<uint32_t>(bytes)});
    ASSERT_EQ(got.outcome, AllocateOutcome::kAllocated);
    const BlockRecord& record = ledger_.record(got.block.index);
    EXPECT_EQ(record.requested_bytes(), bytes);
    live_[got.block.index] = {record.offset, record.length, got.block.generation};
    sizes_[{got.block.index, got.block.generation}] = bytes;
  }

  uint32_t AnyLive() {
    auto it = live_.begin();
    std::advance(it, static_cast<long>(random_() % live_.size()));
    return it->first;
  }

  void Free() {
    if (live_.empty()) return;
    const uint32_t index = AnyLive();
    EXPECT_EQ(ledger_.Free(ledger_.IdOf(index), 0), HandleState::kLive);
    live_.erase(index);
  }

  // Where a few more blocks would go. Leaves the ledger as it was.
  std::vector<uint32_t> Probe() {
    std::vector<BlockId> blocks;
    std::vector<uint32_t> offsets;
    for (uint64_t bytes : {1u, 700u, 5000u, 100u, 30000u, 512u, 2048u, 1u}) {
      blocks.push_back(ledger_.Allocate({.bytes = bytes}).block);
      offsets.push_back(ledger_.record(blocks.back().index).offset);
    }
    for (BlockId id : blocks) EXPECT_EQ(ledger_.Free(id, 0), HandleState::kLive);
    return offsets;
  }

  void Take() {
    std::vector<uint32_t> probe = Probe();
    const CheckpointTree::NodeId node = ledger_.Take(0);
    saved_.push_back({node, ledger_.checkpoints().node(node).generation, live_, probe});
  }

  void Drop() {
    if (saved_.empty()) return;
    const size_t which = random_() % saved_.size();
    ledger_.Drop(saved_[which].node);
    EXPECT_EQ(ledger_.FindCheckpoint(saved_[which].node, saved_[which].generation), kNoId);
    saved_.erase(saved_.begin() + static_cast<long>(which));
  }

  void Restore() {
    if (saved_.empty()) return;
    const Saved& saved = saved_[random_() % saved_.size()];
    ASSERT_EQ(ledger_.FindCheckpoint(saved.node, saved.generation), saved.node);
    LiveSet wanted = saved.live;
    std::vector<BlockId> dying, surviving;
    for (const auto& [index, extent] : saved.live) {
      if (random_() % 8 != 0) continue;
      dying.push_back({index, extent.generation});
      wanted.erase(index);
    }
    const std::set<uint32_t> doomed = Indexes(dying);
    for (const auto& [index, extent] : live_) {
      if (doomed.count(index) != 0) continue;
      if (random_() % 20 != 0) continue;
      surviving.push_back({index, extent.generation});
      wanted[index] = extent;
    }
    RestorePlan plan;
    ledger_.Plan(saved.node, surviving, dying, &plan);
    ASSERT_EQ(plan.outcome, RestoreOutcome::kReady);
    const RestoreOutcome outcome = ledger_.Apply(&plan, 0);
    if (HasOverlap(wanted)) {
      ASSERT_EQ(outcome, RestoreOutcome::kOverlap);
      EXPECT_NE(plan.culprit.index, kNoId);
      EXPECT_NE(plan.other.index, kNoId);
      return;
    }
    ASSERT_EQ(outcome, RestoreOutcome::kReady);
    live_ = wanted;
    if (wanted == saved.live) {
      EXPECT_EQ(Probe(), saved.probe);
    }
  }

  static std::set<uint32_t> Indexes(const std::vector<BlockId>& ids) {
    std::set<uint32_t> indexes;
    for (BlockId id : ids) indexes.insert(id.index);
    return indexes;
  }
  static bool HasOverlap(const LiveSet& live) {
    for (auto a = live.begin(); a != live.end(); ++a) {
      for (auto b = std::next(a); b != live.end(); ++b) {
        if (Overlap(a->second, b->second)) return true;
      }
    }
    return false;
  }

  void Compare() {
    ledger_.CheckConsistency();
    ASSERT_EQ(ledger_.placement(Region::kStep).live_count(), live_.size());
    for (const auto& [index, extent] : live_) {
      const BlockRecord& record = ledger_.record(index);
      ASSERT_TRUE(record.is_live());
      ASSERT_EQ((Extent{record.offset, record.length, record.generation}), extent);
      ASSERT_EQ(record.requested_bytes(), (sizes_[{index, extent.generation}]));
      ASSERT_EQ(record.tag, record.requested_bytes()) << "a restore lost a tag";
      ASSERT_EQ(ledger_.Find(extent.offset + extent.length - 1), ledger_.IdOf(index));
    }
  }

  std::mt19937_64 random_;
  Ledger ledger_;
  LiveSet live_;
  std::vector<Saved> saved_;
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> sizes_;
};

class LedgerProgram : public testing::TestWithParam<int> {};

TEST_P(LedgerProgram, AgreesWithTheModel) {
  SCOPED_TRACE(testing::Message() << "seed " << GetParam());
  Program(static_cast<uint64_t>(GetParam())).Run(400);
}

INSTANTIATE_TEST_SUITE_P(Seeds, LedgerProgram, testing::Range(0, 40));

}  // namespace
}  // namespace graphtree
