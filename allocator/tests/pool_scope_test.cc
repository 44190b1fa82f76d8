// A capture's scope that fails leaves nothing, neither in the step region nor in the lasting one.
#include <functional>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "allocator/books/block_record.h"
#include "allocator/memory/piece_row.h"
#include "allocator/placement/free_runs.h"
#include "allocator/placement/placement.h"
#include "allocator/placement/run.h"
#include "allocator/pool.h"
#include "allocator/pool_types.h"
#include "allocator/reports/history.h"
#include "device/base/status_matchers.h"
#include "device/host/host_device.h"
#include "device/stream.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

using absl::StatusCode;
constexpr uint64_t kMiB = uint64_t{1} << 20;

class PoolScopeTest : public testing::Test {
 protected:
  void SetUp() override {
    device_ = *OpenHostDevice({.memory_bytes = 512 * kMiB});
    stream_ = *device_->NewStream();
    other_ = *device_->NewStream();
    pool_ = *Pool::Create(*device_, {});
  }
  void TearDown() override {
    pool_.reset();
    stream_.reset();
    other_.reset();
    EXPECT_THAT(device_->Close(), IsOk());
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_, other_;
  std::unique_ptr<Pool> pool_;
};

// Everything that a pool shows of itself, but for totals of calls.
struct Picture {
  uint64_t live_blocks, live_bytes, requested_bytes, lasting_bytes, mapped_bytes, checkpoints;
  std::vector<Address> live;

  explicit Picture(const Pool& pool) {
    const PoolStats stats = pool.Stats();
    live_blocks = stats.live_blocks;
    live_bytes = stats.live_bytes;
    requested_bytes = stats.requested_bytes;
    lasting_bytes = stats.lasting_bytes;
    mapped_bytes = stats.mapped_bytes;
    checkpoints = stats.checkpoints;
    for (Region region : {Region::kStep, Region::kLasting}) {
      const Placement& placement = pool.ledger().placement(region);
      for (RunId id = placement.first(); id != kNoId; id = placement.run(id).next) {
        if (!placement.run(id).is_live()) continue;
        live.push_back(pool.arena().range_of(region).base + placement.run(id).offset * kQuantum);
      }
    }
  }
  friend bool operator==(const Picture&, const Picture&) = default;
};

TEST_F(PoolScopeTest, FailedCaptureLeavesKeptMemoryAsItWas) {
  const BlockOptions in_kept = {.region = Region::kLasting};
  const Block old_kept = *pool_->Allocate(1000, *stream_, in_kept);
  const Block freed_kept = *pool_->Allocate(2000, *stream_, in_kept);
  EXPECT_THAT(pool_->Allocate(3000, *stream_), IsOk());
  const Picture before(*pool_);
  const uint64_t frees = pool_->Stats().frees;
  auto scope = *pool_->scopes().Begin();
  EXPECT_THAT(pool_->Free(freed_kept.id), IsOk());
  const Block over = *pool_->Allocate(2000, *stream_, in_kept);
  EXPECT_EQ(over.range.base, freed_kept.range.base);
  EXPECT_THAT(pool_->Allocate(60 * kMiB, *stream_, in_kept), IsOk());
  const Block moved = *pool_->Allocate(5000, *stream_);
  const Block brief = *pool_->Allocate(10, *stream_, in_kept);
  EXPECT_THAT(pool_->Free(brief.id), IsOk());
  const uint64_t written = pool_->journal().history().written();
  EXPECT_THAT(scope->RollBack(), IsOk());
  EXPECT_TRUE(Picture(*pool_) == before);
  EXPECT_THAT(pool_->Describe(freed_kept.id), IsOk());
  EXPECT_THAT(pool_->Describe(old_kept.id), IsOk());
  EXPECT_FALSE(pool_->Describe(moved.id).ok());
  EXPECT_FALSE(pool_->Describe(over.id).ok());
  EXPECT_EQ(pool_->Stats().frees, frees + 2) << "only what was freed by a call";
  std::vector<HistoryAction> told;
  for (size_t i = written; i < written + 5; ++i) {
    told.push_back(pool_->journal().history().Entries()[i].action);
  }
  const std::vector<HistoryAction> expected = {
      HistoryAction::kRestoreGone, HistoryAction::kRestoreGone, HistoryAction::kRestoreBack,
      HistoryAction::kRestoreGone, HistoryAction::kCheckpointRestore};
  EXPECT_EQ(told, expected) << "kept memory first: over and the large one for freed_kept; moved";
  pool_->ledger().CheckConsistency();
  // The books go on as if nothing had been.
  EXPECT_EQ(pool_->Allocate(10, *stream_, in_kept)->range.base,
            freed_kept.range.base + AlignUp(2000, kQuantum));
}

TEST_F(PoolScopeTest, ABlockOverOneThatWasFreedDoesNotStandInTheWay) {
  const Block old = *pool_->Allocate(kMiB, *stream_);
  auto scope = *pool_->scopes().Begin();
  EXPECT_THAT(pool_->Free(old.id), IsOk());
  const Block over = *pool_->Allocate(kMiB, *stream_);
  EXPECT_EQ(over.range.base, old.range.base);
  EXPECT_THAT(scope->RollBack(), IsOk());
  EXPECT_THAT(pool_->Describe(old.id), IsOk());
  EXPECT_FALSE(pool_->Describe(over.id).ok());
  EXPECT_EQ(pool_->Stats().live_blocks, 1u);
}

TEST_F(PoolScopeTest, CommittedKeptMemoryStays) {
  const Block old = *pool_->Allocate(1000, *stream_, {.region = Region::kLasting});
  auto scope = *pool_->scopes().Begin();
  const Block kept = *pool_->Allocate(1000, *stream_, {.region = Region::kLasting});
  EXPECT_THAT(pool_->Free(old.id), IsOk());
  scope->Commit();
  EXPECT_THAT(scope->RollBack(), IsOk()) << "it has ended";
  EXPECT_TRUE(scope->Commit().empty());
  EXPECT_THAT(pool_->Describe(kept.id), IsOk());
  EXPECT_THAT(pool_->Free(old.id), FailsWith(StatusCode::kFailedPrecondition, "freed before"));
  pool_->ledger().CheckConsistency();
}

TEST_F(PoolScopeTest, InnerScopesKeptMemoryIsUndoneAlone) {
  const BlockOptions in_kept = {.region = Region::kLasting};
  auto outer = *pool_->scopes().Begin();
  const Block a = *pool_->Allocate(1000, *stream_, in_kept);
  auto inner = *pool_->scopes().Begin();
  const Block b = *pool_->Allocate(1000, *stream_, in_kept);
  EXPECT_THAT(pool_->Free(a.id), IsOk());
  EXPECT_THAT(inner->RollBack(), IsOk());
  EXPECT_THAT(pool_->Describe(a.id), IsOk());
  EXPECT_FALSE(pool_->Describe(b.id).ok());
  EXPECT_THAT(outer->RollBack(), IsOk());
  EXPECT_EQ(pool_->Stats().live_blocks, 0u);
  EXPECT_EQ(pool_->Stats().mapped_bytes, 0u);
}

TEST_F(PoolScopeTest, ScopeThatEndsTakesTheInnerOnesAlong) {
  auto outer = *pool_->scopes().Begin();
  auto inner = *pool_->scopes().Begin();
  const Block a = *pool_->Allocate(1000, *stream_);
  EXPECT_THAT(outer->RollBack(), IsOk());
  EXPECT_THAT(inner->RollBack(), IsOk());
  EXPECT_FALSE(pool_->Describe(a.id).ok());
  EXPECT_EQ(pool_->Stats().checkpoints, 0u);
  EXPECT_THAT(pool_->Close(), IsOk());
}

TEST_F(PoolScopeTest, GrowthInHolesIsReturnedToo) {
  const Block low = *pool_->Allocate(30 * kMiB, *stream_), high = *pool_->Allocate(kMiB, *stream_);
  EXPECT_THAT(pool_->Free(low.id), IsOk());
  EXPECT_GT(*pool_->memory().Trim(0), 0u);
  const Picture before(*pool_);
  auto scope = *pool_->scopes().Begin();
  EXPECT_EQ(pool_->Allocate(20 * kMiB, *stream_)->range.base, low.range.base);
  EXPECT_THAT(scope->RollBack(), IsOk());
  EXPECT_TRUE(Picture(*pool_) == before);
  EXPECT_THAT(pool_->Free(high.id), IsOk());
}

// After that the next block is mapped as if the scope had never been.
TEST_F(PoolScopeTest, PiecesOfAFailedCapturesGrowthAreForgotten) {
  EXPECT_THAT(pool_->Allocate(kMiB, *stream_), IsOk());
  const PieceRow& row = std::as_const(*pool_).row(Region::kStep);
  const uint32_t pieces = row.count();
  auto scope = *pool_->scopes().Begin();
  for (int i = 0; i < 8; ++i) EXPECT_THAT(pool_->Allocate(5 * kMiB, *stream_), IsOk());
  EXPECT_GT(row.count(), pieces);
  EXPECT_THAT(scope->RollBack(), IsOk());
  EXPECT_EQ(row.count(), pieces);
}

TEST_F(PoolScopeTest, GrowthThatSomebodyPinnedMeanwhileStays) {
  auto scope = *pool_->scopes().Begin();
  const Block block = *pool_->Allocate(20 * kMiB, *stream_);
  const AddressRange registered = {block.range.base, kMiB};
  EXPECT_THAT(pool_->memory().Pin(registered), IsOk());
  EXPECT_THAT(scope->RollBack(), IsOk());
  EXPECT_GE(pool_->Stats().mapped_bytes, kMiB);
  EXPECT_THAT(pool_->memory().Unpin(registered), IsOk());
  EXPECT_GT(*pool_->memory().Trim(0), 0u);
}

// The growth is returned when the last capture ends, and somebody may have moved in by then.
TEST_F(PoolScopeTest, GrowthThatSomebodyUsesMeanwhileStays) {
  auto scope = *pool_->scopes().Begin();
  EXPECT_THAT(pool_->Allocate(20 * kMiB, *stream_), IsOk());
  EXPECT_THAT(other_->BeginCapture(CaptureMode::kThreadLocal), IsOk());
  EXPECT_THAT(scope->RollBack(), IsOk());
  const Block block = *pool_->Allocate(kMiB, *stream_);
  EXPECT_THAT(stream_->Fill(block.range.base, 1, 1, block.range.bytes), IsOk());
  EXPECT_THAT(other_->EndCapture(), IsOk());
  EXPECT_THAT(pool_->checkpoints().Take(), IsOk()) << "what was queued is done";
  EXPECT_EQ(pool_->Stats().deferred, 0u);
  EXPECT_GE(pool_->Stats().mapped_bytes, kMiB);
  EXPECT_LT(pool_->Stats().mapped_bytes, 20 * kMiB) << "and the rest is gone";
  EXPECT_THAT(stream_->Fill(block.range.base, 2, 1, block.range.bytes), IsOk());
  EXPECT_THAT(stream_->Synchronize(), IsOk());
}

// The thread that freed the block does not know of the capture, and does not free it again.
TEST_F(PoolScopeTest, WhatAnotherThreadFreedStaysFreedWhenTheCaptureFails) {
  const Block step = *pool_->Allocate(kMiB, *stream_);
  const Block kept = *pool_->Allocate(kMiB, *stream_, {.region = Region::kLasting});
  const Block own = *pool_->Allocate(kMiB, *stream_);
  for (int ending = 0; ending < 3; ++ending) {
    auto outer = *pool_->scopes().Begin();
    auto inner = *pool_->scopes().Begin();
    if (ending == 0) {
      EXPECT_THAT(pool_->Free(own.id), IsOk());
      std::thread([&] {
        for (const Block* block : {&step, &kept}) EXPECT_THAT(pool_->Free(block->id), IsOk());
      }).join();
    }
    const Block inside = *pool_->Allocate(kMiB, *stream_);
    EXPECT_EQ(inside.range.base, step.range.base) << "its memory is used at once";
    if (ending == 1) {
      inner->Commit();
    } else {
      EXPECT_THAT(inner->RollBack(), IsOk());
    }
    EXPECT_THAT(outer->RollBack(), IsOk());
    EXPECT_FALSE(pool_->Describe(step.id).ok());
    EXPECT_FALSE(pool_->Describe(kept.id).ok());
    EXPECT_THAT(pool_->Describe(own.id), IsOk()) << "the capture's own deed is undone";
    EXPECT_EQ(pool_->Stats().live_blocks, 1u);
    EXPECT_EQ(pool_->Stats().live_bytes, kMiB);
    EXPECT_EQ(pool_->Stats().refused_queued_frees, 0u);
    pool_->ledger().CheckConsistency();
  }
  EXPECT_THAT(pool_->Free(own.id), IsOk());
  EXPECT_THAT(pool_->Close(), IsOk());
}

// The inner capture worked, the one around it did not.
TEST_F(PoolScopeTest, WhatAnotherThreadFreedInACommittedInnerScopeStaysFreed) {
  const Block step = *pool_->Allocate(kMiB, *stream_);
  const Block kept = *pool_->Allocate(kMiB, *stream_, {.region = Region::kLasting});
  const Block later = *pool_->Allocate(kMiB, *stream_);
  auto outer = *pool_->scopes().Begin();
  {
    auto inner = *pool_->scopes().Begin();
    std::thread([&] {
      for (const Block* block : {&step, &kept}) EXPECT_THAT(pool_->Free(block->id), IsOk());
    }).join();
    EXPECT_EQ(pool_->Allocate(kMiB, *stream_)->range.base, step.range.base);
    inner->Commit();
  }
  std::thread([&] { EXPECT_THAT(pool_->Free(later.id), IsOk()); }).join();
  EXPECT_THAT(outer->RollBack(), IsOk());
  for (const Block* block : {&step, &kept, &later}) {
    EXPECT_FALSE(pool_->Describe(block->id).ok());
    EXPECT_TRUE(device_->memory().UsableParts(block->range).empty())
        << "a device that checks takes it for dead, too";
  }
  EXPECT_EQ(pool_->Stats().live_blocks, 0u);
  EXPECT_THAT(pool_->Close(), IsOk());
}

TEST_F(PoolScopeTest, ScopeMayOutliveItsPool) {
  auto outer = *pool_->scopes().Begin();
  auto inner = *pool_->scopes().Begin();
  EXPECT_THAT(pool_->Allocate(kMiB, *stream_), IsOk());
  pool_.reset();
  EXPECT_THAT(inner->RollBack(), FailsWith(StatusCode::kFailedPrecondition, "end of its pool"));
  EXPECT_TRUE(outer->Commit().empty());
}

class PoolAskingTest : public PoolScopeTest {
 protected:
  // Calls `during` while an allocation of 32 MiB asks for memory, and lets it fail.
  void WhileAsking(const std::function<void()>& during) {
    during_ = during;
    EXPECT_THAT(pool_->Allocate(32 * kMiB, *stream_),
                FailsWith(StatusCode::kResourceExhausted, "limit is reached"));
    during_ = nullptr;
  }
  void SetUp() override {
    PoolScopeTest::SetUp();
    pool_ = *Pool::Create(*device_, {.limit_bytes = 16 * kMiB,
                                     .before_out_of_memory = [this](const MemoryWanted&) {
                                       if (during_ != nullptr) during_();
                                       return false;
                                     }});
  }

  std::function<void()> during_;
};

TEST_F(PoolAskingTest, ScopesAreRolledBackOnlyBehindTheAllocation) {
  const Block before = *pool_->Allocate(kMiB, *stream_);
  auto scope = *pool_->scopes().Begin();
  EXPECT_THAT(pool_->Allocate(kMiB, *stream_), IsOk());
  WhileAsking([&] {
    EXPECT_THAT(scope->RollBack(), FailsWith(StatusCode::kFailedPrecondition, "asks for memory"));
    EXPECT_THAT(pool_->checkpoints().Take(),
                FailsWith(StatusCode::kFailedPrecondition, "asks for memory"));
  });
  EXPECT_EQ(pool_->Stats().live_blocks, 2u);
  pool_->ledger().CheckConsistency();
  EXPECT_THAT(scope->RollBack(), IsOk());
  EXPECT_EQ(pool_->Stats().live_blocks, 1u);
  EXPECT_THAT(pool_->Free(before.id), IsOk());
}

TEST_F(PoolAskingTest, ScopeThatGoesWhileAskingIsRolledBackByTheNextCall) {
  const Block before = *pool_->Allocate(kMiB, *stream_);
  auto scope = *pool_->scopes().Begin();
  EXPECT_THAT(pool_->Allocate(kMiB, *stream_), IsOk());
  WhileAsking([&] { scope.reset(); });
  EXPECT_EQ(pool_->Stats().live_blocks, 2u) << "not yet";
  const CheckpointId here = *pool_->checkpoints().Take();
  EXPECT_EQ(pool_->Stats().live_blocks, 1u);
  EXPECT_EQ(pool_->Stats().checkpoints, 1u);
  EXPECT_THAT(pool_->checkpoints().Restore(here), IsOk()) << "no scope is open any more";
  EXPECT_THAT(pool_->Describe(before.id), IsOk());
  pool_->ledger().CheckConsistency();
}

TEST_F(PoolAskingTest, CommitWhileAskingLeavesWhatIsQueuedForLater) {
  auto scope = *pool_->scopes().Begin();
  EXPECT_THAT(pool_->parking().Park(ParkContents::kDrop), IsOk());
  WhileAsking([&] {
    scope->Commit();
    EXPECT_FALSE(pool_->parking().is_parked()) << "an allocation is half done";
  });
  EXPECT_FALSE(pool_->Allocate(1, *stream_).ok());
  EXPECT_TRUE(pool_->parking().is_parked());
}

// Programs of random calls inside a scope, of which nothing may be left.
TEST_F(PoolScopeTest, NothingIsLeftOfAnyFailedScope) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    pool_ = *Pool::Create(*device_, {});
    std::vector<Block> live;
    std::vector<std::unique_ptr<CaptureScope>> scopes;
    std::vector<Picture> pictures;
    std::vector<std::vector<Block>> blocks;
    for (int step = 0; step < 120; ++step) {
      const uint64_t dice = random() % 100;
      if (dice < 50) {
        const Region region = random() % 2 == 0 ? Region::kLasting : Region::kStep;
        live.push_back(*pool_->Allocate(random() % (uint64_t{1} << (random() % 23)),
                                        random() % 4 == 0 ? *other_ : *stream_,
                                        {.region = region}));
      } else if (dice < 75 && !live.empty()) {
        const size_t which = random() % live.size();
        EXPECT_THAT(pool_->Free(live[which].id), IsOk());
        live.erase(live.begin() + static_cast<long>(which));
      } else if (dice < 92 && step > 30) {
        pictures.emplace_back(*pool_);
        scopes.push_back(*pool_->scopes().Begin());
        blocks.push_back(live);
      } else if (!scopes.empty()) {
        if (random() % 3 == 0) {
          scopes.back()->Commit();
        } else {
          EXPECT_THAT(scopes.back()->RollBack(), IsOk());
          live = blocks.back();
          Picture now(*pool_);
          if (scopes.size() > 1) now.mapped_bytes = pictures.back().mapped_bytes;  // later
          EXPECT_TRUE(now == pictures.back());
        }
        scopes.pop_back();
        pictures.pop_back();
        blocks.pop_back();
      }
      pool_->ledger().CheckConsistency();
      ASSERT_EQ(pool_->Stats().live_blocks, live.size());
    }
    while (!scopes.empty()) scopes.pop_back();
  }
}

}  // namespace
}  // namespace graphtree
