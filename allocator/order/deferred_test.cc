// What waits, what does not, and in which order.
#include "allocator/order/deferred.h"

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "device/device.h"
#include "device/host/host_device.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

class DeferredQueueTest : public testing::Test {
 protected:
  DeferredQueueTest()
      : device_(*OpenHostDevice({.memory_bytes = 64 << 20})), queue_(device_.get()) {}
  DeferredQueue::Work Notes(char letter) {
    return [this, letter] {
      done_ += letter;
      return absl::OkStatus();
    };
  }

  std::unique_ptr<Device> device_;
  DeferredQueue queue_;
  std::string done_;
};

TEST_F(DeferredQueueTest, DoesAtOnceWhatNeedNotWait) {
  EXPECT_TRUE(queue_.Do("a", Notes('a')).ok());
  EXPECT_TRUE(queue_.Park("p", Notes('p')).ok());
  EXPECT_EQ(done_, "ap");
  EXPECT_EQ(queue_.deferred_total(), 0u);
}

TEST_F(DeferredQueueTest, HoldsAllInTheOrderInWhichTheyAsked) {
  {
    const DeferredQueue::Holding holding(queue_);
    EXPECT_TRUE(queue_.Do("a", Notes('a')).ok());
    EXPECT_TRUE(queue_.Park("p", Notes('p')).ok());
    EXPECT_TRUE(queue_.Do("b", Notes('b')).ok());
    EXPECT_TRUE(queue_.Drain().ok());
    EXPECT_EQ(done_, "");
  }
  EXPECT_TRUE(queue_.Do("c", Notes('c')).ok());
  EXPECT_EQ(done_, "apbc");
}

TEST_F(DeferredQueueTest, WithoutParkingAllElseIsDone) {
  const DeferredQueue::NoParking no_parking(queue_);
  EXPECT_TRUE(queue_.Do("a", Notes('a')).ok());
  EXPECT_EQ(done_, "a");
}

TEST_F(DeferredQueueTest, WhatComesAfterAParkThatMayNotBeWaitsWithIt) {
  std::optional<DeferredQueue::NoParking> outer(queue_), inner(queue_);
  EXPECT_TRUE(queue_.Park("p", Notes('p')).ok());
  EXPECT_TRUE(queue_.Do("a", Notes('a')).ok());
  EXPECT_EQ(done_, "");
  inner.reset();
  EXPECT_TRUE(queue_.Drain().ok());
  EXPECT_EQ(done_, "") << "another call still forbids it";
  EXPECT_EQ(queue_.size(), 2u);
  outer.reset();
  EXPECT_TRUE(queue_.Drain().ok());
  EXPECT_EQ(done_, "pa");
}

// Who comes in the middle of a park sees it, and who has come before is waited for.
TEST_F(DeferredQueueTest, AParkAndACallKnowOfEachOther) {
  EXPECT_FALSE(queue_.is_parking());
  EXPECT_TRUE(queue_
                  .Park("p",
                        [this] {
                          const DeferredQueue::NoParking late(queue_);
                          done_ += queue_.is_parking() ? "seen" : "not seen";
                          return absl::OkStatus();
                        })
                  .ok());
  EXPECT_EQ(done_, "seen");
  EXPECT_FALSE(queue_.is_parking());
  const DeferredQueue::NoParking no_parking(queue_);
  EXPECT_TRUE(queue_.Park("p", Notes('p')).ok());
  EXPECT_FALSE(queue_.is_parking());
  EXPECT_EQ(done_, "seen");
}

TEST_F(DeferredQueueTest, WhatWasAskedForBeforeAParkIsDone) {
  const DeferredQueue::NoParking no_parking(queue_);
  {
    const DeferredQueue::Holding holding(queue_);
    EXPECT_TRUE(queue_.Do("a", Notes('a')).ok());
    EXPECT_TRUE(queue_.Park("p", Notes('p')).ok());
  }
  EXPECT_TRUE(queue_.Drain().ok());
  EXPECT_EQ(done_, "a");
}

}  // namespace
}  // namespace graphtree
