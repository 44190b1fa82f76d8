// Sessions of a toy server, for some seconds, with device calls that fail and without; one that
// goes wrong is printed small. GRAPHTREE_SIMULATION_SEEDS=N runs N seeds instead, however long they
// take, and GRAPHTREE_SIMULATION_FROM=S begins at seed S.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "gtest/gtest.h"
#include "tests/outsider/serving/session.h"
#include "tests/simulation/drop_runs.h"

namespace graphtree::outsider {
namespace {

constexpr int kShrinkTries = 400;
constexpr uint32_t kAtLeast = 60;

uint32_t Number(const char* variable, uint32_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoul(text, nullptr, 10);
}

void Check(const Session& session, Tally* tally) {
  const std::string wrong = WrongOf(session, tally);
  if (wrong.empty()) return;
  Session small = session;
  int tries = kShrinkTries;
  const auto fails = [](const Session& tried) {
    Tally nobody_looks;
    return !WrongOf(tried, &nobody_looks).empty();
  };
  simulation::DropRuns<Session>(&small, &Session::acts, fails, &tries);
  FAIL() << wrong << "\nsmallest session that goes wrong:\n"
         << TextOf(small) << WrongOf(small, tally);
}

Tally RunSessions(bool has_faults) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + std::chrono::seconds(5);
  const uint32_t first = Number("GRAPHTREE_SIMULATION_FROM", 1);
  const uint32_t wanted = Number("GRAPHTREE_SIMULATION_SEEDS", 0);
  Tally tally;
  uint32_t done = 0;
  for (; wanted != 0 ? done < wanted : done < kAtLeast || Clock::now() < end; ++done) {
    Check(MakeSession(first + done, has_faults), &tally);
    if (testing::Test::HasFatalFailure()) break;
  }
  std::printf("%u sessions, from seed %u\n", done, first);
  for (const auto& [what, count] : tally) {
    std::printf("%llu %s\n", static_cast<unsigned long long>(count), what.c_str());
  }
  return tally;
}

TEST(ServingTest, UsersSeeWhatAServerWithoutGraphsShows) {
  Tally tally = RunSessions(false);
  for (const char* what : {"hit", "cover", "warming_up", "not_recorded", "stale_dependency",
                           "voted_down", "decoded", "prefilled", "drafted"}) {
    EXPECT_GT(tally[what], 0u) << what;
  }
}

TEST(ServingTest, TheSameWhereDeviceCallsFail) {
  Tally tally = RunSessions(true);
  EXPECT_GT(tally["faults"], 0u);
  EXPECT_GT(tally["steps given up"], 0u);
}

}  // namespace
}  // namespace graphtree::outsider
