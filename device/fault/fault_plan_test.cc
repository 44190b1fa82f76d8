// Which call fails: the n-th of all, the n-th of a name, every one of a name, and all after a loss.
#include "device/fault/fault_plan.h"

#include <map>
#include <string>
#include <thread>
#include <vector>

#include "device/base/status_matchers.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

TEST(FaultPlanTest, NothingArmedFailsNothing) {
  FaultPlan plan;
  for (int i = 0; i < 10; ++i) EXPECT_THAT(plan.Enter("Stream.Launch"), IsOk());
  EXPECT_EQ(plan.calls(), 10u);
  EXPECT_EQ(plan.fired(), 0u);
  EXPECT_EQ(plan.fired_in(), "");
}

TEST(FaultPlanTest, TheNthCallOfAllFailsOnce) {
  FaultPlan plan;
  plan.FailCall(2, ErrorCode::kOutOfMemory);
  EXPECT_THAT(plan.Enter("Memory.Reserve"), IsOk());
  const absl::Status status = plan.Enter("Memory.Create");
  EXPECT_EQ(ErrorCodeOf(status), ErrorCode::kOutOfMemory);
  EXPECT_THAT(status, FailsWith(absl::StatusCode::kResourceExhausted,
                                "injected fault: call 2 of the device, call 1 of Memory.Create"));
  EXPECT_THAT(plan.Enter("Memory.Create"), IsOk());
  EXPECT_EQ(plan.fired(), 1u);
  EXPECT_EQ(plan.fired_in(), "Memory.Create");
}

TEST(FaultPlanTest, TheNthCallOfANameSkipsOtherNames) {
  FaultPlan plan;
  plan.FailCallOf("Stream.Copy", 2, ErrorCode::kInvalidValue);
  EXPECT_THAT(plan.Enter("Stream.Copy"), IsOk());
  EXPECT_THAT(plan.Enter("Stream.Launch"), IsOk());
  EXPECT_EQ(ErrorCodeOf(plan.Enter("Stream.Copy")), ErrorCode::kInvalidValue);
  EXPECT_THAT(plan.Enter("Stream.Copy"), IsOk());
}

TEST(FaultPlanTest, ANameThatNoCallHasIsABugOfTheTestThatArmsIt) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  FaultPlan plan;
  EXPECT_DEATH(plan.FailCallOf("Stream.Lauch", 1, ErrorCode::kInvalidValue),
               "no call of a device is named \"Stream.Lauch\"");
  EXPECT_DEATH(plan.FailEveryCallOf("Stream", ErrorCode::kInvalidValue), "named \"Stream\"");
  EXPECT_DEATH(plan.FailCall(0, ErrorCode::kInvalidValue), "counted from 1");
}

TEST(FaultPlanTest, CountingStartsWhenTheFaultIsArmed) {
  FaultPlan plan;
  ASSERT_THAT(plan.Enter("Stream.Copy"), IsOk());
  plan.FailCall(1, ErrorCode::kInvalidValue);
  EXPECT_EQ(ErrorCodeOf(plan.Enter("Stream.Copy")), ErrorCode::kInvalidValue);
}

TEST(FaultPlanTest, EveryCallOfANameFailsUntilCleared) {
  FaultPlan plan;
  plan.FailEveryCallOf("Memory.Create", ErrorCode::kOutOfMemory);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(plan.Enter("Memory.Create").ok());
  EXPECT_THAT(plan.Enter("Memory.Map"), IsOk());
  plan.Clear();
  EXPECT_THAT(plan.Enter("Memory.Create"), IsOk());
  EXPECT_EQ(plan.calls_of("Memory.Create"), 4u);
  EXPECT_EQ(plan.calls_of("Memory.Unmap"), 0u);
}

TEST(FaultPlanTest, TwoFaultsAtOneCallFireAsOne) {
  FaultPlan plan;
  plan.FailCall(1, ErrorCode::kOutOfMemory);
  plan.FailCallOf("Stream.Copy", 1, ErrorCode::kInvalidValue);
  EXPECT_EQ(ErrorCodeOf(plan.Enter("Stream.Copy")), ErrorCode::kOutOfMemory);
  EXPECT_THAT(plan.Enter("Stream.Copy"), IsOk());
  EXPECT_EQ(plan.fired(), 1u);
}

TEST(FaultPlanTest, ALossIsSticky) {
  FaultPlan plan;
  plan.FailCall(1, ErrorCode::kIllegalAddress);
  const absl::Status first = plan.Enter("Stream.Synchronize");
  EXPECT_EQ(plan.Enter("Stream.Launch"), first);
  EXPECT_EQ(plan.lost(), first);
  EXPECT_EQ(plan.fired(), 1u);
  plan.Clear();
  EXPECT_THAT(plan.Enter("Stream.Launch"), IsOk());
}

TEST(FaultPlanTest, CountsFromSeveralThreadsAddUp) {
  FaultPlan plan;
  plan.FailCall(500, ErrorCode::kOutOfMemory);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&plan] {
      for (int i = 0; i < 250; ++i) plan.Enter("Stream.Launch").IgnoreError();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(plan.calls(), 1000u);
  EXPECT_EQ(plan.counts().at("Stream.Launch"), 1000u);
  EXPECT_EQ(plan.fired(), 1u);
}

TEST(FaultPlanTest, AThreadHasFaultsOfItsOwn) {
  FaultPlan plan, own;
  own.FailCall(2, ErrorCode::kIllegalAddress);
  std::thread([&] {
    const FaultPlan::OnThisThread mine(plan, own);
    EXPECT_THAT(plan.Enter("Stream.Copy"), IsOk());
    std::thread([&] { EXPECT_THAT(plan.Enter("Stream.Launch"), IsOk()); }).join();
    EXPECT_EQ(ErrorCodeOf(plan.Enter("Stream.Copy")), ErrorCode::kIllegalAddress);
    EXPECT_EQ(ErrorCodeOf(plan.lost()), ErrorCode::kIllegalAddress);
  }).join();
  EXPECT_THAT(plan.lost(), IsOk());
  EXPECT_THAT(plan.Enter("Stream.Launch"), IsOk());
  EXPECT_EQ(plan.fired(), 0u);
  EXPECT_EQ(plan.counts(), (std::map<std::string, uint64_t>{{"Stream.Launch", 2}}));
  EXPECT_EQ(own.counts(), (std::map<std::string, uint64_t>{{"Stream.Copy", 2}}));
}

TEST(FaultPlanTest, AThreadsOwnPlanEndsWithItsScope) {
  FaultPlan plan, own;
  own.FailEveryCallOf("Stream.Copy", ErrorCode::kOutOfMemory);
  {
    const FaultPlan::OnThisThread mine(plan, own);
    EXPECT_FALSE(plan.Enter("Stream.Copy").ok());
  }
  EXPECT_THAT(plan.Enter("Stream.Copy"), IsOk());
}

}  // namespace
}  // namespace graphtree
