// Launches between pairs of events: their times come once, in the host's clock, and whatever fails.
#include "profiler/live/light_timer.h"

#include <cstdint>
#include <memory>
#include <vector>

#include "device/base/status_matchers.h"
#include "device/device.h"
#include "device/fault/every_call.h"
#include "device/fault/fault_device.h"
#include "device/host/host_device.h"
#include "device/stream.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler/live/host_clock.h"

namespace graphtree::live {
namespace {

std::unique_ptr<Device> MakeHost() { return OpenHostDevice().value(); }

class LightTimerTest : public testing::Test {
 protected:
  ~LightTimerTest() override {
    timer_.reset();
    stream_.reset();
    EXPECT_THAT(device_->Close(), IsOk());
  }
  LightTimer::Sink Keep() {
    return [this](const TimedLaunch& timed) { timed_.push_back(timed); };
  }
  bool Time(uint64_t launch) {
    return timer_->Begin(launch, *stream_) && timer_->End(launch, *stream_, true);
  }

  const HostClock clock_;
  const std::unique_ptr<Device> device_ = MakeHost();
  std::unique_ptr<Stream> stream_ = device_->NewStream().value();
  std::unique_ptr<LightTimer> timer_ = LightTimer::Make(*device_, clock_).value();
  std::vector<TimedLaunch> timed_;
};

TEST_F(LightTimerTest, HandsEachLaunchOverOnce) {
  const int64_t before = clock_.Now();
  ASSERT_TRUE(Time(7));
  ASSERT_TRUE(Time(8));
  EXPECT_THAT(stream_->Synchronize(), IsOk());
  const int64_t after = clock_.Now();
  EXPECT_THAT(timer_->Collect(Keep()), IsOk());
  EXPECT_THAT(timer_->Collect(Keep()), IsOk());
  ASSERT_EQ(timed_.size(), 2u);
  EXPECT_EQ(timed_[0].launch, 7u);
  EXPECT_EQ(timed_[1].launch, 8u);
  for (const TimedLaunch& timed : timed_) {
    EXPECT_GE(timed.duration_ns, 0);
    // An anchor is as good as the wait for it was short: here, a millisecond by far.
    EXPECT_GE(timed.start_ns, before - 1'000'000'000);
    EXPECT_LE(timed.start_ns, after + 1'000'000'000);
  }
}

TEST_F(LightTimerTest, ALaunchThatFailedIsNotTimed) {
  ASSERT_TRUE(timer_->Begin(7, *stream_));
  EXPECT_FALSE(timer_->End(7, *stream_, /*launched=*/false));
  EXPECT_THAT(timer_->Finish(/*waits=*/true, Keep()), IsOk());
  EXPECT_TRUE(timed_.empty());
}

TEST_F(LightTimerTest, AnotherDevicesLaunchIsNotTimed) {
  const std::unique_ptr<Device> other = MakeHost();
  std::unique_ptr<Stream> stream = other->NewStream().value();
  EXPECT_FALSE(timer_->Begin(7, *stream));
  EXPECT_EQ(timer_->untimed(), 1u);
  stream.reset();
  EXPECT_THAT(other->Close(), IsOk());
}

TEST_F(LightTimerTest, WhereNoPairIsLeftLaunchesAreCounted) {
  for (uint64_t launch = 1; launch <= LightTimer::kPairs; ++launch) ASSERT_TRUE(Time(launch));
  EXPECT_FALSE(Time(LightTimer::kPairs + 1));
  EXPECT_EQ(timer_->untimed(), 1u);
  EXPECT_THAT(stream_->Synchronize(), IsOk());
  EXPECT_THAT(timer_->Collect(Keep()), IsOk());
  EXPECT_EQ(timed_.size(), LightTimer::kPairs);
  EXPECT_TRUE(Time(LightTimer::kPairs + 2)) << "pairs are used again";
}

TEST_F(LightTimerTest, FinishWaitsAndTakesNoMore) {
  ASSERT_TRUE(Time(7));
  EXPECT_THAT(timer_->Finish(/*waits=*/true, Keep()), IsOk());
  EXPECT_EQ(timed_.size(), 1u);
  EXPECT_FALSE(timer_->Begin(8, *stream_));
}

TEST(LightTimerFaultTest, NothingIsLostWhicheverCallFails) {
  const uint64_t calls = ForEveryFailingCall(MakeHost, [](FaultDevice& device) {
    const HostClock clock;
    std::unique_ptr<Stream> stream = device.NewStream().value_or(nullptr);
    if (stream == nullptr) return;
    absl::StatusOr<std::unique_ptr<LightTimer>> timer = LightTimer::Make(device, clock);
    if (!timer.ok()) return;
    int timed = 0;
    const auto count = [&timed](const TimedLaunch&) { ++timed; };
    int promised = 0;
    for (uint64_t launch = 1; launch <= 3; ++launch) {
      if (!(*timer)->Begin(launch, *stream)) continue;
      promised += (*timer)->End(launch, *stream, true) ? 1 : 0;
    }
    absl::Status status = (*timer)->Collect(count);
    status.Update((*timer)->Finish(/*waits=*/true, count));
    if (status.ok()) {
      EXPECT_EQ(timed, promised);
    } else {
      EXPECT_EQ(timed, promised - 1) << status;
    }
    if (device.plan().fired() == 0) {
      EXPECT_EQ(timed, 3);
    }
  });
  EXPECT_GE(calls, 10u);
}

}  // namespace
}  // namespace graphtree::live
