// The devices that the conformance suite runs over: every registered one, the host device several
// times, once for each way of scheduling.
#ifndef GRAPHTREE_TESTS_CONFORMANCE_DEVICE_CASES_H_
#define GRAPHTREE_TESTS_CONFORMANCE_DEVICE_CASES_H_

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "device/device.h"
#include "tests/conformance/native_calls.h"

namespace graphtree {

struct DeviceCase {
  std::string name;  // as it stands in a test's name
  std::function<absl::StatusOr<std::unique_ptr<Device>>()> open;
  // A device that lets a race happen instead of reporting it, scheduled by `seed` where it can be.
  // Null where work runs in the order of the calls, and where the race would be this process's own.
  std::function<absl::StatusOr<std::unique_ptr<Device>>(uint64_t seed)> open_racing;
  // How a caller makes streams of its own for a device of this kind.
  std::function<std::unique_ptr<NativeCalls>(Device& device)> native_calls;
  // A race loses the device, and its status names the ops.
  bool reports_races = false;
  // The machine need not have it: the tests are then skipped with the reason.
  bool may_be_missing = false;
  // Work goes on while the caller does something else, so a test may hold it up and look.
  bool concurrent = false;
};

// Shown by gtest in place of the case's bytes.
void PrintTo(const DeviceCase& device_case, std::ostream* out);

const std::vector<DeviceCase>& DeviceCases();

}  // namespace graphtree

#endif  // GRAPHTREE_TESTS_CONFORMANCE_DEVICE_CASES_H_
