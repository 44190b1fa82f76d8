// Programs of fixed seeds, with device calls that fail and without: nothing goes wrong, and what
// the grammar has was really done.
#include <malloc.h>

#include <string>
#include <vector>

#include "device/base/sanitized.h"
#include "graphs/reason.h"
#include "gtest/gtest.h"
#include "tests/outsider/generate.h"
#include "tests/outsider/many.h"
#include "tests/outsider/program.h"
#include "tests/outsider/shrink.h"
#include "tests/outsider/world.h"

namespace graphtree::outsider {
namespace {

constexpr uint64_t kPrograms = kSanitized ? 300 : 1900;

Coverage RunSeeds(uint64_t programs, const Taste& taste) {
  return RunMany({1, programs, 3}, taste, nullptr, [&](const Find& find) {
    const Program program = Generate(find.seed, taste);
    ADD_FAILURE() << FindText(find, taste, ShrinkApart(program, find.wrong, nullptr, 2000));
  });
}

uint64_t CountOf(const Coverage& coverage, Reason reason) {
  return coverage.reasons[static_cast<size_t>(reason)];
}

TEST(OutsiderTest, NothingGoesWrong) {
  const Coverage c = RunSeeds(kPrograms, {});
  SCOPED_TRACE(CoverageText(c));
  // A hundred programs have each of these many times; the rarest are left to chance.
  const uint64_t least = kPrograms / 100;
  for (size_t i = 0; i < kDoCount; ++i) {
    EXPECT_GE(c.done[i], least) << NameOf(static_cast<Do>(i));
  }
  for (size_t i = 0; i < kActCount; ++i) {
    const Act act = static_cast<Act>(i);
    if (act == Act::kFault || act == Act::kFaultAt) continue;
    EXPECT_GE(c.acts[i], least) << NameOf(act);
  }
  for (size_t i = 0; i < kFromCount; ++i) {
    EXPECT_GE(c.froms[i], least / 10) << NameOf(static_cast<From>(i));
  }
  for (const uint64_t count : {c.replays, c.recordings, c.warm_ups, c.eager, c.parts, c.copied,
                               c.patched, c.again, c.restores, c.wrong_calls, c.failed_calls,
                               c.kept_held, c.stale_seen, c.outlived}) {
    EXPECT_GE(count, least);
  }
  for (const Reason reason :
       {Reason::kExcluded, Reason::kTreeOff, Reason::kMutatedInput, Reason::kOverlappingInputs,
        Reason::kForbiddenCall, Reason::kUnjoinedFork, Reason::kSizeNotListed, Reason::kShapeLimit,
        Reason::kOverBudget, Reason::kStaticMoved, Reason::kNodeEvicted,
        Reason::kSizesVary, Reason::kFunctionEvicted, Reason::kWarmUpAsked, Reason::kBreak}) {
    EXPECT_GE(CountOf(c, reason), 1u) << ReasonName(reason);
  }
}

TEST(OutsiderTest, NothingGoesWrongWhereDeviceCallsFail) {
  const Coverage c = RunSeeds(kPrograms, {true});
  SCOPED_TRACE(CoverageText(c));
  EXPECT_GE(c.faults, kPrograms / 10);
  EXPECT_GE(c.lost, kPrograms / 200);
  EXPECT_GE(c.failed_calls, kPrograms / 10);
  EXPECT_GE(c.replays, kPrograms);
}

TEST(OutsiderTest, TextComesBackAsTheSameProgram) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const std::string text = TextOf(Generate(seed, {true}));
    Program program;
    std::string wrong;
    ASSERT_TRUE(ProgramOf(text, &program, &wrong)) << wrong;
    EXPECT_EQ(TextOf(program), text) << "seed " << seed;
  }
  Program program;
  std::string wrong;
  EXPECT_FALSE(ProgramOf("function\n  mixx 1 2\n", &program, &wrong));
  EXPECT_EQ(wrong, "  mixx 1 2");
}

bool Has(const std::vector<Statement>& body, Do what) {
  for (const Statement& line : body) {
    if (line.what == what || Has(line.part, what)) return true;
  }
  return false;
}

TEST(OutsiderTest, TheShrinkerLeavesWhatMatters) {
  const auto goes_wrong = [](const Program& program) {
    for (const FunctionPlan& function : program.functions) {
      if (Has(function.body, Do::kHostSees)) return true;
    }
    return false;
  };
  int shrunk = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    const Program program = Generate(seed, {});
    if (!goes_wrong(program)) continue;
    const Program small = Shrink(program, goes_wrong, 10000);
    ASSERT_TRUE(goes_wrong(small));
    EXPECT_TRUE(small.actions.empty());
    size_t lines = 0;
    for (const FunctionPlan& function : small.functions) lines += function.body.size();
    EXPECT_EQ(lines, 1u);
    ++shrunk;
  }
  EXPECT_GE(shrunk, 5);
}

// A program that is run again and again leaves nothing on the heap.
TEST(OutsiderTest, TheHeapDoesNotGrow) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer has a heap of its own";
  const auto run = [] {
    for (uint64_t seed = 1; seed <= 150; ++seed) RunProgram(Generate(seed, {}));
    return mallinfo2().uordblks;
  };
  // What is interned and what tables have grown to comes first.
  for (int i = 0; i < 3; ++i) run();
  const size_t before = run();
  for (int i = 0; i < 3; ++i) run();
  const size_t after = run();
  EXPECT_LE(after, before + 8192);
}

}  // namespace
}  // namespace graphtree::outsider
