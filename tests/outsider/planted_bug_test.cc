// Bugs that are planted in the library (graphs/planted_bug.h) are found within so many programs:
// the README has what this test prints, and which are not found.
#include "graphs/run/planted_bug.h"

#include <cstdio>
#include <string>

#include "gtest/gtest.h"
#include "tests/outsider/generate.h"
#include "tests/outsider/many.h"

namespace graphtree::outsider {
namespace {

struct Row {
  PlantedBug bug;
  const char* name;
  bool faults;
  // The first seed that is tried. A bug that shows late would take the test most of its time: its
  // seed is in the README, and 1 here finds it again.
  uint64_t from = 1;
};

constexpr uint64_t kPrograms = 50000;

class PlantedBugTest : public testing::TestWithParam<Row> {};

TEST_P(PlantedBugTest, IsFound) {
  const Row& row = GetParam();
  const Taste taste = {row.faults};
  Find first;
  RunMany({row.from, kPrograms, 1}, taste, [&] { ThePlantedBug() = row.bug; },
          [&](const Find& find) { first = find; });
  ASSERT_FALSE(first.wrong.empty()) << row.name;
  EXPECT_EQ(RunApart(Generate(first.seed, taste), nullptr), "") << "that is no planted bug";
  std::printf("%s: seed %lu, %s\n", row.name, static_cast<unsigned long>(first.seed),
              first.wrong.substr(0, 100).c_str());
}

constexpr Row kRows[] = {
    {PlantedBug::kSkipsLiveness, "kSkipsLiveness", false},
    {PlantedBug::kForgetsConsumed, "kForgetsConsumed", false},
    {PlantedBug::kSkipsPatch, "kSkipsPatch", false},
    {PlantedBug::kRevivesStale, "kRevivesStale", false},
    {PlantedBug::kForgetsStreamOrder, "kForgetsStreamOrder", false},
    {PlantedBug::kReusesKeptPlace, "kReusesKeptPlace", false},
    {PlantedBug::kSkipsPointers, "kSkipsPointers", false},
    {PlantedBug::kForgetsEviction, "kForgetsEviction", false},
    {PlantedBug::kForgetsAlignment, "kForgetsAlignment", false},
    {PlantedBug::kForgetsOverlap, "kForgetsOverlap", false},
    {PlantedBug::kForgetsDestroy, "kForgetsDestroy", false},
    {PlantedBug::kForgetsForeign, "kForgetsForeign", false},
    {PlantedBug::kKeepsPlaces, "kKeepsPlaces", false},
    {PlantedBug::kLetsAllIn, "kLetsAllIn", false},
    {PlantedBug::kOverrunsBudget, "kOverrunsBudget", false},
    {PlantedBug::kHidesReason, "kHidesReason", false},
    {PlantedBug::kForgetsStored, "kForgetsStored", false},
    {PlantedBug::kForgetsKeepAlive, "kForgetsKeepAlive", false},
    {PlantedBug::kMixesOrders, "kMixesOrders", false},
    {PlantedBug::kIgnoresRegion, "kIgnoresRegion", false},
    {PlantedBug::kForgetsFlight, "kForgetsFlight", true},
    {PlantedBug::kForgetsUndo, "kForgetsUndo", false},
    {PlantedBug::kForgetsSpilled, "kForgetsSpilled", false, 7062},
    {PlantedBug::kForgetsPartWrites, "kForgetsPartWrites", false, 15488},
};

INSTANTIATE_TEST_SUITE_P(Each, PlantedBugTest, testing::ValuesIn(kRows),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace graphtree::outsider
