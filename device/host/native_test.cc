// A caller's own stream: unknown work on it, captures that we did not open, and the legacy stream.
#include "device/host/native.h"

#include <utility>

#include "device/host/host_test_device.h"

namespace graphtree::host {
namespace {

TEST(NativeTest, UnknownWorkKeepsItsPlaceInTheStream) {
  TestDevice device;
  const auto native = NewHostNativeStream(device.device()).value();
  const auto adopted = device.device().AdoptStream(native->handle()).value();
  ASSERT_THAT(device.Digit(*adopted, device.word(0), 1), IsOk());
  ASSERT_THAT(native->Push("gemm", [&] { device.at(0) = device.at(0) * 10 + 2; }), IsOk());
  ASSERT_THAT(device.Digit(*adopted, device.word(0), 3), IsOk());
  ASSERT_THAT(native->Synchronize(), IsOk());
  EXPECT_EQ(device.at(0), 123u);
}

TEST(NativeTest, UnknownWorkIsCapturedByNameAndReplayed) {
  TestDevice device;
  const auto native = NewHostNativeStream(device.device()).value();
  const auto adopted = device.device().AdoptStream(native->handle()).value();
  ASSERT_THAT(native->BeginCapture(CaptureMode::kThreadLocal), IsOk());
  EXPECT_FALSE(adopted->Capture()->ours);
  ASSERT_THAT(device.Digit(*adopted, device.word(0), 1), IsOk());
  ASSERT_THAT(native->Push("gemm", [&] { device.at(0) = device.at(0) * 10 + 2; }), IsOk());
  const std::vector<Op> ops = adopted->CapturedOps().value();
  ASSERT_EQ(ops.size(), 2u);
  EXPECT_EQ(ops[1].kind, OpKind::kKernel);
  EXPECT_EQ(ops[1].name, "gemm");
  EXPECT_EQ(ops[1].dependencies, std::vector<Edge>{{0}});
  const auto graph = native->EndCapture().value();
  const auto executable = graph->Instantiate().value();
  EXPECT_THAT(executable->PatchKernel(1, DigitKernel(), {}, {}),
              HasCode(ErrorCode::kInvalidValue, "gemm"));
  ASSERT_THAT(executable->Launch(device.stream(0)), IsOk());
  ASSERT_THAT(device.stream(0).Synchronize(), IsOk());
  EXPECT_EQ(device.at(0), 12u);
}

TEST(NativeTest, AFaultInUnknownWorkIsReportedByItsName) {
  TestDevice device;
  const auto native = NewHostNativeStream(device.device()).value();
  ASSERT_THAT(native->Push("gemm", [&] {
    *PointerTo<volatile uint64_t>(device.unmapped().base) = 1;
  }), IsOk());
  EXPECT_THAT(native->Synchronize(), HasCode(ErrorCode::kIllegalAddress, "gemm"));
}

TEST(NativeTest, WhatIsNoStreamIsNotAdopted) {
  TestDevice device, other;
  uint64_t word = 0;
  EXPECT_THAT(device.device().AdoptStream(&word), HasCode(ErrorCode::kInvalidHandle, "native"));
  const auto native = NewHostNativeStream(other.device()).value();
  EXPECT_THAT(device.device().AdoptStream(native->handle()),
              HasCode(ErrorCode::kInvalidHandle, "native"));
}

TEST(NativeTest, TheLegacyStreamTakesWorkAndNoCapture) {
  TestDevice device;
  const auto legacy = device.device().AdoptStream(nullptr).value();
  ASSERT_THAT(device.Digit(*legacy, device.word(0), 4), IsOk());
  ASSERT_THAT(legacy->Synchronize(), IsOk());
  EXPECT_EQ(device.at(0), 4u);
  EXPECT_THAT(legacy->BeginCapture(CaptureMode::kRelaxed),
              HasCode(ErrorCode::kCaptureUnsupported, "legacy"));
  ASSERT_THAT(device.stream(0).BeginCapture(CaptureMode::kThreadLocal), IsOk());
  ASSERT_THAT(device.Digit(0, 0, 1), IsOk());
  ASSERT_THAT(device.stream(0).Record(device.event(0)), IsOk());
  EXPECT_THAT(legacy->Wait(device.event(0)), HasCode(ErrorCode::kCaptureImplicit, "legacy"));
  EXPECT_THAT(device.stream(0).EndCapture(), HasCode(ErrorCode::kCaptureInvalidated, "legacy"));
}

TEST(NativeTest, AnObjectThatOutlivesItsDeviceFailsAndDoesNotHang) {
  for (const HostScheduler scheduler : {HostScheduler::kSeeded, HostScheduler::kThreads}) {
    HostOptions options;
    options.scheduler = scheduler;
    auto device = OpenHostDevice(options).value();
    const auto stream = device->NewStream().value();
    EXPECT_THAT(device->Close(), HasCode(ErrorCode::kNotPermitted, "1 stream (stream 0)"));
    device.reset();
    EXPECT_THAT(stream->Synchronize(), HasCode(ErrorCode::kIllegalState, "gone"));
  }
}

}  // namespace
}  // namespace graphtree::host
