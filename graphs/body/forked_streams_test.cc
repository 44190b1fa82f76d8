// Streams that a body forks off its own: what comes after what, also when calls of the device fail.
#include "graphs/body/forked_streams.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device/base/status_matchers.h"
#include "device/fault/every_call.h"
#include "device/fault/fault_device.h"
#include "device/graph.h"
#include "device/host/host_device.h"
#include "device/stream.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

using absl::StatusCode;

// Notes the forks that are left to it.
class Allocator : public BodyAllocator {
 public:
  absl::StatusOr<Storage*> Allocate(uint64_t, Stream&) override { return nullptr; }
  absl::StatusOr<Storage*> Scratch(uint64_t, Stream&) override { return nullptr; }
  void EndScratch(Storage*) override {}
  absl::Status UseOn(Storage*, Stream&) override { return absl::OkStatus(); }
  void LeftBeside(const std::shared_ptr<StreamLife>& fork, const absl::Status&) override {
    left.push_back(fork.get());
  }

  std::vector<StreamLife*> left;
};

class ForkedStreamsTest : public testing::Test {
 protected:
  void SetUp() override {
    device_ = *OpenHostDevice({});
    own_ = *device_->NewStream();
    side_ = *device_->NewStream();
  }
  void TearDown() override {
    own_ = nullptr;
    side_ = nullptr;
    EXPECT_THAT(device_->Close(), IsOk());
  }
  // Work that takes a while, so that nothing comes after it by chance.
  void Put(Stream& stream, char name) {
    EXPECT_THAT(stream.CallHost([this, name] {
      for (uint32_t i = 0; i < 10000; ++i) sum_ = sum_ + i;
      done_ += name;
    }), IsOk());
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> own_, side_;
  Allocator allocator_;
  std::string done_;  // by ops that come one after the other, or the test has failed
  volatile uint32_t sum_ = 0;
};

TEST_F(ForkedStreamsTest, ASideComesAfterTheForkAndBeforeTheJoin) {
  ForkedStreams forks(*own_);
  for (int round = 0; round < 20; ++round) {
    Put(*own_, 'a');
    ASSERT_THAT(forks.Fork(*side_), IsOk());
    Put(*side_, 'x');
    ASSERT_THAT(forks.Join(false, allocator_), IsOk());
    Put(*own_, 'c');
  }
  ASSERT_THAT(own_->Synchronize(), IsOk());
  std::string expected;
  for (int round = 0; round < 20; ++round) expected += "axc";
  EXPECT_EQ(done_, expected);
  EXPECT_TRUE(allocator_.left.empty());
}

// What the side gets after a second fork comes after what the body did between the two.
TEST_F(ForkedStreamsTest, ASideMayBeForkedAgain) {
  ForkedStreams forks(*own_);
  ASSERT_THAT(forks.Fork(*side_), IsOk());
  Put(*own_, 'a');
  ASSERT_THAT(forks.Fork(*side_), IsOk());
  Put(*side_, 'x');
  ASSERT_THAT(forks.Join(false, allocator_), IsOk());
  Put(*own_, 'c');
  ASSERT_THAT(own_->Synchronize(), IsOk());
  EXPECT_EQ(done_, "axc");
}

TEST_F(ForkedStreamsTest, ASideThatIsGoneIsJoinedByItsLife) {
  ForkedStreams forks(*own_);
  ASSERT_THAT(forks.Fork(*side_), IsOk());
  Put(*side_, 'x');
  side_ = nullptr;
  ASSERT_THAT(forks.Join(false, allocator_), IsOk());
  Put(*own_, 'c');
  ASSERT_THAT(own_->Synchronize(), IsOk());
  EXPECT_EQ(done_, "xc");
}

TEST_F(ForkedStreamsTest, InARecordingTheSideCapturesUntilTheJoin) {
  ForkedStreams forks(*own_);
  ASSERT_THAT(own_->BeginCapture(CaptureMode::kThreadLocal), IsOk());
  ASSERT_THAT(forks.Fork(*side_), IsOk());
  EXPECT_EQ(side_->Capture()->state, CaptureState::kActive);
  ASSERT_THAT(forks.Join(true, allocator_), IsOk());
  EXPECT_THAT(own_->EndCapture(), IsOk());
  EXPECT_EQ(side_->Capture()->state, CaptureState::kNone);
}

TEST_F(ForkedStreamsTest, TheOwnStreamAndThoseOfOtherDevicesAreRefused) {
  const std::unique_ptr<Device> elsewhere = *OpenHostDevice({});
  std::unique_ptr<Stream> strange = *elsewhere->NewStream();
  ForkedStreams forks(*own_);
  EXPECT_THAT(forks.Fork(*own_), FailsWith(StatusCode::kInvalidArgument, "off itself"));
  EXPECT_THAT(forks.Fork(*strange), FailsWith(StatusCode::kInvalidArgument, "another device"));
  EXPECT_THAT(forks.Join(false, allocator_), IsOk());
  strange = nullptr;
  EXPECT_THAT(elsewhere->Close(), IsOk());
}

// Either the side's work is over or ordered before what comes next, or the allocator is told.
TEST(ForkedStreamsFaultTest, NoSideIsForgotten) {
  const auto make = [] { return *OpenHostDevice({}); };
  const uint64_t calls = ForEveryFailingCall(make, [](FaultDevice& device) {
    const absl::StatusOr<std::unique_ptr<Stream>> own = device.NewStream();
    const absl::StatusOr<std::unique_ptr<Stream>> side = device.NewStream();
    if (!own.ok() || !side.ok()) return;
    Allocator allocator;
    bool is_done = false, was_done = false;
    {
      ForkedStreams forks(**own);
      if (!forks.Fork(**side).ok()) return;
      if (!(*side)->CallHost([&is_done] { is_done = true; }).ok()) is_done = true;
      const absl::Status joined = forks.Join(false, allocator);
      EXPECT_EQ(joined.ok(), allocator.left.empty()) << joined;
    }
    const absl::Status looked = (*own)->CallHost([&] { was_done = is_done; });
    device.plan().Clear();
    EXPECT_THAT((*own)->Synchronize(), IsOk());
    EXPECT_THAT((*side)->Synchronize(), IsOk());
    EXPECT_TRUE(was_done || !looked.ok() || !allocator.left.empty());
  });
  EXPECT_GE(calls, 5u);
}

// Where no call succeeds that could order or await a side, the others are joined all the same.
TEST(ForkedStreamsFaultTest, ASideThatCannotBeAwaitedIsLeftToTheAllocator) {
  FaultDevice device(*OpenHostDevice({}));
  std::unique_ptr<Stream> own = *device.NewStream();
  std::unique_ptr<Stream> first = *device.NewStream();
  std::unique_ptr<Stream> second = *device.NewStream();
  Allocator allocator;
  {
    ForkedStreams forks(*own);
    ASSERT_THAT(forks.Fork(*first), IsOk());
    ASSERT_THAT(forks.Fork(*second), IsOk());
    for (const char* call : {"Stream.Record", "Stream.Synchronize"}) {
      device.plan().FailEveryCallOf(call, ErrorCode::kOutOfMemory);
    }
    EXPECT_FALSE(forks.Join(false, allocator).ok());
    EXPECT_EQ(allocator.left,
              (std::vector<StreamLife*>{first->life().get(), second->life().get()}));
    device.plan().Clear();
    EXPECT_THAT(forks.Join(false, allocator), IsOk()) << "nothing is left to join";
  }
  EXPECT_EQ(allocator.left.size(), 2u);
  for (std::unique_ptr<Stream>* stream : {&own, &first, &second}) {
    EXPECT_THAT((*stream)->Synchronize(), IsOk());
    *stream = nullptr;
  }
  EXPECT_THAT(device.Close(), IsOk());
}

}  // namespace
}  // namespace graphtree
