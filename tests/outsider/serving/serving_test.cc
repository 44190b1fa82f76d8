// Sessions of a toy server, for some seconds, with device calls that fail and without; one that
// goes wrong is printed small. tests/simulation/seeds.h says how to run others.
#include <chrono>
#include <cstdio>
#include <string>

#include "gtest/gtest.h"
#include "tests/outsider/serving/session.h"
#include "tests/simulation/crash_note.h"
#include "tests/simulation/drop_runs.h"
#include "tests/simulation/seeds.h"

namespace graphtree::outsider {
namespace {

constexpr int kShrinkTries = 400;
constexpr uint32_t kAtLeast = 60;

void Check(const Session& session, Tally* tally) {
  const simulation::CrashNote note(
      simulation::RerunOf("tests/outsider/serving/serving_test", session.seed),
      [&session] { return TextOf(session); });
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

simulation::SeedsRun RunSessions(bool has_faults, Tally* tally) {
  const simulation::SeedsRun run = simulation::ForSeeds(
      std::chrono::seconds(5), kAtLeast,
      [&](uint32_t seed) { Check(MakeSession(seed, has_faults), tally); });
  for (const auto& [what, count] : *tally) {
    std::printf("%llu %s\n", static_cast<unsigned long long>(count), what.c_str());
  }
  return run;
}

TEST(ServingTest, UsersSeeWhatAServerWithoutGraphsShows) {
  Tally tally;
  if (!RunSessions(false, &tally).is_whole) return;
  for (const char* what : {"hit", "cover", "warming_up", "not_recorded", "stale_dependency",
                           "voted_down", "decoded", "prefilled", "drafted", "slept"}) {
    EXPECT_GT(tally[what], 0u) << what;
  }
}

TEST(ServingTest, TheSameWhereDeviceCallsFail) {
  Tally tally;
  if (!RunSessions(true, &tally).is_whole) return;
  EXPECT_GT(tally["faults"], 0u);
  EXPECT_GT(tally["steps given up"], 0u);
}

}  // namespace
}  // namespace graphtree::outsider
