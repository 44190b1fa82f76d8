// The pool's debug modes on the host device.
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "allocator/pool.h"
#include "allocator/pool_types.h"
#include "device/base/status_matchers.h"
#include "device/error.h"
#include "device/host/host_device.h"
#include "device/stream.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

using absl::StatusCode;

class PoolDebugTest : public testing::Test {
 protected:
  void SetUp() override {
    device_ = *OpenHostDevice({.memory_bytes = 128 << 20, .poison = false});
    stream_ = *device_->NewStream();
  }
  void TearDown() override {
    pool_.reset();
    stream_.reset();
    EXPECT_THAT(device_->Close(), IsOk());
  }
  void Open(PoolDebug debug) { pool_ = *Pool::Create(*device_, {.debug = debug}); }
  Block Allocate(uint64_t bytes, const BlockOptions& options = {}) {
    return *pool_->Allocate(bytes, *stream_, options);
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Pool> pool_;
};

TEST_F(PoolDebugTest, FreedBytesArePoisoned) {
  Open({.poison_on_free = true, .poison = 0xAB});
  const Block block = Allocate(1000);
  EXPECT_THAT(stream_->Fill(block.range.base, 1, 1, 1000), IsOk());
  EXPECT_THAT(pool_->Free(block.id), IsOk());
  EXPECT_THAT(stream_->Synchronize(), IsOk());
  const uint8_t* bytes = PointerTo<uint8_t>(block.range.base);
  EXPECT_EQ(bytes[0], 0xAB);
  EXPECT_EQ(bytes[999], 0xAB);
}

TEST_F(PoolDebugTest, GuardGapsKeepBlocksApart) {
  Open({.guard_gaps = true});
  const Block a = Allocate(512), b = Allocate(512, {.alignment = 4096});
  EXPECT_GE(b.range.base, a.range.end() + 2 * 512);
  EXPECT_EQ(b.range.base % 4096, 0u);
  EXPECT_EQ(pool_->Stats().requested_bytes, 1024u);
  EXPECT_THAT(pool_->watchers().CheckCanaries(*stream_), IsOk()) << "these gaps hold no canaries";
}

TEST_F(PoolDebugTest, AGuardBelongsToNobody) {
  Open({.guard_gaps = true});
  const Block block = Allocate(1000, {.alignment = 4096});
  EXPECT_EQ(pool_->Find(block.range.base)->id, block.id);
  EXPECT_EQ(pool_->Find(block.range.base + 999)->id, block.id);
  EXPECT_THAT(pool_->Find(block.range.base - 1), FailsWith(StatusCode::kNotFound, "no live block"));
  EXPECT_THAT(pool_->Find(block.range.base + 1024),
              FailsWith(StatusCode::kNotFound, "no live block"));
  EXPECT_EQ(pool_->Find(Allocate(0).range.base)->range.bytes, 0u);
}

TEST_F(PoolDebugTest, CanariesTellWhoseGuardWasWrittenOver) {
  Open({.guard_gaps = true, .canaries = true});
  const Block a = Allocate(1000, {.tag = pool_->journal().Word("weights")}), b = Allocate(1 << 20);
  EXPECT_THAT(pool_->watchers().CheckCanaries(*stream_), IsOk());
  EXPECT_THAT(stream_->Fill(b.range.base, 1, 1, b.range.bytes), IsOk());
  EXPECT_THAT(pool_->watchers().CheckCanaries(*stream_), IsOk());
  std::memset(PointerTo(a.range.base - 3), 7, 3);
  EXPECT_THAT(pool_->watchers().CheckCanaries(*stream_),
              FailsWith(StatusCode::kDataLoss, "3 bytes in front of block \"weights\""));
  std::memset(PointerTo(b.range.end()), 7, 5);
  EXPECT_THAT(pool_->watchers().CheckCanaries(*stream_),
              FailsWith(StatusCode::kDataLoss, "5 bytes behind"));
}

// A guard that was written over before a park is still reported after the wake if contents were
// saved; where they were dropped the wake writes the guard anew.
TEST_F(PoolDebugTest, WhatRanOverAGuardIsToldBehindAWakeThatBringsItBack) {
  for (const ParkContents contents : {ParkContents::kToHost, ParkContents::kDrop}) {
    Open({.canaries = true});
    const Block block = Allocate(1000, {.tag = pool_->journal().Word("weights")});
    EXPECT_THAT(stream_->Synchronize(), IsOk());
    std::memset(PointerTo(block.range.base - 3), 7, 3);
    EXPECT_THAT(pool_->parking().Park(contents), IsOk());
    EXPECT_THAT(pool_->parking().Wake(), IsOk());
    const absl::Status checked = pool_->watchers().CheckCanaries(*stream_);
    if (contents == ParkContents::kDrop) {
      EXPECT_THAT(checked, IsOk());
    } else {
      EXPECT_THAT(checked,
                  FailsWith(StatusCode::kDataLoss, "3 bytes in front of block \"weights\""));
    }
    pool_.reset();
  }
}

TEST_F(PoolDebugTest, DevicesThatPoisonFreshBytesLeaveCanariesAlone) {
  pool_.reset();
  stream_.reset();
  device_ = *OpenHostDevice({.memory_bytes = 128 << 20});
  stream_ = *device_->NewStream();
  Open({.canaries = true});
  const Block block = Allocate(1000);
  EXPECT_THAT(pool_->watchers().CheckCanaries(*stream_), IsOk());
  EXPECT_THAT(pool_->Free(block.id), IsOk());
  Allocate(2000);
  EXPECT_THAT(pool_->watchers().CheckCanaries(*stream_), IsOk());
}

TEST_F(PoolDebugTest, CanariesAreCheckedBehindTheStreamsThatWriteThem) {
  Open({.canaries = true});
  auto other = *device_->NewStream();
  EXPECT_THAT(pool_->Allocate(1000, *other), IsOk());
  EXPECT_THAT(pool_->watchers().CheckCanaries(*stream_), IsOk());
  EXPECT_THAT(device_->health(), IsOk());
  pool_.reset();
}

TEST_F(PoolDebugTest, CanariesAreNotCheckedWhileACaptureIsOpen) {
  Open({.canaries = true});
  EXPECT_THAT(stream_->BeginCapture(CaptureMode::kThreadLocal), IsOk());
  EXPECT_THAT(pool_->watchers().CheckCanaries(*stream_),
              FailsWith(StatusCode::kFailedPrecondition, "a capture is open"));
  EXPECT_THAT(stream_->EndCapture(), IsOk());
}

TEST_F(PoolDebugTest, GuardsOfBlocksThatARestoreBringsBackAreWrittenAgain) {
  Open({.canaries = true});
  auto other_stream = *device_->NewStream();
  const Block block = Allocate(1000, {.tag = pool_->journal().Word("weights")});
  const CheckpointId here = *pool_->checkpoints().Take();
  EXPECT_THAT(pool_->Free(block.id), IsOk());
  const Block over = *pool_->Allocate(1 << 20, *other_stream);
  ASSERT_LT(over.range.base, block.range.end());
  EXPECT_THAT(other_stream->Fill(over.range.base, 1, 1, over.range.bytes), IsOk());
  EXPECT_THAT(pool_->checkpoints().Restore(here), IsOk());
  EXPECT_THAT(stream_->Synchronize(), IsOk());
  std::memset(PointerTo(block.range.base - 3), 7, 3);
  EXPECT_THAT(pool_->watchers().CheckCanaries(*stream_),
              FailsWith(StatusCode::kDataLoss, "over: 3 bytes in front of block \"weights\""));
  std::memset(PointerTo(block.range.base - 3), 0xC3, 3);
  EXPECT_THAT(pool_->watchers().CheckCanaries(*stream_), IsOk());
  pool_.reset();
}

TEST_F(PoolDebugTest, GuardsThatComeBackWhileACaptureIsOpenAreWrittenByTheNextCheck) {
  Open({.canaries = true});
  const Block kept = Allocate(1000, {.region = Region::kLasting});
  auto scope = *pool_->scopes().Begin();
  EXPECT_THAT(pool_->Free(kept.id), IsOk());
  const Block over = Allocate(1 << 20, {.region = Region::kLasting});
  EXPECT_THAT(stream_->Fill(over.range.base, 1, 1, over.range.bytes), IsOk());
  EXPECT_THAT(stream_->BeginCapture(CaptureMode::kThreadLocal), IsOk());
  EXPECT_THAT(scope->RollBack(), IsOk());
  EXPECT_THAT(stream_->EndCapture(), IsOk());
  EXPECT_THAT(pool_->watchers().CheckCanaries(*stream_), IsOk());
  std::memset(PointerTo(kept.range.end() + 24), 7, 5);
  EXPECT_THAT(pool_->watchers().CheckCanaries(*stream_),
              FailsWith(StatusCode::kDataLoss, "over: 5 bytes behind"));
}

// B reads the block, and then joins somebody's capture. What B may have used is out of reach then,
// and is known by its ranges.
TEST_F(PoolDebugTest, WhatAStreamInACaptureMayReadIsNotPoisoned) {
  Open({.poison_on_free = true});
  const std::unique_ptr<Stream> b = *device_->NewStream(), owner = *device_->NewStream(),
                                other = *device_->NewStream();
  const std::unique_ptr<Event> event = *device_->NewEvent({});
  const auto seen = *device_->memory().AllocateHost(4096);
  const Block read = Allocate(4096);
  EXPECT_THAT(stream_->Fill(read.range.base, 1, 1, 4096), IsOk());
  const Block of_b = *pool_->Allocate(4096, *b);
  EXPECT_THAT(stream_->Record(*event), IsOk());
  EXPECT_THAT(b->Wait(*event), IsOk());
  EXPECT_THAT(pool_->UseOn(read.id, *b), IsOk());
  EXPECT_THAT(b->Copy(seen->range().base, read.range.base, 4096), IsOk());
  EXPECT_THAT(pool_->Free(of_b.id), IsOk());
  const uint64_t before = pool_->Stats().unpoisoned_frees;
  EXPECT_THAT(owner->BeginCapture(CaptureMode::kRelaxed), IsOk());
  EXPECT_THAT(owner->Record(*event), IsOk());
  EXPECT_THAT(b->Wait(*event), IsOk());
  EXPECT_THAT(pool_->Allocate(4096, *other), IsOk());
  EXPECT_THAT(pool_->Free(read.id), IsOk());
  EXPECT_EQ(pool_->Stats().unpoisoned_frees, before + 1);
  EXPECT_THAT(b->Record(*event), IsOk());
  EXPECT_THAT(owner->Wait(*event), IsOk());
  EXPECT_THAT(owner->EndCapture(), IsOk());
  EXPECT_THAT(stream_->Synchronize(), IsOk());
  EXPECT_THAT(b->Synchronize(), IsOk());
  EXPECT_EQ(*static_cast<const uint8_t*>(seen->data()), 1);
  EXPECT_THAT(device_->health(), IsOk());
  pool_.reset();
}

TEST_F(PoolDebugTest, StaleHandlesNameWhoFreedThem) {
  Open({.remember_frees = true});
  const Block block = Allocate(1000, {.tag = pool_->journal().Word("logits")});
  pool_->journal().SetContext(pool_->journal().Word("request 17"));
  EXPECT_THAT(pool_->Free(block.id), IsOk());
  pool_->journal().SetContext(0);
  Allocate(1000);
  EXPECT_THAT(pool_->Free(block.id), FailsWith(StatusCode::kFailedPrecondition, "\"logits\""));
  EXPECT_THAT(pool_->Free(block.id), FailsWith(StatusCode::kFailedPrecondition, "request 17"));
}

TEST_F(PoolDebugTest, DeadMemoryIsInaccessibleUntilItIsAllocatedAgain) {
  Open({.seal_dead_memory = true});
  const Block low = Allocate(1 << 20), high = Allocate(16 << 20);
  EXPECT_THAT(pool_->Free(high.id), IsOk());
  EXPECT_THAT(pool_->watchers().SealDeadMemory(), IsOk());
  EXPECT_THAT(stream_->Fill(low.range.base, 1, 1, low.range.bytes), IsOk());
  EXPECT_THAT(stream_->Synchronize(), IsOk());
  const Block again = Allocate(16 << 20);
  EXPECT_EQ(again.range, high.range);
  EXPECT_THAT(stream_->Fill(again.range.base, 1, 1, again.range.bytes), IsOk());
  EXPECT_THAT(stream_->Synchronize(), IsOk());
  EXPECT_THAT(pool_->Free(again.id), IsOk());
  EXPECT_THAT(pool_->watchers().SealDeadMemory(), IsOk());
  // A stale use faults: the device is lost, as a GPU would be.
  EXPECT_FALSE(stream_->Fill(again.range.end() - 512, 1, 1, 512).ok() &&
               stream_->Synchronize().ok());
  EXPECT_FALSE(device_->health().ok());
}

// Counting needs memory beside the pool. What is there stays, and is checked once there is room.
TEST_F(PoolDebugTest, AFullDeviceIsToldAndNothingIsLost) {
  Open({.canaries = true});
  const Block block = Allocate(1000);
  ASSERT_THAT(pool_->watchers().CheckCanaries(*stream_), IsOk());
  std::memset(PointerTo(block.range.end() + 24), 7, 5);
  std::vector<std::unique_ptr<PhysicalMemory>> all;
  const uint64_t unit = device_->memory().granularity();
  for (auto piece = device_->memory().Create(unit); piece.ok();
       piece = device_->memory().Create(unit)) {
    all.push_back(*std::move(piece));
  }
  for (int attempt = 0; attempt < 2; ++attempt) {
    EXPECT_THAT(pool_->watchers().CheckCanaries(*stream_),
                FailsWith(StatusCode::kResourceExhausted,
                          "checking 2 guards needs 8 bytes of device memory beside the pool, and "
                          "none was checked: "));
  }
  EXPECT_EQ(ErrorCodeOf(pool_->watchers().CheckCanaries(*stream_)), ErrorCode::kOutOfMemory);
  all.clear();
  EXPECT_THAT(pool_->watchers().CheckCanaries(*stream_),
              FailsWith(StatusCode::kDataLoss, "over: 5 bytes behind"));
}

TEST_F(PoolDebugTest, NumbersThatAreNoneAreSaid) {
  Open({});
  EXPECT_THAT(pool_->Allocate(64, *stream_, {.region = static_cast<Region>(5)}).status(),
              FailsWith(StatusCode::kInvalidArgument,
                        "a block of 64 bytes in region 5, and there is none with that number"));
  EXPECT_THAT(pool_->memory().ReserveAhead(64, static_cast<Region>(5)).status(),
              FailsWith(StatusCode::kInvalidArgument, "region 5"));
  EXPECT_THAT(pool_->parking().Park(static_cast<ParkContents>(2)),
              FailsWith(StatusCode::kInvalidArgument, "contents 2"));
  EXPECT_FALSE(pool_->parking().is_parked());
  EXPECT_EQ(pool_->Stats().live_blocks, 0u);
}

}  // namespace
}  // namespace graphtree
