// One call of the device fails, and the pool must lose nothing and say so.
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "allocator/books/block_record.h"
#include "allocator/pool.h"
#include "allocator/pool_types.h"
#include "allocator/tests/pool_fixture.h"
#include "device/base/status_matchers.h"
#include "device/error.h"
#include "device/fault/every_call.h"
#include "device/fault/fault_device.h"
#include "device/host/host_device.h"
#include "device/stream.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

class PoolFaultTest : public testing::Test {
 protected:
  void SetUp() override { Open({}); }
  void TearDown() override {
    plan().Clear();
    pool_.reset();
    stream_.reset();
    other_.reset();
    EXPECT_THAT(device_->Close(), IsOk());
  }
  void Open(PoolOptions options) {
    pool_.reset();
    stream_.reset();
    other_.reset();
    device_ = std::make_unique<FaultDevice>(*OpenHostDevice({.memory_bytes = 256 * kMiB}));
    stream_ = *device_->NewStream();
    other_ = *device_->NewStream();
    pool_ = *Pool::Create(*device_, std::move(options));
  }
  FaultPlan& plan() { return device_->plan(); }
  void FailNext(absl::string_view name) { plan().FailCallOf(name, 1, ErrorCode::kUnknown); }
  uint64_t calls(absl::string_view name) { return plan().calls_of(name); }
  uint64_t waits() { return calls("Stream.Synchronize") + calls("Event.Synchronize"); }
  Block Allocate(uint64_t bytes) { return *pool_->Allocate(bytes, *stream_); }

  std::unique_ptr<FaultDevice> device_;
  std::unique_ptr<Stream> stream_, other_;
  std::unique_ptr<Pool> pool_;
};

TEST_F(PoolFaultTest, GrowthThatFailsHalfWayUnmapsNothingWhileACaptureIsOpen) {
  for (bool with_scope : {false, true}) {
    std::unique_ptr<CaptureScope> scope;
    if (with_scope) scope = *pool_->scopes().Begin();
    EXPECT_THAT(other_->BeginCapture(CaptureMode::kThreadLocal), IsOk());
    const uint64_t unmaps = calls("Memory.Unmap"), waited = waits();
    plan().FailCallOf("Memory.Create", 2, ErrorCode::kOutOfMemory);
    EXPECT_FALSE(pool_->Allocate(100 * kMiB, *stream_).ok());
    EXPECT_GT(pool_->Stats().mapped_bytes, 0u);
    EXPECT_EQ(calls("Memory.Unmap"), unmaps);
    EXPECT_EQ(waits(), waited);
    EXPECT_THAT(other_->EndCapture(), IsOk());
    if (with_scope) scope->Commit();
    EXPECT_THAT(pool_->checkpoints().Take(), IsOk()) << "the next call";
    EXPECT_EQ(pool_->Stats().mapped_bytes, 0u) << "returned";
    EXPECT_THAT(pool_->failures().deferred, IsOk());
  }
}

TEST_F(PoolFaultTest, ADeviceThatClosesGivesBackWhatAPoolHasLeft) {
  Allocate(20 * kMiB);
  EXPECT_THAT(other_->BeginCapture(CaptureMode::kThreadLocal), IsOk());
  pool_.reset();
  EXPECT_THAT(other_->EndCapture(), IsOk());
  stream_.reset();
  other_.reset();
  EXPECT_THAT(device_->Close(), IsOk());
}

// Whoever opened the scope may capture on a stream that the pool does not know.
TEST_F(PoolFaultTest, GrowthReleasesNothingWhileAScopeIsOpen) {
  Open({.limit_bytes = 32 * kMiB});
  const Block low = Allocate(16 * kMiB), high = Allocate(kMiB);
  EXPECT_THAT(pool_->Free(low.id), IsOk());
  auto scope = *pool_->scopes().Begin();
  const uint64_t unmaps = calls("Memory.Unmap"), waited = waits();
  EXPECT_FALSE(pool_->Allocate(20 * kMiB, *stream_).ok());
  EXPECT_EQ(calls("Memory.Unmap"), unmaps);
  EXPECT_EQ(waits(), waited);
  scope->Commit();
  EXPECT_THAT(pool_->Allocate(20 * kMiB, *stream_), IsOk()) << "low's memory has gone there";
  EXPECT_THAT(pool_->Free(high.id), IsOk());
}

TEST_F(PoolFaultTest, PoolThatGoesWhileACaptureIsOpenUnmapsBehindIt) {
  const Block step = Allocate(20 * kMiB);
  EXPECT_THAT(stream_->Fill(step.range.base, 1, 1, step.range.bytes), IsOk());
  EXPECT_THAT(pool_->Allocate(kMiB, *stream_, {.region = Region::kLasting}), IsOk());
  EXPECT_THAT(other_->BeginCapture(CaptureMode::kThreadLocal), IsOk());
  const uint64_t unmaps = calls("Memory.Unmap"), waited = waits();
  pool_.reset();
  EXPECT_EQ(calls("Memory.Unmap"), unmaps);
  EXPECT_EQ(waits(), waited);
  EXPECT_THAT(device_->GiveBackLeftovers(), IsOk());
  EXPECT_EQ(calls("Memory.Unmap"), unmaps) << "not yet";
  EXPECT_THAT(other_->EndCapture(), IsOk());
  plan().FailCallOf("Memory.Unmap", 2, ErrorCode::kUnknown);
  EXPECT_FALSE(device_->GiveBackLeftovers().ok());
  EXPECT_THAT(device_->GiveBackLeftovers(), IsOk()) << "the rest";
  EXPECT_THAT(stream_->Synchronize(), IsOk()) << "its memory was there";
  // The next pool of the device releases the estate, too.
  Open({});
  Allocate(kMiB);
  EXPECT_THAT(other_->BeginCapture(CaptureMode::kThreadLocal), IsOk());
  pool_.reset();
  EXPECT_THAT(other_->EndCapture(), IsOk());
  pool_ = *Pool::Create(*device_, {});
}

// Memory that a wake has mapped before it fails stays mapped until the capture's end, too.
TEST_F(PoolFaultTest, AWakeThatFailsHalfWayUnmapsNothingWhileACaptureIsOpen) {
  const Block step = Allocate(4 * kMiB);
  EXPECT_THAT(pool_->Allocate(kMiB, *stream_, {.region = Region::kLasting}), IsOk());
  EXPECT_THAT(pool_->parking().Park(ParkContents::kDrop), IsOk());
  EXPECT_THAT(other_->BeginCapture(CaptureMode::kThreadLocal), IsOk());
  const uint64_t unmaps = calls("Memory.Unmap"), waited = waits();
  plan().FailCallOf("Memory.Create", 2, ErrorCode::kOutOfMemory);
  EXPECT_FALSE(pool_->parking().Wake().ok());
  EXPECT_TRUE(pool_->parking().is_parked());
  EXPECT_GT(pool_->Stats().mapped_bytes, 0u);
  EXPECT_EQ(calls("Memory.Unmap"), unmaps);
  EXPECT_EQ(waits(), waited);
  EXPECT_THAT(other_->EndCapture(), IsOk());
  EXPECT_THAT(pool_->parking().Wake(), IsOk());
  EXPECT_THAT(stream_->Fill(step.range.base, 1, 1, step.range.bytes), IsOk());
}

// A copy fails, and so do all waits from one on: for what came before the copies, or for these.
TEST_F(PoolFaultTest, AFailedParkGivesNoHostMemoryBackThatCopiesStillWriteTo) {
  const Block block = Allocate(4 * kMiB);
  EXPECT_THAT(pool_->Allocate(kMiB, *stream_, {.region = Region::kLasting}), IsOk());
  EXPECT_THAT(stream_->Fill(block.range.base, 7, 1, block.range.bytes), IsOk());
  for (uint64_t wait = 1; wait <= 5; ++wait) {
    plan().FailCallOf("Stream.Copy", 2, ErrorCode::kUnknown);
    for (uint64_t more = 0; more < 20; ++more) {
      plan().FailCallOf("Stream.Synchronize", wait + more, ErrorCode::kUnknown);
      plan().FailCallOf("Event.Synchronize", wait + more, ErrorCode::kUnknown);
    }
    EXPECT_FALSE(pool_->parking().Park(ParkContents::kToHost).ok());
    plan().Clear();
    EXPECT_THAT(pool_->streams().Wait(), IsOk()) << "wait " << wait;
  }
  EXPECT_THAT(pool_->parking().Park(ParkContents::kToHost), IsOk());
  EXPECT_THAT(pool_->parking().Wake(), IsOk());
  EXPECT_EQ(ByteOf(block, *device_, *stream_), 7);
}

// A stream that writes next is not ordered after the pool's copies.
TEST_F(PoolFaultTest, AFailedParkLeavesNoCopyUnderWayWhereOneWaitFailsToo) {
  const Block block = Allocate(4 * kMiB);
  EXPECT_THAT(pool_->Allocate(kMiB, *stream_, {.region = Region::kLasting}), IsOk());
  for (uint64_t wait = 1; wait <= 10; ++wait) {
    EXPECT_THAT(stream_->Fill(block.range.base, 7, 1, block.range.bytes), IsOk());
    plan().FailCallOf("Stream.Copy", 2, ErrorCode::kUnknown);
    const char* const kind = wait % 2 == 0 ? "Stream.Synchronize" : "Event.Synchronize";
    plan().FailCallOf(kind, (wait + 1) / 2, ErrorCode::kUnknown);
    EXPECT_FALSE(pool_->parking().Park(ParkContents::kToHost).ok());
    plan().Clear();
  }
  EXPECT_EQ(ByteOf(block, *device_, *stream_), 7);
}

TEST_F(PoolFaultTest, WhatAFailedWakeLeavesMappedIsNotSavedOverWhatWasSaved) {
  const Block block = Allocate(4 * kMiB);
  EXPECT_THAT(stream_->Fill(block.range.base, 7, 1, block.range.bytes), IsOk());
  EXPECT_THAT(pool_->parking().Park(ParkContents::kToHost, {block.range}), IsOk());
  plan().FailEveryCallOf("Memory.Unmap", ErrorCode::kUnknown);
  FailNext("Stream.Copy");
  EXPECT_FALSE(pool_->parking().Wake().ok());
  plan().Clear();
  EXPECT_GT(pool_->Stats().mapped_bytes, 0u) << "what could not be unmapped";
  EXPECT_THAT(pool_->parking().Park(ParkContents::kToHost), IsOk());
  EXPECT_EQ(pool_->Stats().mapped_bytes, 0u);
  EXPECT_THAT(pool_->parking().Wake(), IsOk());
  EXPECT_EQ(ByteOf(block, *device_, *stream_), 7);
}

TEST_F(PoolFaultTest, FreeWorksThoughItsBytesCannotBePoisoned) {
  Open({.debug = {.poison_on_free = true}});
  const Block block = Allocate(kMiB);
  plan().FailEveryCallOf("Stream.Fill", ErrorCode::kUnknown);
  EXPECT_THAT(pool_->Free(block.id), IsOk());
  EXPECT_EQ(pool_->Stats().live_blocks, 0u);
  EXPECT_EQ(pool_->Stats().unpoisoned_frees, 1u);
}

// The first guard is being written when the second cannot be.
TEST_F(PoolFaultTest, GuardsOfABlockThatFailedAreAwaitedByTheNext) {
  Open({.debug = {.guard_gaps = true, .canaries = true}});
  plan().FailCallOf("Stream.Fill", 2, ErrorCode::kUnknown);
  EXPECT_FALSE(pool_->Allocate(kMiB, *stream_).ok());
  const Block block = *pool_->Allocate(kMiB, *other_);
  EXPECT_EQ(pool_->Stats().cross_stream_reuses, 1u);
  EXPECT_THAT(other_->Synchronize(), IsOk());
  EXPECT_THAT(stream_->Synchronize(), IsOk());
  EXPECT_THAT(device_->health(), IsOk()) << "no two fills of the same bytes in no order";
  EXPECT_THAT(pool_->Free(block.id), IsOk());
}

TEST_F(PoolFaultTest, CanariesAreCheckedWithMemoryThatStaysUntilItsKernelsAreDone) {
  for (const char* name : {"Stream.Launch", "Stream.Copy", "Stream.Synchronize"}) {
    for (uint64_t n : {1, 2}) {
      SCOPED_TRACE(testing::Message() << name << " " << n);
      Open({.debug = {.guard_gaps = true, .canaries = true}});
      Allocate(kMiB);
      plan().FailCallOf(name, n, ErrorCode::kUnknown);
      if (n == 1 || std::strcmp(name, "Stream.Launch") == 0) {
        EXPECT_FALSE(pool_->watchers().CheckCanaries(*stream_).ok());
      }
      plan().Clear();
      EXPECT_THAT(stream_->Synchronize(), IsOk());
      EXPECT_THAT(device_->health(), IsOk());
      EXPECT_THAT(pool_->watchers().CheckCanaries(*stream_), IsOk());
      EXPECT_THAT(pool_->watchers().CheckCanaries(*other_), IsOk());
    }
  }
}

// Every call of a pool's whole life with all debug modes on.
TEST_F(PoolFaultTest, AnySingleFailingCallUnderDebugModesLosesNothing) {
  const auto make = [] { return *OpenHostDevice({.memory_bytes = 128 * kMiB}); };
  const uint64_t faults = ForEveryFailingCall(make, [](FaultDevice& device) {
    auto stream = device.NewStream();
    if (!stream.ok()) return;
    auto other = device.NewStream();
    if (!other.ok()) return;
    auto pool = Pool::Create(device, {.address_bytes = 64 * kMiB,
                                      .initial_bytes = 2 * kMiB,
                                      .debug = {.poison_on_free = true,
                                                .guard_gaps = true,
                                                .canaries = true,
                                                .seal_dead_memory = true,
                                                .remember_frees = true}});
    if (!pool.ok()) return;
    std::vector<Block> live;
    for (uint64_t i = 0; i < 6; ++i) {
      auto block = (*pool)->Allocate(i * 700000, i % 2 == 0 ? **stream : **other);
      if (block.ok()) live.push_back(*block);
    }
    (*pool)->watchers().CheckCanaries(**stream).IgnoreError();
    while (live.size() > 2) {
      EXPECT_THAT((*pool)->Free(live.back().id), IsOk());
      live.pop_back();
    }
    (*pool)->watchers().SealDeadMemory().IgnoreError();
    (*pool)->parking().Park(ParkContents::kToHost).IgnoreError();
    if (!(*pool)->parking().Wake().ok()) {
      EXPECT_THAT((*pool)->parking().Wake(), IsOk());
    }
    (*pool)->watchers().CheckCanaries(**other).IgnoreError();
    if (auto scope = (*pool)->scopes().Begin(); scope.ok()) {
      (*pool)->Allocate(3 * kMiB, **other).status().IgnoreError();
      (*scope)->RollBack().IgnoreError();
    }
    EXPECT_EQ((*pool)->Stats().live_blocks, live.size());
    for (const Block& block : live) EXPECT_THAT((*pool)->Free(block.id), IsOk());
    (*pool)->ledger().CheckConsistency();
    (*pool)->streams().Forget(**other).IgnoreError();
    if (!(*pool)->streams().WaitAndForget().ok()) {
      EXPECT_THAT((*pool)->streams().WaitAndForget(), IsOk());
    }
    EXPECT_THAT(device.health(), IsOk());
  });
  EXPECT_GT(faults, 60u);
}

// Siblings remember the same bytes; a tree has many of them.
TEST_F(PoolFaultTest, OverlappingMemoriesAreCopiedOnceEachWay) {
  Open({.tell_device = false});
  const CheckpointId root = *pool_->checkpoints().Take();
  for (uint64_t bytes : {2 * kMiB, 3 * kMiB, 6 * kMiB}) {
    EXPECT_THAT(pool_->checkpoints().Restore(root), IsOk());
    Allocate(bytes);
    for (int i = 0; i < 4; ++i) Allocate(kMiB / 2);
    EXPECT_THAT(pool_->checkpoints().Take(), IsOk());
  }
  const uint64_t pieces = std::as_const(*pool_).row(Region::kStep).count();
  const uint64_t before = calls("Stream.Copy");
  EXPECT_THAT(pool_->parking().Park(ParkContents::kToHost), IsOk());
  EXPECT_EQ(calls("Stream.Copy"), before + pieces);
  EXPECT_THAT(pool_->parking().Wake(), IsOk());
  EXPECT_EQ(calls("Stream.Copy"), before + 2 * pieces);
}

}  // namespace
}  // namespace graphtree
