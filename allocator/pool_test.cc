// The pool on the host device: blocks, streams, checkpoints, refusals.
#include "allocator/pool.h"

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "allocator/books/block_record.h"
#include "allocator/pool_types.h"
#include "allocator/tests/pool_fixture.h"
#include "device/base/status_matchers.h"
#include "device/host/host_device.h"
#include "device/stream.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

using absl::StatusCode;

class PoolTest : public PoolFixture {
 protected:
  PoolTest() : PoolFixture(uint64_t{1} << 30) {}
  void SetUp() override {
    PoolFixture::SetUp();
    other_ = *device_->NewStream();
  }
  void TearDown() override {
    pool_.reset();
    other_.reset();
    PoolFixture::TearDown();
  }

  std::unique_ptr<Stream> other_;
};

TEST_F(PoolTest, BlocksAreUsableApartAndCounted) {
  const Block a = Allocate(1000, {.tag = pool_->journal().Word("weights")}), b = Allocate(3 << 20);
  Write(a, 1);
  Write(b, 2);
  EXPECT_EQ(Read(a), 1);
  EXPECT_EQ(Read(b), 2);
  EXPECT_FALSE(a.range.Overlaps(b.range));
  const PoolStats stats = pool_->Stats();
  EXPECT_EQ(stats.live_blocks, 2u);
  EXPECT_EQ(stats.requested_bytes, 1000u + (3 << 20));
  EXPECT_GE(stats.mapped_bytes, stats.live_bytes);
  EXPECT_THAT(pool_->Free(a.id), IsOk());
  EXPECT_THAT(pool_->Free(b.id), IsOk());
  EXPECT_EQ(pool_->Stats().live_bytes, 0u);
  EXPECT_EQ(pool_->Stats().peak_requested_bytes, 1000u + (3 << 20));
}

TEST_F(PoolTest, EveryTestEndsWithNothingLiveOrCloseSaysSo) {
  const Block a = Allocate(1000, {.tag = pool_->journal().Word("leaked")});
  EXPECT_THAT(pool_->Close(), FailsWith(StatusCode::kFailedPrecondition, "\"leaked\""));
  EXPECT_THAT(pool_->Free(a.id), IsOk());
  EXPECT_THAT(pool_->Close(), IsOk());
  EXPECT_THAT(pool_->Close(), IsOk());
  EXPECT_THAT(pool_->Allocate(1, *stream_), FailsWith(StatusCode::kFailedPrecondition, "closed"));
}

TEST_F(PoolTest, SameCallsFromTheSameStateGiveTheSameAddresses) {
  std::vector<Address> first;
  for (int round = 0; round < 2; ++round) {
    Open({.wished_base = round == 0 ? 0 : pool_->arena().base()});
    std::vector<Block> blocks;
    std::vector<Address> offsets;
    for (uint64_t i = 1; i < 60; ++i) {
      blocks.push_back(Allocate(i * 777 % 40000));
      offsets.push_back(blocks.back().range.base - pool_->arena().base());
      if (i % 3 != 0) continue;
      EXPECT_THAT(pool_->Free(blocks[i / 3].id), IsOk());
    }
    if (round == 0) first = offsets;
    EXPECT_EQ(offsets, first);
  }
}

TEST_F(PoolTest, WishedBaseIsTakenWhenItIsFree) {
  const Address base = pool_->arena().base();
  pool_.reset();
  Open({.wished_base = base});
  EXPECT_EQ(pool_->arena().base(), base);
}

TEST_F(PoolTest, RefusesTwiceFreedStaleAndForeignBlocks) {
  const Block a = Allocate(1);
  EXPECT_THAT(pool_->Free(a.id), IsOk());
  EXPECT_THAT(pool_->Free(a.id), FailsWith(StatusCode::kFailedPrecondition, "freed before"));
  EXPECT_THAT(pool_->Free({99, 0}), FailsWith(StatusCode::kInvalidArgument, "not one of pool"));
  EXPECT_THAT(pool_->FreeAddress(12345), FailsWith(StatusCode::kNotFound, "no live block"));
  const Block b = Allocate(2000);
  EXPECT_THAT(pool_->FreeAddress(b.range.base + 1),
              FailsWith(StatusCode::kInvalidArgument, "inside a block"));
  EXPECT_THAT(pool_->FreeAddress(b.range.base), IsOk());
}

TEST_F(PoolTest, BlocksOfAnotherPoolAreRefusedThoughTheirRecordsHaveTheSameNumber) {
  auto others = *Pool::Create(*device_, {.address_bytes = 64 << 20});
  const Block theirs = *others->Allocate(1000, *stream_);
  const Block ours = Allocate(1000);
  EXPECT_EQ(theirs.id.index, ours.id.index);
  const auto refused = FailsWith(StatusCode::kFailedPrecondition, "of another pool");
  EXPECT_THAT(pool_->Free(theirs.id), refused);
  EXPECT_THAT(pool_->UseOn(theirs.id, *other_), refused);
  EXPECT_THAT(pool_->Annotate(theirs.id, "x"), refused);
  EXPECT_THAT(pool_->Describe(theirs.id), refused);
  const CheckpointId here = *pool_->checkpoints().Take();
  EXPECT_THAT(pool_->checkpoints().Restore(here, {.dying = {theirs.id}}),
              FailsWith(StatusCode::kInvalidArgument, "Nothing was restored"));
  EXPECT_THAT(pool_->Describe(ours.id), IsOk());
  EXPECT_THAT(others->Free(theirs.id), IsOk());
}

TEST_F(PoolTest, RefusesSizesThatOverflow) {
  EXPECT_THAT(pool_->Allocate(~uint64_t{0}, *stream_),
              FailsWith(StatusCode::kInvalidArgument, "overflows"));
  EXPECT_THAT(pool_->Allocate(100, *stream_, {.alignment = 3}),
              FailsWith(StatusCode::kInvalidArgument, "alignment 3"));
  EXPECT_EQ(pool_->Stats().live_blocks, 0u);
}

TEST_F(PoolTest, UsedUpAddressesAreToldApartFromUsedUpMemory) {
  // Twice the device's memory is reserved: memory is used up first.
  EXPECT_THAT(pool_->Allocate((uint64_t{1} << 30) + 1, *stream_),
              FailsWith(StatusCode::kResourceExhausted, "the device has no more"));
  EXPECT_THAT(pool_->Allocate(uint64_t{3} << 30, *stream_),
              FailsWith(StatusCode::kResourceExhausted, "addresses are used up"));
  Open({.address_bytes = 64 << 20});
  EXPECT_THAT(pool_->Allocate(65 << 20, *stream_),
              FailsWith(StatusCode::kResourceExhausted, "larger address_bytes"));
  Open({.limit_bytes = 4 << 20});
  EXPECT_THAT(pool_->Allocate(8 << 20, *stream_),
              FailsWith(StatusCode::kResourceExhausted, "limit is reached"));
  Open({.address_bytes = uint64_t{8} << 30});
  EXPECT_THAT(pool_->Allocate(uint64_t{3} << 30, *stream_),
              FailsWith(StatusCode::kResourceExhausted, "the device has no more"));
  EXPECT_EQ(pool_->Stats().mapped_bytes, 0u) << "a failed growth is returned";
}

TEST_F(PoolTest, ExactAddressIsGivenOrRefused) {
  const Block a = Allocate(4096);
  const Address wanted = a.range.base + (1 << 20);
  EXPECT_THAT(pool_->AllocateAt(wanted, 100, *stream_), IsOk());
  EXPECT_THAT(pool_->AllocateAt(wanted, 100, *stream_),
              FailsWith(StatusCode::kAlreadyExists, "not all of 100 bytes are free"));
  EXPECT_THAT(pool_->AllocateAt(64, 100, *stream_),
              FailsWith(StatusCode::kInvalidArgument, "is not one of pool"));
  EXPECT_EQ(pool_->Find(wanted + 99)->range.base, wanted);
  EXPECT_THAT(pool_->AllocateAt(wanted + 512, 100, *stream_, {.alignment = 4096}),
              FailsWith(StatusCode::kInvalidArgument, "is not aligned to 4096"));
  EXPECT_THAT(pool_->AllocateAt(wanted + 4096, 100, *stream_, {.alignment = 4096}), IsOk());
}

TEST_F(PoolTest, BytesFreedOnOneStreamAreSafeOnAnotherWithoutWaiting) {
  const Block a = Allocate(1 << 20);
  Write(a, 7);
  EXPECT_THAT(pool_->Free(a.id), IsOk());
  absl::StatusOr<Block> b = pool_->Allocate(1 << 20, *other_);
  ASSERT_THAT(b, IsOk());
  EXPECT_EQ(b->range.base, a.range.base);
  EXPECT_EQ(pool_->Stats().cross_stream_reuses, 1u);
  // Without the order between the streams the host device would lose itself over a race.
  EXPECT_THAT(other_->Fill(b->range.base, 9, 1, b->range.bytes), IsOk());
  EXPECT_THAT(pool_->UseOn(b->id, *stream_), IsOk());
  EXPECT_THAT(other_->Synchronize(), IsOk());
  EXPECT_THAT(stream_->Synchronize(), IsOk());
  EXPECT_EQ(Read(*b), 9);
}

TEST_F(PoolTest, UseOnAnotherStreamIsAwaitedByTheNextOwner) {
  const Block a = Allocate(1 << 20);
  Write(a, 1);
  EXPECT_THAT(stream_->Synchronize(), IsOk());
  EXPECT_THAT(pool_->UseOn(a.id, *other_), IsOk());
  EXPECT_THAT(other_->Fill(a.range.base, 2, 1, a.range.bytes), IsOk());
  EXPECT_THAT(pool_->Free(a.id), IsOk());
  const Block b = Allocate(1 << 20);
  EXPECT_EQ(b.range.base, a.range.base);
  Write(b, 3);
  EXPECT_EQ(Read(b), 3);
  EXPECT_THAT(device_->health(), IsOk());
}

TEST_F(PoolTest, ForgottenStreamsAreStillAwaited) {
  auto brief = *device_->NewStream();
  const Block a = *pool_->Allocate(1 << 20, *brief);
  EXPECT_THAT(brief->Fill(a.range.base, 1, 1, a.range.bytes), IsOk());
  EXPECT_THAT(pool_->Free(a.id), IsOk());
  EXPECT_THAT(pool_->streams().Forget(*brief), IsOk());
  const Block b = Allocate(1 << 20);
  Write(b, 3);
  EXPECT_EQ(Read(b), 3);
  EXPECT_THAT(device_->health(), IsOk());
}

TEST_F(PoolTest, WordsAndMemoriesOfFreesAreBounded) {
  Open({.history_entries = 64, .debug = {.remember_frees = true}});
  const WordId weights = pool_->journal().Word("weights"),
               forgotten = pool_->journal().Word("forgotten");
  const Block block = Allocate(1, {.tag = weights});
  Block last;
  for (int i = 0; i < 100000; ++i) {
    pool_->journal().SetContext(pool_->journal().Word("request " + std::to_string(i)));
    last = Allocate(1);
    EXPECT_THAT(pool_->Annotate(last.id, "note " + std::to_string(i)), IsOk());
    EXPECT_THAT(pool_->Free(last.id), IsOk());
  }
  EXPECT_GT(pool_->Stats().forgotten_words, 100000u);
  EXPECT_EQ(pool_->journal().Text(weights), "weights");
  EXPECT_EQ(pool_->journal().Text(forgotten), "(forgotten)");
  EXPECT_EQ(pool_->journal().Word("weights"), weights);
  EXPECT_EQ(pool_->journal().WordAgain(weights, "weights"), weights);
  const WordId biases = pool_->journal().WordAgain(weights, "biases");
  EXPECT_EQ(pool_->journal().Text(biases), "biases");
  EXPECT_EQ(pool_->journal().Text(pool_->journal().WordAgain(forgotten, "forgotten")), "forgotten");
  EXPECT_EQ(pool_->journal().WordAgain(0, ""), WordId{0});
  EXPECT_EQ(pool_->journal().Text(pool_->journal().history().Entries().back().context),
            "request 99999");
  EXPECT_THAT(pool_->Free(last.id), FailsWith(StatusCode::kFailedPrecondition, "request 99999"));
  EXPECT_THAT(pool_->Free(block.id), IsOk());
}

TEST_F(PoolTest, RestoreIsSilent) {
  const Block a =
      Allocate(3000001, {.tag = pool_->journal().Word("x"), .note = pool_->journal().Word("n")});
  const CheckpointId here = *pool_->checkpoints().Take();
  const Block b = Allocate(500);
  EXPECT_THAT(pool_->Free(a.id), IsOk());
  const PoolStats before = pool_->Stats();
  const uint64_t written = pool_->journal().history().written();
  EXPECT_THAT(pool_->checkpoints().Restore(here), IsOk());
  const PoolStats after = pool_->Stats();
  EXPECT_EQ(after.requested_bytes, 3000001u);
  EXPECT_EQ(after.live_blocks, 1u);
  EXPECT_EQ(after.allocations, before.allocations);
  EXPECT_EQ(after.frees, before.frees);
  EXPECT_EQ(after.peak_live_bytes, before.peak_live_bytes);
  EXPECT_EQ(pool_->journal().history().written(), written + 3)
      << "what went, what came, and the restore";
  EXPECT_EQ(pool_->journal().history().Entries().back().action, HistoryAction::kCheckpointRestore);
  EXPECT_EQ(pool_->journal().Text(pool_->ledger().record(a.id.index).tag), "x");
  EXPECT_EQ(pool_->journal().Text(pool_->ledger().record(a.id.index).note), "n");
  EXPECT_EQ(pool_->Describe(a.id)->range, a.range);
  EXPECT_THAT(pool_->Describe(b.id), FailsWith(StatusCode::kFailedPrecondition, "freed before"));
  EXPECT_TRUE(*pool_->checkpoints().IsAt(here));
}

TEST_F(PoolTest, BytesOfABlockThatComesBackAreWhatWasWrittenMeanwhile) {
  const CheckpointId root = *pool_->checkpoints().Take();
  const Block a = Allocate(1000);
  const CheckpointId with_a = *pool_->checkpoints().Take();
  EXPECT_THAT(pool_->checkpoints().Restore(root), IsOk());
  // A replay writes memory that is free in the books: raw bytes here, no op.
  std::memset(PointerTo(a.range.base), 5, a.range.bytes);
  EXPECT_THAT(pool_->checkpoints().Restore(with_a), IsOk());
  EXPECT_EQ(Read(a), 5);
}

TEST_F(PoolTest, CheckpointsOfOtherPoolsAndDroppedOnesAreRefused) {
  const CheckpointId here = *pool_->checkpoints().Take();
  auto other = *Pool::Create(*device_, {.address_bytes = 64 << 20});
  EXPECT_THAT(other->checkpoints().Restore(here),
              FailsWith(StatusCode::kInvalidArgument, "another pool"));
  EXPECT_THAT(pool_->checkpoints().Drop(here), IsOk());
  EXPECT_THAT(pool_->checkpoints().Restore(here),
              FailsWith(StatusCode::kInvalidArgument, "was dropped"));
}

TEST_F(PoolTest, KeptMemoryIsUntouchedByRestores) {
  const CheckpointId here = *pool_->checkpoints().Take();
  const Block kept = Allocate(1000, {.region = Region::kLasting});
  const Block moved = Allocate(2000);
  Write(kept, 1);
  Write(moved, 2);
  EXPECT_THAT(pool_->checkpoints().Restore(here, {.surviving = {moved.id}}), IsOk());
  EXPECT_EQ(Read(kept), 1);
  EXPECT_EQ(Read(moved), 2);
  EXPECT_THAT(pool_->checkpoints().Restore(here), IsOk());
  EXPECT_THAT(pool_->Describe(moved.id), FailsWith(StatusCode::kFailedPrecondition, "freed"));
  EXPECT_THAT(pool_->Describe(kept.id), IsOk());
}

TEST_F(PoolTest, HistoryBeyondReasonIsRefused) {
  EXPECT_THAT(Pool::Create(*device_, {.history_entries = uint64_t{1} << 40}),
              FailsWith(StatusCode::kInvalidArgument, "1099511627776 entries"));
  EXPECT_THAT(Pool::Create(*device_, {.history_entries = ~uint64_t{0}}),
              FailsWith(StatusCode::kInvalidArgument, "entries"));
}

TEST_F(PoolTest, NoMoreIsLiveThanThePeakSays) {
  const Block a = Allocate(10 * kMiB);
  const CheckpointId saved = *pool_->checkpoints().Take();
  EXPECT_THAT(pool_->Free(a.id), IsOk());
  const Block guest = *pool_->AllocateAt(pool_->arena().base() + 20 * kMiB, 8 * kMiB, *stream_);
  EXPECT_EQ(pool_->Stats().peak_live_bytes, 10 * kMiB);
  EXPECT_THAT(pool_->checkpoints().Restore(saved, {.surviving = {guest.id}}), IsOk());
  EXPECT_EQ(pool_->Stats().live_bytes, 18 * kMiB);
  EXPECT_EQ(pool_->Stats().peak_live_bytes, 18 * kMiB);
  EXPECT_EQ(pool_->Stats().peak_requested_bytes, 18 * kMiB);
}

TEST_F(PoolTest, OddAlignmentsAreRefusedAtAnExactAddressToo) {
  for (uint64_t alignment : {3u, 768u}) {
    const Address aligned = (pool_->arena().base() / (alignment * 512) + 1) * alignment * 512;
    EXPECT_THAT(pool_->AllocateAt(aligned, 1, *stream_, {.alignment = alignment}),
                FailsWith(StatusCode::kInvalidArgument, "not a power of two"));
  }
}

}  // namespace
}  // namespace graphtree
