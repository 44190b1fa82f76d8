// Pools that share the bytes which they may map together (PoolOptions::shared_bytes): the total
// holds at every moment, and what one pool gives back another one may have.
#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "allocator/pool.h"
#include "allocator/pool_types.h"
#include "allocator/shared_bytes.h"
#include "allocator/tests/pool_fixture.h"
#include "device/base/status_matchers.h"
#include "device/memory.h"
#include "device/stream.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kTotal = 16 * kMiB;

class PoolSharedTest : public PoolFixture {
 protected:
  std::unique_ptr<Pool> NewPool(PoolOptions options = {}) {
    options.shared_bytes = all_;
    options.address_bytes = 64 * kMiB;
    return *Pool::Create(*device_, std::move(options));
  }
  const std::shared_ptr<SharedBytes> all_ = std::make_shared<SharedBytes>(kTotal);
};

TEST_F(PoolSharedTest, WhatOneHasAnotherCannotMap) {
  const auto first = NewPool(), second = NewPool();
  const Block block = *first->Allocate(10 * kMiB, *stream_);
  EXPECT_THAT(second->Allocate(6 * kMiB, *stream_), IsOk());
  const absl::Status said = second->Allocate(2 * kMiB, *stream_).status();
  EXPECT_EQ(said.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(said.message()), testing::HasSubstr("the pool's limit is reached"));
  EXPECT_EQ(all_->taken(), kTotal);
  EXPECT_EQ(first->mapped_bytes() + second->mapped_bytes(), kTotal);
  ASSERT_THAT(first->Free(block.id), IsOk());
  ASSERT_THAT(first->memory().Trim(0), IsOk());
  EXPECT_THAT(second->Allocate(10 * kMiB, *stream_), IsOk());
}

TEST_F(PoolSharedTest, APoolThatLacksMemoryReleasesItsOwnFirst) {
  const auto first = NewPool(), second = NewPool();
  ASSERT_THAT(first->Allocate(8 * kMiB, *stream_), IsOk());
  const Block block = *second->Allocate(8 * kMiB, *stream_);
  ASSERT_THAT(second->Free(block.id), IsOk());
  EXPECT_THAT(second->Allocate(8 * kMiB, *stream_, {.region = Region::kLasting}), IsOk());
  EXPECT_EQ(all_->taken(), kTotal);
}

TEST_F(PoolSharedTest, WhatIsMappedAtFirstIsNoMoreThanIsLeft) {
  const auto first = NewPool({.initial_bytes = 12 * kMiB});
  const auto second = NewPool({.initial_bytes = 12 * kMiB});
  EXPECT_EQ(first->mapped_bytes(), 12 * kMiB);
  EXPECT_EQ(second->mapped_bytes(), 4 * kMiB);
  EXPECT_EQ(second->Stats().initial_shortfall, 8 * kMiB);
}

TEST_F(PoolSharedTest, AParkedPoolWakesOnlyIntoWhatIsLeft) {
  const auto first = NewPool(), second = NewPool();
  const Block kept = *first->Allocate(10 * kMiB, *stream_);
  Write(kept, 7);
  ASSERT_THAT(first->parking().Park(ParkContents::kToHost), IsOk());
  EXPECT_EQ(all_->taken(), 0u);
  const Block other = *second->Allocate(8 * kMiB, *stream_);
  const absl::Status said = first->parking().Wake();
  EXPECT_EQ(said.code(), absl::StatusCode::kResourceExhausted) << said;
  EXPECT_EQ(all_->taken(), 8 * kMiB) << "what the wake had mapped is given back";
  ASSERT_THAT(second->Free(other.id), IsOk());
  ASSERT_THAT(second->memory().Trim(0), IsOk());
  ASSERT_THAT(first->parking().Wake(), IsOk());
  EXPECT_EQ(Read(kept), 7);
}

TEST_F(PoolSharedTest, WhatIsLeftWithTheDeviceCountsUntilItIsGone) {
  auto first = NewPool();
  ASSERT_THAT(first->Allocate(10 * kMiB, *stream_), IsOk());
  ASSERT_THAT(stream_->BeginCapture(CaptureMode::kThreadLocal), IsOk());
  first.reset();
  EXPECT_EQ(all_->taken(), 10 * kMiB) << "a capture is open: nothing may be unmapped";
  ASSERT_THAT(stream_->EndCapture(), IsOk());
  ASSERT_THAT(device_->GiveBackLeftovers(), IsOk());
  EXPECT_EQ(all_->taken(), 0u);
}

TEST_F(PoolSharedTest, PoolsOfManyThreadsNeverExceedIt) {
  constexpr int kThreads = 3, kRounds = 300;
  std::atomic<bool> is_over{false}, is_exceeded{false};
  std::atomic<int> went{0}, refused{0};
  const auto work = [&](uint32_t seed) {
    std::mt19937 random(seed);
    const std::unique_ptr<Stream> stream = *device_->NewStream();
    const auto pool = NewPool();
    std::vector<BlockId> mine;
    for (int round = 0; round < kRounds; ++round) {
      if (random() % 3 == 0) {
        for (const BlockId id : mine) EXPECT_THAT(pool->Free(id), IsOk());
        mine.clear();
        EXPECT_THAT(pool->memory().Trim(0), IsOk());
      }
      const absl::StatusOr<Block> block = pool->Allocate((1 + random() % 6) * kMiB, *stream);
      block.ok() ? ++went : ++refused;
      EXPECT_TRUE(block.ok() || absl::IsResourceExhausted(block.status())) << block.status();
      if (block.ok()) mine.push_back(block->id);
    }
  };
  std::thread watch([&] {
    while (!is_over) {
      const MemoryInfo info = *device_->memory().Info();
      if (info.total_bytes - info.free_bytes > kTotal) is_exceeded = true;
    }
  });
  std::vector<std::thread> threads;
  for (uint32_t seed = 0; seed < kThreads; ++seed) threads.emplace_back(work, seed);
  for (std::thread& thread : threads) thread.join();
  is_over = true;
  watch.join();
  EXPECT_FALSE(is_exceeded);
  EXPECT_GT(went, 0);
  EXPECT_GT(refused, 0);
  EXPECT_EQ(all_->taken(), 0u);
}

}  // namespace
}  // namespace graphtree
