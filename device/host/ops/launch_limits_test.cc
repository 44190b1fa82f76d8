// Launches and fills beyond the limits are refused with the number that is off.
#include "device/host/ops/launch_limits.h"

#include <cstdint>

#include "device/base/status_matchers.h"
#include "gtest/gtest.h"

namespace graphtree::host {
namespace {

absl::Status Launch(const LaunchShape& shape) {
  static const Kernel* const kernel = new Kernel("empty", {}, [](const HostCall&) {}, {});
  return CheckLaunch(*kernel, shape, {});
}

TEST(LaunchLimitsTest, OrdinaryShapesAreFine) {
  EXPECT_THAT(Launch({}), IsOk());
  EXPECT_THAT(Launch({{0x7fffffff, 65535, 65535}, {1024, 1, 1}, 227 << 10}), IsOk());
  EXPECT_THAT(Launch({{1, 1, 1}, {4, 4, 64}}), IsOk());
}

TEST(LaunchLimitsTest, OthersAreRefused) {
  using absl::StatusCode;
  EXPECT_THAT(Launch({{1, 0, 1}, {}}), FailsWith(StatusCode::kInvalidArgument, "empty"));
  EXPECT_THAT(Launch({{}, {1025, 1, 1}}), FailsWith(StatusCode::kInvalidArgument, "1024"));
  EXPECT_THAT(Launch({{}, {1, 1, 65}}), FailsWith(StatusCode::kInvalidArgument, "1x1x65"));
  EXPECT_THAT(Launch({{1, 65536, 1}, {}}), FailsWith(StatusCode::kInvalidArgument, "65535"));
  EXPECT_THAT(Launch({{}, {}, 228 << 10}), FailsWith(StatusCode::kInvalidArgument, "233472"));
}

TEST(LaunchLimitsTest, ArgumentsBeyondWhatKernelsTakeAreRefused) {
  struct Table {
    uint8_t bytes[32764];
  };
  struct Larger {
    uint8_t bytes[32765];
  };
  const Kernel fits("fits", Params<Table>(), [](const HostCall&) {}, {});
  const Kernel large("large", Params<Larger>(), [](const HostCall&) {}, {});
  const Table table = {};
  const Larger larger = {};
  EXPECT_THAT(CheckLaunch(fits, {}, {Argument::Value(table)}), IsOk());
  EXPECT_THAT(CheckLaunch(large, {}, {Argument::Value(larger)}),
              FailsWith(absl::StatusCode::kInvalidArgument, "32765 bytes of arguments"));
}

TEST(LaunchLimitsTest, FillsNeedAWidthAndItsAlignment) {
  using absl::StatusCode;
  EXPECT_THAT(CheckFill({0x1002, 1, 2, 1}), IsOk());
  EXPECT_THAT(CheckFill({0x1000, 1, 3, 1}), FailsWith(StatusCode::kInvalidArgument, "width 3"));
  EXPECT_THAT(CheckFill({0x1002, 1, 4, 1}), FailsWith(StatusCode::kInvalidArgument, "0x1002"));
  EXPECT_THAT(CheckFill({0x1000, 1, 4, uint64_t{1} << 62}),
              FailsWith(StatusCode::kInvalidArgument, "4611686018427387904 elements"));
}

}  // namespace
}  // namespace graphtree::host
