// Requests come, run and go; each keeps its slot and gets the tokens it asked for.
#include "tools/demo_model/scheduler.h"

#include <map>
#include <set>
#include <vector>

#include "gtest/gtest.h"
#include "tools/demo_model/kernels/dims.h"

namespace graphtree::demo {
namespace {

std::vector<int> PickedFor(const Batch& batch) {
  std::vector<int> picked;
  for (int row = 0; row < batch.rows(); ++row) picked.push_back(100 + batch.slots[row]);
  return picked;
}

TEST(SchedulerTest, ARequestReadsItsPromptAndThenItsOwnTokens) {
  Scheduler scheduler({{0, {1, 2, 3}, 2, 0.0f}}, 4);
  Batch batch;
  std::vector<int> tokens;
  std::vector<bool> picks;
  while (scheduler.Next(&batch)) {
    ASSERT_EQ(batch.rows(), 1);
    EXPECT_EQ(batch.positions[0], scheduler.steps());
    tokens.push_back(batch.tokens[0]);
    picks.push_back(batch.picks);
    scheduler.Take({500 + scheduler.steps()});
  }
  EXPECT_EQ(tokens, (std::vector<int>{1, 2, 3, 502}));
  EXPECT_EQ(picks, (std::vector<bool>{false, false, true, true}));
  EXPECT_EQ(scheduler.generated(), 2);
}

TEST(SchedulerTest, RequestsWaitForASlotAndForTheirTime) {
  Scheduler scheduler({{0, {1}, 2, 0.0f}, {0, {2}, 1, 0.5f}, {50, {3}, 1, 0.0f}}, 1);
  Batch batch;
  std::vector<int> tokens;
  std::vector<bool> samples;
  while (scheduler.Next(&batch)) {
    ASSERT_EQ(batch.rows(), 1);
    tokens.push_back(batch.tokens[0]);
    samples.push_back(batch.samples);
    scheduler.Take({9});
  }
  EXPECT_EQ(tokens, (std::vector<int>{1, 9, 2, 3}));
  EXPECT_EQ(samples, (std::vector<bool>{false, false, true, false}));
}

TEST(SchedulerTest, ADayHasManyBatchSizesAndAllKindsOfSteps) {
  const std::vector<Request> requests = MakeRequests(1, 200, kSlots);
  int wanted = 0;
  for (const Request& request : requests) wanted += request.wanted;
  Scheduler scheduler(requests, kSlots);
  std::set<int> rows;
  std::set<std::vector<bool>> kinds;
  Batch batch;
  while (scheduler.Next(&batch)) {
    const std::set<int> slots(batch.slots.begin(), batch.slots.end());
    ASSERT_EQ(static_cast<int>(slots.size()), batch.rows()) << "two requests in one slot";
    for (int position : batch.positions) ASSERT_LT(position, kPositions);
    rows.insert(batch.rows());
    kinds.insert({batch.picks, batch.samples});
    scheduler.Take(PickedFor(batch));
  }
  EXPECT_GE(rows.size(), 5u);
  EXPECT_EQ(kinds.size(), 3u);
  EXPECT_EQ(scheduler.generated(), wanted);
  EXPECT_NEAR(scheduler.steps(), 200, 60);
}

TEST(SchedulerTest, EveryLengthOfDayHasAtLeastOneRequest) {
  for (int steps : {1, 10, 1000}) EXPECT_FALSE(MakeRequests(7, steps, kSlots).empty());
}

}  // namespace
}  // namespace graphtree::demo
