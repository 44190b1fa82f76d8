// Several trees on several threads of one device: in seeded interleavings, which change between
// actions and in the middle of bodies while they are recorded, and as real threads come (for the
// thread sanitizer). GRAPHTREE_SIMULATION_SEEDS=N runs N of each, and GRAPHTREE_SIMULATION_FROM=S
// begins at seed S.
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/simulation/crash_note.h"
#include "tests/simulation/program.h"
#include "tests/simulation/run_program.h"
#include "gtest/gtest.h"

namespace graphtree::simulation {
namespace {

constexpr uint32_t kThreads = 3;
constexpr uint32_t kActions = 24;

uint32_t Number(const char* variable, uint32_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoul(text, nullptr, 10);
}

void CheckSeeds(uint32_t otherwise, bool in_turns) {
  InstallCrashHandler();
  const uint32_t first = Number("GRAPHTREE_SIMULATION_FROM", 1);
  const uint32_t seeds = Number("GRAPHTREE_SIMULATION_SEEDS", otherwise);
  for (uint32_t seed = first; seed < first + seeds; ++seed) {
    std::vector<Program> programs;
    for (uint32_t t = 0; t < kThreads; ++t) {
      // Of different lengths: trees close while others record.
      programs.push_back(MakeProgram(kThreads * seed + t, kActions * (t + 1)));
    }
    const std::string failure = FailureTogether(programs, seed, in_turns);
    if (failure.empty()) continue;
    std::string text;
    for (const Program& program : programs) text += ToString(program);
    FAIL() << "seed " << seed << ": " << failure << "\n" << text;
  }
}

TEST(TogetherTest, InSeededTurns) { CheckSeeds(150, true); }
TEST(TogetherTest, AsThreadsCome) { CheckSeeds(40, false); }

}  // namespace
}  // namespace graphtree::simulation
