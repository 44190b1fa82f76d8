// The pool during captures: work that is deferred, order between streams, failed captures.
#include <memory>
#include <utility>
#include <vector>

#include "allocator/order/deferred.h"
#include "allocator/pool.h"
#include "allocator/pool_types.h"
#include "allocator/tests/pool_fixture.h"
#include "device/base/status_matchers.h"
#include "device/graph.h"
#include "device/host/host_device.h"
#include "device/stream.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

using absl::StatusCode;
constexpr uint64_t kMiB = uint64_t{1} << 20;

class PoolCaptureTest : public testing::Test {
 protected:
  void SetUp() override {
    device_ = *OpenHostDevice({.memory_bytes = 512 * kMiB});
    stream_ = *device_->NewStream();
    other_ = *device_->NewStream();
    event_ = *device_->NewEvent({});
    pool_ = *Pool::Create(*device_, {});
  }
  void TearDown() override {
    pool_.reset();
    event_.reset();
    stream_.reset();
    other_.reset();
    EXPECT_THAT(device_->Close(), IsOk());
  }
  void Begin() { EXPECT_THAT(stream_->BeginCapture(CaptureMode::kThreadLocal), IsOk()); }
  int Read(const Block& block) { return ByteOf(block, *device_, *stream_); }
  absl::Status Fill(Stream& stream, const Block& block, uint8_t byte) {
    return stream.Fill(block.range.base, byte, 1, block.range.bytes);
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_, other_;
  std::unique_ptr<Event> event_;
  std::unique_ptr<Pool> pool_;
};

TEST_F(PoolCaptureTest, GrowsWhileACaptureIsOpenAndTheGraphReplays) {
  auto scope = *pool_->scopes().Begin();
  Begin();
  const Block block = *pool_->Allocate(30 * kMiB, *stream_);
  EXPECT_THAT(Fill(*stream_, block, 6), IsOk());
  auto graph = *stream_->EndCapture();
  EXPECT_TRUE(scope->Commit().empty());
  auto executable = *graph->Instantiate();
  EXPECT_THAT(executable->Launch(*stream_), IsOk());
  EXPECT_EQ(Read(block), 6);
}

TEST_F(PoolCaptureTest, NothingIsUnmappedWhileACaptureIsOpen) {
  const Block block = *pool_->Allocate(30 * kMiB, *stream_);
  EXPECT_THAT(pool_->Free(block.id), IsOk());
  const uint64_t mapped = pool_->Stats().mapped_bytes;
  Begin();
  EXPECT_EQ(*pool_->memory().Trim(0), mapped) << "what will be released";
  EXPECT_THAT(pool_->parking().Park(ParkContents::kDrop), IsOk());
  EXPECT_EQ(pool_->Stats().mapped_bytes, mapped);
  EXPECT_EQ(pool_->Stats().deferred, 2u);
  EXPECT_THAT(stream_->EndCapture(), IsOk());
  EXPECT_THAT(pool_->deferred().Drain(), IsOk());
  EXPECT_EQ(pool_->Stats().mapped_bytes, 0u);
  EXPECT_TRUE(pool_->parking().is_parked());
}

TEST_F(PoolCaptureTest, WhatWasQueuedIsDoneByTheNextAllocation) {
  const Block block = *pool_->Allocate(30 * kMiB, *stream_);
  EXPECT_THAT(pool_->Free(block.id), IsOk());
  Begin();
  EXPECT_GT(*pool_->memory().Trim(0), 0u);
  EXPECT_THAT(pool_->Allocate(1, *stream_), IsOk()) << "not yet";
  EXPECT_GE(pool_->Stats().mapped_bytes, 30 * kMiB);
  EXPECT_THAT(stream_->EndCapture(), IsOk());
  EXPECT_THAT(pool_->Allocate(1, *stream_), IsOk());
  EXPECT_LT(pool_->Stats().mapped_bytes, 30 * kMiB);
  EXPECT_EQ(pool_->Stats().deferred, 0u);
}

TEST_F(PoolCaptureTest, WhatWasQueuedIsDoneByTheEndOfTheLastScope) {
  for (bool commit : {true, false}) {
    EXPECT_THAT(pool_->Free(pool_->Allocate(30 * kMiB, *stream_)->id), IsOk());
    auto outer = *pool_->scopes().Begin();
    auto inner = *pool_->scopes().Begin();
    Begin();
    EXPECT_GT(*pool_->memory().Trim(0), 0u);
    EXPECT_THAT(pool_->parking().Park(ParkContents::kDrop), IsOk());
    EXPECT_THAT(stream_->EndCapture(), IsOk());
    inner->Commit();
    EXPECT_EQ(pool_->Stats().deferred, 2u) << "the outer one goes on";
    if (commit) {
      outer->Commit();
    } else {
      EXPECT_THAT(outer->RollBack(), IsOk());
    }
    EXPECT_EQ(pool_->Stats().deferred, 0u);
    EXPECT_EQ(pool_->Stats().mapped_bytes, 0u);
    EXPECT_TRUE(pool_->parking().is_parked());
    EXPECT_THAT(pool_->Allocate(1, *stream_),
                FailsWith(StatusCode::kFailedPrecondition, "is parked"));
    EXPECT_THAT(pool_->parking().Wake(), IsOk());
  }
}

TEST_F(PoolCaptureTest, WhoHoldsTheQueueMayLaunchFirst) {
  EXPECT_THAT(pool_->Free(pool_->Allocate(30 * kMiB, *stream_)->id), IsOk());
  auto scope = *pool_->scopes().Begin();
  EXPECT_THAT(pool_->parking().Park(ParkContents::kDrop), IsOk());
  {
    const DeferredQueue::Holding holding(pool_->deferred());
    scope->Commit();
    EXPECT_FALSE(pool_->parking().is_parked());
  }
  EXPECT_FALSE(pool_->Allocate(1, *stream_).ok());
  EXPECT_TRUE(pool_->parking().is_parked());
  EXPECT_THAT(pool_->parking().Wake(), IsOk());
}

TEST_F(PoolCaptureTest, PoolThatIsBeingClosedIsClosed) {
  Begin();
  EXPECT_THAT(pool_->Close(), IsOk());
  EXPECT_THAT(pool_->Allocate(1, *stream_), FailsWith(StatusCode::kFailedPrecondition, "closed"));
  EXPECT_THAT(pool_->scopes().Begin(), FailsWith(StatusCode::kFailedPrecondition, "closed"));
  EXPECT_THAT(stream_->EndCapture(), IsOk());
  EXPECT_THAT(pool_->Close(), IsOk());
}

TEST_F(PoolCaptureTest, ClosingWaitsForTheCaptureOfSomebodyElse) {
  EXPECT_THAT(pool_->Free(pool_->Allocate(1, *stream_)->id), IsOk());
  Begin();
  EXPECT_THAT(pool_->Close(), IsOk());
  EXPECT_GT(pool_->Stats().mapped_bytes, 0u);
  EXPECT_THAT(stream_->EndCapture(), IsOk());
  EXPECT_THAT(pool_->Close(), IsOk());
  EXPECT_EQ(pool_->Stats().mapped_bytes, 0u);
}

// A lost device runs no more work that would have to be awaited.
TEST_F(PoolCaptureTest, WhatAPoolLeavesBehindIsGivenBackByALostDevice) {
  EXPECT_THAT(Fill(*other_, *pool_->Allocate(kMiB, *other_), 1), IsOk());
  Begin();
  pool_.reset();
  EXPECT_THAT(other_->Fill(16, 1, 1, 8), IsOk());
  EXPECT_FALSE(other_->Synchronize().ok());
  EXPECT_FALSE(device_->health().ok());
  EXPECT_FALSE(stream_->EndCapture().ok());
  // TearDown closes the device with nothing left.
}

TEST_F(PoolCaptureTest, RestoringAndClosingInsideTheScopeIsRefused) {
  const CheckpointId here = *pool_->checkpoints().Take();
  auto scope = *pool_->scopes().Begin();
  EXPECT_THAT(pool_->checkpoints().Restore(here),
              FailsWith(StatusCode::kFailedPrecondition, "capture"));
  EXPECT_THAT(pool_->Close(), FailsWith(StatusCode::kFailedPrecondition, "capture"));
  scope->Commit();
  EXPECT_THAT(pool_->checkpoints().Restore(here), IsOk());
}

TEST_F(PoolCaptureTest, RestoringIsRefusedWhileAStreamOfThePoolCaptures) {
  const CheckpointId here = *pool_->checkpoints().Take();
  const Block block = *pool_->Allocate(1, *stream_);
  auto stranger = *device_->NewStream();
  EXPECT_THAT(stranger->BeginCapture(CaptureMode::kThreadLocal), IsOk());
  EXPECT_THAT(pool_->checkpoints().Restore(here), IsOk()) << "it holds nothing of this pool";
  EXPECT_THAT(pool_->Describe(block.id), FailsWith(StatusCode::kFailedPrecondition, "freed"));
  EXPECT_THAT(stranger->EndCapture(), IsOk());
  Begin();
  EXPECT_THAT(pool_->Allocate(1, *stream_), IsOk()) << "without a scope";
  EXPECT_THAT(pool_->checkpoints().Restore(here),
              FailsWith(StatusCode::kFailedPrecondition, "capture"));
  EXPECT_EQ(pool_->Stats().live_blocks, 1u) << "nothing was restored";
  EXPECT_THAT(stream_->EndCapture(), IsOk());
  EXPECT_THAT(pool_->checkpoints().Restore(here), IsOk());
}

// What the capture uses is live before and after: in the lasting region, or at the checkpoint, too.
TEST_F(PoolCaptureTest, RestoringGoesOnBesideACaptureThatUsesOtherBlocks) {
  const Block before = *pool_->Allocate(1, *stream_);
  const Block lasting = *pool_->Allocate(1, *other_, {.region = Region::kLasting});
  const CheckpointId here = *pool_->checkpoints().Take();
  const Block after = *pool_->Allocate(1, *other_);
  Begin();
  EXPECT_THAT(pool_->UseOn(before.id, *stream_), IsOk());
  EXPECT_THAT(pool_->UseOn(lasting.id, *stream_), IsOk());
  EXPECT_THAT(pool_->Free(lasting.id), IsOk());
  EXPECT_THAT(pool_->checkpoints().Restore(here), IsOk());
  EXPECT_THAT(pool_->Describe(after.id), FailsWith(StatusCode::kFailedPrecondition, "freed"));
  EXPECT_THAT(pool_->Describe(before.id), IsOk());
  const Block again = *pool_->Allocate(1, *other_);
  EXPECT_THAT(pool_->UseOn(again.id, *stream_), IsOk());
  EXPECT_THAT(pool_->checkpoints().Restore(here),
              FailsWith(StatusCode::kFailedPrecondition, "capture"));
  EXPECT_THAT(stream_->EndCapture(), IsOk());
  EXPECT_THAT(pool_->checkpoints().Restore(here), IsOk());
}

// The stream that used the pool before captures something that has nothing to do with it.
TEST_F(PoolCaptureTest, AStreamOfThePoolMayCaptureSomethingElse) {
  const CheckpointId here = *pool_->checkpoints().Take();
  for (Stream* stream : {stream_.get(), other_.get(), stream_.get()}) {
    EXPECT_THAT(pool_->Free(pool_->Allocate(kMiB, *stream)->id), IsOk());
  }
  Begin();
  const Block block = *pool_->Allocate(kMiB, *other_);
  EXPECT_THAT(Fill(*other_, block, 1), IsOk());
  EXPECT_THAT(pool_->checkpoints().Restore(here), IsOk());
  EXPECT_THAT(stream_->EndCapture(), IsOk());
  EXPECT_THAT(other_->Synchronize(), IsOk());
}

// A stream that has waited for an older launch has nothing to wait for, whatever was launched on
// it since then.
TEST_F(PoolCaptureTest, AnAwaitedLaunchStaysAwaitedWhenItsStreamCaptures) {
  EXPECT_THAT(pool_->Free(pool_->Allocate(kMiB, *stream_)->id), IsOk());
  EXPECT_THAT(pool_->streams().NoteLaunch(*stream_), IsOk());
  const Block awaits = *pool_->Allocate(kMiB, *other_);
  EXPECT_THAT(pool_->streams().NoteLaunch(*other_), IsOk());
  const uint64_t ordered = pool_->Stats().cross_stream_reuses;
  Begin();
  EXPECT_THAT(pool_->Allocate(kMiB, *other_), IsOk());
  EXPECT_THAT(stream_->EndCapture(), IsOk());
  EXPECT_EQ(pool_->Stats().cross_stream_reuses, ordered);
  EXPECT_THAT(pool_->Free(awaits.id), IsOk());
}

// Addresses that had no memory before are in use by nobody, whatever is launched where.
TEST_F(PoolCaptureTest, FreshMemoryNeedsNoOrder) {
  EXPECT_THAT(pool_->Free(pool_->Allocate(kMiB, *stream_)->id), IsOk());
  EXPECT_THAT(pool_->streams().NoteLaunch(*stream_), IsOk());
  Begin();
  const Block block = *pool_->Allocate(kMiB, *other_);
  EXPECT_THAT(Fill(*other_, block, 1), IsOk());
  EXPECT_THAT(stream_->EndCapture(), IsOk());
  EXPECT_THAT(other_->Synchronize(), IsOk());
}

TEST_F(PoolCaptureTest, FailedCaptureLeavesThePoolAsItWasWithTheGrowthReturned) {
  const Block before = *pool_->Allocate(1000, *stream_);
  const PoolStats stats = pool_->Stats();
  {
    auto scope = *pool_->scopes().Begin();
    Begin();
    EXPECT_THAT(pool_->Allocate(100 * kMiB, *stream_), IsOk());
    EXPECT_THAT(pool_->Allocate(30 * kMiB, *stream_, {.region = Region::kStep}), IsOk());
    EXPECT_THAT(pool_->Free(before.id), IsOk());
    EXPECT_FALSE(stream_->Synchronize().ok()) << "forbidden here: the capture is invalid";
    EXPECT_FALSE(stream_->EndCapture().ok());
    EXPECT_THAT(scope->RollBack(), IsOk());
  }
  EXPECT_EQ(pool_->Stats().mapped_bytes, stats.mapped_bytes);
  EXPECT_EQ(pool_->Stats().live_bytes, stats.live_bytes);
  EXPECT_EQ(pool_->Stats().checkpoints, 0u);
  EXPECT_THAT(pool_->Describe(before.id), IsOk());
}

TEST_F(PoolCaptureTest, FailedCaptureWaitsForEagerWorkOnItsGrowth) {
  auto scope = *pool_->scopes().Begin();
  const Block block = *pool_->Allocate(10 * kMiB, *other_);
  EXPECT_THAT(Fill(*other_, block, 1), IsOk());
  EXPECT_THAT(scope->RollBack(), IsOk());
  EXPECT_THAT(other_->Synchronize(), IsOk()) << "its memory was there";
}

TEST_F(PoolCaptureTest, ScopesNest) {
  auto outer = *pool_->scopes().Begin();
  const Block kept = *pool_->Allocate(100, *stream_);
  {
    auto inner = *pool_->scopes().Begin();
    EXPECT_THAT(pool_->Allocate(100, *stream_), IsOk());
  }
  EXPECT_EQ(pool_->Stats().live_blocks, 1u);
  outer->Commit();
  EXPECT_THAT(pool_->Describe(kept.id), IsOk());
}

TEST_F(PoolCaptureTest, ReuseAcrossStreamsInsideACaptureIsAnEdgeOfTheGraph) {
  auto scope = *pool_->scopes().Begin();
  Begin();
  EXPECT_THAT(stream_->Record(*event_), IsOk());
  EXPECT_THAT(other_->Wait(*event_), IsOk());
  const Block first = *pool_->Allocate(kMiB, *stream_);
  EXPECT_THAT(Fill(*stream_, first, 1), IsOk());
  EXPECT_THAT(pool_->Free(first.id), IsOk());
  const Block second = *pool_->Allocate(kMiB, *other_);
  EXPECT_EQ(second.range.base, first.range.base);
  EXPECT_THAT(Fill(*other_, second, 2), IsOk());
  EXPECT_THAT(other_->Record(*event_), IsOk());
  EXPECT_THAT(stream_->Wait(*event_), IsOk());
  auto graph = *stream_->EndCapture();
  scope->Commit();
  ASSERT_EQ(graph->ops().size(), 2u);
  ASSERT_EQ(graph->ops()[1].dependencies.size(), 1u);
  EXPECT_EQ(graph->ops()[1].dependencies[0].from, 0u);
  auto executable = *graph->Instantiate();
  for (int i = 0; i < 5; ++i) EXPECT_THAT(executable->Launch(*stream_), IsOk());
  EXPECT_EQ(Read(second), 2);
}

TEST_F(PoolCaptureTest, LaunchesAreToldWhichEarlierStreamsToWaitFor) {
  const Block eager = *pool_->Allocate(kMiB, *other_);
  EXPECT_THAT(Fill(*other_, eager, 1), IsOk());
  EXPECT_THAT(pool_->Free(eager.id), IsOk());
  auto scope = *pool_->scopes().Begin();
  Begin();
  const Block inside = *pool_->Allocate(kMiB, *stream_);
  EXPECT_EQ(inside.range.base, eager.range.base);
  EXPECT_THAT(Fill(*stream_, inside, 2), IsOk());
  auto graph = *stream_->EndCapture();
  const StreamLives awaited = scope->Commit();
  ASSERT_EQ(awaited.size(), 1u);
  EXPECT_EQ(awaited[0], other_->life());
  auto executable = *graph->Instantiate();
  EXPECT_THAT(awaited[0]->Await(*event_, *stream_), IsOk());
  EXPECT_THAT(executable->Launch(*stream_), IsOk());
  EXPECT_EQ(Read(inside), 2);
}

TEST_F(PoolCaptureTest, BytesFreedByAnOpenCaptureAreNotGivenToOutsiders) {
  auto scope = *pool_->scopes().Begin();
  Begin();
  const Block block = *pool_->Allocate(kMiB, *stream_);
  const Block between = *pool_->Allocate(kMiB, *stream_);
  EXPECT_THAT(pool_->Free(block.id), IsOk());
  const Block outside = *pool_->Allocate(kMiB, *other_);
  EXPECT_FALSE(outside.range.Overlaps(block.range)) << "the search goes on";
  EXPECT_THAT(Fill(*other_, outside, 1), IsOk());
  EXPECT_THAT(pool_->AllocateAt(block.range.base, kMiB, *other_),
              FailsWith(StatusCode::kFailedPrecondition, "outside of it"));
  EXPECT_EQ(pool_->Allocate(kMiB, *stream_)->range.base, block.range.base);
  EXPECT_THAT(stream_->EndCapture(), IsOk());
  scope->Commit();
  EXPECT_THAT(pool_->Free(between.id), IsOk());
  EXPECT_EQ(pool_->Allocate(kMiB, *other_)->range.base, between.range.base);
}

// The bytes after the last block were the capture's, too: what was never used is taken.
TEST_F(PoolCaptureTest, TailThatAnOpenCaptureHasFreedIsNotGivenToOutsiders) {
  auto scope = *pool_->scopes().Begin();
  Begin();
  EXPECT_THAT(pool_->Free(pool_->Allocate(5 * kMiB, *stream_)->id), IsOk());
  const Block outside = *pool_->Allocate(kMiB, *other_);
  EXPECT_GE(outside.range.base, pool_->arena().base() + 5 * kMiB);
  EXPECT_THAT(Fill(*other_, outside, 1), IsOk());
  EXPECT_THAT(stream_->EndCapture(), IsOk());
  scope->Commit();
  EXPECT_THAT(other_->Synchronize(), IsOk());
  pool_->ledger().CheckConsistency();
}

TEST_F(PoolCaptureTest, MemoryThatAReplayUsesIsOrderedBeforeEagerWork) {
  auto scope = *pool_->scopes().Begin();
  Begin();
  const Block temporary = *pool_->Allocate(kMiB, *stream_);
  EXPECT_THAT(Fill(*stream_, temporary, 1), IsOk());
  EXPECT_THAT(pool_->Free(temporary.id), IsOk());
  auto graph = *stream_->EndCapture();
  scope->Commit();
  auto executable = *graph->Instantiate();
  auto launcher = *device_->NewStream();
  EXPECT_THAT(executable->Launch(*launcher), IsOk());
  EXPECT_THAT(pool_->streams().NoteLaunch(*launcher), IsOk());
  const Block eager = *pool_->Allocate(kMiB, *other_);
  EXPECT_EQ(eager.range.base, temporary.range.base);
  EXPECT_THAT(Fill(*other_, eager, 9), IsOk());
  EXPECT_THAT(other_->Synchronize(), IsOk());
  EXPECT_THAT(launcher->Synchronize(), IsOk());
  EXPECT_EQ(Read(eager), 9);
  EXPECT_THAT(device_->health(), IsOk());
  EXPECT_THAT(pool_->streams().Forget(*launcher), IsOk());
}

// A graph reads a block that its capture freed and gave to others: the bytes are there when it is
// launched, and poisoned like others after that.
TEST_F(PoolCaptureTest, ShieldedBytesOutliveTheirBlock) {
  const Block input = *pool_->Allocate(kMiB, *stream_);
  const Block out = *pool_->Allocate(kMiB, *stream_);
  EXPECT_THAT(Fill(*stream_, input, 7), IsOk());
  auto scope = *pool_->scopes().Begin();
  Begin();
  EXPECT_THAT(stream_->Copy(out.range.base, input.range.base, kMiB), IsOk());
  pool_->watchers().Shield(input.range);
  EXPECT_THAT(pool_->Free(input.id), IsOk());
  const Block first = *pool_->Allocate(kMiB, *stream_);
  EXPECT_EQ(first.range.base, input.range.base);
  EXPECT_THAT(pool_->Free(first.id), IsOk());
  const Block second = *pool_->Allocate(kMiB, *stream_);
  EXPECT_EQ(second.range.base, input.range.base);
  EXPECT_THAT(Fill(*stream_, second, 9), IsOk());
  auto graph = *stream_->EndCapture();
  scope->Commit();
  auto executable = *graph->Instantiate();
  EXPECT_THAT(executable->Launch(*stream_), IsOk());
  pool_->watchers().Unshield();
  EXPECT_EQ(Read(out), 7);
  EXPECT_EQ(Read(second), 9);
  EXPECT_THAT(pool_->Free(second.id), IsOk());
  const Block third = *pool_->Allocate(kMiB, *stream_);
  EXPECT_NE(Read(third), 9) << "poison again";
}

TEST_F(PoolCaptureTest, ExecutableReplaysAfterParkWakeRestoreAndGrowth) {
  const CheckpointId root = *pool_->checkpoints().Take();
  auto scope = *pool_->scopes().Begin();
  Begin();
  const Block block = *pool_->Allocate(10 * kMiB, *stream_);
  EXPECT_THAT(Fill(*stream_, block, 5), IsOk());
  auto graph = *stream_->EndCapture();
  scope->Commit();
  const CheckpointId recorded = *pool_->checkpoints().Take();
  auto executable = *graph->Instantiate();
  const auto replays = [&] {
    EXPECT_THAT(Fill(*stream_, block, 0), IsOk());
    EXPECT_THAT(executable->Launch(*stream_), IsOk());
    return Read(block) == 5;
  };
  EXPECT_TRUE(replays());
  EXPECT_THAT(pool_->parking().Park(ParkContents::kDrop), IsOk());
  EXPECT_THAT(pool_->parking().Wake(), IsOk());
  EXPECT_TRUE(replays()) << "after park and wake";
  EXPECT_THAT(pool_->checkpoints().Restore(root), IsOk());
  EXPECT_THAT(pool_->checkpoints().Restore(recorded), IsOk());
  EXPECT_TRUE(replays()) << "after restore";
  EXPECT_THAT(pool_->Allocate(200 * kMiB, *stream_), IsOk());
  EXPECT_TRUE(replays()) << "with a grown arena";
}

}  // namespace
}  // namespace graphtree
