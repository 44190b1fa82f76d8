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
#include "graphs/tree.h"
#include "tests/simulation/crash_note.h"
#include "tests/simulation/world.h"

namespace graphtree::simulation {
namespace {

std::string FailureOn(Device& device, FaultPlan* plan, const Program& program,
                      TreeStats* stats) {
  absl::Status status;
  {
    World world(device, plan, program, OptionsFor(program));
    status = world.Run();
    if (stats != nullptr) *stats = world.stats();
  }
  const bool leaks = plan != nullptr && plan->fired_in() == "Memory.Release";
  const absl::Status closed = device.Close();
  if (status.ok() && !leaks) status = closed;
  return status.ok() ? "" : status.ToString();
}

}  // namespace

std::string FailureOnHost(const Program& program, TreeStats* stats) {
  const CrashNote note(RerunOf("tests/simulation/simulation_test", program.seed),
                       [&program] { return ToString(program); });
  HostOptions options;
  options.seed = program.seed;
  absl::StatusOr<std::unique_ptr<Device>> host = OpenHostDevice(options);
  if (!host.ok()) return host.status().ToString();
  FaultDevice device(*std::move(host));
  return FailureOn(device, &device.plan(), program, stats);
}

std::string FailureOnGpu(const Program& program) {
  const CrashNote note(RerunOf("tests/simulation/simulation_test", program.seed),
                       [&program] { return ToString(program); });
  absl::StatusOr<std::unique_ptr<Device>> gpu = OpenDevice("cuda:0");
  return gpu.ok() ? FailureOn(**gpu, nullptr, program, nullptr) : gpu.status().ToString();
}

}  // namespace graphtree::simulation
