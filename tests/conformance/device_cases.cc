// The list of devices. A new device is one entry here.
#include "tests/conformance/device_cases.h"

#include <ostream>

#include "absl/strings/str_cat.h"
#include "device/base/sanitized.h"
#include "device/cuda/cuda_device.h"
#include "device/host/host_device.h"
#include "device/host/host_options.h"

namespace graphtree {
namespace {

DeviceCase HostCase(std::string name, HostScheduler scheduler, uint64_t seed) {
  HostOptions options;
  options.scheduler = scheduler;
  options.seed = seed;
  DeviceCase device_case;
  device_case.name = std::move(name);
  device_case.open = [options] { return OpenHostDevice(options); };
  device_case.open_racing = [options](uint64_t seed) {
    HostOptions racing = options;
    racing.seed = seed;
    racing.check_races = false;
    return OpenHostDevice(racing);
  };
  if (scheduler != HostScheduler::kSeeded) device_case.open_racing = nullptr;
  device_case.reports_races = true;
  device_case.native_calls = NativeCallsOnHost;
  device_case.concurrent = scheduler == HostScheduler::kThreads;
  return device_case;
}

std::vector<DeviceCase> AllCases() {
  std::vector<DeviceCase> cases;
  for (uint64_t seed = 1; seed <= (kSanitized ? 2 : 4); ++seed) {
    cases.push_back(HostCase(absl::StrCat("HostSeed", seed), HostScheduler::kSeeded, seed));
  }
  cases.push_back(HostCase("HostImmediate", HostScheduler::kImmediate, 1));
  cases.push_back(HostCase("HostThreads", HostScheduler::kThreads, 1));
  DeviceCase cuda;
  cuda.name = "Cuda0";
  cuda.open = [] { return OpenCudaDevice(0, {}); };
  cuda.open_racing = [](uint64_t) { return OpenCudaDevice(0, {}); };
  cuda.native_calls = [](Device&) { return NativeCallsOnCuda(); };
  cuda.may_be_missing = true;
  cuda.concurrent = true;
  cases.push_back(std::move(cuda));
  return cases;
}

}  // namespace

void PrintTo(const DeviceCase& device_case, std::ostream* out) { *out << device_case.name; }

const std::vector<DeviceCase>& DeviceCases() {
  static const auto* cases = new std::vector<DeviceCase>(AllCases());
  return *cases;
}

}  // namespace graphtree
