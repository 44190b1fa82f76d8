// Random programs through the tree and through the model, for about a minute; a failing one is
// printed small. GRAPHTREE_SIMULATION_SEEDS=N runs N seeds instead, however long they take, and
// GRAPHTREE_SIMULATION_FROM=S begins at seed S. One that kills the process is told by crash_note.h.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "device/open.h"
#include "gmock/gmock.h"
#include "graphs/reason.h"
#include "graphs/tree.h"
#include "tests/simulation/crash_note.h"
#include "tests/simulation/program.h"
#include "tests/simulation/run_program.h"
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

uint32_t Number(const char* variable, uint32_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoul(text, nullptr, 10);
}

uint32_t FirstSeed() { return Number("GRAPHTREE_SIMULATION_FROM", 1); }

uint32_t CheckSeeds(const FailureOf& failure_of, uint32_t at_least) {
  using Clock = std::chrono::steady_clock;
  InstallCrashHandler();
  const Clock::time_point end = Clock::now() + std::chrono::seconds(50);
  const uint32_t first = FirstSeed();
  const uint32_t wanted = Number("GRAPHTREE_SIMULATION_SEEDS", 0);
  const auto goes_on = [&](uint32_t done) {
    return wanted != 0 ? done < wanted : done < at_least || Clock::now() < end;
  };
  uint32_t done = 0;
  for (; goes_on(done) && !testing::Test::HasFatalFailure(); ++done) {
    Check(failure_of, first + done, 120);
  }
  std::printf("%u programs, from seed %u\n", done, first);
  return done;
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
  const uint32_t done = CheckSeeds(failure_of, kAtLeast);
  if (HasFatalFailure()) return;
  std::printf("%s\n", reached.ToString().c_str());
  if (done < (FirstSeed() == 1 ? kAtLeast : kSurely)) {
    GTEST_SKIP() << "the programs agree, but " << done << " are too few to ask what they reach";
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
