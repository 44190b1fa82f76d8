// The simulation finds bugs: each one that is planted shows within so many seeds, and its program
// shrinks to a few actions, which are fine without the bug.
#include "graphs/run/planted_bug.h"

#include <cstdio>
#include <functional>
#include <ostream>
#include <string>

#include "tests/simulation/drop_runs.h"
#include "tests/simulation/in_child.h"
#include "tests/simulation/program.h"
#include "tests/simulation/run_program.h"
#include "tests/simulation/run_together.h"
#include "tests/simulation/shrink.h"
#include "tests/simulation/together.h"
#include "gtest/gtest.h"

namespace graphtree::simulation {
namespace {

constexpr uint32_t kActions = 120;
constexpr uint32_t kManyActions = 400;
constexpr size_t kFewActions = 30;
constexpr uint32_t kSeeds = 4000;
constexpr int kShrinkTries = 1000;
constexpr uint32_t kSeedsOfTrees = 60;
constexpr size_t kFewActionsOfTrees = 16;

std::string FailureWith(PlantedBug bug, const std::function<std::string()>& run) {
  if (bug == PlantedBug::kNone) return run();
  return FailureInChild([&] {
    ThePlantedBug() = bug;
    return run();
  });
}

std::string FailureWith(PlantedBug bug, const Program& program) {
  return FailureWith(bug, [&program] { return FailureOnHost(program); });
}

struct Planted {
  const char* name;
  PlantedBug bug;
  uint32_t actions = kActions;
  // The first seed that is tried. A bug that shows late would take the test most of its time: its
  // seed is in the README, and 1 here finds it again.
  uint32_t from = 1;
};

void PrintTo(const Planted& planted, std::ostream* out) { *out << planted.name; }

void ExpectFound(const Planted& planted) {
  const PlantedBug bug = planted.bug;
  for (uint32_t seed = planted.from; seed <= kSeeds; ++seed) {
    const Program program = MakeProgram(seed, planted.actions);
    const std::string failure = FailureWith(bug, program);
    if (failure.empty()) continue;
    if (!FailureWith(PlantedBug::kNone, program).empty()) continue;  // the simulation's own matter
    const auto shows_it = [bug](const Program& tried) {
      return !FailureWith(bug, tried).empty() && FailureWith(PlantedBug::kNone, tried).empty();
    };
    const auto is_small = [](const Program& tried) { return tried.actions.size() <= kFewActions; };
    const Program small =
        Shrink(program, UntilSmall<Program>(shows_it, is_small), kShrinkTries);
    EXPECT_LE(small.actions.size(), kFewActions) << ToString(small);
    EXPECT_EQ(FailureWith(PlantedBug::kNone, small), "") << ToString(small);
    testing::Test::RecordProperty("seed", static_cast<int>(seed));
    testing::Test::RecordProperty("actions", static_cast<int>(small.actions.size()));
    std::printf("seed %u, %zu actions: %s\n%s", seed, small.actions.size(), failure.c_str(),
                ToString(small).c_str());
    return;
  }
  FAIL() << "not found within " << kSeeds << " seeds";
}

constexpr Planted kPlanted[] = {
    {"SkipsLiveness", PlantedBug::kSkipsLiveness},
    {"ForgetsDying", PlantedBug::kForgetsDying},
    {"ForgetsConsumed", PlantedBug::kForgetsConsumed},
    {"SkipsPatch", PlantedBug::kSkipsPatch},
    {"ForgetsMutation", PlantedBug::kForgetsMutation, kActions, 1201},
    {"ForgetsSecretWrite", PlantedBug::kForgetsSecretWrite},
    {"RevivesStale", PlantedBug::kRevivesStale},
    {"ForgetsStreamOrder", PlantedBug::kForgetsStreamOrder},
    {"LaunchesStale", PlantedBug::kLaunchesStale},
    {"ReusesKeptPlace", PlantedBug::kReusesKeptPlace},
    {"SkipsPointers", PlantedBug::kSkipsPointers},
    {"ForgetsEviction", PlantedBug::kForgetsEviction},
    {"RecordsUnsettled", PlantedBug::kRecordsUnsettled},
    {"ForgetsAlignment", PlantedBug::kForgetsAlignment},
    {"ForgetsOverlap", PlantedBug::kForgetsOverlap},
    {"MixesObjects", PlantedBug::kMixesObjects},
    {"ForgetsDead", PlantedBug::kForgetsDead},
    {"ForgetsDestroy", PlantedBug::kForgetsDestroy},
    {"ForgetsForeign", PlantedBug::kForgetsForeign},
    {"KeepsPlaces", PlantedBug::kKeepsPlaces},
    {"SwapsHalf", PlantedBug::kSwapsHalf},
    {"OverrunsBudget", PlantedBug::kOverrunsBudget},
    {"HidesReason", PlantedBug::kHidesReason},
    {"ForgetsStored", PlantedBug::kForgetsStored},
    {"ForgetsTakenBack", PlantedBug::kForgetsTakenBack},
    {"ForgetsUsed", PlantedBug::kForgetsUsed, kManyActions, 2401},
    {"ForgetsKeepAlive", PlantedBug::kForgetsKeepAlive},
    {"IgnoresRegion", PlantedBug::kIgnoresRegion},
};

class OnePlantedBugTest : public testing::TestWithParam<Planted> {};

TEST_P(OnePlantedBugTest, IsFound) { ExpectFound(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Tree, OnePlantedBugTest, testing::ValuesIn(kPlanted),
                         [](const auto& info) { return std::string(info.param.name); });

// Bugs that it takes several trees to see. They shrink, too.
std::string FailureWith(PlantedBug bug, const Together& together) {
  return FailureWith(bug, [&together] { return FailureOf(together); });
}

size_t ActionsOf(const Together& together) {
  size_t actions = 0;
  for (const Program& program : together.programs) actions += program.actions.size();
  return actions;
}

class PlantedBugOfSeveralTreesTest : public testing::TestWithParam<Planted> {};

TEST_P(PlantedBugOfSeveralTreesTest, IsFound) {
  const PlantedBug bug = GetParam().bug;
  const auto shows_it = [bug](const Together& tried) {
    return !FailureWith(bug, tried).empty() && FailureWith(PlantedBug::kNone, tried).empty();
  };
  uint32_t seed = 1;
  while (seed <= kSeedsOfTrees && !shows_it(MakeTogether(seed))) ++seed;
  ASSERT_LE(seed, kSeedsOfTrees) << "not found";
  const auto is_small = [](const Together& tried) {
    return tried.programs.size() == 2 && ActionsOf(tried) <= kFewActionsOfTrees;
  };
  const Together small =
      Shrink(MakeTogether(seed), UntilSmall<Together>(shows_it, is_small), kShrinkTries);
  ASSERT_EQ(small.programs.size(), 2u) << ToString(small);
  for (const Program& program : small.programs) {
    EXPECT_EQ(FailureWith(bug, program), "") << "one tree shows it";
  }
  EXPECT_LE(ActionsOf(small), kFewActionsOfTrees) << ToString(small);
  std::printf("seed %u, %zu actions: %s\n%s", seed, ActionsOf(small),
              FailureWith(bug, small).c_str(), ToString(small).c_str());
}

constexpr Planted kPlantedInSeveral[] = {
    {"LetsAllIn", PlantedBug::kLetsAllIn},
    {"DestroysInCaptures", PlantedBug::kDestroysInCaptures},
    {"MixesOrders", PlantedBug::kMixesOrders},
};

INSTANTIATE_TEST_SUITE_P(Tree, PlantedBugOfSeveralTreesTest, testing::ValuesIn(kPlantedInSeveral),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace graphtree::simulation
