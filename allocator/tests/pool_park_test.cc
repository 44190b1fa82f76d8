// Parking and waking: the memory leaves; addresses, books and, if wished, contents stay.
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "allocator/books/block_record.h"
#include "allocator/pool.h"
#include "allocator/pool_types.h"
#include "allocator/tests/pool_fixture.h"
#include "device/base/status_matchers.h"
#include "device/fault/every_call.h"
#include "device/fault/fault_device.h"
#include "device/host/host_device.h"
#include "device/stream.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

using absl::StatusCode;
constexpr uint64_t kMiB = uint64_t{1} << 20;

class PoolParkTest : public PoolFixture {};

TEST_F(PoolParkTest, ParkedMemoryIsGoneAndComesBackUnderTheSameAddresses) {
  const Block block = Allocate(20 * kMiB);
  Write(block, 1);
  const uint64_t before = device_->memory().Info()->free_bytes;
  EXPECT_THAT(pool_->parking().Park(ParkContents::kDrop), IsOk());
  EXPECT_EQ(mapped(), 0u);
  EXPECT_GT(device_->memory().Info()->free_bytes, before);
  EXPECT_THAT(pool_->Allocate(1, *stream_), FailsWith(StatusCode::kFailedPrecondition, "parked"));
  EXPECT_THAT(pool_->checkpoints().Take(), IsOk());
  EXPECT_THAT(pool_->parking().Wake(), IsOk());
  Write(block, 2);
  EXPECT_EQ(Read(block), 2);
  EXPECT_EQ(pool_->Describe(block.id)->range, block.range);
}

// While a park waits for the pool's work, whoever asks on another thread learns that it is coming.
TEST_F(PoolParkTest, IsForeseenUntilItIsDone) {
  const Block block = Allocate(kMiB);
  std::atomic<int> foreseen{0};
  ASSERT_THAT(stream_->CallHost([&] {
    const absl::Time limit = absl::Now() + absl::Seconds(30);
    while (!pool_->parking().has_parked_or_will() && absl::Now() < limit) {}
    for (int i = 0; i < 1000; ++i) foreseen += pool_->parking().has_parked_or_will();
  }), IsOk());
  EXPECT_THAT(pool_->UseOn(block.id, *stream_), IsOk());
  EXPECT_THAT(pool_->parking().Park(ParkContents::kToHost), IsOk());
  EXPECT_EQ(foreseen, 1000);
}

TEST_F(PoolParkTest, ContentsComeBackFromHostMemory) {
  std::vector<Block> blocks;
  for (uint8_t i = 0; i < 20; ++i) {
    blocks.push_back(Allocate((i * 170 + 1) * 1000,
                              {.region = i % 3 == 0 ? Region::kLasting : Region::kStep}));
    Write(blocks.back(), i);
  }
  EXPECT_THAT(pool_->Free(blocks[7].id), IsOk());
  EXPECT_THAT(pool_->parking().Park(ParkContents::kToHost), IsOk());
  EXPECT_EQ(mapped(), 0u);
  EXPECT_THAT(pool_->parking().Wake(), IsOk());
  for (uint8_t i = 0; i < 20; ++i) {
    if (i != 7) {
      EXPECT_EQ(Read(blocks[i]), i);
    }
  }
}

TEST_F(PoolParkTest, NamedPartsAreParkedAlone) {
  const Block a = Allocate(32 * kMiB), b = Allocate(32 * kMiB);
  Write(a, 1);
  Write(b, 2);
  EXPECT_THAT(pool_->parking().Park(ParkContents::kToHost, {b.range}), IsOk());
  EXPECT_FALSE(pool_->parking().is_parked());
  EXPECT_GT(pool_->Stats().parked_bytes, 16 * kMiB);
  EXPECT_EQ(Read(a), 1) << "was not named";
  EXPECT_THAT(pool_->parking().Wake(), IsOk());
  EXPECT_EQ(Read(b), 2);
  EXPECT_THAT(pool_->parking().Park(ParkContents::kDrop, {AddressRange{1, 1}}),
              FailsWith(StatusCode::kInvalidArgument, "not memory of pool"));
}

TEST_F(PoolParkTest, PartsParkedOneAfterTheOtherKeepTheirContents) {
  const Block a = Allocate(4 * kMiB), b = Allocate(4 * kMiB), c = Allocate(4 * kMiB);
  Write(a, 1);
  Write(b, 2);
  Write(c, 3);
  EXPECT_THAT(pool_->parking().Park(ParkContents::kToHost, {a.range}), IsOk());
  EXPECT_THAT(pool_->parking().Park(ParkContents::kToHost, {b.range}), IsOk());
  EXPECT_THAT(pool_->parking().Park(ParkContents::kToHost), IsOk());
  EXPECT_EQ(mapped(), 0u);
  EXPECT_THAT(pool_->parking().Wake(), IsOk());
  EXPECT_EQ(Read(a), 1);
  EXPECT_EQ(Read(b), 2);
  EXPECT_EQ(Read(c), 3);
}

TEST_F(PoolParkTest, WakingWithTooLittleMemoryCanBeTriedAgain) {
  const Block block = Allocate(150 * kMiB);
  EXPECT_THAT(pool_->parking().Park(ParkContents::kDrop), IsOk());
  auto other = *Pool::Create(*device_, {});
  const Block theirs = *other->Allocate(150 * kMiB, *stream_);
  EXPECT_FALSE(pool_->parking().Wake().ok());
  EXPECT_TRUE(pool_->parking().is_parked());
  EXPECT_THAT(other->Free(theirs.id), IsOk());
  EXPECT_THAT(other->Close(), IsOk());
  EXPECT_THAT(pool_->parking().Wake(), IsOk());
  Write(block, 4);
  EXPECT_EQ(Read(block), 4);
}

TEST_F(PoolParkTest, FailedWakeGivesBackWhatItHadMapped) {
  const Block a = Allocate(60 * kMiB), between = Allocate(20 * kMiB), b = Allocate(60 * kMiB);
  for (const Block& block : {a, between, b}) Write(block, 1);
  EXPECT_THAT(pool_->parking().Park(ParkContents::kToHost, {a.range, b.range}), IsOk());
  const uint64_t parked = mapped();
  auto other = *Pool::Create(*device_, {});
  // There is memory for the first, and not for the second.
  const Block theirs = *other->Allocate(256 * kMiB - parked - 96 * kMiB, *stream_);
  EXPECT_FALSE(pool_->parking().Wake().ok());
  EXPECT_EQ(mapped(), parked);
  EXPECT_THAT(other->Free(theirs.id), IsOk());
  EXPECT_THAT(other->Close(), IsOk());
  EXPECT_THAT(pool_->parking().Wake(), IsOk());
  for (const Block& block : {a, between, b}) EXPECT_EQ(Read(block), 1);
}

TEST_F(PoolParkTest, FailedWakeLosesNothingAndIsAsIfItHadNotBeen) {
  const Block a = Allocate(60 * kMiB), b = Allocate(60 * kMiB);
  Write(a, 1);
  Write(b, 2);
  EXPECT_THAT(pool_->parking().Park(ParkContents::kToHost, {a.range, b.range}), IsOk());
  const uint64_t parked = mapped();
  auto other = *Pool::Create(*device_, {});
  const Block theirs = *other->Allocate(150 * kMiB, *stream_);
  EXPECT_FALSE(pool_->parking().Wake().ok());
  EXPECT_EQ(mapped(), parked);
  // Parks again, now the whole pool: contents that were saved are not saved again.
  EXPECT_THAT(pool_->parking().Park(ParkContents::kToHost, {a.range}), IsOk());
  EXPECT_THAT(pool_->parking().Park(ParkContents::kToHost), IsOk());
  EXPECT_FALSE(pool_->parking().Wake().ok());
  EXPECT_THAT(other->Free(theirs.id), IsOk());
  EXPECT_THAT(other->Close(), IsOk());
  EXPECT_THAT(pool_->parking().Wake(), IsOk());
  EXPECT_EQ(Read(a), 1);
  EXPECT_EQ(Read(b), 2);
}

TEST_F(PoolParkTest, PartThatIsNotAwakeIsNotAllocatedFrom) {
  const Block a = Allocate(60 * kMiB), b = Allocate(4 * kMiB);
  Write(a, 1);
  EXPECT_THAT(pool_->parking().Park(ParkContents::kToHost, {a.range}), IsOk());
  auto other = *Pool::Create(*device_, {});
  const Block theirs = *other->Allocate(225 * kMiB, *stream_);
  EXPECT_FALSE(pool_->parking().Wake().ok());
  EXPECT_THAT(pool_->Free(a.id), IsOk());
  EXPECT_THAT(pool_->AllocateAt(a.range.base, 50 * kMiB, *stream_),
              FailsWith(StatusCode::kFailedPrecondition, "parked part"));
  EXPECT_THAT(pool_->Allocate(50 * kMiB, *stream_),
              FailsWith(StatusCode::kResourceExhausted, "out of memory"))
      << "neither there nor elsewhere";
  EXPECT_THAT(other->Free(theirs.id), IsOk());
  EXPECT_THAT(other->Close(), IsOk());
  const Block elsewhere = Allocate(50 * kMiB);
  EXPECT_FALSE(elsewhere.range.Overlaps(a.range)) << "the search goes on";
  Write(elsewhere, 2);
  EXPECT_THAT(pool_->parking().Wake(), IsOk());
  const Block again = Allocate(50 * kMiB);
  EXPECT_EQ(again.range.base, a.range.base);
  Write(again, 3);
  EXPECT_THAT(pool_->parking().Wake(), IsOk()) << "nothing old comes over it";
  EXPECT_EQ(Read(again), 3);
  EXPECT_EQ(Read(elsewhere), 2);
  EXPECT_THAT(pool_->Free(b.id), IsOk());
}

// Reserving ahead maps it, trimming takes it again: nobody needs what was saved of it.
TEST_F(PoolParkTest, SavedContentsOfATrimmedPieceAreForgotten) {
  const Block a = Allocate(20 * kMiB);
  Write(a, 1);
  EXPECT_THAT(pool_->parking().Park(ParkContents::kToHost, {a.range}), IsOk());
  EXPECT_THAT(pool_->Free(a.id), IsOk());
  EXPECT_EQ(*pool_->memory().ReserveAhead(20 * kMiB), 0u);
  EXPECT_GT(*pool_->memory().Trim(0), 0u);
  const Block b = Allocate(20 * kMiB);
  EXPECT_EQ(b.range, a.range) << "it waits for no wake";
  Write(b, 2);
  EXPECT_THAT(pool_->parking().Wake(), IsOk());
  EXPECT_EQ(Read(b), 2);
}

// A limit counts what a wake would need; what nobody needs any more is given up for good.
TEST_F(PoolParkTest, AFreedPartIsAllocatedFromOnceALimitHasGivenItUp) {
  const Block a = Allocate(20 * kMiB), b = Allocate(kMiB);
  Write(a, 1);
  EXPECT_THAT(pool_->parking().Park(ParkContents::kToHost, {a.range}), IsOk());
  EXPECT_THAT(pool_->Free(a.id), IsOk());
  EXPECT_THAT(pool_->memory().SetLimit(200 * kMiB), IsOk());
  const Block again = Allocate(20 * kMiB);
  EXPECT_EQ(again.range, a.range);
  Write(again, 2);
  EXPECT_THAT(pool_->parking().Wake(), IsOk());
  EXPECT_EQ(Read(again), 2);
  EXPECT_THAT(pool_->Free(b.id), IsOk());
}

TEST_F(PoolParkTest, WhatIsMappedIsFoundBesideAPartThatIsParked) {
  const Block a = Allocate(4 * kMiB), b = Allocate(4 * kMiB), c = Allocate(kMiB);
  Write(a, 1);
  EXPECT_THAT(pool_->parking().Park(ParkContents::kToHost, {a.range}), IsOk());
  EXPECT_THAT(pool_->memory().SetLimit(16 * kMiB), IsOk());
  EXPECT_THAT(pool_->Free(a.id), IsOk());
  EXPECT_THAT(pool_->Free(b.id), IsOk());
  // One free run, of which the first half is parked.
  const Block found = Allocate(3 * kMiB);
  EXPECT_EQ(found.range.base, b.range.base);
  Write(found, 2);
  EXPECT_EQ(Read(found), 2);
  EXPECT_THAT(pool_->Free(c.id), IsOk());
}

// Under a limit that the pool kept, with holes between what is used.
TEST_F(PoolParkTest, DroppedPartsWakeWithNoMoreMemoryThanTheyHad) {
  std::vector<Block> blocks;
  for (int i = 0; i < 24; ++i) blocks.push_back(Allocate(2 * kMiB));
  for (size_t i = 0; i < 24; i += 2) EXPECT_THAT(pool_->Free(blocks[i].id), IsOk());
  EXPECT_THAT(pool_->memory().Trim(0), IsOk());
  const uint64_t before = mapped();
  EXPECT_EQ(before, 24 * kMiB);
  EXPECT_THAT(pool_->memory().SetLimit(before), IsOk());
  EXPECT_THAT(pool_->parking().Park(ParkContents::kDrop), IsOk());
  EXPECT_EQ(mapped(), 0u);
  EXPECT_THAT(pool_->parking().Wake(), IsOk());
  EXPECT_EQ(mapped(), before);
  for (size_t i = 1; i < 24; i += 2) Write(blocks[i], 1);
  EXPECT_THAT(stream_->Synchronize(), IsOk());
}

// Holes are joined, and a small block maps a whole piece. Both regions' pieces fit into the limit.
TEST_F(PoolParkTest, SmallBlocksOfBothRegionsFitIntoTheLimitAfterAWake) {
  EXPECT_THAT(pool_->memory().SetLimit(12 * kMiB), IsOk());
  for (const Region region : {Region::kLasting, Region::kStep}) {
    const Block large = Allocate(9 * kMiB, {.region = region});
    EXPECT_THAT(pool_->Free(large.id), IsOk());
    EXPECT_THAT(pool_->memory().Trim(0), IsOk());
  }
  EXPECT_THAT(pool_->parking().Park(ParkContents::kDrop), IsOk());
  EXPECT_THAT(pool_->parking().Wake(), IsOk());
  for (const Region region : {Region::kStep, Region::kLasting}) {
    EXPECT_THAT(pool_->Allocate(4000, *stream_, {.region = region}), IsOk());
  }
  EXPECT_LE(mapped(), 4 * kMiB);
}

// What was trimmed away between them does not make the others' contents lost.
TEST_F(PoolParkTest, JoinedHolesKeepWhatCheckpointsAreBroken) {
  const CheckpointId root = *pool_->checkpoints().Take();
  const Block low = Allocate(2 * kMiB), high = Allocate(2 * kMiB);
  const CheckpointId recorded = *pool_->checkpoints().Take();
  EXPECT_THAT(pool_->checkpoints().Restore(root, {.surviving = {low.id}}), IsOk());
  EXPECT_GT(*pool_->memory().Trim(0, /*break_checkpoints=*/true), 0u);
  EXPECT_THAT(pool_->checkpoints().Restore(root), IsOk());
  const Block again = Allocate(2 * kMiB), fresh = Allocate(2 * kMiB);
  EXPECT_EQ(fresh.range, high.range);
  EXPECT_THAT(pool_->parking().Park(ParkContents::kDrop), IsOk());
  EXPECT_THAT(pool_->parking().Wake(), IsOk());
  EXPECT_THAT(pool_->checkpoints().Restore(root), IsOk());
  EXPECT_THAT(pool_->checkpoints().Restore(recorded, {.dying = {high.id}}), IsOk())
      << "low was never lost";
  EXPECT_FALSE(pool_->Describe(again.id).ok());
  EXPECT_THAT(pool_->checkpoints().Restore(root), IsOk());
}

TEST_F(PoolParkTest, WakingWaitsForAnOpenCaptureWhereItHasToCopy) {
  const Block a = Allocate(4 * kMiB), b = Allocate(4 * kMiB);
  Write(a, 1);
  EXPECT_THAT(pool_->parking().Park(ParkContents::kToHost, {a.range}), IsOk());
  auto stranger = *device_->NewStream();
  EXPECT_THAT(stranger->BeginCapture(CaptureMode::kThreadLocal), IsOk());
  EXPECT_THAT(pool_->parking().Wake(), IsOk());
  EXPECT_EQ(pool_->Stats().deferred, 1u);
  EXPECT_GT(pool_->Stats().parked_bytes, 0u) << "not yet";
  EXPECT_THAT(stranger->EndCapture(), IsOk());
  EXPECT_THAT(pool_->Free(b.id), IsOk());
  EXPECT_EQ(pool_->Stats().parked_bytes, 0u) << "done by the next call";
  EXPECT_EQ(Read(a), 1);
  // A wake that only maps is allowed.
  EXPECT_THAT(pool_->parking().Park(ParkContents::kDrop), IsOk());
  EXPECT_THAT(stranger->BeginCapture(CaptureMode::kThreadLocal), IsOk());
  EXPECT_THAT(pool_->parking().Wake(), IsOk());
  EXPECT_FALSE(pool_->parking().is_parked());
  EXPECT_THAT(stranger->EndCapture(), IsOk());
}

TEST_F(PoolParkTest, AParkThatIsStillQueuedCannotBeWokenFrom) {
  const Block block = Allocate(3 * kMiB);
  auto stranger = *device_->NewStream();
  EXPECT_THAT(stranger->BeginCapture(CaptureMode::kThreadLocal), IsOk());
  EXPECT_THAT(pool_->parking().Park(ParkContents::kDrop), IsOk());
  EXPECT_THAT(pool_->parking().Wake(),
              FailsWith(StatusCode::kFailedPrecondition, "wake it after that"));
  EXPECT_THAT(stranger->EndCapture(), IsOk());
  EXPECT_THAT(pool_->parking().Wake(), IsOk());
  EXPECT_FALSE(pool_->parking().is_parked());
  Write(block, 1);
  EXPECT_EQ(Read(block), 1);
}

// An output of a replay: dead in the books, written all the same, and held by somebody.
TEST_F(PoolParkTest, BlocksThatARestoreBringsBackKeepTheirBytesThroughParking) {
  const CheckpointId root = *pool_->checkpoints().Take();
  const Block output = Allocate(3 * kMiB);
  const CheckpointId recorded = *pool_->checkpoints().Take();
  EXPECT_THAT(pool_->checkpoints().Restore(root), IsOk());
  device_->memory().NoteRevived(output.range, "a replay's output");
  Write(output, 7);
  EXPECT_THAT(pool_->parking().Park(ParkContents::kToHost), IsOk());
  EXPECT_EQ(mapped(), 0u);
  EXPECT_THAT(pool_->parking().Wake(), IsOk());
  EXPECT_THAT(pool_->checkpoints().Restore(recorded), IsOk());
  EXPECT_EQ(Read(output), 7);
}

TEST_F(PoolParkTest, OverlappingMemoriesOfSiblingsAreSavedOnce) {
  const CheckpointId root = *pool_->checkpoints().Take();
  std::vector<std::pair<CheckpointId, Block>> branches;
  for (uint64_t bytes : {2 * kMiB, 3 * kMiB, 5 * kMiB}) {
    EXPECT_THAT(pool_->checkpoints().Restore(root), IsOk());
    const Block block = Allocate(bytes);
    branches.emplace_back(*pool_->checkpoints().Take(), block);
  }
  Write(branches.back().second, 5);
  EXPECT_THAT(pool_->parking().Park(ParkContents::kToHost), IsOk());
  EXPECT_THAT(pool_->parking().Wake(), IsOk());
  EXPECT_EQ(Read(branches.back().second), 5);
  EXPECT_THAT(pool_->checkpoints().Restore(branches.front().first), IsOk());
  EXPECT_EQ(Read(branches.front().second), 5) << "the bytes that lie there";
}

TEST_F(PoolParkTest, ARecordingsMemoryIsNotThereWhileAPartOfItIsParked) {
  Allocate(20 * kMiB);
  const CheckpointId root = *pool_->checkpoints().Take();
  const Block block = Allocate(3 * kMiB);
  const CheckpointId recorded = *pool_->checkpoints().Take();
  EXPECT_THAT(pool_->checkpoints().Restore(root), IsOk());
  EXPECT_TRUE(*pool_->checkpoints().HasItsMemory(recorded));
  EXPECT_THAT(pool_->parking().Park(ParkContents::kToHost, {block.range}), IsOk());
  EXPECT_FALSE(*pool_->checkpoints().HasItsMemory(recorded));
  EXPECT_THAT(pool_->parking().Wake(), IsOk());
  EXPECT_TRUE(*pool_->checkpoints().HasItsMemory(recorded));
}

TEST_F(PoolParkTest, DroppedContentsDoNotKeepARestoreFromWorking) {
  const CheckpointId root = *pool_->checkpoints().Take();
  const Block block = Allocate(3 * kMiB);
  const CheckpointId recorded = *pool_->checkpoints().Take();
  EXPECT_THAT(pool_->checkpoints().Restore(root), IsOk());
  EXPECT_THAT(pool_->parking().Park(ParkContents::kDrop), IsOk());
  EXPECT_THAT(pool_->checkpoints().Restore(recorded),
              FailsWith(StatusCode::kFailedPrecondition, "parked"));
  EXPECT_THAT(pool_->parking().Wake(), IsOk());
  EXPECT_THAT(pool_->checkpoints().Restore(recorded), IsOk());
  Write(block, 1);
  EXPECT_EQ(Read(block), 1);
}

TEST_F(PoolParkTest, AParkedPoolRefusesWhatNeedsItsMemory) {
  const Block block = Allocate(3 * kMiB);
  const CheckpointId here = *pool_->checkpoints().Take();
  EXPECT_THAT(pool_->parking().Park(ParkContents::kDrop), IsOk());
  const auto refused = FailsWith(StatusCode::kFailedPrecondition, "is parked");
  EXPECT_THAT(pool_->Allocate(1, *stream_), refused);
  EXPECT_THAT(pool_->AllocateAt(pool_->arena().base(), 1, *stream_), refused);
  EXPECT_THAT(pool_->checkpoints().Restore(here), refused);
  EXPECT_THAT(pool_->memory().ReserveAhead(1), refused);
  EXPECT_THAT(pool_->watchers().CheckCanaries(*stream_), refused);
  EXPECT_THAT(pool_->scopes().Begin(), refused);
  EXPECT_EQ(pool_->Stats().checkpoints, 1u);
  EXPECT_THAT(pool_->Free(block.id), IsOk()) << "books alone";
  EXPECT_THAT(pool_->checkpoints().Drop(here), IsOk());
  EXPECT_THAT(pool_->parking().Wake(), IsOk());
  EXPECT_EQ(mapped(), 0u) << "nobody needs any";
}

TEST_F(PoolParkTest, DebugModesLeaveParkedMemoryAlone) {
  Open({.debug = {.poison_on_free = true, .guard_gaps = true, .canaries = true}});
  const Block a = Allocate(kMiB), b = Allocate(20 * kMiB);
  EXPECT_THAT(pool_->parking().Park(ParkContents::kDrop, {b.range}), IsOk());
  EXPECT_THAT(pool_->watchers().CheckCanaries(*stream_), IsOk());
  EXPECT_THAT(pool_->parking().Wake(), IsOk());
  EXPECT_THAT(pool_->watchers().CheckCanaries(*stream_), IsOk()) << "guards are written again";
  EXPECT_THAT(pool_->parking().Park(ParkContents::kDrop), IsOk());
  EXPECT_THAT(pool_->Free(a.id), IsOk());
  EXPECT_THAT(pool_->parking().Wake(), IsOk());
  EXPECT_THAT(pool_->watchers().CheckCanaries(*stream_), IsOk());
  EXPECT_THAT(stream_->Synchronize(), IsOk());
  EXPECT_THAT(device_->health(), IsOk());
}

TEST_F(PoolParkTest, AnySingleFailingCallOfParkingAndWakingLosesNoByte) {
  const auto make = [] { return *OpenHostDevice({.memory_bytes = 128 * kMiB, .poison = false}); };
  constexpr uint64_t kBytes = 200 << 10;
  const uint64_t calls = ForEveryFailingCall(make, [](FaultDevice& device) {
    auto stream = device.NewStream();
    if (!stream.ok()) return;
    auto host = device.memory().AllocateHost(kBytes);
    if (!host.ok()) return;
    auto pool = Pool::Create(device, {});
    if (!pool.ok()) return;
    std::vector<std::pair<Block, uint8_t>> blocks;
    for (uint8_t i = 1; i < 8; ++i) {
      auto block = (*pool)->Allocate(i * kBytes, **stream,
                                     {.region = i % 3 == 0 ? Region::kLasting : Region::kStep});
      if (!block.ok()) continue;
      if (!(*stream)->Fill(block->range.base, i, 1, block->range.bytes).ok()) return;
      blocks.emplace_back(*block, i);
    }
    // A part, a wake that may fail, another part, and the whole: nothing may be lost on the way.
    (*pool)->parking().Park(ParkContents::kToHost, {blocks.front().first.range}).IgnoreError();
    (*pool)->parking().Wake().IgnoreError();
    (*pool)->parking().Park(ParkContents::kToHost, {blocks.back().first.range}).IgnoreError();
    (*pool)->parking().Park(ParkContents::kToHost).IgnoreError();
    if (!(*pool)->parking().Wake().ok()) {
      ASSERT_THAT((*pool)->parking().Wake(), IsOk());
    }
    for (const auto& [block, byte] : blocks) {
      const Address last = block.range.end() - kBytes;
      if (!(*stream)->Copy((*host)->range().base, last, kBytes).ok()) return;
      if (!(*stream)->Synchronize().ok()) return;
      const uint8_t* bytes = static_cast<const uint8_t*>((*host)->data());
      ASSERT_EQ(bytes[0], byte);
      ASSERT_EQ(bytes[kBytes - 1], byte);
    }
  });
  EXPECT_GT(calls, 40u);
}

TEST_F(PoolParkTest, WhoWasNotNamedIsNotParkedWithAPartThatWas) {
  const Block a = Allocate(3 * kMiB), b = Allocate(1000), c = Allocate(1000);
  for (const Block& block : {a, b, c}) Write(block, 1);
  for (ParkContents contents : {ParkContents::kDrop, ParkContents::kToHost}) {
    EXPECT_THAT(pool_->parking().Park(contents, {a.range}), IsOk());
    EXPECT_EQ(pool_->Stats().parked_bytes, 2 * kMiB) << "the second piece is also that of b and c";
    EXPECT_EQ(Read(b), 1);
    EXPECT_EQ(Read(c), 1);
    EXPECT_THAT(pool_->parking().Wake(), IsOk());
    Write(a, 1);
  }
  EXPECT_THAT(pool_->parking().Park(ParkContents::kDrop, {c.range, a.range, b.range}), IsOk());
  EXPECT_EQ(pool_->Stats().parked_bytes, 4 * kMiB);
  EXPECT_THAT(pool_->parking().Wake(), IsOk());
}

TEST_F(PoolParkTest, PartOfABlockIsParkedAlone) {
  const Block block = Allocate(32 * kMiB);
  Write(block, 1);
  const AddressRange half = {block.range.base + 16 * kMiB, 16 * kMiB};
  EXPECT_THAT(pool_->parking().Park(ParkContents::kToHost, {half}), IsOk());
  EXPECT_EQ(pool_->Stats().parked_bytes, 16 * kMiB);
  EXPECT_THAT(pool_->parking().Wake(), IsOk());
  EXPECT_EQ(Read(block), 1);
}

TEST_F(PoolParkTest, WhatIsMappedAgainIsNotCountedAsParked) {
  const Block a = Allocate(4 * kMiB), b = Allocate(4 * kMiB);
  EXPECT_THAT(pool_->parking().Park(ParkContents::kDrop, {a.range}), IsOk());
  EXPECT_EQ(pool_->Stats().parked_bytes, 4 * kMiB);
  EXPECT_THAT(pool_->Free(a.id), IsOk());
  EXPECT_EQ(Allocate(4 * kMiB).range, a.range);
  EXPECT_EQ(pool_->Stats().parked_bytes, 0u);
  EXPECT_THAT(pool_->Free(b.id), IsOk());
}

// A graph that uses the pool's memory must not run without it.
TEST_F(PoolParkTest, NothingIsLaunchedOnAParkedOrClosedPool) {
  EXPECT_THAT(pool_->streams().NoteLaunch(*stream_), IsOk());
  EXPECT_THAT(pool_->parking().Park(ParkContents::kDrop), IsOk());
  EXPECT_THAT(pool_->streams().NoteLaunch(*stream_),
              FailsWith(StatusCode::kFailedPrecondition, "is parked"));
  EXPECT_THAT(pool_->parking().Wake(), IsOk());
  EXPECT_THAT(pool_->streams().NoteLaunch(*stream_), IsOk());
  EXPECT_THAT(pool_->Close(), IsOk());
  EXPECT_THAT(pool_->streams().NoteLaunch(*stream_),
              FailsWith(StatusCode::kFailedPrecondition, "is closed"));
}

}  // namespace
}  // namespace graphtree
