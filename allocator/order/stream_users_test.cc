// What an idle owner has been told of stays small, and nothing is forgotten that is not done.
#include "allocator/order/stream_users.h"

#include <cstddef>
#include <future>
#include <memory>
#include <vector>

#include "absl/algorithm/container.h"
#include "allocator/order/queued_frees.h"
#include "device/base/status_matchers.h"
#include "device/device.h"
#include "device/host/host_device.h"
#include "device/host/host_options.h"
#include "device/stream.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

constexpr size_t kMany = 10'000;
constexpr size_t kFew = 64;

class StreamUsersTest : public testing::Test {
 protected:
  void SetUp() override {
    device_ = *OpenHostDevice({});
    users_ = std::make_unique<StreamUsers>();
  }
  std::unique_ptr<Stream> NewStream() { return *device_->NewStream(); }
  std::unique_ptr<Event> NewEvent() { return *device_->NewEvent({}); }
  // Of a stream that has ended, and whose work is done.
  void AddDone() {
    const std::unique_ptr<Stream> stream = NewStream();
    users_->Add(stream->life());
    ASSERT_THAT(stream->Synchronize(), IsOk());
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<StreamUsers> users_;
};

TEST_F(StreamUsersTest, EachStreamIsNamedOnce) {
  EXPECT_FALSE(users_->any());
  const auto one = NewStream(), two = NewStream();
  for (int i = 0; i < 3; ++i) {
    users_->Add(one->life());
    users_->Add(two->life());
  }
  EXPECT_TRUE(users_->any());
  EXPECT_EQ(users_->Take(), (StreamLives{one->life(), two->life()}));
  EXPECT_FALSE(users_->any());
  EXPECT_EQ(users_->size(), 0u);
}

TEST_F(StreamUsersTest, StreamsThatAreDoneAreForgotten) {
  for (size_t i = 0; i < kMany; ++i) {
    AddDone();
    ASSERT_LE(users_->size(), kFew) << "after " << i;
  }
  EXPECT_TRUE(users_->any());
}

TEST_F(StreamUsersTest, LivingStreamsStayAmongThem) {
  std::vector<std::unique_ptr<Stream>> living;
  for (size_t i = 0; i < kMany; ++i) {
    AddDone();
    if (i % 100 != 0) continue;
    living.push_back(NewStream());
    users_->Add(living.back()->life());
  }
  EXPECT_LE(users_->size(), 2 * living.size() + kFew);
  const StreamLives taken = users_->Take();
  for (const std::unique_ptr<Stream>& stream : living) {
    EXPECT_EQ(absl::c_count(taken, stream->life()), 1);
  }
}

// Their work waits for that of a stream that has not come to its end.
TEST_F(StreamUsersTest, WhatIsUnderWayStays) {
  constexpr size_t kUnderWay = 50;
  users_ = nullptr;
  device_ = *OpenHostDevice({.scheduler = HostScheduler::kThreads});
  users_ = std::make_unique<StreamUsers>();
  std::promise<void> gate;
  const auto busy = NewStream();
  const auto event = NewEvent();
  ASSERT_THAT(busy->CallHost([&gate] { gate.get_future().wait(); }), IsOk());
  ASSERT_THAT(busy->Record(*event), IsOk());
  for (size_t i = 0; i < kUnderWay; ++i) {
    const std::unique_ptr<Stream> stream = NewStream();
    users_->Add(stream->life());
    ASSERT_THAT(stream->Wait(*event), IsOk());
  }
  EXPECT_EQ(users_->size(), kUnderWay);
  gate.set_value();
  ASSERT_THAT(busy->Synchronize(), IsOk());
  for (const std::shared_ptr<StreamLife>& stream : users_->Take()) {
    ASSERT_THAT(stream->Synchronize(), IsOk());
    users_->Add(stream);
  }
  EXPECT_LE(users_->size(), kUnderWay / 2);
}

// A capture that stays open keeps none of them, and is not broken by the questions.
TEST_F(StreamUsersTest, StreamsThatAreDoneAreForgottenWhileACaptureIsOpen) {
  const auto capturing = NewStream();
  users_->Add(capturing->life());
  ASSERT_THAT(capturing->BeginCapture(CaptureMode::kGlobal), IsOk());
  for (size_t i = 0; i < kMany; ++i) {
    const std::unique_ptr<Stream> stream = NewStream();
    users_->Add(stream->life());
    ASSERT_LE(users_->size(), kFew) << "after " << i;
  }
  EXPECT_EQ(absl::c_count(users_->Take(), capturing->life()), 1);
  EXPECT_THAT(capturing->EndCapture(), IsOk());
}

// Of a stream that ended in a capture nobody knows when its work is done.
TEST_F(StreamUsersTest, AForkThatEndedInACaptureStays) {
  const auto capturing = NewStream();
  const auto event = NewEvent(), join = NewEvent();
  ASSERT_THAT(capturing->BeginCapture(CaptureMode::kThreadLocal), IsOk());
  ASSERT_THAT(capturing->Record(*event), IsOk());
  auto fork = NewStream();
  const std::shared_ptr<StreamLife> life = fork->life();
  users_->Add(life);
  ASSERT_THAT(fork->Wait(*event), IsOk());
  ASSERT_THAT(fork->Record(*join), IsOk());
  ASSERT_THAT(capturing->Wait(*join), IsOk());
  fork = nullptr;
  for (size_t i = 0; i < kMany / 100; ++i) {
    const std::unique_ptr<Stream> stream = NewStream();
    users_->Add(stream->life());
  }
  EXPECT_EQ(absl::c_count(users_->Take(), life), 1);
  EXPECT_THAT(capturing->EndCapture(), IsOk());
}

// A pool has them beside the blocks that wait to be freed.
TEST_F(StreamUsersTest, OfAPoolThatNobodyCalls) {
  QueuedFrees frees;
  ASSERT_TRUE(frees.Add({1, 1}));
  for (size_t i = 0; i < kMany; ++i) frees.AddUser(NewStream()->life());
  EXPECT_TRUE(frees.any());
  const auto last = NewStream();
  frees.AddUser(last->life());
  const QueuedFrees::Taken taken = frees.Take();
  EXPECT_EQ(taken.blocks.size(), 1u);
  EXPECT_LE(taken.users.size(), kFew);
  EXPECT_EQ(absl::c_count(taken.users, last->life()), 1);
  EXPECT_FALSE(frees.any());
  frees.Stop();
  EXPECT_FALSE(frees.Add({2, 1}));
  frees.AddUser(last->life());
  EXPECT_FALSE(frees.any());
}

}  // namespace
}  // namespace graphtree
