// A pool beside captures that take nothing from it, on streams that used it before.
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "allocator/pool.h"
#include "allocator/pool_types.h"
#include "allocator/tests/pool_fixture.h"
#include "device/base/status_matchers.h"
#include "device/device.h"
#include "device/fault/asked_device.h"
#include "device/graph.h"
#include "device/host/host_device.h"
#include "device/host/native.h"
#include "device/stream.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

using absl::StatusCode;
constexpr uint64_t kMiB = uint64_t{1} << 20;

class OthersCapturesTest : public testing::Test {
 protected:
  void SetUp() override { Open({}); }
  void TearDown() override {
    pool_.reset();
    event_.reset();
    stream_.reset();
    other_.reset();
    third_.reset();
    EXPECT_THAT(device_->Close(), IsOk());
  }
  void Open(PoolOptions options) {
    pool_.reset();
    event_.reset();
    for (std::unique_ptr<Stream>* stream : {&stream_, &other_, &third_}) stream->reset();
    device_ = std::make_unique<AskedDevice>(*OpenHostDevice({.memory_bytes = 256 * kMiB}));
    stream_ = *device_->NewStream();
    other_ = *device_->NewStream();
    third_ = *device_->NewStream();
    event_ = *device_->NewEvent({});
    pool_ = *Pool::Create(*device_, std::move(options));
  }
  Block Allocate(Stream& stream, uint64_t bytes) {
    const Block block = *pool_->Allocate(bytes, stream);
    EXPECT_THAT(stream.Fill(block.range.base, 1, 1, block.range.bytes), IsOk());
    return block;
  }
  void UseAndFree(Stream& stream, uint64_t bytes) {
    EXPECT_THAT(pool_->Free(Allocate(stream, bytes).id), IsOk());
  }
  // Others capture on the native stream, and leave no event before that: as if so.
  void BeginCaptureUnseen(Stream& stream) {
    EXPECT_THAT(third_->BeginCapture(CaptureMode::kThreadLocal), IsOk());
    EXPECT_THAT(third_->Record(*event_), IsOk());
    EXPECT_THAT(stream.Wait(*event_), IsOk());
  }
  void EndCaptureUnseen(Stream& stream) {
    EXPECT_THAT(stream.Record(*event_), IsOk());
    EXPECT_THAT(third_->Wait(*event_), IsOk());
    EXPECT_THAT(third_->EndCapture().status(), IsOk());
  }

  std::unique_ptr<AskedDevice> device_;
  std::unique_ptr<Stream> stream_, other_, third_;
  std::unique_ptr<Event> event_;
  std::unique_ptr<Pool> pool_;
};

// Unless they capture from the pool, they are waited for by what they have left before it.
TEST_F(OthersCapturesTest, CapturingStreamsAreLeftAlone) {
  EXPECT_THAT(pool_->Free(Allocate(*stream_, 4 * kMiB).id), IsOk());
  EXPECT_THAT(stream_->BeginCapture(CaptureMode::kThreadLocal), IsOk());
  EXPECT_THAT(pool_->streams().Wait(), IsOk());
  EXPECT_THAT(stream_->EndCapture(), IsOk()) << "the capture was left alone";
  EXPECT_THAT(stream_->BeginCapture(CaptureMode::kThreadLocal), IsOk());
  const Block captured = Allocate(*stream_, kMiB);
  EXPECT_THAT(pool_->streams().Wait(), FailsWith(StatusCode::kFailedPrecondition, "capturing"));
  EXPECT_THAT(pool_->streams().Forget(*stream_),
              FailsWith(StatusCode::kFailedPrecondition, "captur"));
  EXPECT_THAT(stream_->EndCapture(), IsOk()) << "the capture was left alone";
  EXPECT_THAT(pool_->Free(captured.id), IsOk());
  EXPECT_THAT(pool_->streams().Forget(*stream_), IsOk());
}

TEST_F(OthersCapturesTest, MemoryThatWasUsedThereBeforeIsUsedAgain) {
  const auto fourth = *device_->NewStream();
  for (const bool is_launched : {false, true}) {
    UseAndFree(*stream_, 4096);
    if (is_launched) {
      EXPECT_THAT(pool_->streams().NoteLaunch(*stream_), IsOk());
    }
    BeginCaptureUnseen(*stream_);
    for (int i = 0; i < 40; ++i) UseAndFree(i % 2 == 0 ? *other_ : *fourth, 4096);
    EXPECT_LE(pool_->Stats().mapped_bytes, 8 * kMiB) << "launched: " << is_launched;
    EndCaptureUnseen(*stream_);
  }
  UseAndFree(*other_, 4096);
  for (const auto& stream : {other_.get(), fourth.get(), stream_.get()}) {
    EXPECT_THAT(stream->Synchronize(), IsOk());
  }
}

// The bytes are an op's of the open capture, for which nobody outside can have waited.
TEST_F(OthersCapturesTest, AnEdgeIsMadeThoughALaunchOutsideHasWaitedForTheStream) {
  EXPECT_THAT(pool_->streams().NoteLaunch(*stream_), IsOk());
  EXPECT_THAT(stream_->BeginCapture(CaptureMode::kThreadLocal), IsOk());
  EXPECT_THAT(stream_->Record(*event_), IsOk());
  EXPECT_THAT(other_->Wait(*event_), IsOk());
  UseAndFree(*stream_, 4096);
  EXPECT_THAT(pool_->streams().NoteLaunch(*third_), IsOk());
  UseAndFree(*other_, 4096);
  EXPECT_THAT(other_->Record(*event_), IsOk());
  EXPECT_THAT(stream_->Wait(*event_), IsOk());
  const auto graph = *stream_->EndCapture();
  const auto executable = *graph->Instantiate();
  EXPECT_THAT(pool_->streams().NoteLaunch(*third_), IsOk());
  EXPECT_THAT(executable->Launch(*third_), IsOk());
  EXPECT_THAT(third_->Synchronize(), IsOk());
}

TEST_F(OthersCapturesTest, FreedBytesAreNotWrittenOverInSomebodysGraph) {
  Open({.debug = {.poison_on_free = true}});
  const Block block = Allocate(*stream_, 4096);
  EXPECT_THAT(stream_->BeginCapture(CaptureMode::kThreadLocal), IsOk());
  EXPECT_THAT(pool_->Free(block.id), IsOk());
  EXPECT_EQ((*stream_->EndCapture())->op_count(), 0u);
  EXPECT_EQ(pool_->Stats().unpoisoned_frees, 1u);
}

TEST_F(OthersCapturesTest, APoolThatGoesMeanwhileLeavesItsMemoryToTheWork) {
  for (const bool is_seen : {true, false}) {
    Open({});
    UseAndFree(*stream_, 4096);
    if (is_seen) {
      EXPECT_THAT(stream_->BeginCapture(CaptureMode::kThreadLocal), IsOk());
    } else {
      BeginCaptureUnseen(*stream_);
    }
    pool_.reset();
    if (is_seen) {
      EXPECT_THAT(stream_->EndCapture().status(), IsOk());
    } else {
      EndCaptureUnseen(*stream_);
    }
    EXPECT_THAT(device_->GiveBackLeftovers(), IsOk());
    EXPECT_THAT(stream_->Synchronize(), IsOk()) << "seen: " << is_seen;
    EXPECT_THAT(device_->health(), IsOk());
  }
}

// Whatever the pool asks, the stream's owner may begin a capture right after the answer.
TEST_F(OthersCapturesTest, NothingBreaksACaptureThatBeginsInBetween) {
  const std::function<void()> calls[] = {
      [&] { pool_->streams().Wait().IgnoreError(); },
      [&] { pool_->memory().Trim(kMiB).status().IgnoreError(); },
      [&] { pool_->parking().Park(ParkContents::kToHost, {}).IgnoreError(); },
      [&] { pool_.reset(); }};
  for (size_t call = 0; call < 4; ++call) {
    bool has_begun = true;
    for (int n = 1; has_begun; ++n) {
      SCOPED_TRACE(testing::Message() << "call " << call << ", question " << n);
      Open({});
      UseAndFree(*stream_, 4096);
      int asked = 0;
      has_begun = false;
      device_->questions().Tell(nullptr, [&](const Stream*) {
        if (++asked == n) has_begun = stream_->BeginCapture(CaptureMode::kThreadLocal).ok();
      });
      calls[call]();
      device_->questions().Tell(nullptr, nullptr);
      if (has_begun) {
        EXPECT_THAT(stream_->EndCapture().status(), IsOk());
      }
      pool_.reset();
      EXPECT_THAT(device_->GiveBackLeftovers(), IsOk());
      EXPECT_THAT(stream_->Synchronize(), IsOk());
      EXPECT_THAT(device_->health(), IsOk());
    }
  }
}

// Who captures so knows nothing of this library, and the device nothing of the capture.
TEST(NativeCaptureTest, MemoryIsUsedAgainBesideOne) {
  const std::unique_ptr<Device> device = *OpenHostDevice({.memory_bytes = 256 * kMiB});
  const auto native = *NewHostNativeStream(*device);
  std::unique_ptr<Stream> adopted = *device->AdoptStream(native->handle());
  std::unique_ptr<Stream> other = *device->NewStream();
  std::unique_ptr<Pool> pool = *Pool::Create(*device, {});
  const Block held = *pool->Allocate(192, *adopted);
  EXPECT_THAT(pool->Free((*pool->Allocate(192, *adopted)).id), IsOk());
  EXPECT_THAT(pool->Free((*pool->Allocate(192, *other)).id), IsOk());
  EXPECT_THAT(adopted->Synchronize(), IsOk());
  ASSERT_THAT(native->BeginCapture(CaptureMode::kRelaxed), IsOk());
  EXPECT_THAT(pool->Free(held.id), IsOk());
  for (int round = 0; round < 40; ++round) {
    const Block first = *pool->Allocate(192, *other), second = *pool->Allocate(192, *other);
    EXPECT_THAT(pool->Free(first.id), IsOk());
    EXPECT_THAT(pool->Free(second.id), IsOk());
  }
  EXPECT_LE(pool->Stats().mapped_bytes, 4 * kMiB);
  ASSERT_THAT(native->EndCapture(), IsOk());
  EXPECT_THAT(other->Synchronize(), IsOk());
  pool.reset();
  adopted.reset();
  other.reset();
}

}  // namespace
}  // namespace graphtree
