// Random programs through the tree and through the model, for a while; a failing one is printed
// small. GRAPHTREE_SIMULATION_SEEDS=N runs N seeds instead of a minute's worth.
#include <cstdlib>
#include <memory>
#include <string>

#include "device/host/host_device.h"
#include "tests/simulation/program.h"
#include "tests/simulation/shrink.h"
#include "tests/simulation/world.h"
#include "gtest/gtest.h"

namespace graphtree::simulation {
namespace {

std::string RunOnHost(const Program& program, TreeStats* stats) {
  HostOptions host;
  host.seed = program.seed;
  auto device = OpenHostDevice(host);
  if (!device.ok()) return device.status().ToString();
  TreeOptions options;
  options.pool_bytes = 64 << 20;
  absl::Status status;
  {
    World world(**device, program, options);
    status = world.Run();
    if (status.ok() && stats != nullptr) *stats = world.stats();
  }
  if (status.ok()) status = (*device)->Close();
  return status.ok() ? "" : status.ToString();
}

void Check(uint32_t seed, uint32_t actions) {
  const Program program = MakeProgram(seed, actions);
  const std::string failure = RunOnHost(program, nullptr);
  if (failure.empty()) return;
  const Program small = Shrink(
      program, [](const Program& tried) { return !RunOnHost(tried, nullptr).empty(); }, 400);
  FAIL() << failure << "\nsmallest program that fails:\n"
         << ToString(small) << RunOnHost(small, nullptr);
}

TEST(SimulationTest, TheTreeShowsWhatAnEagerRunShows) {
  const char* wanted = std::getenv("GRAPHTREE_SIMULATION_SEEDS");
  const uint32_t seeds = wanted != nullptr ? std::strtoul(wanted, nullptr, 10) : 400;
  for (uint32_t seed = 1; seed <= seeds && !HasFatalFailure(); ++seed) Check(seed, 120);
}

}  // namespace
}  // namespace graphtree::simulation
