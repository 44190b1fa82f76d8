// Ops and launches in every order, and what does not fit.
#include "profiler/live/launch_join.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "profiler/trace/records.h"

namespace graphtree::live {
namespace {

using trace::DeviceOp;

constexpr trace::IdentityId kDevicesName = 900;

std::shared_ptr<const NamedGraph> GraphOf(std::vector<trace::IdentityId> ops) {
  auto graph = std::make_shared<NamedGraph>();
  graph->is_work.assign(ops.size(), true);
  graph->work = ops.size();
  graph->ops = std::move(ops);
  return graph;
}

DeviceOp OpOf(uint64_t correlation, uint32_t executable, uint32_t node) {
  DeviceOp op;
  op.correlation = correlation;
  op.graph = executable;
  op.graph_node = trace::PackedNode(executable, node);
  op.identity = kDevicesName;
  return op;
}

class LaunchJoinTest : public testing::Test {
 protected:
  std::vector<DeviceOp> seen_;
  LaunchJoin join_{[this](const DeviceOp& op) { seen_.push_back(op); }};
};

TEST_F(LaunchJoinTest, AnOpIsNamedByItsLaunchAndItsPlace) {
  join_.Launched({81, 7, 2, 1, GraphOf({11, 12, 13})});
  join_.Op(OpOf(7, 2, 1));
  ASSERT_EQ(seen_.size(), 1u);
  EXPECT_EQ(seen_[0].identity, 12u);
  EXPECT_EQ(seen_[0].correlation, 81u);
}

TEST_F(LaunchJoinTest, AnOpThatComesFirstWaitsForItsLaunch) {
  join_.Op(OpOf(7, 2, 0));
  join_.Turn();
  EXPECT_TRUE(seen_.empty());
  join_.Launched({81, 7, 2, 1, GraphOf({11})});
  ASSERT_EQ(seen_.size(), 1u);
  EXPECT_EQ(seen_[0].identity, 11u);
  join_.End();
  EXPECT_EQ(join_.counts().joined, 1u);
  EXPECT_EQ(join_.counts().without_launch, 0u);
}

TEST_F(LaunchJoinTest, AnOpOfNobodysLaunchIsHandedOnAfterTwoTurns) {
  join_.Op(OpOf(9, 5, 0));
  join_.Turn();
  EXPECT_TRUE(seen_.empty());
  join_.Turn();
  ASSERT_EQ(seen_.size(), 1u);
  EXPECT_EQ(seen_[0].identity, kDevicesName);
  EXPECT_EQ(seen_[0].correlation, LaunchJoin::kForeign | 9);
  EXPECT_EQ(join_.counts().without_launch, 1u);
}

TEST_F(LaunchJoinTest, WhatIsNotInTheGraphIsCountedAndNotNamed) {
  join_.Launched({81, 7, 2, 1, GraphOf({11, 12})});
  join_.Op(OpOf(7, 2, 2));  // no such op
  join_.Op(OpOf(7, 3, 0));  // another executable
  ASSERT_EQ(seen_.size(), 2u);
  EXPECT_EQ(seen_[0].identity, kDevicesName);
  EXPECT_EQ(seen_[1].identity, kDevicesName);
  EXPECT_EQ(join_.counts().mismatched, 2u);
  EXPECT_EQ(join_.counts().joined, 0u);
}

TEST_F(LaunchJoinTest, ARecordingThatTakesTurnsInAnExecutableKeepsItsNames) {
  join_.Launched({81, 7, 2, 1, GraphOf({11})});
  join_.Launched({82, 8, 2, 1, GraphOf({21})});
  join_.Op(OpOf(8, 2, 0));
  join_.Op(OpOf(7, 2, 0));
  ASSERT_EQ(seen_.size(), 2u);
  EXPECT_EQ(seen_[0].identity, 21u);
  EXPECT_EQ(seen_[1].identity, 11u);
}

TEST_F(LaunchJoinTest, ALaunchThatLacksOpsIsShortIfALaterOneIsWhole) {
  join_.Launched({81, 7, 2, 1, GraphOf({11, 12})});
  join_.Launched({82, 8, 2, 1, GraphOf({11, 12})});
  join_.Launched({83, 9, 2, 1, GraphOf({11, 12})});
  join_.Op(OpOf(7, 2, 0));
  join_.Op(OpOf(8, 2, 0));
  join_.Op(OpOf(8, 2, 1));
  join_.Op(OpOf(9, 2, 0));
  join_.End();
  EXPECT_EQ(join_.counts().short_launches, 1u);
  EXPECT_EQ(join_.counts().cut_launches, 1u);
}

TEST_F(LaunchJoinTest, AnotherStreamsLaunchesSayNothing) {
  join_.Launched({81, 7, 2, /*stream=*/1, GraphOf({11, 12})});
  join_.Launched({82, 8, 3, /*stream=*/2, GraphOf({11})});
  join_.Op(OpOf(8, 3, 0));
  join_.End();
  EXPECT_EQ(join_.counts().short_launches, 0u);
  EXPECT_EQ(join_.counts().cut_launches, 1u);
}

TEST_F(LaunchJoinTest, TheOldestLaunchMakesRoom) {
  for (uint64_t i = 0; i < LaunchJoin::kOpenLaunches + 10; ++i) {
    join_.Launched({i + 1, i + 1, 2, 1, GraphOf({11})});
  }
  EXPECT_EQ(join_.counts().short_launches, 10u);
}

TEST_F(LaunchJoinTest, WaitingOpsAreBounded) {
  for (uint64_t i = 0; i < LaunchJoin::kWaitingOps + 10; ++i) join_.Op(OpOf(i, 1, 0));
  EXPECT_EQ(seen_.size(), 10u);
  join_.End();
  EXPECT_EQ(seen_.size(), LaunchJoin::kWaitingOps + 10);
}

// Whatever the order, each op is handed on once, under its launch.
TEST_F(LaunchJoinTest, EveryOrderJoinsAlike) {
  constexpr unsigned kSeed = 4711;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  constexpr uint64_t kLaunches = 300;
  const auto graph = GraphOf({11, 12, 13, 14});
  struct Told {
    bool is_launch;
    uint64_t launch;
    uint32_t node;
  };
  std::vector<Told> all;
  for (uint64_t launch = 1; launch <= kLaunches; ++launch) {
    all.push_back({true, launch, 0});
    for (uint32_t node = 0; node < 4; ++node) all.push_back({false, launch, node});
  }
  std::shuffle(all.begin(), all.end(), random);
  for (const Told& told : all) {
    if (told.is_launch) {
      join_.Launched({1000 + told.launch, told.launch, 2, told.launch % 3, graph});
    } else {
      join_.Op(OpOf(told.launch, 2, told.node));
    }
  }
  join_.End();
  EXPECT_EQ(join_.counts().joined, 4 * kLaunches);
  EXPECT_EQ(join_.counts().short_launches, 0u);
  std::vector<std::vector<bool>> came(kLaunches + 1, std::vector<bool>(4, false));
  for (const DeviceOp& op : seen_) {
    const uint32_t node = trace::LocalNode(op.graph_node);
    EXPECT_EQ(op.identity, 11 + node);
    EXPECT_FALSE(came[op.correlation - 1000][node]);
    came[op.correlation - 1000][node] = true;
  }
}

}  // namespace
}  // namespace graphtree::live
