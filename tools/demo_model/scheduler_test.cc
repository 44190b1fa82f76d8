// Requests come, run and go; each gets the tokens it asked for, and blocks that nobody else has.
#include "tools/demo_model/scheduler.h"

#include <map>
#include <set>
#include <vector>

#include "gtest/gtest.h"
#include "tools/demo_model/kernels/dims.h"

namespace graphtree::demo {
namespace {

TEST(SchedulerTest, ARequestIsReadWholeAndThenGetsItsOwnTokens) {
  const Request request = {.arrival = 5, .prompt = 3, .output = 3, .seed = 9};
  Scheduler scheduler({request}, 4);
  Batch batch;
  ASSERT_TRUE(scheduler.Next(&batch));
  EXPECT_TRUE(batch.is_prefill);
  EXPECT_EQ(batch.ids, (std::vector<int64_t>{PromptToken(request, 0), PromptToken(request, 1),
                                             PromptToken(request, 2)}));
  EXPECT_EQ(batch.starts, (std::vector<int>{0, 3}));
  EXPECT_EQ(batch.lengths, (std::vector<int>{3}));
  EXPECT_EQ(batch.seeds, (std::vector<int64_t>{9}));
  for (int i = 1; i < 3; ++i) {
    scheduler.Take({500 + i});
    ASSERT_TRUE(scheduler.Next(&batch));
    EXPECT_FALSE(batch.is_prefill);
    EXPECT_EQ(batch.ids, (std::vector<int64_t>{500 + i}));
    EXPECT_EQ(batch.starts, (std::vector<int>{0, 1}));
    EXPECT_EQ(batch.lengths, (std::vector<int>{3 + i}));
  }
  scheduler.Take({1});
  EXPECT_FALSE(scheduler.Next(&batch));
}

TEST(SchedulerTest, PromptsAreReadTogetherUpToALimitAndALongOneAlone) {
  const std::vector<int> prompts = {10, 20, 30, 40, 50, 100, 200, 30};
  std::vector<Request> requests;
  for (int prompt : prompts) requests.push_back({.prompt = prompt, .output = 2});
  Scheduler scheduler(requests, kMostRequests);
  Batch batch;
  std::vector<int> tokens;
  while (scheduler.Next(&batch)) {
    if (batch.is_prefill) tokens.push_back(batch.tokens());
    scheduler.Take(std::vector<int>(batch.requests()));
  }
  EXPECT_EQ(tokens, (std::vector<int>{100, 50, 100, 200, 30}));
}

TEST(SchedulerTest, RequestsWaitForAPlaceAndForTheirTime) {
  Scheduler scheduler({{.arrival = 0, .prompt = 1, .output = 2},
                       {.arrival = 0, .prompt = 1, .output = 1},
                       {.arrival = 50, .prompt = 1, .output = 1}},
                      1);
  Batch batch;
  std::vector<int> numbers;
  while (scheduler.Next(&batch)) {
    ASSERT_EQ(batch.requests(), 1);
    numbers.push_back(batch.numbers[0]);
    scheduler.Take({9});
  }
  EXPECT_EQ(numbers, (std::vector<int>{0, 0, 1, 2}));
}

TEST(SchedulerTest, ARequestWaitsForRoomInTheCacheAndGetsWhatWasGivenBack) {
  // Eight of these fill the cache.
  std::vector<Request> requests(9, Request{.prompt = 200, .output = kPositions - 200});
  requests[0].output = 1;
  static_assert(kBlocks == 8 * kTableBlocks);
  Scheduler scheduler(requests, kMostRequests);
  Batch batch;
  std::vector<std::vector<int>> tables(requests.size());
  size_t most = 0;
  while (scheduler.Next(&batch)) {
    most = std::max(most, batch.lengths.size());
    for (int r = 0; r < batch.requests(); ++r) {
      const auto at = batch.tables.begin() + r * kTableBlocks;
      tables[batch.numbers[r]].assign(at, at + kTableBlocks);
    }
    scheduler.Take(std::vector<int>(batch.requests()));
  }
  EXPECT_EQ(most, 8u);
  EXPECT_EQ(tables[1][0], tables[0][0]) << "the first request's blocks were not used again";
  for (const std::vector<int>& table : tables) EXPECT_EQ(table.size(), size_t{kTableBlocks});
}

// Also that no two requests have the same block at a time.
TEST(SchedulerTest, ADayHasManySizesAndEveryRequestGetsItsTokens) {
  const std::vector<Request> requests = MakeTrace(1, 300, kMostRequests);
  Scheduler scheduler(requests, kMostRequests);
  std::set<int> decoding, reading;
  std::map<int, int> picked;
  Batch batch;
  int steps = 0;
  for (; scheduler.Next(&batch); ++steps) {
    (batch.is_prefill ? reading : decoding).insert(batch.requests());
    std::set<int> blocks;
    size_t used = 0;
    for (int r = 0; r < batch.requests(); ++r) {
      const int needed = (requests[batch.numbers[r]].length() + kBlockTokens - 1) / kBlockTokens;
      const auto at = batch.tables.begin() + r * kTableBlocks;
      blocks.insert(at, at + needed);
      used += needed;
      ASSERT_LE(batch.lengths[r], kPositions);
      ++picked[batch.numbers[r]];
    }
    ASSERT_EQ(blocks.size(), used) << "a block has two owners";
    scheduler.Take(std::vector<int>(batch.requests()));
  }
  EXPECT_GE(decoding.size(), 8u);
  EXPECT_GE(reading.size(), 2u);
  EXPECT_NEAR(steps, 300, 120);
  for (size_t i = 0; i < requests.size(); ++i) EXPECT_EQ(picked[i], requests[i].output);
}

}  // namespace
}  // namespace graphtree::demo
