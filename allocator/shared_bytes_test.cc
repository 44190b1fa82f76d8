// Threads that take and give back: never more than there is, and nothing is lost.
#include "allocator/shared_bytes.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace graphtree {
namespace {

TEST(SharedBytesTest, AllOfItOrNothing) {
  SharedBytes all(100);
  EXPECT_TRUE(all.Take(60));
  EXPECT_FALSE(all.Take(41));
  EXPECT_EQ(all.taken(), 60u) << "a refusal takes nothing";
  EXPECT_TRUE(all.Take(40));
  EXPECT_FALSE(all.Take(1));
  EXPECT_FALSE(all.Take(UINT64_MAX)) << "and does not wrap";
  all.Give(100);
  EXPECT_EQ(all.free(), 100u);
}

TEST(BytesShareTest, AClaimOutlivesItsShare) {
  auto all = std::make_shared<SharedBytes>(100);
  std::optional<BytesShare::Claim> kept;
  {
    const auto share = BytesShare::Of(all);
    kept = share->Take(70);
    ASSERT_TRUE(kept.has_value());
    EXPECT_EQ(share->taken(), 70u);
    EXPECT_FALSE(BytesShare::Of(all)->Take(31).has_value()) << "another pool";
  }
  EXPECT_EQ(all->taken(), 70u);
  BytesShare::Claim moved = std::move(*kept);
  kept.reset();
  EXPECT_EQ(all->taken(), 70u) << "one claim, wherever it lies";
  moved = BytesShare::Claim();
  EXPECT_EQ(all->taken(), 0u);
}

TEST(BytesShareTest, WhoSharesWithNobodyIsCountedAlone) {
  const auto share = BytesShare::Of(nullptr);
  std::optional<BytesShare::Claim> claim = share->Take(uint64_t{1} << 60);
  ASSERT_TRUE(claim.has_value());
  EXPECT_EQ(share->taken(), uint64_t{1} << 60);
  EXPECT_EQ(share->free(), SharedBytes::kNoLimit);
  claim.reset();
  EXPECT_EQ(share->taken(), 0u);
}

TEST(BytesShareTest, ThreadsNeverHaveMoreThanThereIs) {
  constexpr uint64_t kLimit = 1000;
  auto all = std::make_shared<SharedBytes>(kLimit);
  std::atomic<uint64_t> held{0}, refused{0};
  std::atomic<bool> is_exceeded{false};
  const auto work = [&](uint32_t seed) {
    std::mt19937 random(seed);
    const auto share = BytesShare::Of(all);
    std::vector<std::pair<uint64_t, BytesShare::Claim>> mine;
    for (int i = 0; i < 20000; ++i) {
      if (random() % 2 == 0 && !mine.empty()) {
        held -= mine.back().first;
        mine.pop_back();
        continue;
      }
      const uint64_t bytes = random() % 300;
      std::optional<BytesShare::Claim> claim = share->Take(bytes);
      refused += !claim.has_value();
      if (!claim.has_value()) continue;
      if ((held += bytes) > kLimit) is_exceeded = true;
      mine.emplace_back(bytes, std::move(*claim));
    }
    for (const auto& [bytes, claim] : mine) held -= bytes;
  };
  std::vector<std::thread> threads;
  for (uint32_t seed = 0; seed < 4; ++seed) threads.emplace_back(work, seed);
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(is_exceeded);
  EXPECT_GT(refused, 0u);
  EXPECT_EQ(all->taken(), 0u);
}

}  // namespace
}  // namespace graphtree
