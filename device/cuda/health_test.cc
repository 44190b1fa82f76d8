// The first error that kills the device is the one that stays.
#include "device/cuda/health.h"

#include "absl/status/status.h"
#include "device/error.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

TEST(HealthTest, OrdinaryErrorsDoNotKill) {
  Health health;
  health.Heard(absl::OkStatus());
  health.Heard(DeviceError(ErrorCode::kOutOfMemory, "no memory"));
  health.Heard(DeviceError(ErrorCode::kCaptureUnsupported, "capturing"));
  health.Heard(absl::InternalError("not a device's error"));
  EXPECT_FALSE(health.lost());
  EXPECT_TRUE(health.status().ok());
}

TEST(HealthTest, TheFirstOneStays) {
  Health health;
  const absl::Status first = DeviceError(ErrorCode::kIllegalAddress, "first");
  health.Heard(first);
  health.Heard(DeviceError(ErrorCode::kLaunchFailure, "second"));
  health.Heard(absl::OkStatus());
  EXPECT_TRUE(health.lost());
  EXPECT_EQ(health.status(), first);
}

}  // namespace
}  // namespace graphtree
