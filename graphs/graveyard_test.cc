// What was evicted is destroyed when its last launch is over and no capture is open, not before.
#include "graphs/graveyard.h"

#include <memory>
#include <utility>

#include "device/base/status_matchers.h"
#include "device/device.h"
#include "device/host/host_device.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

class GraveyardTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(device_, OpenHostDevice({}));
    ASSERT_OK_AND_ASSIGN(last_, device_->NewStream());
    ASSERT_OK_AND_ASSIGN(other_, device_->NewStream());
    ASSERT_THAT(last_->BeginCapture(CaptureMode::kThreadLocal), IsOk());
    EXPECT_THAT(last_->CallHost([] {}), IsOk());
    ASSERT_OK_AND_ASSIGN(graph_, last_->EndCapture());
    graveyard_ = std::make_unique<Graveyard>(*device_);
  }
  void Bury() {
    ASSERT_OK_AND_ASSIGN(std::unique_ptr<Executable> executable, graph_->Instantiate());
    EXPECT_THAT(executable->Launch(*last_), IsOk());
    graveyard_->Add(std::move(executable));
    auto node = std::make_unique<Node>();
    ASSERT_OK_AND_ASSIGN(node->executable, graph_->Instantiate());
    graveyard_->Add(std::move(node));
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> last_;
  std::unique_ptr<Stream> other_;
  std::unique_ptr<Graph> graph_;
  std::unique_ptr<Graveyard> graveyard_;
};

TEST_F(GraveyardTest, WhatIsInFlightWaitsForItsLastLaunch) {
  Bury();
  graveyard_->Tidy(last_.get());
  EXPECT_EQ(graveyard_->size(), 2u) << "marked, and under way";
  Bury();
  graveyard_->Tidy(last_.get());
  ASSERT_THAT(last_->Synchronize(), IsOk());
  graveyard_->Tidy(last_.get());
  EXPECT_LE(graveyard_->size(), 2u) << "the first two are over";
  ASSERT_THAT(last_->Synchronize(), IsOk());
  graveyard_->Tidy(last_.get());
  EXPECT_TRUE(graveyard_->empty());
}

TEST_F(GraveyardTest, NothingIsDestroyedWhileACaptureIsOpen) {
  Bury();
  graveyard_->Tidy(last_.get());
  ASSERT_THAT(last_->Synchronize(), IsOk());
  ASSERT_THAT(other_->BeginCapture(CaptureMode::kThreadLocal), IsOk());
  for (int i = 0; i < 3; ++i) graveyard_->Tidy(last_.get());
  EXPECT_EQ(graveyard_->size(), 2u);
  ASSERT_THAT(other_->EndCapture(), IsOk());
  graveyard_->Tidy(last_.get());
  EXPECT_TRUE(graveyard_->empty());
}

// An event that went into the caller's capture would never be done.
TEST_F(GraveyardTest, AStreamThatIsBeingCapturedIsNotTouched) {
  Bury();
  ASSERT_THAT(last_->Synchronize(), IsOk());
  ASSERT_THAT(last_->BeginCapture(CaptureMode::kThreadLocal), IsOk());
  graveyard_->Tidy(last_.get());
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Graph> captured, last_->EndCapture());
  EXPECT_EQ(captured->op_count(), 0u);
  for (int i = 0; i < 2; ++i) {
    graveyard_->Tidy(last_.get());
    ASSERT_THAT(last_->Synchronize(), IsOk());
  }
  graveyard_->Tidy(last_.get());
  EXPECT_TRUE(graveyard_->empty());
}

TEST_F(GraveyardTest, WithoutAnyWorkThereIsNothingToWaitFor) {
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<Executable> executable, graph_->Instantiate());
  graveyard_->Add(std::move(executable));
  graveyard_->Tidy(nullptr);
  EXPECT_TRUE(graveyard_->empty());
}

}  // namespace
}  // namespace graphtree
