// Sources that linger until the launches of others rest, or until they are forced.
#include "profiler/lingering.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/base/status_matchers.h"
#include "device/graph.h"
#include "device/stream.h"
#include "gtest/gtest.h"
#include "profiler/activity/activity.h"
#include "profiler/activity/activity_source.h"

namespace graphtree {
namespace {

using activity::SourceState;

struct Fate {
  std::atomic<bool> others_rest{false};
  std::atomic<int> forced{0};
  std::atomic<bool> is_gone{false};
};

class Lingering : public activity::ActivitySource {
 public:
  explicit Lingering(Fate* fate) : fate_(*fate) {}
  ~Lingering() override { fate_.is_gone = true; }
  std::string name() const override { return "a source of a test"; }
  SourceState state() const override { return state_; }
  absl::Status Attach(activity::ActivityListener*, const activity::AttachOptions&) override {
    return absl::OkStatus();
  }
  absl::Status Detach(const activity::DetachOptions& options) override {
    if (options.how == activity::DetachHow::kForce) {
      ++fate_.forced;
      state_ = SourceState::kDetached;
    }
    return absl::OkStatus();
  }
  absl::Status Flush() override { return absl::OkStatus(); }
  SourceState Poll() override {
    if (fate_.others_rest) state_ = SourceState::kDetached;
    return state_;
  }
  absl::StatusOr<int64_t> NowNs() override { return 0; }
  uint32_t IdOf(const Executable&) override { return 0; }
  int64_t IdOf(const Stream&) override { return -1; }
  uint64_t CorrelationOf(const Executable&) const override { return 0; }

 private:
  Fate& fate_;
  std::atomic<SourceState> state_{SourceState::kLingering};
};

TEST(LingeringSourcesTest, OneGoesWhenOthersRest) {
  LingeringSources& sources = LingeringSources::OfProcess();
  for (int round = 0; round < 2; ++round) {
    Fate fate;
    sources.Take(std::make_unique<Lingering>(&fate));
    EXPECT_EQ(sources.count(), 1u);
    EXPECT_FALSE(fate.is_gone);
    fate.others_rest = true;
    while (!fate.is_gone) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(sources.count(), 0u);
    EXPECT_EQ(fate.forced, 0);
  }
}

TEST(LingeringSourcesTest, OneGoesByForce) {
  LingeringSources& sources = LingeringSources::OfProcess();
  Fate fate;
  sources.Take(std::make_unique<Lingering>(&fate));
  EXPECT_THAT(sources.Force(), IsOk());
  EXPECT_EQ(sources.count(), 0u);
  EXPECT_EQ(fate.forced, 1);
  EXPECT_TRUE(fate.is_gone);
  EXPECT_THAT(sources.Force(), IsOk());
}

TEST(LingeringSourcesTest, TheNextProfileTakesItBack) {
  LingeringSources& sources = LingeringSources::OfProcess();
  EXPECT_EQ(sources.TakeBack(), nullptr);
  Fate fate;
  sources.Take(std::make_unique<Lingering>(&fate));
  std::unique_ptr<activity::ActivitySource> back = sources.TakeBack();
  ASSERT_NE(back, nullptr);
  EXPECT_FALSE(fate.is_gone);
  EXPECT_EQ(sources.count(), 0u);
  back = nullptr;
  EXPECT_TRUE(fate.is_gone);
}

TEST(LingeringSourcesTest, WhatHasLeftIsNotKept) {
  Fate fate;
  fate.others_rest = true;
  EXPECT_FALSE(LingeringSources::OfProcess().Take(std::make_unique<Lingering>(&fate)));
  EXPECT_TRUE(fate.is_gone);
  EXPECT_EQ(LingeringSources::OfProcess().count(), 0u);
}

}  // namespace
}  // namespace graphtree
