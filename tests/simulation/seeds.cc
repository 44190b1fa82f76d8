// Counts, and looks at the clock.
#include "tests/simulation/seeds.h"

#include <cstdio>
#include <cstdlib>
#include <random>

#include "device/base/sanitized.h"
#include "gtest/gtest.h"
#include "tests/simulation/crash_note.h"

namespace graphtree::simulation {
namespace {

constexpr int kTimes = kSanitized ? 4 : 1;

uint64_t Number(const char* variable, uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

}  // namespace

SeedsRun ForSeeds(std::chrono::seconds time, uint32_t at_least,
                  const std::function<void(uint32_t seed)>& check) {
  using Clock = std::chrono::steady_clock;
  InstallCrashHandler();
  const Clock::time_point end = Clock::now() + time / kTimes;
  const auto wanted = static_cast<uint32_t>(Number("GRAPHTREE_SIMULATION_SEEDS", 0));
  SeedsRun run;
  run.first = static_cast<uint32_t>(Number("GRAPHTREE_SIMULATION_FROM", 1));
  const auto goes_on = [&] {
    if (testing::Test::HasFatalFailure()) return false;
    return wanted != 0 ? run.done < wanted : run.done < at_least || Clock::now() < end;
  };
  for (; goes_on(); ++run.done) check(run.first + run.done);
  std::printf("%u seeds, from %u\n", run.done, run.first);
  run.is_whole =
      !testing::Test::HasFatalFailure() && run.first == 1 && run.done >= at_least;
  return run;
}

uint64_t RandomSeed() { return Number("GRAPHTREE_SEED", std::random_device()()); }

}  // namespace graphtree::simulation
