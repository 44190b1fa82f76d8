// Random programs through the tree and through the model, for about a minute (seeds.h says how to
// run others); a failing one is printed small. One that kills the process is told by crash_note.h.
#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "device/open.h"
#include "gmock/gmock.h"
#include "graphs/reason.h"
#include "graphs/tree.h"
#include "tests/simulation/program.h"
#include "tests/simulation/run_program.h"
#include "tests/simulation/seeds.h"
#include "tests/simulation/shrink.h"
#include "gtest/gtest.h"

namespace graphtree::simulation {
namespace {

// What no program can make happen: options and mistakes that it has no word for (tests/tree has
// them), limits that it is too short for.
const char* const kBeyondPrograms[] = {
    "excluded",        "tree_off",       "size_not_listed",  // options
    "recorded_apart",  "host_value",
    "forbidden_call",  "unjoined_fork",  "capture_broken",   // mistakes in bodies
    "workspace_moved", "rerecord_limit", "long_step",
    "sizes_vary",      "function_evicted", "works_elsewhere",  // the other simulation's matter
    "replay_differs",  // for bodies that a run more does not show: the programs' ones count runs
};

using FailureOf = std::function<std::string(const Program& program)>;

void Check(const FailureOf& failure_of, uint32_t seed, uint32_t actions) {
  const Program program = MakeProgram(seed, actions);
  const std::string failure = failure_of(program);
  if (failure.empty()) return;
  const Program small = Shrink(
      program, [&failure_of](const Program& tried) { return !failure_of(tried).empty(); }, 400);
  FAIL() << failure << "\nsmallest program that fails:\n"
         << ToString(small) << failure_of(small);
}

SeedsRun CheckSeeds(const FailureOf& failure_of, uint32_t at_least) {
  return ForSeeds(std::chrono::seconds(50), at_least,
                  [&](uint32_t seed) { Check(failure_of, seed, 120); });
}

// What the trees of all programs have done. Where something never happened the programs show less
// than they seem to.
class Reached {
 public:
  void Add(const TreeStats& stats) {
    Count("replays", stats.replays);
    Count("recordings", stats.recordings);
    Count("cuts", stats.sections - stats.recordings);
    Count("eager parts", stats.eager_parts);
    Count("warm-ups", stats.warm_ups);
    Count("eager runs", stats.eager);
    Count("restores", stats.restores);
    Count("copied inputs", stats.copied_inputs);
    Count("patched inputs", stats.patched_inputs);
    Count("executables instantiated again", stats.instantiated_again);
    Count("spares", stats.spares);
    for (size_t i = 0; i < kReasonCount; ++i) {
      Count(ReasonName(static_cast<Reason>(i)), stats.reasons[i]);
    }
  }
  std::set<std::string> Never() const {
    std::set<std::string> never;
    for (const auto& [name, count] : counts_) {
      if (count == 0) never.insert(name);
    }
    return never;
  }
  std::string ToString() const {
    std::string text;
    for (const auto& [name, count] : counts_) absl::StrAppend(&text, count, " ", name, ", ");
    return text;
  }

 private:
  void Count(const std::string& name, uint64_t count) { counts_[name] += count; }
  std::map<std::string, uint64_t> counts_;
};

TEST(SimulationTest, TheTreeShowsWhatAnEagerRunShows) {
  Reached reached;
  const auto failure_of = [&](const Program& program) {
    TreeStats stats;
    std::string failure = FailureOnHost(program, &stats);
    reached.Add(stats);
    return failure;
  };
  // So many programs from the first seed on make everything happen, and from any other one surely.
  constexpr uint32_t kAtLeast = 200, kSurely = 5000;
  const SeedsRun run = CheckSeeds(failure_of, kAtLeast);
  if (HasFatalFailure()) return;
  std::printf("%s\n", reached.ToString().c_str());
  if (!run.is_whole && run.done < kSurely) {
    GTEST_SKIP() << "the programs agree, but " << run.done << " are too few to ask what they reach";
  }
  EXPECT_THAT(reached.Never(), testing::IsSubsetOf(kBeyondPrograms));
}

TEST(SimulationTest, TheSameOnAGpu) {
  const auto gpu = OpenDevice("cuda:0");
  if (!gpu.ok()) GTEST_SKIP() << gpu.status().message();
  CheckSeeds([](const Program& program) { return FailureOnGpu(program); }, 40);
}

}  // namespace
}  // namespace graphtree::simulation
