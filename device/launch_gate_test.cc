// What passes a gate, who waits at it, and that nobody waits for ever.
#include "device/launch_gate.h"

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "device/base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

using std::chrono::milliseconds;

void Await(const std::atomic<bool>& what) {
  while (!what.load(std::memory_order_acquire)) std::this_thread::yield();
}

// With the kernel's barrier, and without as on kernels that have none.
class LaunchGateTest : public testing::TestWithParam<LaunchGate::Barrier> {
 protected:
  LaunchGate::Closed CloseNow() {
    auto closed = gate_.Close();
    EXPECT_THAT(closed, IsOk());
    return std::move(closed).value();
  }
  void AwaitWaiters(uint64_t waiters) {
    while (gate_.waits() < waiters) std::this_thread::yield();
  }

  LaunchGate gate_{GetParam()};
};

TEST_P(LaunchGateTest, AnOpenGateLetsPassWhoeverComes) {
  LaunchPlace place(gate_, this);
  for (int i = 0; i < 3; ++i) {
    const LaunchPass pass(place);
    EXPECT_EQ(gate_.waits(), 0u);
  }
  EXPECT_EQ(place.executable(), this);
}

TEST_P(LaunchGateTest, WhoClosesIsAlone) {
  constexpr int kPassers = 3, kClosers = 2, kPasses = 400, kClosings = 30;
  std::atomic<int> inside{0};
  int written_alone = 0;  // no atomic: the gate orders it, or the thread sanitizer says so
  int64_t read_inside = 0;
  std::vector<std::thread> threads;
  std::mutex sum_mutex;
  for (int t = 0; t < kPassers; ++t) {
    threads.emplace_back([&] {
      LaunchPlace place(gate_, nullptr);
      int64_t seen = 0;
      for (int i = 0; i < kPasses; ++i) {
        const LaunchPass pass(place);
        inside.fetch_add(1, std::memory_order_relaxed);
        seen += written_alone;
        inside.fetch_sub(1, std::memory_order_relaxed);
      }
      const std::lock_guard<std::mutex> lock(sum_mutex);
      read_inside += seen;
    });
  }
  for (int t = 0; t < kClosers; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kClosings; ++i) {
        const LaunchGate::Closed closed = CloseNow();
        EXPECT_EQ(inside.load(std::memory_order_relaxed), 0);
        ++written_alone;
        EXPECT_EQ(inside.load(std::memory_order_relaxed), 0);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(written_alone, kClosers * kClosings);
  EXPECT_GE(read_inside, 0);
}

TEST_P(LaunchGateTest, ClosingWaitsForThoseInside) {
  std::atomic<bool> is_inside{false}, may_go{false};
  int written_inside = 0;
  std::thread passer([&] {
    LaunchPlace place(gate_, nullptr);
    const LaunchPass pass(place);
    is_inside.store(true, std::memory_order_release);
    Await(may_go);
    written_inside = 7;
  });
  Await(is_inside);
  const auto refused = gate_.Close(milliseconds(1));
  EXPECT_THAT(refused, FailsWith(absl::StatusCode::kDeadlineExceeded, "1 calls"));
  LaunchPlace mine(gate_, nullptr);
  { const LaunchPass pass(mine); }  // it is open again
  may_go.store(true, std::memory_order_release);
  const LaunchGate::Closed closed = CloseNow();
  EXPECT_EQ(written_inside, 7);
  passer.join();
}

TEST_P(LaunchGateTest, WhoHasClosedItPasses) {
  LaunchPlace place(gate_, nullptr);
  const LaunchGate::Closed closed = CloseNow();
  const LaunchPass pass(place);
  EXPECT_EQ(gate_.waits(), 0u);
}

TEST_P(LaunchGateTest, WhoWaitedPassesBeforeItIsClosedAgain) {
  for (int round = 0; round < 50; ++round) {
    std::atomic<bool> has_passed{false};
    LaunchGate::Closed closed = CloseNow();
    std::thread passer([&] {
      LaunchPlace place(gate_, nullptr);
      const LaunchPass pass(place);
      has_passed.store(true, std::memory_order_relaxed);
    });
    AwaitWaiters(round + 1);
    closed.Open();
    closed = CloseNow();
    EXPECT_TRUE(has_passed.load(std::memory_order_relaxed));
    closed.Open();
    passer.join();
  }
}

TEST_P(LaunchGateTest, OneClosesAtATime) {
  LaunchGate::Closed closed = CloseNow();
  std::thread other([&] {
    EXPECT_THAT(gate_.Close(milliseconds(1)),
                FailsWith(absl::StatusCode::kDeadlineExceeded, "another thread"));
  });
  other.join();
  closed.Open();
  EXPECT_THAT(gate_.Close(), IsOk());
}

TEST_P(LaunchGateTest, PlacesComeAndGoWhileItIsClosed) {
  auto before = std::make_unique<LaunchPlace>(gate_, nullptr);
  LaunchPlace between(gate_, nullptr);
  LaunchGate::Closed closed = CloseNow();
  before.reset();
  std::atomic<bool> has_passed{false};
  std::thread passer([&] {
    LaunchPlace place(gate_, nullptr);
    const LaunchPass pass(place);
    has_passed.store(true);
  });
  AwaitWaiters(1);
  EXPECT_FALSE(has_passed.load());
  closed.Open();
  passer.join();
  EXPECT_TRUE(has_passed.load());
  const LaunchPass pass(between);
}

TEST_P(LaunchGateTest, AWatchedGateKnowsWhoPassesHere) {
  LaunchPlace outer(gate_, nullptr), inner(gate_, nullptr);
  EXPECT_EQ(gate_.PassingHere(), nullptr);
  {
    const LaunchPass pass(outer);
    EXPECT_EQ(gate_.PassingHere(), nullptr);
    gate_.Watch(true);
    EXPECT_EQ(gate_.PassingHere(), nullptr);
  }
  {
    const LaunchPass pass(outer);
    EXPECT_EQ(gate_.PassingHere(), &outer);
    {
      const LaunchPass within(inner);
      EXPECT_EQ(gate_.PassingHere(), &inner);
    }
    EXPECT_EQ(gate_.PassingHere(), &outer);
    std::thread([&] { EXPECT_EQ(gate_.PassingHere(), nullptr); }).join();
    outer.NoteCorrelation(5);
    gate_.Watch(false);
  }
  EXPECT_EQ(gate_.PassingHere(), nullptr);
  EXPECT_EQ(outer.correlation(), 5u);
  gate_.Watch(true);
  EXPECT_EQ(outer.correlation(), 0u);
  outer.NoteCorrelation(6);
  {
    const LaunchPass pass(outer);
    EXPECT_EQ(outer.correlation(), 0u);
  }
  gate_.Watch(false);
}

TEST_P(LaunchGateTest, ThreadsThatPassAWatchedGateFindTheirOwnPlaces) {
  gate_.Watch(true);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      LaunchPlace place(gate_, nullptr);
      for (int i = 0; i < 300; ++i) {
        const LaunchPass pass(place);
        ASSERT_EQ(gate_.PassingHere(), &place);
        gate_.PassingHere()->NoteCorrelation(i);
      }
      EXPECT_EQ(place.correlation(), 299u);
    });
  }
  for (int i = 0; i < 10; ++i) { const LaunchGate::Closed closed = CloseNow(); }
  for (std::thread& thread : threads) thread.join();
  gate_.Watch(false);
}

INSTANTIATE_TEST_SUITE_P(Barriers, LaunchGateTest,
                         testing::Values(LaunchGate::Barrier::kOfKernelIfThere,
                                         LaunchGate::Barrier::kNone));

}  // namespace
}  // namespace graphtree
