// Counters that answer, and one that does not until the profile is gone.
#include "profiler/live/counter_asker.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "device/base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphtree::live {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(CounterAskerTest, AsksAtBothEnds) {
  std::vector<double> seen;
  std::atomic<int> asked{0};
  CounterAsker asker;
  ASSERT_THAT(asker.Start({{"pool bytes", "live", [&asked] { return 1.0 * ++asked; }}},
                          seconds(1000),
                          [&seen](const ProfileCounter& counter, double value) {
                            EXPECT_EQ(counter.series, "live");
                            seen.push_back(value);
                          }),
              IsOk());
  while (asked < 1) std::this_thread::yield();
  EXPECT_TRUE(asker.Stop(seconds(1000)));
  EXPECT_THAT(seen, ::testing::ElementsAre(1.0, 2.0));
}

TEST(CounterAskerTest, WithoutCountersNothingRuns) {
  CounterAsker asker;
  EXPECT_THAT(asker.Start({}, milliseconds(1), nullptr), IsOk());
  EXPECT_TRUE(asker.Stop(milliseconds(0)));
}

TEST(CounterAskerTest, OneThatDoesNotAnswerIsLeftBehindAndHandsNothingOver) {
  struct Shared {
    std::atomic<bool> is_asked{false};
    std::atomic<bool> may_answer{false};
    std::atomic<bool> has_answered{false};
  };
  const auto shared = std::make_shared<Shared>();
  std::atomic<int> handed{0};
  {
    CounterAsker asker;
    ASSERT_THAT(asker.Start({{"pool bytes", "live",
                              [shared] {
                                shared->is_asked = true;
                                while (!shared->may_answer) std::this_thread::yield();
                                shared->has_answered = true;
                                return 1.0;
                              }}},
                            milliseconds(1),
                            [&handed](const ProfileCounter&, double) { ++handed; }),
                IsOk());
    while (!shared->is_asked) std::this_thread::yield();
    EXPECT_FALSE(asker.Stop(milliseconds(1)));
    EXPECT_EQ(CounterAsker::LeftBehind(), 1u);
  }
  shared->may_answer = true;
  // The thread lets go of what its counters hold before anybody asks after it.
  while (shared.use_count() > 1) std::this_thread::yield();
  EXPECT_TRUE(shared->has_answered);
  while (CounterAsker::LeftBehind() > 0) std::this_thread::yield();
  EXPECT_EQ(handed, 0);
}

}  // namespace
}  // namespace graphtree::live
