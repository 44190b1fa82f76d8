// Random programs through the tree and through the model, for a while; a failing one is printed
// small. GRAPHTREE_SIMULATION_SEEDS=N runs N seeds instead of a minute's worth.
#include <cstdlib>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "device/device.h"
#include "device/host/host_device.h"
#include "device/open.h"
#include "tests/simulation/program.h"
#include "tests/simulation/shrink.h"
#include "tests/simulation/world.h"
#include "gtest/gtest.h"

namespace graphtree::simulation {
namespace {

using OpenForSeed = absl::StatusOr<std::unique_ptr<Device>> (*)(uint32_t seed);

absl::StatusOr<std::unique_ptr<Device>> OpenHost(uint32_t seed) {
  HostOptions options;
  options.seed = seed;
  return OpenHostDevice(options);
}

absl::StatusOr<std::unique_ptr<Device>> OpenGpu(uint32_t) { return OpenDevice("cuda:0"); }

// Every third seed has little room, so that what it recorded goes and comes back.
TreeBudget BudgetFor(uint32_t seed) {
  if (seed % 3 != 0) return {};
  return {.nodes = 4 + seed % 4,
          .executables = 1 + seed % 3,
          .executable_bytes = uint64_t{400} << 10,
          .siblings = 1 + seed % 2,
          .shapes_of_function = 1 + seed % 2,
          .shapes = 3,
          .half_life = 8,
          .retry_after = 4};
}

// What the caller saw and should not have; empty if nothing.
std::string Failure(OpenForSeed open, const Program& program) {
  absl::StatusOr<std::unique_ptr<Device>> device = open(program.seed);
  if (!device.ok()) return device.status().ToString();
  TreeOptions options;
  options.pool_bytes = 64 << 20;
  options.budget = BudgetFor(program.seed);
  if (program.patches_all) options.patch_bytes = 1;
  absl::Status status;
  {
    World world(**device, program, options);
    status = world.Run();
  }
  if (status.ok()) status = (*device)->Close();
  return status.ok() ? "" : status.ToString();
}

void Check(OpenForSeed open, uint32_t seed, uint32_t actions) {
  const Program program = MakeProgram(seed, actions);
  const std::string failure = Failure(open, program);
  if (failure.empty()) return;
  const Program small = Shrink(
      program, [open](const Program& tried) { return !Failure(open, tried).empty(); }, 400);
  FAIL() << failure << "\nsmallest program that fails:\n"
         << ToString(small) << Failure(open, small);
}

void CheckSeeds(OpenForSeed open, uint32_t seeds) {
  const char* wanted = std::getenv("GRAPHTREE_SIMULATION_SEEDS");
  if (wanted != nullptr) seeds = std::strtoul(wanted, nullptr, 10);
  for (uint32_t seed = 1; seed <= seeds && !testing::Test::HasFatalFailure(); ++seed) {
    Check(open, seed, 120);
  }
}

TEST(SimulationTest, TheTreeShowsWhatAnEagerRunShows) { CheckSeeds(OpenHost, 400); }

TEST(SimulationTest, TheSameOnAGpu) {
  const absl::StatusOr<std::unique_ptr<Device>> gpu = OpenGpu(0);
  if (!gpu.ok()) GTEST_SKIP() << gpu.status().message();
  CheckSeeds(OpenGpu, 60);
}

}  // namespace
}  // namespace graphtree::simulation
