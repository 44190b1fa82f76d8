// Waits for the tree's last work beside captures that begin on its stream at any time.
#include "graphs/memory/stream_order.h"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "device/base/status_matchers.h"
#include "device/error.h"
#include "device/fault/asked_device.h"
#include "device/fault/fault_device.h"
#include "device/host/host_device.h"
#include "device/stream.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

class StreamOrderTest : public testing::Test {
 protected:
  void SetUp() override {
    device_ = std::make_unique<AskedDevice>(*OpenHostDevice({}));
    a_ = *device_->NewStream();
    b_ = *device_->NewStream();
    order_ = std::make_unique<StreamOrder>(*device_->NewEvent({}));
    ASSERT_THAT(order_->ContinueOn(*a_), IsOk());
    ASSERT_THAT(a_->CallHost([this] { is_done_ = true; }), IsOk());
  }
  void TearDown() override {
    order_ = nullptr;
    a_ = nullptr;
    b_ = nullptr;
    EXPECT_THAT(device_->Close(), IsOk());
  }
  // Whoever asks first gets the answer from before the capture that another thread begins then.
  void BeginAfterTheQuestion() {
    device_->questions().Tell(nullptr, [this](const Stream* asked) {
      if (asked != a_.get() || begun_) return;
      begun_ = true;
      std::thread([this] {
        EXPECT_THAT(a_->BeginCapture(CaptureMode::kRelaxed), IsOk());
      }).join();
    });
  }
  void ExpectTheCaptureIsWhole() {
    EXPECT_TRUE(begun_) << "nobody asked";
    const absl::StatusOr<CaptureInfo> capture = a_->Capture();
    ASSERT_THAT(capture, IsOk());
    EXPECT_EQ(capture->state, CaptureState::kActive);
    EXPECT_THAT(a_->EndCapture(), IsOk());
  }

  std::unique_ptr<AskedDevice> device_;
  std::unique_ptr<Stream> a_, b_;
  std::unique_ptr<StreamOrder> order_;
  std::atomic<bool> is_done_{false};
  bool begun_ = false;
};

TEST_F(StreamOrderTest, WaitingForTheLastWorkBreaksNoCapture) {
  BeginAfterTheQuestion();
  EXPECT_THAT(order_->AwaitLast(), IsOk());
  EXPECT_TRUE(is_done_);
  ExpectTheCaptureIsWhole();
}

// The first try of each kind fails, so that the host waits in the end.
TEST_F(StreamOrderTest, NorDoesWaitingWhereAnEventFails) {
  for (uint64_t n = 1; n <= 3; ++n) {
    device_->plan().FailCallOf("Stream.Wait", n, ErrorCode::kOutOfMemory);
  }
  BeginAfterTheQuestion();
  EXPECT_THAT(order_->ContinueOn(*b_), IsOk());
  EXPECT_TRUE(is_done_);
  EXPECT_EQ(order_->last(), b_->life().get());
  ExpectTheCaptureIsWhole();
}

TEST_F(StreamOrderTest, WorkBeforeACaptureIsAwaitedWhileThatIsOpen) {
  ASSERT_THAT(a_->BeginCapture(CaptureMode::kThreadLocal), IsOk());
  begun_ = true;
  std::thread([this] {
    EXPECT_THAT(order_->AwaitLast(), IsOk());
    EXPECT_TRUE(is_done_);
    EXPECT_THAT(order_->ContinueOn(*b_), IsOk());
  }).join();
  ExpectTheCaptureIsWhole();
}

// Nothing was left before a capture that the stream only joined.
TEST_F(StreamOrderTest, WhereItCannotBeAwaitedThatIsSaid) {
  const std::unique_ptr<Event> fork = *device_->NewEvent({}), join = *device_->NewEvent({});
  ASSERT_THAT(b_->BeginCapture(CaptureMode::kThreadLocal), IsOk());
  ASSERT_THAT(b_->Record(*fork), IsOk());
  ASSERT_THAT(a_->Wait(*fork), IsOk());
  EXPECT_THAT(order_->AwaitLast(),
              FailsWith(absl::StatusCode::kFailedPrecondition, "captures now"));
  ASSERT_THAT(a_->Record(*join), IsOk());
  ASSERT_THAT(b_->Wait(*join), IsOk());
  EXPECT_THAT(b_->EndCapture(), IsOk());
  EXPECT_FALSE(is_done_);
  EXPECT_THAT(order_->AwaitLast(), IsOk());
  EXPECT_TRUE(is_done_);
}

// A stream of the tree's own is read by nobody; all others are, until the step is over.
class StreamOrderReadersTest : public StreamOrderTest {
 protected:
  void SetUp() override {
    StreamOrderTest::SetUp();
    own_ = *device_->NewStream();
    order_ = std::make_unique<StreamOrder>(*device_->NewEvent({}), own_.get(),
                                           [this](Stream& stream) { told_.push_back(&stream); });
  }
  void TearDown() override {
    own_ = nullptr;
    StreamOrderTest::TearDown();
  }
  // Whether work on `stream` comes after what is put on `before` now.
  bool ComesAfterWorkOf(Stream& before, Stream& stream) {
    std::atomic<bool> is_done{false}, was_done{false};
    EXPECT_THAT(before.CallHost([&is_done] { is_done = true; }), IsOk());
    EXPECT_THAT(order_->ContinueOn(stream), IsOk());
    EXPECT_THAT(stream.CallHost([&] { was_done = is_done.load(); }), IsOk());
    EXPECT_THAT(stream.Synchronize(), IsOk());
    EXPECT_THAT(before.Synchronize(), IsOk());
    return was_done;
  }

  std::unique_ptr<Stream> own_;
  std::vector<Stream*> told_;
};

TEST_F(StreamOrderReadersTest, EverySwitchIsTold) {
  for (Stream* const stream : {a_.get(), b_.get(), b_.get(), own_.get(), a_.get(), a_.get()}) {
    ASSERT_THAT(order_->ContinueOn(*stream), IsOk());
  }
  EXPECT_EQ(told_, (std::vector<Stream*>{a_.get(), b_.get(), own_.get(), a_.get()}));
}

TEST_F(StreamOrderReadersTest, CallsOfAStepComeAfterAllItsStreams) {
  ASSERT_THAT(order_->ContinueOn(*a_), IsOk());
  ASSERT_THAT(order_->ContinueOn(*b_), IsOk());
  EXPECT_TRUE(ComesAfterWorkOf(*a_, *b_));
  EXPECT_TRUE(ComesAfterWorkOf(*a_, *own_));
  order_->EndStep();
  EXPECT_TRUE(ComesAfterWorkOf(*a_, *b_)) << "the first call of the next step";
}

// The device is asked instead. Where a capture is open it may be the stream's, and stays whole.
TEST(StreamOrderQuestionsTest, AStreamThatCannotSayIsAwaitedWhereNoCaptureIsOpen) {
  FaultDevice device(*OpenHostDevice());
  {
    const std::unique_ptr<Stream> a = *device.NewStream(), b = *device.NewStream();
    StreamOrder order(*device.NewEvent({}));
    ASSERT_THAT(order.ContinueOn(*a), IsOk());
    std::atomic<int> done{0};
    ASSERT_THAT(a->CallHost([&done] { ++done; }), IsOk());
    device.plan().FailEveryCallOf("Stream.Capture", ErrorCode::kUnknown);
    EXPECT_THAT(order.AwaitLast(), IsOk());
    EXPECT_EQ(done, 1);
    EXPECT_THAT(order.ContinueOn(*b), IsOk());
    device.plan().Clear();

    ASSERT_THAT(a->BeginCapture(CaptureMode::kRelaxed), IsOk());
    device.plan().FailEveryCallOf("Stream.Capture", ErrorCode::kUnknown);
    EXPECT_FALSE(order.AwaitLast().ok());
    device.plan().Clear();
    EXPECT_THAT(a->EndCapture(), IsOk());
  }
  EXPECT_THAT(device.Close(), IsOk());
}

}  // namespace
}  // namespace graphtree
