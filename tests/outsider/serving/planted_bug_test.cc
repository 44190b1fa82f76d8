// Bugs that are planted in the runtime (runtime/slots/planted_bug.h) are found within so many
// sessions: the README has what this test prints, and which are not found.
#include "runtime/slots/planted_bug.h"

#include <cstdio>
#include <ostream>
#include <string>

#include "gtest/gtest.h"
#include "tests/outsider/serving/session.h"
#include "tests/simulation/in_child.h"

namespace graphtree::outsider {
namespace {

constexpr uint32_t kSessions = 400;

std::string WrongWith(RuntimeBug bug, uint32_t seed) {
  return simulation::FailureInChild([&] {
    TheRuntimeBug() = bug;
    Tally tally;
    return WrongOf(MakeSession(seed, false), &tally);
  });
}

struct Row {
  RuntimeBug bug;
  const char* name;
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

class ServingBugTest : public testing::TestWithParam<Row> {};

TEST_P(ServingBugTest, IsFound) {
  uint32_t seed = 1;
  std::string wrong;
  for (; seed <= kSessions && wrong.empty(); ++seed) wrong = WrongWith(GetParam().bug, seed);
  ASSERT_NE(wrong, "") << "not found";
  EXPECT_EQ(WrongWith(RuntimeBug::kNone, seed - 1), "") << "that is no planted bug";
  std::printf("%s: seed %u, %s\n", GetParam().name, seed - 1, wrong.c_str());
}

constexpr Row kRows[] = {
    {RuntimeBug::kIgnoresTouch, "IgnoresTouch"},
    {RuntimeBug::kForgetsPadding, "ForgetsPadding"},
    {RuntimeBug::kForgetsPadValue, "ForgetsPadValue"},
    {RuntimeBug::kEndsContinued, "EndsContinued"},
    {RuntimeBug::kKeepsParkedCursor, "KeepsParkedCursor"},
    {RuntimeBug::kStepsWhileParked, "StepsWhileParked"},
};

INSTANTIATE_TEST_SUITE_P(Each, ServingBugTest, testing::ValuesIn(kRows),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace graphtree::outsider
