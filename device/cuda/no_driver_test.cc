// A machine without a driver, or a build without a toolkit: the calls exist and give the reason.
#include <string>

#include "device/base/status_matchers.h"
#include "device/cuda/cuda_device.h"
#include "device/error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

TEST(NoDriverTest, EveryWayInGivesTheSameReason) {
  const absl::StatusOr<int> count = CountCudaDevices();
  if (count.ok()) GTEST_SKIP() << "this machine has a CUDA driver";
  const std::string reason(count.status().message());
  EXPECT_THAT(reason, testing::AnyOf(testing::HasSubstr("no CUDA driver was found"),
                                     testing::HasSubstr("install a newer driver"),
                                     testing::HasSubstr("counting the GPUs"),
                                     testing::HasSubstr("this program has no CUDA device")));
  EXPECT_THAT(ErrorCodeOf(count.status()),
              testing::AnyOf(ErrorCode::kInsufficientDriver, ErrorCode::kNoDevice,
                             ErrorCode::kNotSupported));
  EXPECT_EQ(OpenCudaDevice(0, {}).status(), count.status());
  EXPECT_EQ(DescribeCudaDevice(0, {}).status(), count.status());
  EXPECT_EQ(CountCudaDevices().status(), count.status()) << "asking again";
}

}  // namespace
}  // namespace graphtree
