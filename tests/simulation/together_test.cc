// Several trees on several threads of one device: in seeded interleavings, which change between
// actions and in the middle of bodies while they are recorded, and as real threads come (for the
// thread sanitizer). GRAPHTREE_SIMULATION_SEEDS=N runs N of each.
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/simulation/program.h"
#include "tests/simulation/run_program.h"
#include "gtest/gtest.h"

namespace graphtree::simulation {
namespace {

constexpr uint32_t kThreads = 3;
constexpr uint32_t kActions = 30;

uint32_t Seeds(uint32_t otherwise) {
  const char* text = std::getenv("GRAPHTREE_SIMULATION_SEEDS");
  return text == nullptr ? otherwise : std::strtoul(text, nullptr, 10);
}

void CheckSeeds(uint32_t seeds, bool in_turns) {
  for (uint32_t seed = 1; seed <= seeds; ++seed) {
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

TEST(TogetherTest, InSeededTurns) { CheckSeeds(Seeds(150), true); }
TEST(TogetherTest, AsThreadsCome) { CheckSeeds(Seeds(40), false); }

}  // namespace
}  // namespace graphtree::simulation
