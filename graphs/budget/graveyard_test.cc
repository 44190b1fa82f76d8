// What was evicted is destroyed when its last launch is over and no capture is open, not before.
#include "graphs/budget/graveyard.h"

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "device/base/status_matchers.h"
#include "device/device.h"
#include "device/host/host_device.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

// REQUIRES: there is a value.
template <typename T>
T Made(absl::StatusOr<T> made) {
  EXPECT_THAT(made, IsOk());
  return *std::move(made);
}

class GraveyardTest : public testing::Test {
 protected:
  void SetUp() override {
    device_ = Made(OpenHostDevice({}));
    last_ = Made(device_->NewStream());
    other_ = Made(device_->NewStream());
    ASSERT_THAT(last_->BeginCapture(CaptureMode::kThreadLocal), IsOk());
    EXPECT_THAT(last_->CallHost([] {}), IsOk());
    graph_ = Made(last_->EndCapture());
    graveyard_ = std::make_unique<Graveyard>(*device_);
  }
  void Bury() {
    std::unique_ptr<Executable> executable = Made(graph_->Instantiate());
    EXPECT_THAT(executable->Launch(*last_), IsOk());
    graveyard_->Add(std::move(executable));
    auto node = std::make_unique<Node>();
    node->section.executable = Made(graph_->Instantiate());
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
  graveyard_->Tidy(last_->life().get());
  EXPECT_EQ(graveyard_->size(), 2u) << "marked, and under way";
  Bury();
  graveyard_->Tidy(last_->life().get());
  ASSERT_THAT(last_->Synchronize(), IsOk());
  graveyard_->Tidy(last_->life().get());
  EXPECT_LE(graveyard_->size(), 2u) << "the first two are over";
  ASSERT_THAT(last_->Synchronize(), IsOk());
  graveyard_->Tidy(last_->life().get());
  EXPECT_TRUE(graveyard_->empty());
}

TEST_F(GraveyardTest, ExecutablesAreTakenOutByTheirSize) {
  EXPECT_EQ(graveyard_->TakeExecutable(1), nullptr);
  Bury();
  graveyard_->Tidy(last_->life().get());
  EXPECT_EQ(graveyard_->TakeExecutable(2), nullptr);
  const std::unique_ptr<Executable> marked = graveyard_->TakeExecutable(1);
  EXPECT_NE(marked, nullptr) << "under way";
  EXPECT_EQ(graveyard_->TakeExecutable(1), nullptr) << "the node keeps its own";
  std::unique_ptr<Executable> first = Made(graph_->Instantiate());
  std::unique_ptr<Executable> second = Made(graph_->Instantiate());
  const Executable* const last = second.get();
  graveyard_->Add(std::move(first));
  graveyard_->Add(std::move(second));
  EXPECT_EQ(graveyard_->TakeExecutable(1).get(), last);
  EXPECT_NE(graveyard_->TakeExecutable(1), nullptr);
  EXPECT_EQ(graveyard_->TakeExecutable(1), nullptr);
  ASSERT_THAT(last_->Synchronize(), IsOk());
}

TEST_F(GraveyardTest, NothingIsDestroyedWhileACaptureIsOpen) {
  Bury();
  graveyard_->Tidy(last_->life().get());
  ASSERT_THAT(last_->Synchronize(), IsOk());
  ASSERT_THAT(other_->BeginCapture(CaptureMode::kThreadLocal), IsOk());
  for (int i = 0; i < 3; ++i) graveyard_->Tidy(last_->life().get());
  EXPECT_EQ(graveyard_->size(), 2u);
  ASSERT_THAT(other_->EndCapture(), IsOk());
  graveyard_->Tidy(last_->life().get());
  EXPECT_TRUE(graveyard_->empty());
}

// An event that went into the caller's capture would never be done.
TEST_F(GraveyardTest, AStreamThatIsBeingCapturedIsNotTouched) {
  Bury();
  ASSERT_THAT(last_->Synchronize(), IsOk());
  ASSERT_THAT(last_->BeginCapture(CaptureMode::kThreadLocal), IsOk());
  graveyard_->Tidy(last_->life().get());
  const std::unique_ptr<Graph> captured = Made(last_->EndCapture());
  EXPECT_EQ(captured->op_count(), 0u);
  for (int i = 0; i < 2; ++i) {
    graveyard_->Tidy(last_->life().get());
    ASSERT_THAT(last_->Synchronize(), IsOk());
  }
  graveyard_->Tidy(last_->life().get());
  EXPECT_TRUE(graveyard_->empty());
}

// The stream left an event after its last work, which the graveyard asks.
TEST_F(GraveyardTest, WhatWasLaunchedOnAStreamThatIsGone) {
  Bury();
  const std::shared_ptr<StreamLife> life = last_->life();
  last_ = nullptr;
  for (int i = 0; i < 1000 && !graveyard_->empty(); ++i) graveyard_->Tidy(life.get());
  EXPECT_TRUE(graveyard_->empty());
}

TEST_F(GraveyardTest, WithoutAnyWorkThereIsNothingToWaitFor) {
  std::unique_ptr<Executable> executable = Made(graph_->Instantiate());
  graveyard_->Add(std::move(executable));
  graveyard_->Tidy(nullptr);
  EXPECT_TRUE(graveyard_->empty());
}

}  // namespace
}  // namespace graphtree
