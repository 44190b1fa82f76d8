// Traces that are read and made, and lines that are no request.
#include "tools/demo_model/trace.h"

#include <set>
#include <string>
#include <vector>

#include "device/base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/demo_model/kernels/dims.h"

namespace graphtree::demo {
namespace {

using ::testing::HasSubstr;

TEST(TraceTest, ALineIsARequest) {
  const auto requests = ParseTrace("# remark\n\n 0 24 40 greedy 7 # first\n3\t130 16 0.8 -9\r\n");
  ASSERT_THAT(requests, IsOk());
  ASSERT_EQ(requests->size(), 2u);
  EXPECT_EQ((*requests)[0].prompt, 24);
  EXPECT_EQ((*requests)[0].output, 40);
  EXPECT_EQ((*requests)[0].temperature, 0);
  EXPECT_EQ((*requests)[0].seed, 7);
  EXPECT_EQ((*requests)[1].arrival, 3);
  EXPECT_FLOAT_EQ((*requests)[1].temperature, 0.8f);
  EXPECT_EQ((*requests)[1].seed, -9);
}

TEST(TraceTest, WhatIsWrongIsSaidWithItsLine) {
  const struct {
    const char* text;
    const char* message;
  } cases[] = {
      {"", "no request"},
      {"# nothing\n", "no request"},
      {"0 1 1 greedy 1\n0 1 1 greedy\n", "line 2: 4 words where 5 belong"},
      {"0 1 1 greedy 1 1\n", "line 1: 6 words"},
      {"x 1 1 greedy 1\n", "line 1: \"x\" is no whole number"},
      {"0 1.5 1 greedy 1\n", "\"1.5\" is no whole number"},
      {"0 1 1 often 1\n", "\"often\" is neither \"greedy\" nor a temperature"},
      {"0 1 1 nan 1\n", "a temperature of nan"},
      {"0 1 1 -1 1\n", "a temperature of -1"},
      {"-1 1 1 greedy 1\n", "step -1"},
      {"0 0 1 greedy 1\n", "a prompt of 0 tokens"},
      {"0 1 0 greedy 1\n", "an output of 0 tokens"},
      {"0 200 57 greedy 1\n", "a prompt of 200 and an output of 57 tokens; the model reads"},
      {"0 2147483647 2147483647 greedy 1\n", "at most 256"},
      {"5 1 1 greedy 1\n4 1 1 greedy 1\n", "line 2: a request of step 4 behind one of step 5"},
  };
  for (const auto& wrong : cases) {
    EXPECT_THAT(ParseTrace(wrong.text).status().message(), HasSubstr(wrong.message)) << wrong.text;
  }
}

TEST(TraceTest, WhatIsWrittenIsReadAgain) {
  std::vector<Request> made = MakeTrace(3, 200, kMostRequests);
  made.back().temperature = 0.1234567f;
  const auto read = ParseTrace(TraceText(made));
  ASSERT_THAT(read, IsOk());
  ASSERT_EQ(read->size(), made.size());
  for (size_t i = 0; i < made.size(); ++i) {
    EXPECT_EQ((*read)[i].arrival, made[i].arrival);
    EXPECT_EQ((*read)[i].prompt, made[i].prompt);
    EXPECT_EQ((*read)[i].output, made[i].output);
    EXPECT_EQ((*read)[i].temperature, made[i].temperature);
    EXPECT_EQ((*read)[i].seed, made[i].seed);
  }
}

TEST(TraceTest, TheBuiltInDayHasRequestsOfAllKinds) {
  for (int steps : {1, 10, 1000}) {
    const std::vector<Request> requests = MakeTrace(7, steps, kMostRequests);
    ASSERT_FALSE(requests.empty());
    for (const Request& request : requests) EXPECT_THAT(CheckRequest(request), IsOk());
  }
  std::set<bool> sampled, prompt_is_long;
  for (const Request& request : MakeTrace(1, 400, kMostRequests)) {
    sampled.insert(request.temperature > 0);
    prompt_is_long.insert(request.prompt > 128);
  }
  EXPECT_EQ(sampled.size(), 2u);
  EXPECT_EQ(prompt_is_long.size(), 2u);
}

TEST(TraceTest, PromptsFollowTheirSeeds) {
  const Request one = {.prompt = 20, .output = 1, .seed = 1}, two = {.prompt = 20, .seed = 2};
  std::vector<int> prompt_of_one, prompt_of_two;
  for (int i = 0; i < 20; ++i) {
    prompt_of_one.push_back(PromptToken(one, i));
    prompt_of_two.push_back(PromptToken(two, i));
    ASSERT_GE(prompt_of_one.back(), 0);
    ASSERT_LT(prompt_of_one.back(), kVocabulary);
  }
  EXPECT_NE(prompt_of_one, prompt_of_two);
}

}  // namespace
}  // namespace graphtree::demo
