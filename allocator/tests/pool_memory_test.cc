// Physical memory under a pool: trimming, limits, pins, running out, parking.
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "allocator/memory/piece_row.h"
#include "allocator/pool.h"
#include "allocator/pool_types.h"
#include "allocator/reports/oom_report.h"
#include "allocator/tests/pool_fixture.h"
#include "device/base/status_matchers.h"
#include "device/host/host_device.h"
#include "device/stream.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

using absl::StatusCode;
constexpr uint64_t kMiB = uint64_t{1} << 20;

class PoolMemoryTest : public PoolFixture {
 protected:
  // Acts as a server that is asked for memory: frees one of its blocks, if it has any.
  bool GiveFrom(std::vector<BlockId>* cache) {
    if (cache->empty()) return false;
    EXPECT_THAT(pool_->Free(cache->back()), IsOk());
    cache->pop_back();
    return true;
  }
};

TEST_F(PoolMemoryTest, TrimGivesBackWhatNobodyUses) {
  const Block low = Allocate(4 * kMiB), high = Allocate(40 * kMiB);
  Write(low, 1);
  EXPECT_THAT(pool_->Free(high.id), IsOk());
  const uint64_t before = mapped();
  const uint64_t released = *pool_->memory().Trim(0);
  EXPECT_GE(released, 24 * kMiB);
  EXPECT_EQ(mapped(), before - released);
  EXPECT_EQ(Read(low), 1);
  const Block again = Allocate(40 * kMiB);
  EXPECT_EQ(again.range, high.range) << "a trim moves no decision";
  Write(again, 2);
  EXPECT_EQ(Read(again), 2);
}

TEST_F(PoolMemoryTest, TrimStopsAtItsGoal) {
  EXPECT_THAT(pool_->Free(Allocate(60 * kMiB).id), IsOk());
  EXPECT_GT(*pool_->memory().Trim(50 * kMiB), 0u);
  EXPECT_GT(mapped(), 30 * kMiB);
  EXPECT_LE(mapped(), 50 * kMiB);
}

// Work that was put on a stream before the free still uses the bytes.
TEST_F(PoolMemoryTest, WhatGivesMemoryBackWaitsForItsWork) {
  auto capturing = *device_->NewStream();
  const std::vector<std::function<void()>> ways = {
      [&] { EXPECT_GT(*pool_->memory().Trim(0), 0u); },
      [&] {
        EXPECT_THAT(capturing->BeginCapture(CaptureMode::kThreadLocal), IsOk());
        EXPECT_GT(*pool_->memory().Trim(0), 0u);
        EXPECT_THAT(capturing->EndCapture(), IsOk());
        EXPECT_THAT(pool_->checkpoints().Take(), IsOk()) << "now it is done";
      },
      [&] { EXPECT_THAT(pool_->memory().SetLimit(kMiB), IsOk()); },
      [&] { EXPECT_THAT(pool_->parking().Park(ParkContents::kDrop), IsOk()); },
  };
  for (const auto& give_back : ways) {
    Open({});
    const Block block = Allocate(20 * kMiB);
    for (uint8_t i = 0; i < 20; ++i) Write(block, i);
    EXPECT_THAT(pool_->Free(block.id), IsOk());
    give_back();
    EXPECT_EQ(mapped(), 0u);
    EXPECT_THAT(stream_->Synchronize(), IsOk());
    EXPECT_THAT(device_->health(), IsOk());
  }
  pool_.reset();
}

TEST_F(PoolMemoryTest, ALimitReleasesNothingWhileACaptureIsOpen) {
  EXPECT_THAT(pool_->Free(Allocate(60 * kMiB).id), IsOk());
  const uint64_t before = mapped();
  auto capturing = *device_->NewStream();
  EXPECT_THAT(capturing->BeginCapture(CaptureMode::kThreadLocal), IsOk());
  EXPECT_THAT(pool_->memory().SetLimit(kMiB),
              FailsWith(StatusCode::kFailedPrecondition, "below what pool"));
  EXPECT_EQ(mapped(), before);
  EXPECT_THAT(capturing->EndCapture(), IsOk());
  EXPECT_THAT(pool_->memory().SetLimit(kMiB), IsOk());
}

TEST_F(PoolMemoryTest, ATrimThatWaitsSaysWhatItWillRelease) {
  EXPECT_THAT(pool_->Free(Allocate(60 * kMiB).id), IsOk());
  const uint64_t before = mapped();
  auto capturing = *device_->NewStream();
  EXPECT_THAT(capturing->BeginCapture(CaptureMode::kThreadLocal), IsOk());
  EXPECT_EQ(*pool_->memory().Trim(before), 0u);
  EXPECT_EQ(*pool_->memory().Trim(before - 2 * kMiB), 2 * kMiB) << "at least";
  EXPECT_EQ(mapped(), before);
  EXPECT_THAT(capturing->EndCapture(), IsOk());
  EXPECT_THAT(pool_->checkpoints().Take(), IsOk());
  EXPECT_LE(mapped(), before - 2 * kMiB);
}

TEST_F(PoolMemoryTest, TrimSparesWhatCheckpointsNeedUnlessToldToBreakThem) {
  const CheckpointId root = *pool_->checkpoints().Take();
  const Block block = Allocate(20 * kMiB);
  const Block temporary = Allocate(20 * kMiB);
  EXPECT_THAT(pool_->Free(temporary.id), IsOk());
  const CheckpointId recorded = *pool_->checkpoints().Take();
  EXPECT_THAT(pool_->checkpoints().Restore(root), IsOk());
  EXPECT_EQ(*pool_->memory().Trim(0), 0u) << "a graph may use the block and the temporary";
  EXPECT_TRUE(*pool_->checkpoints().HasItsMemory(recorded));
  EXPECT_THAT(pool_->checkpoints().Restore(recorded), IsOk());
  EXPECT_THAT(pool_->checkpoints().Restore(root), IsOk());
  EXPECT_GT(*pool_->memory().Trim(0, /*break_checkpoints=*/true), 0u);
  EXPECT_FALSE(*pool_->checkpoints().HasItsMemory(recorded));
  EXPECT_THAT(pool_->checkpoints().Restore(recorded),
              FailsWith(StatusCode::kFailedPrecondition, "older than a trim that broke it"));
  EXPECT_EQ(pool_->Stats().live_blocks, 0u) << "nothing was restored";
  EXPECT_THAT(pool_->checkpoints().Restore(root), IsOk());
  EXPECT_THAT(pool_->Describe(block.id), FailsWith(StatusCode::kFailedPrecondition, "freed"));
}

TEST_F(PoolMemoryTest, DroppedCheckpointsHoldNothing) {
  const CheckpointId root = *pool_->checkpoints().Take();
  EXPECT_THAT(pool_->Free(Allocate(20 * kMiB).id), IsOk());
  const CheckpointId recorded = *pool_->checkpoints().Take();
  EXPECT_EQ(*pool_->memory().Trim(0), 0u);
  EXPECT_THAT(pool_->checkpoints().Drop(recorded), IsOk());
  EXPECT_THAT(pool_->checkpoints().Drop(root), IsOk());
  EXPECT_GT(*pool_->memory().Trim(0), 0u);
  EXPECT_EQ(mapped(), 0u);
}

TEST_F(PoolMemoryTest, WorksWithoutAHistory) {
  Open({.history_entries = 0});
  const CheckpointId here = *pool_->checkpoints().Take();
  EXPECT_THAT(pool_->Free(Allocate(4 * kMiB).id), IsOk());
  EXPECT_THAT(pool_->checkpoints().Restore(here), IsOk());
  EXPECT_THAT(pool_->checkpoints().Drop(here), IsOk());
  EXPECT_THAT(pool_->memory().Trim(0), IsOk());
  EXPECT_EQ(pool_->journal().history().written(), 0u);
}

TEST_F(PoolMemoryTest, ReserveAheadIsBestEffortAndCountsItsShortfall) {
  EXPECT_EQ(*pool_->memory().ReserveAhead(100 * kMiB), 0u);
  EXPECT_GE(mapped(), 100 * kMiB);
  const uint64_t before = mapped();
  Allocate(90 * kMiB);
  EXPECT_EQ(mapped(), before) << "the memory was there";
  const uint64_t missing = *pool_->memory().ReserveAhead(1024 * kMiB);
  EXPECT_GT(missing, 700 * kMiB);
  EXPECT_GE(mapped(), 200 * kMiB) << "what there was has been taken";
  EXPECT_EQ(pool_->Stats().initial_shortfall, missing);
}

TEST_F(PoolMemoryTest, ReserveAheadCountsNeitherHolesNorWhatTheLimitForbids) {
  Open({.address_bytes = 512 * kMiB});
  EXPECT_THAT(pool_->Free(Allocate(60 * kMiB).id), IsOk());
  EXPECT_THAT(pool_->memory().Trim(0), IsOk());
  EXPECT_EQ(mapped(), 0u);
  EXPECT_THAT(pool_->memory().SetLimit(20 * kMiB), IsOk());
  const uint64_t missing = *pool_->memory().ReserveAhead(60 * kMiB);
  EXPECT_EQ(missing, 60 * kMiB - mapped());
  EXPECT_GT(mapped(), 0u);
  EXPECT_LE(mapped(), 20 * kMiB);
  EXPECT_THAT(pool_->memory().SetLimit(0), IsOk());
  EXPECT_EQ(*pool_->memory().ReserveAhead(60 * kMiB), 0u);
  EXPECT_GE(mapped(), 60 * kMiB);
  EXPECT_GT(*pool_->memory().ReserveAhead(~uint64_t{0}), ~uint64_t{0} - 512 * kMiB)
      << "no wrapping round";
}

TEST_F(PoolMemoryTest, LimitBelowWhatIsLiveIsRefused) {
  const Block block = Allocate(30 * kMiB);
  EXPECT_THAT(pool_->memory().SetLimit(10 * kMiB),
              FailsWith(StatusCode::kFailedPrecondition, "below what pool"));
  EXPECT_THAT(pool_->Free(block.id), IsOk());
  EXPECT_THAT(pool_->memory().SetLimit(10 * kMiB), IsOk()) << "free pieces are given back for it";
  EXPECT_LE(mapped(), 10 * kMiB);
  EXPECT_THAT(pool_->Allocate(20 * kMiB, *stream_),
              FailsWith(StatusCode::kResourceExhausted, "limit is reached"));
}

TEST_F(PoolMemoryTest, ServerIsAskedBeforeAnAllocationFails) {
  std::vector<BlockId> cache;
  int asked = 0;
  Open({.limit_bytes = 32 * kMiB, .before_out_of_memory = [&](const MemoryWanted& wanted) {
          ++asked;
          EXPECT_GT(wanted.missing, 0u);
          return GiveFrom(&cache);
        }});
  for (int i = 0; i < 3; ++i) cache.push_back(Allocate(10 * kMiB).id);
  EXPECT_THAT(pool_->Allocate(20 * kMiB, *stream_), IsOk());
  EXPECT_GE(asked, 1);
  EXPECT_THAT(pool_->Allocate(100 * kMiB, *stream_),
              FailsWith(StatusCode::kResourceExhausted, "out of memory"));
  EXPECT_TRUE(cache.empty());
}

TEST_F(PoolMemoryTest, ServerIsAskedBeforeAddressesAreUsedUp) {
  std::vector<BlockId> cache;
  int asked = 0;
  Open({.address_bytes = 32 * kMiB, .before_out_of_memory = [&](const MemoryWanted& wanted) {
          EXPECT_EQ(wanted.attempt, asked);
          EXPECT_EQ(wanted.missing, 0u);
          ++asked;
          return GiveFrom(&cache);
        }});
  for (int i = 0; i < 3; ++i) cache.push_back(Allocate(10 * kMiB).id);
  EXPECT_THAT(pool_->Allocate(20 * kMiB, *stream_), IsOk());
  EXPECT_EQ(asked, 2) << "as often as it took";
  asked = 0;
  EXPECT_THAT(pool_->Allocate(100 * kMiB, *stream_),
              FailsWith(StatusCode::kResourceExhausted, "addresses are used up"));
  EXPECT_EQ(asked, 2) << "until there was nothing to give";
}

TEST_F(PoolMemoryTest, OutOfMemoryIsAReportInWordsAndJson) {
  Open({.name = "kv", .limit_bytes = 64 * kMiB});
  std::vector<Block> blocks;
  for (int i = 0; i < 64; ++i) {
    blocks.push_back(Allocate(kMiB, {.tag = pool_->journal().Word(i % 8 == 1 ? "rare" : "odd")}));
  }
  for (size_t i = 0; i < 64; i += 2) EXPECT_THAT(pool_->Free(blocks[i].id), IsOk());
  EXPECT_THAT(pool_->Allocate(4 * kMiB, *stream_),
              FailsWith(StatusCode::kResourceExhausted, "limit is reached"));
  const OomReport& report = pool_->last_out_of_memory();
  EXPECT_EQ(report.requested, 4 * kMiB);
  EXPECT_EQ(report.live, 32 * kMiB);
  EXPECT_EQ(report.free.largest_run, kMiB);
  EXPECT_EQ(report.free.between_blocks, 32 * kMiB);
  ASSERT_EQ(report.holders.size(), 2u);
  EXPECT_EQ(report.holders[0].tag, "odd");
  EXPECT_EQ(report.holders[0].bytes, 24 * kMiB);
  EXPECT_EQ(report.holders[1].blocks, 8u);
  EXPECT_NE(report.Text().find("raise limit_bytes"), std::string::npos) << report.Text();
  EXPECT_NE(report.Text().find("scattered"), std::string::npos) << report.Text();
  EXPECT_NE(report.Json().find("\"largest_run\":1048576"), std::string::npos) << report.Json();
  EXPECT_EQ(pool_->Stats().out_of_memory, 1u);
  EXPECT_EQ(pool_->Stats().live_blocks, 32u);
}

TEST_F(PoolMemoryTest, AdviceKnowsWhenMoreAddressesWouldNotHelp) {
  Open({.address_bytes = 256 * kMiB});
  const Block block = Allocate(4 * kMiB);
  EXPECT_THAT(pool_->Allocate(300 * kMiB, *stream_),
              FailsWith(StatusCode::kResourceExhausted, "256.00 MiB in all: no setting"));
  EXPECT_THAT(pool_->Allocate(253 * kMiB, *stream_),
              FailsWith(StatusCode::kResourceExhausted, "Memory would not suffice either"));
  EXPECT_THAT(pool_->Free(block.id), IsOk());
}

// If queued work found its memory unmapped, the device would return code 700 and be lost.
TEST_F(PoolMemoryTest, GrowthWaitsForTheWorkOnWhatItReleases) {
  Open({.address_bytes = 1024 * kMiB});
  const Block a = Allocate(100 * kMiB), between = Allocate(2 * kMiB);
  Write(a, 1);
  EXPECT_THAT(pool_->Free(a.id), IsOk());
  const Block b = Allocate(200 * kMiB);
  EXPECT_THAT(stream_->Synchronize(), IsOk());
  EXPECT_FALSE(b.range.Overlaps(between.range));
}

TEST_F(PoolMemoryTest, ClosingWaitsForQueuedWork) {
  const Block block = Allocate(10 * kMiB);
  Write(block, 1);
  EXPECT_THAT(pool_->Free(block.id), IsOk());
  EXPECT_THAT(pool_->Close(), IsOk());
  EXPECT_THAT(stream_->Synchronize(), IsOk());
}

TEST_F(PoolMemoryTest, PinnedPiecesAreNeverUnmapped) {
  const Block a = Allocate(4 * kMiB), b = Allocate(64 * kMiB);
  Write(a, 1);
  EXPECT_THAT(pool_->memory().Pin(a.range), IsOk());
  EXPECT_THAT(pool_->parking().Park(ParkContents::kDrop), IsOk());
  EXPECT_GE(mapped(), 4 * kMiB);
  EXPECT_THAT(pool_->parking().Wake(), IsOk());
  EXPECT_EQ(Read(a), 1);
  EXPECT_THAT(pool_->Free(a.id), IsOk());
  EXPECT_THAT(pool_->Free(b.id), IsOk());
  EXPECT_THAT(pool_->memory().Trim(0), IsOk());
  EXPECT_GE(mapped(), 4 * kMiB);
  EXPECT_THAT(pool_->memory().Unpin(a.range), IsOk());
  EXPECT_THAT(pool_->memory().Unpin(a.range),
              FailsWith(StatusCode::kFailedPrecondition, "not pinned"));
  EXPECT_THAT(pool_->memory().Trim(0), IsOk());
  EXPECT_EQ(mapped(), 0u);
}

TEST_F(PoolMemoryTest, APinForGoodHoldsUntilThePoolIsClosed) {
  const Block a = Allocate(4 * kMiB), b = Allocate(64 * kMiB);
  Write(a, 1);
  for (int i = 0; i < 3; ++i) EXPECT_THAT(pool_->memory().PinForGood(a.range), IsOk());
  const uint64_t pinned = pool_->Stats().pinned_bytes;
  EXPECT_LT(pinned, 64 * kMiB);
  EXPECT_THAT(pool_->memory().Unpin(a.range),
              FailsWith(StatusCode::kFailedPrecondition, "not pinned"));
  EXPECT_THAT(pool_->memory().PinForGood({b.range.base, 640 * kMiB}),
              FailsWith(StatusCode::kFailedPrecondition, "are mapped"));
  // An ordinary pin of the same pieces comes and goes beside it.
  EXPECT_THAT(pool_->memory().Pin(a.range), IsOk());
  EXPECT_THAT(pool_->memory().Unpin(a.range), IsOk());
  EXPECT_THAT(pool_->parking().Park(ParkContents::kDrop), IsOk());
  EXPECT_EQ(mapped(), pinned);
  EXPECT_THAT(pool_->parking().Wake(), IsOk());
  EXPECT_EQ(Read(a), 1);
  EXPECT_THAT(pool_->Free(a.id), IsOk());
  EXPECT_THAT(pool_->Free(b.id), IsOk());
  EXPECT_THAT(pool_->memory().Trim(0, /*break_checkpoints=*/true), IsOk());
  EXPECT_EQ(mapped(), pinned);
  EXPECT_THAT(pool_->Close(), IsOk());
}

TEST_F(PoolMemoryTest, InitialBytesAreThereFromTheStart) {
  Open({.initial_bytes = 40 * kMiB});
  EXPECT_GE(mapped(), 40 * kMiB);
  EXPECT_EQ(pool_->Stats().initial_bytes, 40 * kMiB);
  EXPECT_EQ(pool_->Stats().initial_shortfall, 0u);
  const uint64_t before = mapped();
  Allocate(30 * kMiB);
  EXPECT_EQ(mapped(), before);
}

TEST_F(PoolMemoryTest, InitialBytesAreBestEffortAndTheirShortfallIsCounted) {
  Open({.limit_bytes = 100 * kMiB, .initial_bytes = 150 * kMiB});
  EXPECT_LE(mapped(), 100 * kMiB);
  EXPECT_GE(mapped(), 90 * kMiB);
  EXPECT_EQ(pool_->Stats().initial_shortfall, 150 * kMiB - mapped());
  Open({.initial_bytes = 1000 * kMiB});
  EXPECT_EQ(pool_->Stats().initial_shortfall, 1000 * kMiB - mapped());
  EXPECT_GE(mapped(), 200 * kMiB);
}

TEST_F(PoolMemoryTest, LimitBelowWhatAWakeNeedsIsRefused) {
  const Block a = Allocate(30 * kMiB), b = Allocate(30 * kMiB);
  Write(a, 1);
  EXPECT_THAT(pool_->parking().Park(ParkContents::kToHost), IsOk());
  EXPECT_THAT(pool_->memory().SetLimit(40 * kMiB),
              FailsWith(StatusCode::kFailedPrecondition, "to be woken"));
  EXPECT_EQ(pool_->Stats().limit_bytes, 0u) << "nothing has changed";
  EXPECT_THAT(pool_->Free(b.id), IsOk());
  EXPECT_THAT(pool_->memory().SetLimit(40 * kMiB), IsOk()) << "what is dead needs no waking";
  EXPECT_THAT(pool_->parking().Wake(), IsOk());
  EXPECT_LE(mapped(), 40 * kMiB);
  EXPECT_EQ(Read(a), 1);
}

// A device whose addresses go further than its memory.
TEST_F(PoolMemoryTest, FreeMemoryThatAGoodFitOverlooksIsFoundBeforeAnAllocationFails) {
  auto small = *OpenHostDevice({.memory_bytes = 56 * kMiB});
  auto stream = *small->NewStream();
  auto pool = *Pool::Create(*small, {.address_bytes = 256 * kMiB});
  const auto allocate = [&](uint64_t bytes) { return *pool->Allocate(bytes, *stream); };
  const Block shorter = allocate(20 * kMiB);
  allocate(kMiB);  // between them, and after them
  const Block longer = allocate(20 * kMiB + 100 * 1024);
  allocate(kMiB);
  // Their memory cannot be moved to where it would be better.
  EXPECT_THAT(pool->memory().Pin(shorter.range), IsOk());
  EXPECT_THAT(pool->memory().Pin(longer.range), IsOk());
  EXPECT_THAT(pool->Free(shorter.id), IsOk());
  EXPECT_THAT(pool->Free(longer.id), IsOk());
  // One class of sizes, and the lower of the two is too short.
  auto found = pool->Allocate(20 * kMiB + 60 * 1024, *stream);
  ASSERT_THAT(found, IsOk());
  EXPECT_EQ(found->range.base, longer.range.base);
  pool->ledger().CheckConsistency();
  EXPECT_THAT(stream->Fill(found->range.base, 1, 1, found->range.bytes), IsOk());
  EXPECT_THAT(stream->Synchronize(), IsOk());
  EXPECT_THAT(pool->Allocate(60 * kMiB, *stream),
              FailsWith(StatusCode::kResourceExhausted, "the device has no more"));
  pool.reset();
  stream.reset();
  EXPECT_THAT(small->Close(), IsOk());
}

TEST_F(PoolMemoryTest, ServerMayFreeButNotRestoreParkOrClose) {
  CheckpointId here;
  std::vector<absl::Status> refused;
  Open({.limit_bytes = 16 * kMiB, .before_out_of_memory = [&](const MemoryWanted&) {
          refused = {pool_->checkpoints().Restore(here),
                     pool_->parking().Park(ParkContents::kDrop),
                     pool_->parking().Wake(),
                     pool_->Close(),
                     pool_->scopes().Begin().status(),
                     pool_->checkpoints().Take().status(),
                     pool_->Free(pool_->ledger().IdOf(1))};  // the block that is being made
          EXPECT_THAT(pool_->Allocate(100 * kMiB, *stream_),
                      FailsWith(StatusCode::kResourceExhausted, "limit is reached"));
          return false;
        }});
  here = *pool_->checkpoints().Take();
  const Block block = Allocate(kMiB);
  EXPECT_EQ(block.id.index, 0u);
  EXPECT_THAT(pool_->Allocate(32 * kMiB, *stream_),
              FailsWith(StatusCode::kResourceExhausted, "limit is reached"));
  ASSERT_EQ(refused.size(), 7u);
  for (const absl::Status& status : refused) {
    EXPECT_THAT(status, FailsWith(StatusCode::kFailedPrecondition, "ask")) << status.ToString();
  }
  EXPECT_EQ(pool_->Stats().live_blocks, 1u);
  EXPECT_THAT(pool_->checkpoints().Restore(here), IsOk());
}

TEST_F(PoolMemoryTest, PinsCoverWholeRangesAndKeepThePoolOpen) {
  const Block a = Allocate(kMiB);
  EXPECT_THAT(pool_->memory().Pin({a.range.base, 64 * kMiB}),
              FailsWith(StatusCode::kFailedPrecondition, "are mapped"));
  EXPECT_THAT(pool_->memory().Unpin(a.range),
              FailsWith(StatusCode::kFailedPrecondition, "not pinned"))
      << "nothing was pinned";
  EXPECT_THAT(pool_->memory().Pin(a.range), IsOk());
  EXPECT_THAT(pool_->Free(a.id), IsOk());
  EXPECT_THAT(pool_->Close(), FailsWith(StatusCode::kFailedPrecondition, "pinned"));
  EXPECT_THAT(pool_->memory().Unpin(a.range), IsOk());
  EXPECT_THAT(pool_->Close(), IsOk());
}

// They lie in one piece.
TEST_F(PoolMemoryTest, UnpinningANeighbourThatWasNeverPinnedIsRefused) {
  const Block a = Allocate(100 << 10), b = Allocate(100 << 10);
  EXPECT_THAT(pool_->memory().Pin(a.range), IsOk());
  EXPECT_THAT(pool_->memory().Unpin(b.range),
              FailsWith(StatusCode::kFailedPrecondition, "not pinned"));
  EXPECT_THAT(pool_->parking().Park(ParkContents::kDrop), IsOk());
  EXPECT_GT(mapped(), 0u) << "a is pinned still";
  EXPECT_THAT(pool_->parking().Wake(), IsOk());
  EXPECT_THAT(pool_->memory().Pin(b.range), IsOk());
  EXPECT_THAT(pool_->memory().Unpin(a.range), IsOk());
  EXPECT_THAT(pool_->memory().Unpin(b.range), IsOk());
}

TEST_F(PoolMemoryTest, LargeAlignmentsAreThoseOfAddresses) {
  for (const Address wished : {Address{0}, pool_->arena().base() + 2 * kMiB}) {
    Open({.address_bytes = 512 * kMiB, .wished_base = wished});
    if (wished != 0) {
      EXPECT_EQ(pool_->arena().base(), wished) << "an arena that is not aligned itself";
    }
    std::vector<Block> blocks;
    for (uint64_t alignment = 4096; alignment <= 128 * kMiB; alignment *= 2) {
      for (Region region : {Region::kStep, Region::kLasting}) {
        blocks.push_back(Allocate(1000, {.alignment = alignment, .region = region}));
        EXPECT_EQ(blocks.back().range.base % alignment, 0u) << alignment;
      }
    }
    pool_->ledger().CheckConsistency();
  }
}

// The device is lost if work finds its memory unmapped.
TEST_F(PoolMemoryTest, DestroyingWaitsForQueuedWorkOnEveryStream) {
  auto other = *device_->NewStream();
  const Block a = Allocate(4 * kMiB), b = *pool_->Allocate(4 * kMiB, *other);
  Write(a, 1);
  EXPECT_THAT(other->Fill(b.range.base, 2, 1, b.range.bytes), IsOk());
  pool_.reset();
  EXPECT_THAT(stream_->Synchronize(), IsOk());
  EXPECT_THAT(other->Synchronize(), IsOk());
  EXPECT_THAT(device_->health(), IsOk());
}

TEST_F(PoolMemoryTest, PoolOutlivesStreamsThatItWaitedForAndForgot) {
  auto brief = *device_->NewStream();
  const Block a = *pool_->Allocate(4 * kMiB, *brief);
  EXPECT_THAT(brief->Fill(a.range.base, 2, 1, a.range.bytes), IsOk());
  EXPECT_THAT(pool_->streams().WaitAndForget(), IsOk());
  brief.reset();
  EXPECT_EQ(Read(a), 2);
  EXPECT_THAT(pool_->Free(a.id), IsOk());
  EXPECT_EQ(Allocate(4 * kMiB).range.base, a.range.base);
}

TEST(NextPieceTest, PiecesGrowWithTheRowAndTheRequest) {
  EXPECT_EQ(NextPieceBytes(0, 1, 2 * kMiB, MostPieceBytes(0)), 2 * kMiB);
  EXPECT_EQ(NextPieceBytes(0, 20 * kMiB, 2 * kMiB, MostPieceBytes(0)), 16 * kMiB);
  EXPECT_EQ(NextPieceBytes(0, 100 * kMiB, 2 * kMiB, MostPieceBytes(0)), 64 * kMiB);
  EXPECT_EQ(NextPieceBytes(300 * kMiB, 1, 2 * kMiB, MostPieceBytes(0)), 16 * kMiB);
  EXPECT_EQ(NextPieceBytes(5000 * kMiB, 1, 2 * kMiB, MostPieceBytes(0)), 64 * kMiB);
  EXPECT_EQ(NextPieceBytes(0, 1, 32 * kMiB, MostPieceBytes(0)), 32 * kMiB) << "by granularity";
}

TEST(NextPieceTest, APieceIsASmallPartOfTheLimit) {
  EXPECT_EQ(MostPieceBytes(8 * kMiB), 2 * kMiB) << "none is smaller";
  EXPECT_EQ(MostPieceBytes(160 * kMiB), 10 * kMiB);
  EXPECT_EQ(MostPieceBytes(4096 * kMiB), 64 * kMiB);
  EXPECT_EQ(NextPieceBytes(0, 100 * kMiB, 2 * kMiB, 9 * kMiB), 10 * kMiB) << "by granularity";
}

}  // namespace
}  // namespace graphtree
