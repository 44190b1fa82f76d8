// The log against a list of all steps, and with readers beside the writer.
#include "runtime/watch/step_log.h"

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace graphtree {
namespace {

LoggedStep RandomStep(std::mt19937_64& random) {
  LoggedStep step;
  step.at_ns = static_cast<int64_t>(random() >> 1);
  step.key = {.kind = static_cast<int32_t>(random() % 4),
              .tokens = static_cast<int32_t>(random() % 100000),
              .requests = static_cast<int32_t>(random() % 300),
              .query_length = static_cast<int32_t>(random() % 9),
              .context = static_cast<int32_t>(random() % 100000),
              .adaptors = static_cast<int32_t>(random() % 5),
              .microbatches = static_cast<int32_t>(random() % 3),
              .speculation = static_cast<int32_t>(random() % 5),
              .extra = random()};
  step.why = static_cast<Why>(random() % kWhyCount);
  if (random() % 2 == 0) step.field = static_cast<KeyField>(random() % kKeyFieldCount);
  step.route = static_cast<CallRoute>(random() % 5);
  if (random() % 2 == 0) step.reason = static_cast<Reason>(random() % kReasonCount);
  step.program = static_cast<uint32_t>(random());
  step.shape = static_cast<uint32_t>(random());
  step.ran_ns = random();
  return step;
}

TEST(StepLogTest, KeepsTheLastAndGivesThemBackAsTheyWere) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  StepLog log;
  std::vector<LoggedStep> all;
  for (uint64_t i = 0; i < 3 * StepLog::kKept; ++i) {
    all.push_back(RandomStep(random));
    all.back().number = i;
    log.Note(all.back());
    if (random() % 200 != 0 && i != 3 * StepLog::kKept - 1) continue;
    const size_t most = random() % (2 * StepLog::kKept);
    const size_t kept = std::min<size_t>({most, all.size(), StepLog::kKept});
    EXPECT_EQ(log.Last(most), std::vector<LoggedStep>(all.end() - kept, all.end()));
  }
  EXPECT_EQ(log.count(), 3 * StepLog::kKept);
}

TEST(StepLogTest, IsEmptyAtFirst) { EXPECT_TRUE(StepLog().Last().empty()); }

// Every field follows from the number, so a torn entry shows.
LoggedStep StepOf(uint64_t number) {
  LoggedStep step;
  step.number = number;
  step.at_ns = static_cast<int64_t>(number * 3);
  step.key = {.tokens = static_cast<int32_t>(number % 1000),
              .context = static_cast<int32_t>(number % 777),
              .extra = number * 5};
  step.why = static_cast<Why>(number % kWhyCount);
  step.program = static_cast<uint32_t>(number * 7);
  step.shape = static_cast<uint32_t>(number * 11);
  step.ran_ns = number * 13;
  return step;
}

TEST(StepLogTest, ReadersSeeWholeStepsOnly) {
  constexpr uint64_t kSteps = 200000;
  StepLog log;
  std::atomic<bool> is_over{false};
  std::atomic<uint64_t> seen{0};
  std::atomic<uint64_t> torn{0};
  const auto read = [&] {
    do {
      uint64_t before = 0;
      for (const LoggedStep& step : log.Last()) {
        if (!(step == StepOf(step.number)) || step.number < before) ++torn;
        before = step.number;
        ++seen;
      }
    } while (!is_over.load());
  };
  std::thread one(read);
  std::thread two(read);
  for (uint64_t i = 0; i < kSteps; ++i) log.Note(StepOf(i));
  is_over = true;
  one.join();
  two.join();
  EXPECT_EQ(torn.load(), 0u);
  EXPECT_EQ(log.Last().size(), StepLog::kKept);
}

}  // namespace
}  // namespace graphtree
