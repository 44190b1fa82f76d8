// A status carries its device code, and codes map to the absl codes that callers branch on.
#include "device/error.h"

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

TEST(ErrorTest, StatusCarriesItsCode) {
  const absl::Status status = DeviceError(ErrorCode::kCaptureUnjoined, "ending the capture of s1");
  EXPECT_EQ(ErrorCodeOf(status), ErrorCode::kCaptureUnjoined);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(), "ending the capture of s1 [cudaErrorStreamCaptureUnjoined]");
}

TEST(ErrorTest, OkCarriesNoneAndForeignStatusUnknown) {
  EXPECT_EQ(ErrorCodeOf(absl::OkStatus()), ErrorCode::kNone);
  EXPECT_EQ(ErrorCodeOf(absl::InternalError("someone else's")), ErrorCode::kUnknown);
}

TEST(ErrorTest, CodesOutsideTheTableKeepTheirNumber) {
  const absl::Status status = DeviceError(static_cast<ErrorCode>(123), "odd");
  EXPECT_EQ(static_cast<int>(ErrorCodeOf(status)), 123);
  EXPECT_EQ(status.message(), "odd [cudaError 123]");
}

TEST(ErrorTest, OnlyContextErrorsKillTheDevice) {
  EXPECT_TRUE(KillsDevice(ErrorCode::kIllegalAddress));
  EXPECT_TRUE(KillsDevice(static_cast<ErrorCode>(716)));
  EXPECT_FALSE(KillsDevice(ErrorCode::kOutOfMemory));
  EXPECT_FALSE(KillsDevice(ErrorCode::kCaptureInvalidated));
}

TEST(ErrorDeathTest, AnErrorNeedsACode) {
  EXPECT_DEATH(static_cast<void>(DeviceError(ErrorCode::kNone, "nothing happened")),
               "an error needs a code");
}

}  // namespace
}  // namespace graphtree
