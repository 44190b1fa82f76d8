// Every thread gets the system's number of it, also where the table is full.
#include "profiler/live/thread_numbers.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace graphtree::live {
namespace {

TEST(ThreadNumbersTest, IsTheSystems) {
  ThreadNumbers numbers;
  const auto mine = static_cast<int64_t>(syscall(SYS_gettid));
  EXPECT_EQ(numbers.Mine(), mine);
  EXPECT_EQ(numbers.Mine(), mine) << "and is remembered";
}

// All threads are there at once, so that none has an ended one's address.
TEST(ThreadNumbersTest, DiffersByThread) {
  constexpr size_t kThreads = 100;
  ThreadNumbers numbers;
  std::mutex mutex;
  std::set<int64_t> seen;
  std::atomic<size_t> asked{0};
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      const int64_t mine = numbers.Mine();
      EXPECT_EQ(mine, static_cast<int64_t>(syscall(SYS_gettid)));
      EXPECT_EQ(numbers.Mine(), mine);
      {
        const std::lock_guard<std::mutex> lock(mutex);
        seen.insert(mine);
      }
      ++asked;
      while (asked < kThreads) std::this_thread::yield();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(seen.size(), kThreads);
}

}  // namespace
}  // namespace graphtree::live
