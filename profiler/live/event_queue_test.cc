// The queue against a model, and with several threads.
#include "profiler/live/event_queue.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace graphtree::live {
namespace {

using Queue = EventQueue<std::unique_ptr<uint64_t>>;

TEST(EventQueueTest, DoesWhatABoundedListDoes) {
  constexpr unsigned kSeed = 20261;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  Queue queue(8);
  std::deque<uint64_t> model;
  for (uint64_t i = 0; i < 20'000; ++i) {
    if (random() % 2 == 0) {
      auto value = std::make_unique<uint64_t>(i);
      const bool put = queue.Put(std::move(value));
      ASSERT_EQ(put, model.size() < queue.room());
      ASSERT_EQ(value == nullptr, put) << "what is refused stays with its owner";
      if (put) model.push_back(i);
    } else {
      std::unique_ptr<uint64_t> value;
      const bool taken = queue.Take(&value);
      ASSERT_EQ(taken, !model.empty());
      if (!taken) continue;
      ASSERT_EQ(*value, model.front());
      model.pop_front();
    }
  }
}

TEST(EventQueueTest, WhatIsTakenIsGoneFromTheQueue) {
  EventQueue<std::shared_ptr<int>> queue(2);
  auto shared = std::make_shared<int>(7);
  ASSERT_TRUE(queue.Put(std::shared_ptr<int>(shared)));
  {
    std::shared_ptr<int> taken;
    ASSERT_TRUE(queue.Take(&taken));
  }
  EXPECT_EQ(shared.use_count(), 1);
}

// Each thread's values come in its order, and none comes twice or is lost.
TEST(EventQueueTest, ManyPutAndOneTakes) {
  constexpr uint64_t kThreads = 3;
  constexpr uint64_t kValues = 20'000;
  EventQueue<uint64_t> queue(64);
  std::vector<std::thread> threads;
  for (uint64_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&queue, thread] {
      for (uint64_t i = 1; i <= kValues; ++i) {
        while (!queue.Put((thread << 32) | i)) std::this_thread::yield();
      }
    });
  }
  std::vector<uint64_t> last(kThreads, 0);
  for (uint64_t taken = 0; taken < kThreads * kValues;) {
    uint64_t value = 0;
    if (!queue.Take(&value)) {
      std::this_thread::yield();
      continue;
    }
    ++taken;
    uint64_t& before = last[value >> 32];
    EXPECT_EQ(value & 0xffffffff, before + 1);
    before = value & 0xffffffff;
  }
  for (std::thread& thread : threads) thread.join();
  uint64_t value = 0;
  EXPECT_FALSE(queue.Take(&value));
}

}  // namespace
}  // namespace graphtree::live
