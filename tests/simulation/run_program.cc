// Opens, runs, closes.
#include "tests/simulation/run_program.h"

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/device.h"
#include "device/fault/fault_device.h"
#include "device/host/host_device.h"
#include "device/open.h"
#include "graphs/budget.h"
#include "graphs/tree.h"
#include "tests/simulation/world.h"

namespace graphtree::simulation {
namespace {

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

std::string FailureOn(Device& device, FaultPlan* plan, const Program& program) {
  TreeOptions options;
  options.pool_bytes = 64 << 20;
  options.budget = BudgetFor(program.seed);
  if (program.patches_all) options.patch_bytes = 1;
  absl::Status status;
  {
    World world(device, plan, program, options);
    status = world.Run();
  }
  const bool leaks = plan != nullptr && plan->fired_in() == "Memory.Release";
  const absl::Status closed = device.Close();
  if (status.ok() && !leaks) status = closed;
  return status.ok() ? "" : status.ToString();
}

}  // namespace

std::string FailureOnHost(const Program& program) {
  HostOptions options;
  options.seed = program.seed;
  absl::StatusOr<std::unique_ptr<Device>> host = OpenHostDevice(options);
  if (!host.ok()) return host.status().ToString();
  FaultDevice device(*std::move(host));
  return FailureOn(device, &device.plan(), program);
}

std::string FailureOnGpu(const Program& program) {
  absl::StatusOr<std::unique_ptr<Device>> gpu = OpenDevice("cuda:0");
  return gpu.ok() ? FailureOn(**gpu, nullptr, program) : gpu.status().ToString();
}

}  // namespace graphtree::simulation
