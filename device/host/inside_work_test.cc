// A call to a device from work that it runs is refused, as it could wait for itself for ever. Work
// may use another device.
#include <functional>
#include <string>
#include <vector>

#include "device/host/host_test_device.h"

namespace graphtree::host {
namespace {

class InsideWorkTest : public testing::TestWithParam<HostScheduler> {
 protected:
  InsideWorkTest() : device_(Options()) {}
  static HostOptions Options() {
    HostOptions options;
    options.scheduler = GetParam();
    return options;
  }
  // Runs the body as a kernel's, and as a host call.
  void InEachKindOfWork(const std::function<void()>& body) {
    const Kernel kernel("selfish", {}, [&](const HostCall&) { body(); }, {});
    ASSERT_THAT(device_.stream(0).Launch(kernel, {}, {}), IsOk());
    EXPECT_THAT(device_.stream(0).Synchronize(), IsOk());
    ASSERT_THAT(device_.stream(0).CallHost(body), IsOk());
    EXPECT_THAT(device_.stream(0).Synchronize(), IsOk());
  }
  void ExpectRefusedInside(const std::function<absl::Status()>& call) {
    int refused = 0;
    InEachKindOfWork([&] {
      EXPECT_THAT(call(), HasCode(ErrorCode::kNotPermitted, "inside a kernel or a host call"));
      ++refused;
    });
    EXPECT_EQ(refused, 2);
    EXPECT_THAT(device_.Digit(0, 0, 1), IsOk()) << "the device works on";
    EXPECT_THAT(device_.stream(0).Synchronize(), IsOk());
  }

  TestDevice device_;
};
INSTANTIATE_TEST_SUITE_P(Schedulers, InsideWorkTest,
                         testing::Values(HostScheduler::kSeeded, HostScheduler::kImmediate,
                                         HostScheduler::kThreads));

TEST_P(InsideWorkTest, WaitingIsRefused) {
  ExpectRefusedInside([&] { return device_.stream(0).Synchronize(); });
  ExpectRefusedInside([&] { return device_.stream(1).IsDone().status(); });
  ExpectRefusedInside([&] { return device_.event(0).Synchronize(); });
}

TEST_P(InsideWorkTest, IssuingIsRefused) {
  ExpectRefusedInside([&] { return device_.Digit(1, 1, 1); });
  ExpectRefusedInside([&] { return device_.stream(1).BeginCapture(CaptureMode::kThreadLocal); });
}

TEST_P(InsideWorkTest, ClosingIsRefusedAndClosesNothing) {
  ExpectRefusedInside([&] { return device_.device().Close(); });
  EXPECT_THAT(device_.device().NewEvent({}), IsOk());
}

TEST_P(InsideWorkTest, WhoIsInsideCanTell) {
  TestDevice other(Options());
  EXPECT_FALSE(device_.device().IsInsideWork());
  int asked = 0;
  InEachKindOfWork([&] {
    EXPECT_TRUE(device_.device().IsInsideWork());
    EXPECT_FALSE(other.device().IsInsideWork());
    ++asked;
  });
  EXPECT_EQ(asked, 2);
  EXPECT_FALSE(device_.device().IsInsideWork());
}

TEST_P(InsideWorkTest, AnotherDeviceMayBeUsedAndFaultsAreCaughtBehindIt) {
  TestDevice other(Options());
  InEachKindOfWork([&] {
    EXPECT_THAT(other.Digit(0, 0, 1), IsOk());
    EXPECT_THAT(other.stream(0).Synchronize(), IsOk());
    EXPECT_THAT(device_.stream(0).Synchronize(), HasCode(ErrorCode::kNotPermitted, "inside"));
  });
  const Address nothing = device_.unmapped().base;
  const Kernel late("late", {}, [&](const HostCall&) {
    EXPECT_THAT(other.Digit(0, 0, 1), IsOk());
    EXPECT_THAT(other.stream(0).Synchronize(), IsOk());
    *PointerTo<volatile char>(nothing) = 1;
  }, {});
  ASSERT_THAT(device_.stream(0).Launch(late, {}, {}), IsOk());
  EXPECT_THAT(device_.stream(0).Synchronize(), HasCode(ErrorCode::kIllegalAddress, "late"));
  EXPECT_THAT(other.device().health(), IsOk());
}

}  // namespace
}  // namespace graphtree::host
