// One thread at a time: a second one is refused, and frees may come from any thread.
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "allocator/books/block_record.h"
#include "allocator/pool.h"
#include "allocator/pool_snapshot.h"
#include "allocator/pool_types.h"
#include "allocator/tests/pool_fixture.h"
#include "device/base/status_matchers.h"
#include "device/stream.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

using absl::StatusCode;

class PoolThreadsTest : public PoolFixture {
 protected:
  // Opens a pool anew, in which one block is live and the context is "mine", and runs `second` on
  // another thread while an allocation is half done.
  Block WithACallOpen(const std::function<void(const Block&)>& second) {
    Block live;
    Open({.limit_bytes = 4 << 20, .before_out_of_memory = [&](const MemoryWanted&) {
            std::thread([&] { second(live); }).join();
            return false;
          }});
    pool_->journal().SetContext(pool_->journal().Word("mine"));
    live = Allocate(1000);
    EXPECT_FALSE(pool_->Allocate(8 << 20, *stream_).ok());
    return live;
  }
};

TEST_F(PoolThreadsTest, FreesFromOtherThreadsAreQueuedAndSecondThreadsRefused) {
  const Block a = Allocate(1000), b = Allocate(1000);
  std::thread([&] {
    EXPECT_THAT(pool_->Free(a.id), IsOk());
    EXPECT_THAT(pool_->Free(a.id), IsOk()) << "nobody has looked yet";
  }).join();
  EXPECT_EQ(pool_->Stats().queued_frees, 2u);
  const Block c = Allocate(1000);
  EXPECT_EQ(c.range.base, a.range.base);
  EXPECT_EQ(pool_->Stats().refused_queued_frees, 1u);
  EXPECT_THAT(pool_->failures().refused_free,
              FailsWith(StatusCode::kFailedPrecondition, "freed before"));
  EXPECT_THAT(pool_->Free(b.id), IsOk());
}

TEST_F(PoolThreadsTest, AddressesAreFreedByTheThreadThatHasThePool) {
  const Block a = Allocate(1);
  absl::Status first, second;
  std::thread([&] {
    first = pool_->FreeAddress(a.range.base);
    second = pool_->FreeAddress(a.range.base);
  }).join();
  EXPECT_THAT(first, IsOk());
  EXPECT_THAT(second, FailsWith(StatusCode::kNotFound, "no live block"));
  EXPECT_EQ(pool_->Stats().live_blocks, 0u);
}

TEST_F(PoolThreadsTest, SecondThreadInsideIsAnErrorAndNotARace) {
  const Block block = WithACallOpen([&](const Block& live) {
    const auto refused = FailsWith(StatusCode::kFailedPrecondition, "two threads");
    EXPECT_THAT(pool_->Allocate(1, *stream_), refused);
    EXPECT_THAT(pool_->FreeAddress(live.range.base), refused);
    EXPECT_THAT(pool_->FreeQueued(), refused);
    EXPECT_THAT(pool_->streams().NoteLaunch(*stream_), refused);
    EXPECT_THAT(pool_->NoteSnapshot([] {}), refused);
    EXPECT_THAT(pool_->scopes().Begin(), refused);
    EXPECT_THAT(PoolSnapshotJson(*pool_), refused);
    EXPECT_TRUE(pool_->Stats().is_busy);
    EXPECT_EQ(pool_->Stats().live_blocks, 0u) << "nothing else is filled in";
  });
  EXPECT_THAT(pool_->failures().refused_call, IsOk()) << "all of them said so";
  EXPECT_FALSE(pool_->Stats().is_busy);
  EXPECT_THAT(pool_->Describe(block.id), IsOk());
  EXPECT_THAT(pool_->NoteSnapshot(nullptr),
              FailsWith(StatusCode::kInvalidArgument, "without a function"));
}

TEST_F(PoolThreadsTest, WhatASecondThreadCannotBeToldIsNotDoneAndKept) {
  const std::vector<std::function<void(const Block&)>> calls = {
      [&](const Block&) { EXPECT_EQ(pool_->journal().Word("theirs"), WordId{0}); },
      [&](const Block&) { pool_->journal().SetContext(0); },
      [&](const Block& live) { pool_->watchers().Shield(live.range); },
      [&](const Block&) { pool_->watchers().Unshield(); },
  };
  const std::vector<std::string> names = {"Word", "SetContext", "Shield", "Unshield"};
  for (size_t i = 0; i < calls.size(); ++i) {
    const Block block = WithACallOpen([&](const Block& live) {
      calls[i](live);
      calls[(i + 1) % calls.size()](live);
    });
    EXPECT_THAT(pool_->failures().refused_call,
                FailsWith(StatusCode::kFailedPrecondition, names[i] + ": two threads"));
    EXPECT_EQ(pool_->journal().Text(pool_->journal().history().Entries().back().context), "mine");
    Write(block, 1);
    EXPECT_THAT(stream_->Synchronize(), IsOk());
    EXPECT_THAT(pool_->Free(block.id), IsOk());
    EXPECT_TRUE(device_->memory().UsableParts(block.range).empty()) << "was not shielded";
  }
}

// A callback's calls are not a second thread's.
TEST_F(PoolThreadsTest, CallbacksAreNoSecondThread) {
  Open({.limit_bytes = 4 << 20, .before_out_of_memory = [&](const MemoryWanted&) {
          EXPECT_FALSE(pool_->Stats().is_busy);
          EXPECT_EQ(pool_->journal().Text(pool_->journal().Word("mine")), "mine");
          EXPECT_THAT(pool_->streams().NoteLaunch(*stream_), IsOk());
          EXPECT_THAT(pool_->FreeQueued(), IsOk());
          return false;
        }});
  EXPECT_FALSE(pool_->Allocate(8 << 20, *stream_).ok());
  EXPECT_THAT(pool_->failures().refused_call, IsOk());
}

// The thread launches, and does no more; the other may be anywhere by then.
TEST_F(PoolThreadsTest, WhoeverNotesALaunchIsTheCaller) {
  const Block block = Allocate(1000);
  std::thread([&] { EXPECT_THAT(pool_->streams().NoteLaunch(*stream_), IsOk()); }).join();
  EXPECT_THAT(pool_->Free(block.id), IsOk());
  EXPECT_EQ(pool_->Stats().queued_frees, 1u);
}

TEST_F(PoolThreadsTest, QueuedFreesAreDoneOnDemandAndChangeNothingElse) {
  const Block a = Allocate(1000), b = Allocate(2000);
  EXPECT_THAT(pool_->FreeLater(a.id), IsOk());
  const Block held = Allocate(100);
  EXPECT_THAT(pool_->FreeLater(b.id), IsOk());
  const uint64_t checkpoints = pool_->Stats().checkpoints;
  EXPECT_THAT(pool_->FreeQueued(), IsOk());
  EXPECT_EQ(pool_->Stats().queued_frees, 0u);
  EXPECT_EQ(pool_->Stats().live_blocks, 1u);
  EXPECT_THAT(pool_->Describe(held.id), IsOk());
  EXPECT_EQ(pool_->Stats().checkpoints, checkpoints);
  EXPECT_THAT(pool_->Free(held.id), IsOk());
  EXPECT_THAT(pool_->Close(), IsOk());
  EXPECT_THAT(pool_->FreeQueued(), FailsWith(StatusCode::kFailedPrecondition, "is closed"));
}

TEST_F(PoolThreadsTest, AnotherThreadFreesWhileTheOwnerAllocates) {
  constexpr int kBlocks = 2000;
  std::vector<BlockId> handed(kBlocks);
  std::atomic<int> ready{0};
  std::thread freer([&] {
    for (int i = 0; i < kBlocks; ++i) {
      while (ready.load(std::memory_order_acquire) <= i) std::this_thread::yield();
      EXPECT_THAT(pool_->Free(handed[static_cast<size_t>(i)]), IsOk());
    }
  });
  for (int i = 0; i < kBlocks; ++i) {
    handed[static_cast<size_t>(i)] = Allocate(1000).id;
    ready.store(i + 1, std::memory_order_release);
  }
  freer.join();
  EXPECT_THAT(pool_->Free(Allocate(1).id), IsOk()) << "takes note of what is queued";
  EXPECT_EQ(pool_->Stats().live_blocks, 0u);
  EXPECT_EQ(pool_->Stats().refused_queued_frees, 0u);
}

TEST_F(PoolThreadsTest, WhatIsFreedLaterIsFreedByTheNextCall) {
  const Block block = Allocate(1000);
  EXPECT_THAT(pool_->FreeLater(block.id), IsOk());
  EXPECT_EQ(pool_->Stats().live_blocks, 1u);
  EXPECT_EQ(pool_->Stats().queued_frees, 1u);
  EXPECT_EQ(Allocate(1000).range, block.range);
  EXPECT_EQ(pool_->Stats().queued_frees, 0u);
}

// The last one to call is as free to be anywhere as any other thread, once another one calls.
TEST_F(PoolThreadsTest, TheLastCallerFreesLaterWhileAnotherThreadAllocates) {
  constexpr int kRounds = 2000;
  std::vector<BlockId> handed(kRounds);
  for (BlockId& id : handed) id = Allocate(1000).id;
  std::thread next([&] {
    for (int i = 0; i < kRounds; ++i) EXPECT_THAT(pool_->Free(Allocate(500).id), IsOk());
  });
  for (const BlockId id : handed) EXPECT_THAT(pool_->FreeLater(id), IsOk());
  next.join();
  EXPECT_THAT(pool_->Free(Allocate(1).id), IsOk()) << "takes note of what is queued";
  EXPECT_EQ(pool_->Stats().live_blocks, 0u);
  EXPECT_EQ(pool_->Stats().refused_queued_frees, 0u);
}

TEST_F(PoolThreadsTest, ClosedPoolTakesNoFreesFromAnyThread) {
  const Block block = Allocate(1000);
  EXPECT_THAT(pool_->Free(block.id), IsOk());
  EXPECT_THAT(pool_->Close(), IsOk());
  const auto refused = FailsWith(StatusCode::kFailedPrecondition, "is closed");
  EXPECT_THAT(pool_->Free(block.id), refused);
  std::thread([&] { EXPECT_THAT(pool_->Free(block.id), refused); }).join();
}

TEST_F(PoolThreadsTest, SecondThreadIsToldWhileASnapshotIsWritten) {
  const Block block = Allocate(1000);
  int asked = 0;
  const auto origin = [&](const Block& looked_at) {
    EXPECT_EQ(looked_at.id, block.id);
    std::thread([&] {
      EXPECT_THAT(pool_->Allocate(1, *stream_),
                  FailsWith(StatusCode::kFailedPrecondition, "two threads"));
    }).join();
    ++asked;
    return BlockOrigin{};
  };
  EXPECT_THAT(PoolSnapshotJson(*pool_, {.origin = origin}), IsOk());
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(pool_->Stats().live_blocks, 1u);
}

}  // namespace
}  // namespace graphtree
