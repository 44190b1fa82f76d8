// Random scripts through a runtime and through the model, for some seconds (seeds.h says how to run
// others); one that fails is printed small. One that kills the process is told by crash_note.h.
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "device/open.h"
#include "gtest/gtest.h"
#include "runtime/why.h"
#include "tests/runtime/simulation/run_script.h"
#include "tests/runtime/simulation/script.h"
#include "tests/simulation/seeds.h"

namespace graphtree::runtime_simulation {
namespace {

constexpr uint32_t kActions = 120;
constexpr int kShrinkTries = 1500;
constexpr uint32_t kAtLeast = 120;  // scripts

using FailureOf = std::function<std::string(const Script&)>;

void Check(const FailureOf& failure_of, uint32_t seed) {
  const Script script = MakeScript(seed, kActions);
  const std::string failure = failure_of(script);
  if (failure.empty()) return;
  const Script small = Shrink(
      script, [&failure_of](const Script& tried) { return !failure_of(tried).empty(); },
      kShrinkTries);
  FAIL() << failure << "\nsmallest script that fails:\n" << ToString(small) << failure_of(small);
}

TEST(RuntimeSimulationTest, TheRuntimeShowsWhatTheModelSays) {
  Reached reached;
  const auto failure_of = [&](const Script& script) { return FailureOnHost(script, &reached); };
  const simulation::SeedsRun run =
      simulation::ForSeeds(std::chrono::seconds(20), kAtLeast,
                           [&](uint32_t seed) { Check(failure_of, seed); });
  if (HasFatalFailure()) return;
  for (const auto& [what, count] : reached) {
    std::printf("%llu %s\n", static_cast<unsigned long long>(count), what.c_str());
  }
  // What never happens shows nothing. From the first seed on, so many scripts do all of it.
  if (!run.is_whole) return;
  for (size_t i = 0; i < kWhyCount; ++i) {
    const Why why = static_cast<Why>(i);
    EXPECT_GT(reached[WhyName(why)], 0u) << WhyName(why);
  }
  for (const char* what :
       {"adopted", "bodies that failed", "calls that slots cannot hold", "canceled steps",
        "captures", "commits", "faults", "lanes parked with drop", "lanes parked with keep",
        "lanes parked with pinned", "loans", "loans read after a step", "loans refused",
        "outputs read", "pads copied", "pads in place",
        "not recorded because of the mode", "pads that had no room", "pairs",
        "plans for another key", "plans for other rows", "plans prepared",
        "plans that nobody prepared", "plans that were touched", "plans used", "programs removed",
        "recorded ahead", "recorded by a plan", "recorded in idle slots", "recorded once more",
        "refused steps", "rows rewritten behind their event", "shapes refused",
        "slots filled behind their event", "replays compared", "staged from a kept output",
        "staged from a plan", "staged from the device", "staged from the step before",
        "stale outputs that say so", "votes that agree", "strict replays",
        "strict steps that did not begin", "strict steps that did not run", "votes that do not",
        "workspaces moved between steps", "workspaces moved by a body",
        "workspaces moved in a recording", "workspaces moved under recordings",
        "wakes that failed first", "workspaces told to be where they are"}) {
    EXPECT_GT(reached[what], 0u) << what;
  }
  EXPECT_LE(1000 * reached["choices not looked at"], reached["choices looked at"]);
}

// For the thread sanitizer.
TEST(RuntimeSimulationTest, TwoServersOnTwoThreadsOfOneDevice) {
  constexpr uint32_t kFewActions = 60;
  simulation::ForSeeds(std::chrono::seconds(0), 24, [](uint32_t seed) {
    const std::vector<Script> scripts = {MakeScript(2 * seed, kFewActions),
                                         MakeScript(2 * seed + 1, kFewActions)};
    ASSERT_EQ(FailureTogether(scripts), "") << "seeds " << 2 * seed << " and the next one";
  });
}

TEST(RuntimeSimulationTest, TheSameOnAGpu) {
  const auto gpu = OpenDevice("cuda:0");
  if (!gpu.ok()) GTEST_SKIP() << gpu.status().message();
  simulation::ForSeeds(std::chrono::seconds(10), 20,
                       [](uint32_t seed) { Check(FailureOnGpu, seed); });
}

}  // namespace
}  // namespace graphtree::runtime_simulation
