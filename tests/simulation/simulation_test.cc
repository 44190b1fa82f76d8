// Random programs through the tree and through the model, for about a minute; a failing one is
// printed small. GRAPHTREE_SIMULATION_SEEDS=N runs N seeds instead, however long they take, and
// GRAPHTREE_SIMULATION_FROM=S begins at seed S. One that kills the process is told by crash_note.h.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#include "device/open.h"
#include "graphs/reason.h"
#include "graphs/tree.h"
#include "tests/simulation/crash_note.h"
#include "tests/simulation/program.h"
#include "tests/simulation/run_program.h"
#include "tests/simulation/shrink.h"
#include "gtest/gtest.h"

namespace graphtree::simulation {
namespace {

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

uint32_t CheckSeeds(const FailureOf& failure_of, uint32_t at_least) {
  using Clock = std::chrono::steady_clock;
  InstallCrashHandler();
  const Clock::time_point end = Clock::now() + std::chrono::seconds(50);
  const uint32_t first = Number("GRAPHTREE_SIMULATION_FROM", 1);
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

// What seldom happens must have happened, or the programs show less than they seem to.
TEST(SimulationTest, TheTreeShowsWhatAnEagerRunShows) {
  uint64_t spares = 0;
  uint64_t dropped_spares = 0;
  const auto failure_of = [&](const Program& program) {
    TreeStats stats;
    std::string failure = FailureOnHost(program, &stats);
    spares += stats.spares;
    dropped_spares += stats.reasons[static_cast<size_t>(Reason::kSpareDropped)];
    return failure;
  };
  constexpr uint32_t kAtLeast = 200;
  if (CheckSeeds(failure_of, kAtLeast) < kAtLeast) return;
  EXPECT_GT(spares, 0u);
  EXPECT_GT(dropped_spares, 0u);
  std::printf("%zu spares, %zu dropped\n", spares, dropped_spares);
}

TEST(SimulationTest, TheSameOnAGpu) {
  const auto gpu = OpenDevice("cuda:0");
  if (!gpu.ok()) GTEST_SKIP() << gpu.status().message();
  CheckSeeds([](const Program& program) { return FailureOnGpu(program); }, 40);
}

}  // namespace
}  // namespace graphtree::simulation
