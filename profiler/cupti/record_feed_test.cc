// Buffers that run out, and a feed that reads on a thread of its own.
#include "profiler/cupti/record_feed.h"

#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "device/base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler/cupti/buffers.h"
#include "profiler/cupti/host_cupti.h"
#include "profiler/cupti/record_layout.h"
#include "profiler/cupti/test_listener.h"

namespace graphtree::cupti {
namespace {

TEST(BuffersTest, ThereAreAsManyAsWereAsked) {
  Buffers buffers;
  EXPECT_TRUE(buffers.Take().empty());
  buffers.Reset(1000, 3);
  EXPECT_EQ(buffers.allocated(), 0u);
  std::set<uint8_t*> taken;
  for (int i = 0; i < 3; ++i) {
    const absl::Span<uint8_t> buffer = buffers.Take();
    ASSERT_EQ(buffer.size(), 1000u);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % 8, 0u);
    std::memset(buffer.data(), i, buffer.size());
    taken.insert(buffer.data());
  }
  EXPECT_EQ(taken.size(), 3u);
  EXPECT_TRUE(buffers.Take().empty());
  EXPECT_EQ(buffers.refused(), 1u);
  buffers.GiveBack(*taken.begin());
  EXPECT_EQ(buffers.out(), 2u);
  EXPECT_EQ(buffers.Take().data(), *taken.begin());
  EXPECT_EQ(buffers.allocated(), 3u);
}

TEST(BuffersTest, ResettingTakesBackWhatWasOut) {
  Buffers buffers;
  buffers.Reset(64, 2);
  buffers.Take();
  buffers.Take();
  buffers.Take();
  buffers.Reset(64, 2);
  EXPECT_EQ(buffers.out(), 0u);
  EXPECT_EQ(buffers.refused(), 0u);
  EXPECT_EQ(buffers.Take().size(), 64u);
  buffers.Reset(128, 1);
  EXPECT_EQ(buffers.Take().size(), 128u);
  EXPECT_TRUE(buffers.Take().empty());
  buffers.GiveBack(nullptr);  // none of ours
}

TEST(BuffersTest, MemoryThatIsNotThereIsNoCrash) {
  Buffers buffers([](size_t) { return std::unique_ptr<uint8_t[]>(); });
  buffers.Reset(64, 2);
  EXPECT_TRUE(buffers.Take().empty());
  EXPECT_EQ(buffers.refused(), 1u);
}

class RecordFeedTest : public testing::Test {
 protected:
  RecordFeedTest() { buffers_.Reset(4 * kKernelBytes, 2); }

  // A buffer with so many kernels, numbered on.
  absl::Span<uint8_t> Fill(size_t kernels) {
    const absl::Span<uint8_t> buffer = buffers_.Take();
    for (size_t i = 0; i < kernels && !buffer.empty(); ++i) {
      KernelRecord record;
      record.start = ++written_;
      record.end = written_;
      record.name = "k";
      std::memcpy(buffer.data() + i * kKernelBytes, &record, sizeof(record));
    }
    return buffer;
  }

  HostCupti api_{{}};  // only walks
  Buffers buffers_;
  TestListener listener_;
  uint64_t written_ = 0;
};

TEST_F(RecordFeedTest, ReadsAllInTheirOrderAndGivesBuffersBack) {
  RecordFeed feed(api_, buffers_);
  ASSERT_THAT(feed.Start(&listener_), IsOk());
  for (int i = 0; i < 100; ++i) {
    absl::Span<uint8_t> buffer = Fill(4);
    while (buffer.empty()) {
      std::this_thread::yield();
      buffer = Fill(4);
    }
    feed.Push(buffer.data(), 4 * kKernelBytes, i == 50 ? 7 : 0);
  }
  feed.Drain();
  EXPECT_EQ(buffers_.out(), 0u);
  EXPECT_EQ(feed.Stop().ops, 400u);
  ASSERT_EQ(listener_.ops.size(), 400u);
  for (size_t i = 0; i < 400; ++i) EXPECT_EQ(listener_.ops[i].op.start_ns, int64_t(i + 1));
  EXPECT_EQ(listener_.dropped, 7u);
}

TEST_F(RecordFeedTest, WithoutAListenerItGivesBuffersBackUnread) {
  RecordFeed feed(api_, buffers_);
  feed.Push(Fill(1).data(), kKernelBytes, 0);
  EXPECT_EQ(buffers_.out(), 0u);
  EXPECT_EQ(feed.unread(), 1u);
  ASSERT_THAT(feed.Start(&listener_), IsOk());
  feed.Push(Fill(2).data(), 2 * kKernelBytes, 0);
  EXPECT_EQ(feed.Stop().ops, 2u);
  feed.Push(Fill(1).data(), kKernelBytes, 0);
  EXPECT_EQ(feed.unread(), 2u);
  EXPECT_EQ(listener_.ops.size(), 2u);
  EXPECT_EQ(feed.Stop().ops, 0u);  // it has stopped
}

TEST_F(RecordFeedTest, ASystemWithoutThreadsIsAnError) {
  bool has_threads = false;
  RecordFeed feed(api_, buffers_, [&](std::function<void()> run, std::thread* thread) {
    return has_threads ? StartThreadOfSystem(std::move(run), thread)
                       : absl::UnknownError("no thread is left");
  });
  EXPECT_EQ(feed.Start(&listener_).message(), "no thread is left");
  feed.Push(Fill(1).data(), kKernelBytes, 0);
  EXPECT_EQ(buffers_.out(), 0u);
  EXPECT_EQ(feed.unread(), 1u);
  EXPECT_EQ(feed.Stop().ops, 0u);
  has_threads = true;
  ASSERT_THAT(feed.Start(&listener_), IsOk());
  feed.Push(Fill(2).data(), 2 * kKernelBytes, 0);
  EXPECT_EQ(feed.Stop().ops, 2u);
}

TEST_F(RecordFeedTest, StartsAgainWithAnotherListener) {
  RecordFeed feed(api_, buffers_);
  TestListener second;
  for (TestListener* listener : {&listener_, &second}) {
    ASSERT_THAT(feed.Start(listener), IsOk());
    feed.Push(Fill(3).data(), 3 * kKernelBytes, 0);
    EXPECT_EQ(feed.Stop().ops, 3u);
    EXPECT_EQ(listener->ops.size(), 3u);
  }
}

}  // namespace
}  // namespace graphtree::cupti
