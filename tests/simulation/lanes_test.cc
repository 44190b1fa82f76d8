// Random lanes that hand tensors to each other, as threads come. Which seeds: seeds.h.
#include "tests/simulation/lanes.h"

#include <chrono>
#include <cstdint>

#include "tests/simulation/crash_note.h"
#include "tests/simulation/seeds.h"
#include "gtest/gtest.h"

namespace graphtree::simulation {
namespace {

constexpr uint32_t kSeeds = 100;

TEST(LanesTest, EveryCallIsRight) {
  uint64_t recordings = 0;
  const SeedsRun run = ForSeeds(std::chrono::seconds(0), kSeeds, [&recordings](uint32_t seed) {
    ASSERT_EQ(FailureOfLanes(seed, &recordings), "")
        << "perhaps again with " << RerunOf("tests/simulation/lanes_test", seed);
  });
  if (!run.is_whole) return;
  EXPECT_GT(recordings, 10 * kSeeds);
}

}  // namespace
}  // namespace graphtree::simulation
