// The device itself: what it says of itself, and closing it with things left.
#include <set>

#include "tests/conformance/conformance.h"

namespace graphtree {
namespace {

class CloseTest : public ConformanceTest {
 protected:
  // A second device, so that the fixture's can close as ever.
  void SetUp() override {
    ConformanceTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    ASSERT_OK_AND_ASSIGN(other_, GetParam().open());
  }
  void TearDown() override {
    if (other_ != nullptr) {
      EXPECT_THAT(other_->Close(), IsOk());
    }
    other_.reset();
    ConformanceTest::TearDown();
  }
  std::unique_ptr<Device> other_;
};
GRAPHTREE_ON_EVERY_DEVICE(CloseTest);

TEST_P(CloseTest, TheDeviceSaysWhatItIs) {
  const DeviceInfo& info = device().info();
  EXPECT_FALSE(info.name.empty());
  EXPECT_FALSE(info.model.empty());
  EXPECT_FALSE(info.architecture.empty());
  EXPECT_FALSE(info.identity.empty());
  EXPECT_GT(info.total_bytes, 0u);
  EXPECT_EQ(other_->info().identity, info.identity) << "the identity stays";
  EXPECT_THAT(device().health(), IsOk());
}

TEST_P(CloseTest, EveryCapabilityIsThereOrHasAReason) {
  const Capabilities& capabilities = device().capabilities();
  ASSERT_EQ(capabilities.size(), AllCapabilities().size());
  for (size_t i = 0; i < capabilities.size(); ++i) {
    EXPECT_EQ(capabilities[i].capability, AllCapabilities()[i]);
    EXPECT_EQ(capabilities[i].present, capabilities[i].reason.empty())
        << CapabilityName(capabilities[i].capability) << ": " << capabilities[i].reason;
  }
}

TEST_P(CloseTest, ADeviceThatWasNeverUsedCloses) { EXPECT_THAT(other_->Close(), IsOk()); }

TEST_P(CloseTest, ADeviceMayBeDroppedWithoutClosing) { other_.reset(); }

TEST_P(CloseTest, StreamsThatAreLeftAreNamed) {
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<Stream> stream, other_->NewStream());
  EXPECT_THAT(other_->Close(), FailsWith(absl::StatusCode::kFailedPrecondition, "1 stream"));
  stream.reset();
}

TEST_P(CloseTest, EventsThatAreLeftAreNamed) {
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<Event> one, other_->NewEvent({}));
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<Event> two, other_->NewEvent({}));
  EXPECT_THAT(other_->Close(), FailsWith(absl::StatusCode::kFailedPrecondition, "2 events"));
}

TEST_P(CloseTest, GraphsAndExecutablesThatAreLeftAreNamed) {
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<Stream> stream, other_->NewStream());
  ASSERT_THAT(stream->BeginCapture(CaptureMode::kThreadLocal), IsOk());
  ASSERT_THAT(Empty(*stream), IsOk());
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Graph> graph, stream->EndCapture());
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Executable> executable, graph->Instantiate());
  stream.reset();
  const absl::Status status = other_->Close();
  EXPECT_THAT(status, FailsWith(absl::StatusCode::kFailedPrecondition, "1 graph"));
  EXPECT_THAT(status, FailsWith(absl::StatusCode::kFailedPrecondition, "1 executable"));
}

TEST_P(CloseTest, MemoryThatIsLeftIsNamed) {
  const uint64_t bytes = other_->memory().granularity();
  ASSERT_OK_AND_ASSIGN(const AddressRange range, other_->memory().Reserve(bytes, {}));
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<PhysicalMemory> physical, other_->memory().Create(bytes));
  const absl::Status status = other_->Close();
  EXPECT_THAT(status, FailsWith(absl::StatusCode::kFailedPrecondition, "1 address range"));
  EXPECT_THAT(status, FailsWith(absl::StatusCode::kFailedPrecondition, "physical"));
  physical.reset();
  EXPECT_THAT(other_->memory().Release(range), IsOk());
}

TEST_P(CloseTest, HostMemoryThatIsLeftIsNamed) {
  ASSERT_OK_AND_ASSIGN(const auto buffer, other_->memory().AllocateHost(64));
  EXPECT_THAT(other_->Close(), FailsWith(absl::StatusCode::kFailedPrecondition, "host buffer"));
}

TEST_P(CloseTest, ClosingWaitsForQueuedWork) {
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<Stream> stream, other_->NewStream());
  bool ran = false;
  ASSERT_THAT(Delay(*stream, 20000), IsOk());
  ASSERT_THAT(stream->CallHost([&] { ran = true; }), IsOk());
  stream.reset();
  EXPECT_THAT(other_->Close(), IsOk());
  EXPECT_TRUE(ran);
}

TEST_P(CloseTest, AClosedDeviceRefusesWork) {
  ASSERT_THAT(other_->Close(), IsOk());
  const auto refused = HasError(ErrorCode::kNotPermitted, "closed");
  const uint64_t bytes = other_->memory().granularity();
  EXPECT_THAT(other_->NewStream(), refused);
  EXPECT_THAT(other_->AdoptStream(nullptr), refused);
  EXPECT_THAT(other_->NewEvent({}), refused);
  EXPECT_THAT(other_->Load(EmptyKernel()), refused);
  EXPECT_THAT(other_->memory().Info(), refused);
  EXPECT_THAT(other_->memory().Reserve(bytes, {}), refused);
  EXPECT_THAT(other_->memory().Create(bytes), refused);
  EXPECT_THAT(other_->memory().AllocateHost(64), refused);
  EXPECT_THAT(other_->Close(), IsOk()) << "closing again is fine";
}

TEST_P(CloseTest, WhatIsLeftOfAClosedDeviceStartsNothingAndCanBeGivenBack) {
  Memory& left = other_->memory();
  const uint64_t bytes = left.granularity();
  ASSERT_OK_AND_ASSIGN(const AddressRange range, left.Reserve(bytes, {}));
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<PhysicalMemory> physical, left.Create(bytes));
  ASSERT_THAT(left.Map(range.base, *physical), IsOk());
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<Stream> stream, other_->NewStream());
  ASSERT_THAT(stream->BeginCapture(CaptureMode::kThreadLocal), IsOk());
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<Graph> graph, stream->EndCapture());

  const auto refused = HasError(ErrorCode::kNotPermitted, "closed");
  EXPECT_THAT(other_->Close(), HasError(ErrorCode::kNotPermitted, "left"));
  EXPECT_THAT(stream->BeginCapture(CaptureMode::kThreadLocal), refused);
  EXPECT_THAT(graph->Instantiate(), refused);
  EXPECT_THAT(left.SetAccess(range, MemoryAccess::kReadWrite), refused);
  EXPECT_THAT(left.Unmap(range), IsOk());
  EXPECT_THAT(left.Map(range.base, *physical), refused);
  EXPECT_THAT(left.Release(range), IsOk());
}

// Waiting for its own stream would never end.
TEST_P(CloseTest, ClosingInAHostCallIsRefused) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Stream> stream, other_->NewStream());
  absl::Status closed;
  ASSERT_THAT(stream->CallHost([&] { closed = other_->Close(); }), IsOk());
  EXPECT_THAT(stream->Synchronize(), IsOk());
  EXPECT_THAT(closed, HasError(ErrorCode::kNotPermitted, "inside"));
  // And the device is as open as it was.
  EXPECT_THAT(other_->NewStream(), IsOk());
  EXPECT_THAT(Empty(*stream), IsOk());
  EXPECT_THAT(stream->Synchronize(), IsOk());
}

// Replayed as well: a captured call is the graph's.
TEST_P(CloseTest, ClosingInAReplayedHostCallIsRefused) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Stream> stream, other_->NewStream());
  int refused = 0;
  ASSERT_THAT(stream->BeginCapture(CaptureMode::kThreadLocal), IsOk());
  ASSERT_THAT(stream->CallHost([&] { refused += other_->Close().ok() ? 0 : 1; }), IsOk());
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Graph> graph, stream->EndCapture());
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Executable> executable, graph->Instantiate());
  for (int i = 0; i < 2; ++i) EXPECT_THAT(executable->Launch(*stream), IsOk());
  EXPECT_THAT(stream->Synchronize(), IsOk());
  EXPECT_EQ(refused, 2);
  EXPECT_THAT(other_->NewStream(), IsOk());
}

TEST_P(CloseTest, ManyDevicesOpenAndCloseInTurn) {
  for (int i = 0; i < 10; ++i) {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Device> device, GetParam().open());
    {
      ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Stream> stream, device->NewStream());
      EXPECT_THAT(Empty(*stream), IsOk());
    }
    EXPECT_THAT(device->Close(), IsOk());
  }
}

}  // namespace
}  // namespace graphtree
