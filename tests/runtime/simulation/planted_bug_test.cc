// The simulation finds bugs of a runtime: each one that is planted shows within so many seeds, and
// its script shrinks to a few actions, which are fine without the bug.
#include "runtime/slots/planted_bug.h"

#include <cstdio>
#include <ostream>
#include <string>

#include "gtest/gtest.h"
#include "tests/runtime/simulation/run_script.h"
#include "tests/runtime/simulation/script.h"
#include "tests/simulation/in_child.h"

namespace graphtree::runtime_simulation {
namespace {

constexpr uint32_t kActions = 120;
constexpr uint32_t kSeeds = 300;
constexpr size_t kFewActions = 16;
constexpr int kShrinkTries = 400;

std::string FailureWith(RuntimeBug bug, const Script& script) {
  if (bug == RuntimeBug::kNone) return FailureOnHost(script);
  return simulation::FailureInChild([&] {
    TheRuntimeBug() = bug;
    return FailureOnHost(script);
  });
}

struct Planted {
  const char* name;
  RuntimeBug bug;
};

void PrintTo(const Planted& planted, std::ostream* out) { *out << planted.name; }

constexpr Planted kPlanted[] = {
    {"IgnoresTouch", RuntimeBug::kIgnoresTouch},
    {"ForgetsPadding", RuntimeBug::kForgetsPadding},
    {"ForgetsPadValue", RuntimeBug::kForgetsPadValue},
    {"ZeroesKept", RuntimeBug::kZeroesKept},
    {"ReusesBlocks", RuntimeBug::kReusesBlocks},
    {"ForgetsLeftOut", RuntimeBug::kForgetsLeftOut},
    {"ForgetsExclusion", RuntimeBug::kForgetsExclusion},
    {"EndsContinued", RuntimeBug::kEndsContinued},
    {"SkipsStale", RuntimeBug::kSkipsStale},
    {"CountsRefused", RuntimeBug::kCountsRefused},
    {"FreesRowsEarly", RuntimeBug::kFreesRowsEarly},
    {"FreesSlotsEarly", RuntimeBug::kFreesSlotsEarly},
    {"MovesInOneLane", RuntimeBug::kMovesInOneLane},
    {"TrustsPlans", RuntimeBug::kTrustsPlans},
    {"StrictLetsRun", RuntimeBug::kStrictLetsRun},
    {"ForgetsPlanOrder", RuntimeBug::kForgetsPlanOrder},
    {"KeepsParkedCursor", RuntimeBug::kKeepsParkedCursor},
    {"ForgetsLoans", RuntimeBug::kForgetsLoans},
    {"StepsWhileParked", RuntimeBug::kStepsWhileParked},
};

class RuntimeBugTest : public testing::TestWithParam<Planted> {};

TEST_P(RuntimeBugTest, IsFound) {
  const RuntimeBug bug = GetParam().bug;
  uint32_t seed = 1;
  while (seed <= kSeeds && FailureWith(bug, MakeScript(seed, kActions)).empty()) ++seed;
  ASSERT_LE(seed, kSeeds) << "not found";
  const Script small = Shrink(
      MakeScript(seed, kActions),
      [bug](const Script& tried) {
        return !FailureWith(bug, tried).empty() && FailureOnHost(tried).empty();
      },
      kShrinkTries);
  EXPECT_LE(small.actions.size(), kFewActions) << ToString(small);
  EXPECT_EQ(FailureWith(RuntimeBug::kNone, small), "") << ToString(small);
  std::printf("seed %u, %zu actions: %s\n%s", seed, small.actions.size(),
              FailureWith(bug, small).c_str(), ToString(small).c_str());
}

INSTANTIATE_TEST_SUITE_P(Runtime, RuntimeBugTest, testing::ValuesIn(kPlanted),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace graphtree::runtime_simulation
