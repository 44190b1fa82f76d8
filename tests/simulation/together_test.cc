// Several trees on several threads of one device, in one of which device calls fail: in seeded
// interleavings, which change between actions and in the middle of bodies while they are recorded,
// and as real threads come (for the thread sanitizer). What fails is printed small, with who was
// where. Which seeds: seeds.h.
#include "tests/simulation/together.h"

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "tests/simulation/crash_note.h"
#include "tests/simulation/program.h"
#include "tests/simulation/run_together.h"
#include "tests/simulation/seeds.h"
#include "gtest/gtest.h"

namespace graphtree::simulation {
namespace {

constexpr int kShrinkTries = 400;
// Threads that come as they come may be fine the next time.
constexpr int kRunsOfThreads = 3;

bool Fails(const Together& together) {
  const int runs = together.in_turns ? 1 : kRunsOfThreads;
  for (int i = 0; i < runs; ++i) {
    if (!FailureOf(together).empty()) return true;
  }
  return false;
}

void Check(uint32_t seed, bool in_turns) {
  Together together = MakeTogether(seed);
  together.in_turns = in_turns;
  const std::string failure = FailureOf(together);
  if (failure.empty()) return;
  const Together small = Shrink(together, Fails, kShrinkTries);
  std::vector<Moment> order;
  const std::string small_failure = FailureOf(small, &order);
  FAIL() << failure << "\nwhich runs again with "
         << RerunOf("tests/simulation/together_test", seed)
         << "\nsmallest programs that fail:\n" << ToString(small) << small_failure
         << "\nin this order: " << ToString(order);
}

void CheckSeeds(uint32_t seeds, bool in_turns) {
  ForSeeds(std::chrono::seconds(0), seeds, [&](uint32_t seed) { Check(seed, in_turns); });
}

TEST(TogetherTest, InSeededTurns) { CheckSeeds(150, true); }
TEST(TogetherTest, AsThreadsCome) { CheckSeeds(40, false); }

TEST(TogetherTest, ASeedGivesOneInterleaving) {
  const Together together = MakeTogether(7);
  std::vector<Moment> first, second;
  EXPECT_EQ(FailureOf(together, &first), "");
  EXPECT_EQ(FailureOf(together, &second), "");
  EXPECT_EQ(ToString(first), ToString(second));
}

TEST(TogetherTest, SomeSeedsLetOneThreadFailAndSomeAllOrNone) {
  std::vector<int> seeds_with(4, 0);
  for (uint32_t seed = 1; seed <= 40; ++seed) {
    int failing = 0;
    for (const Program& program : MakeTogether(seed).programs) {
      bool fails = false;
      for (const Action& action : program.actions) fails |= action.fail_at != 0;
      failing += fails ? 1 : 0;
    }
    ++seeds_with[failing];
  }
  EXPECT_GT(seeds_with[0], 0);
  EXPECT_GT(seeds_with[1], 0);
  EXPECT_GT(seeds_with[3], 0);
}

// A bug that shows where one thread leaves a step to another: a call of the first, the step, and
// the handing on are what is left.
TEST(TogetherTest, ShrinksToTheThreadsTheActionsAndTheTurns) {
  const auto fails = [](const Together& together) {
    for (uint32_t t = 0; t < together.programs.size(); ++t) {
      bool called = false;
      for (const Action& action : together.programs[t].actions) {
        const bool hands_on = !action.turns.empty() && action.turns[0] != t;
        if (called && hands_on && action.kind == ActionKind::kStep) return true;
        called |= action.kind == ActionKind::kCall;
      }
    }
    return false;
  };
  const Together together = MakeTogether(3);
  ASSERT_TRUE(fails(together));
  const Together small = Shrink(together, fails, 10000);
  ASSERT_EQ(small.programs.size(), 2u) << ToString(small);
  size_t actions = 0, turns = 0;
  for (const Program& program : small.programs) {
    actions += program.actions.size();
    for (const Action& action : program.actions) turns += action.turns.size();
  }
  EXPECT_EQ(actions, 2u) << ToString(small);
  EXPECT_EQ(turns, 1u) << ToString(small);
}

TEST(TogetherTest, AnOrderIsToldByThread) {
  EXPECT_EQ(ToString({{0, 0, 0}, {0, 1, 1}, {1, 0, 0}, {0, 1, 2}}),
            "thread 0: 0 1+1; thread 1: 0; thread 0: 1+2");
}

}  // namespace
}  // namespace graphtree::simulation
