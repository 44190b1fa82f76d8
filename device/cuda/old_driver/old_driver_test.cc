// A driver that is older than the Runtime: the stand-in beside this file is loaded in its place.
#include "device/base/status_matchers.h"
#include "device/cuda/cuda_device.h"
#include "device/error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

TEST(OldDriverTest, BothVersionsAreNamedAndNothingIsOpened) {
  const absl::Status status = CountCudaDevices().status();
  if (ErrorCodeOf(status) == ErrorCode::kNotSupported) GTEST_SKIP() << status.message();
  EXPECT_EQ(ErrorCodeOf(status), ErrorCode::kInsufficientDriver);
  EXPECT_THAT(status.message(), testing::HasSubstr("the CUDA driver is for CUDA 11.4"));
  EXPECT_THAT(status.message(), testing::HasSubstr("install a newer driver"));
  EXPECT_EQ(OpenCudaDevice(0, {}).status(), status);
  EXPECT_EQ(DescribeCudaDevice(0, {}).status(), status);
}

}  // namespace
}  // namespace graphtree
