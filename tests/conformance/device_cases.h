// The devices that the conformance suite runs over: every registered one, the host device several
// times, once for each way of scheduling.
#ifndef GRAPHTREE_TESTS_CONFORMANCE_DEVICE_CASES_H_
#define GRAPHTREE_TESTS_CONFORMANCE_DEVICE_CASES_H_

#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "device/device.h"

namespace graphtree {

struct DeviceCase {
  std::string name;  // as it stands in a test's name
  std::function<absl::StatusOr<std::unique_ptr<Device>>()> open;
  // The machine need not have it: the tests are then skipped with the reason.
  bool may_be_missing = false;
  // Work is done when the call that queues it returns, so nothing is ever in flight.
  bool immediate = false;
};

// Shown by gtest in place of the case's bytes.
void PrintTo(const DeviceCase& device_case, std::ostream* out);

const std::vector<DeviceCase>& DeviceCases();

}  // namespace graphtree

#endif  // GRAPHTREE_TESTS_CONFORMANCE_DEVICE_CASES_H_
