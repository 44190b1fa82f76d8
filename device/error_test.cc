// A status carries its device code, and codes map to the absl codes that callers branch on.
#include "device/error.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

TEST(ErrorTest, StatusCarriesItsCode) {
  const absl::Status status = DeviceError(ErrorCode::kCaptureUnjoined, "ending the capture of s1");
  EXPECT_EQ(ErrorCodeOf(status), ErrorCode::kCaptureUnjoined);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(), "ending the capture of s1 [cudaErrorStreamCaptureUnjoined]");
}

TEST(ErrorTest, PeopleSeeNothingThatIsForProgramsAlone) {
  EXPECT_EQ(DeviceError(ErrorCode::kNotReady, "too early").ToString(),
            "UNAVAILABLE: too early [cudaErrorNotReady]");
}

TEST(ErrorTest, RewordedItKeepsItsCode) {
  const absl::Status status = DeviceError(ErrorCode::kOutOfMemory, "more than there is");
  EXPECT_EQ(ErrorCodeOf(absl::InternalError(
                absl::StrCat("[in] a call: ", status.message(), "; called at [main.cc]"))),
            ErrorCode::kOutOfMemory);
  EXPECT_EQ(ErrorCodeOf(absl::InternalError(absl::StrCat(
                status.message(), "; ", DeviceError(ErrorCode::kNotReady, "after it").message()))),
            ErrorCode::kOutOfMemory)
      << "the first of two";
  for (const char* text : {"[cudaErrorOfNobody]", "[cudaError", "[cudaError x]", "[cudaError ",
                           "cudaErrorNotReady", "[]", "["}) {
    EXPECT_EQ(ErrorCodeOf(absl::InternalError(text)), ErrorCode::kUnknown) << text;
    EXPECT_EQ(ErrorCodeOf(absl::InternalError(absl::StrCat(text, " [cudaErrorNotReady]"))),
              ErrorCode::kNotReady)
        << text;
  }
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
