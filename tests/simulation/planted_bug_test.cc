// The simulation finds bugs: each one that is planted shows within so many seeds, and its program
// shrinks to a few actions, which are fine without the bug.
#include "graphs/planted_bug.h"

#include <cstdio>
#include <ostream>
#include <string>

#include "tests/simulation/program.h"
#include "tests/simulation/run_program.h"
#include "tests/simulation/shrink.h"
#include "gtest/gtest.h"

namespace graphtree::simulation {
namespace {

constexpr uint32_t kActions = 120;
constexpr size_t kFewActions = 30;
constexpr uint32_t kSeeds = 4000;

std::string FailureWith(PlantedBug bug, const Program& program) {
  ThePlantedBug() = bug;
  std::string failure = FailureOnHost(program);
  ThePlantedBug() = PlantedBug::kNone;
  return failure;
}

void ExpectFound(PlantedBug bug) {
  for (uint32_t seed = 1; seed <= kSeeds; ++seed) {
    const Program program = MakeProgram(seed, kActions);
    const std::string failure = FailureWith(bug, program);
    if (failure.empty()) continue;
    if (!FailureWith(PlantedBug::kNone, program).empty()) continue;  // the simulation's own matter
    const auto shows_it = [bug](const Program& tried) {
      return !FailureWith(bug, tried).empty() && FailureWith(PlantedBug::kNone, tried).empty();
    };
    const Program small = Shrink(program, shows_it, 400);
    EXPECT_LE(small.actions.size(), kFewActions) << ToString(small);
    EXPECT_EQ(FailureWith(PlantedBug::kNone, small), "") << ToString(small);
    testing::Test::RecordProperty("seed", static_cast<int>(seed));
    testing::Test::RecordProperty("actions", static_cast<int>(small.actions.size()));
    std::printf("seed %u, %zu actions: %s\n", seed, small.actions.size(), failure.c_str());
    return;
  }
  FAIL() << "not found within " << kSeeds << " seeds";
}

struct Planted {
  const char* name;
  PlantedBug bug;
};

void PrintTo(const Planted& planted, std::ostream* out) { *out << planted.name; }

constexpr Planted kPlanted[] = {
    {"SkipsLiveness", PlantedBug::kSkipsLiveness},
    {"ForgetsDying", PlantedBug::kForgetsDying},
    {"ForgetsConsumed", PlantedBug::kForgetsConsumed},
    {"SkipsPatch", PlantedBug::kSkipsPatch},
    {"ForgetsMutation", PlantedBug::kForgetsMutation},
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
};

class PlantedBugTest : public testing::TestWithParam<Planted> {};

TEST_P(PlantedBugTest, IsFound) { ExpectFound(GetParam().bug); }

INSTANTIATE_TEST_SUITE_P(Tree, PlantedBugTest, testing::ValuesIn(kPlanted),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace graphtree::simulation
