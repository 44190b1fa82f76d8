// No block is handed out again while work that reads it has yet to run, whatever streams that work
// is on and whatever fails. The host device runs nothing before somebody waits for it, so a block
// that comes round too early is read with what a later step has written; a ring that does not wait
// shows that the test would see it.
#include "runtime/slots/staging_ring.h"

#include <cstring>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "device/address.h"
#include "device/base/status_macros.h"
#include "device/base/status_matchers.h"
#include "device/fault/every_call.h"
#include "device/fault/fault_device.h"
#include "device/fault/fault_stream.h"
#include "device/graph.h"
#include "device/host/host_device.h"
#include "device/kernel.h"
#include "gtest/gtest.h"
#include "runtime/slots/block_cursor.h"

namespace graphtree {
namespace {

constexpr uint64_t kGreatest = 160 << 10;
constexpr int kSteps = 60;

std::unique_ptr<Device> Host(uint64_t seed) {
  HostOptions options;
  options.seed = seed;
  return OpenHostDevice(options).value();
}

// A query of a host device's event runs work, so that a ring which never waits would hardly be
// found out. While this device is busy its events say no, and run nothing until somebody waits.
class BusyDevice : public FaultDevice {
 public:
  BusyDevice(uint64_t seed, bool busy) : FaultDevice(Host(seed)), is_busy(busy) {}
  absl::StatusOr<std::unique_ptr<Event>> NewEvent(const EventOptions& options) override {
    GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<Event> event, wrapped().NewEvent(options));
    return std::make_unique<BusyEvent>(*this, std::move(event));
  }
  bool is_busy;

 private:
  class BusyEvent : public FaultEvent {
   public:
    BusyEvent(BusyDevice& device, std::unique_ptr<Event> wrapped)
        : FaultEvent(&device.plan(), std::move(wrapped)), device_(device) {}
    absl::StatusOr<bool> IsDone() override {
      if (device_.is_busy) return false;
      return FaultEvent::IsDone();
    }

   private:
    BusyDevice& device_;
  };
};

// Writes what it finds in a block: the tag, or 0 if the two ends of the block disagree.
const Kernel& ReadKernel() {
  static const Kernel* const kernel =
      new Kernel("read", Params<const uint64_t*, uint64_t*, uint64_t>(),
                 [](const HostCall& call) {
                   const auto* const words = call.Get<const uint64_t*>(0);
                   const uint64_t last = words[call.Get<uint64_t>(2) - 1];
                   *call.Get<uint64_t*>(1) = words[0] == last ? last : 0;
                 },
                 {});
  return *kernel;
}

// Device memory into which each step's work writes the tag that it has read.
class Tags {
 public:
  explicit Tags(Device& device) : memory_(device.memory()) {
    range_ = memory_.Reserve(memory_.granularity(), {}).value();
    physical_ = memory_.Create(range_.bytes).value();
    EXPECT_THAT(memory_.Map(range_.base, *physical_), IsOk());
    EXPECT_THAT(memory_.SetAccess(range_, MemoryAccess::kReadWrite), IsOk());
  }
  ~Tags() {
    EXPECT_THAT(memory_.Unmap(range_), IsOk());
    EXPECT_THAT(memory_.Release(range_), IsOk());
  }

  static void Write(uint8_t* block, uint64_t bytes, uint64_t tag) {
    std::memcpy(block, &tag, 8);
    std::memcpy(block + bytes - 8, &tag, 8);
  }
  absl::Status Read(Stream& stream, const uint8_t* block, uint64_t bytes, int step) {
    const std::vector<Argument> arguments = {
        Argument::In({AddressOf(block), bytes}),
        Argument::Out({range_.base + static_cast<Address>(step) * 8, 8}),
        Argument::Value(bytes / 8)};
    return stream.Launch(ReadKernel(), {}, arguments);
  }
  uint64_t at(int step) const { return PointerTo<uint64_t>(range_.base)[step]; }

 private:
  Memory& memory_;
  AddressRange range_;
  std::unique_ptr<PhysicalMemory> physical_;
};

// On which stream a step runs. Each stream goes on after the one before.
class Streams {
 public:
  enum Manner { kOne, kTwo, kDestroyed };

  Streams(Device& device, Manner manner) : device_(device), manner_(manner) {}

  // Null if a call of the device failed.
  Stream* ForStep(int step) {
    if (streams_.empty()) return Add();
    if (manner_ == kOne || step % 5 != 0) return streams_[now_].get();
    auto event = device_.NewEvent({});
    if (!event.ok() || !streams_[now_]->Record(**event).ok()) return nullptr;
    const size_t before = now_;
    if (manner_ == kTwo && streams_.size() == 2) {
      now_ = 1 - now_;
    } else if (Add() == nullptr) {
      return nullptr;
    }
    // After a failure the caller gives up, and both streams are waited for.
    if (!streams_[now_]->Wait(**event).ok()) return nullptr;
    if (manner_ == kDestroyed) {
      streams_.erase(streams_.begin() + static_cast<std::ptrdiff_t>(before));
      now_ = 0;
    }
    return streams_[now_].get();
  }
  // The one fault of a test may hit the first attempt.
  void Synchronize() {
    for (const auto& stream : streams_) {
      if (stream->Synchronize().ok()) continue;
      EXPECT_THAT(stream->Synchronize(), IsOk());
    }
  }

 private:
  Stream* Add() {
    auto stream = device_.NewStream();
    if (!stream.ok()) return nullptr;
    streams_.push_back(*std::move(stream));
    now_ = streams_.size() - 1;
    return streams_[now_].get();
  }

  Device& device_;
  const Manner manner_;
  std::vector<std::unique_ptr<Stream>> streams_;
  size_t now_ = 0;
};

struct Outcome {
  int launched = 0;
  int wrong = 0;   // read something else than was staged
  int failed = 0;  // calls of the ring
};

// Runs steps of all sizes; some launch nothing. A call of the ring that fails is made again.
template <typename Ring>
Outcome RunSteps(Ring& ring, Device& for_tags, Streams& streams, uint64_t seed) {
  std::mt19937_64 random(seed);
  Tags tags(for_tags);
  Outcome outcome;
  std::vector<int> launched;
  for (int step = 0; step < kSteps; ++step) {
    Stream* const stream = streams.ForStep(step);
    if (stream == nullptr) break;
    const uint64_t bytes = (1 + random() % (kGreatest / 8)) * 8;
    absl::StatusOr<uint8_t*> block = ring.Next(bytes);
    if (!block.ok()) {
      ++outcome.failed;
      block = ring.Next(bytes);
    }
    if (!block.ok()) {
      ++outcome.failed;
      continue;
    }
    const uint64_t tag = 1000 + static_cast<uint64_t>(step);
    Tags::Write(*block, bytes, tag);
    if (random() % 8 == 0) continue;
    if (!tags.Read(*stream, *block, bytes, step).ok()) continue;
    ring.Launched(bytes, *stream);
    launched.push_back(step);
  }
  streams.Synchronize();
  outcome.launched = static_cast<int>(launched.size());
  for (const int step : launched) {
    if (tags.at(step) != 1000 + static_cast<uint64_t>(step)) ++outcome.wrong;
  }
  return outcome;
}

// Goes round like the ring, and waits for nothing.
class CarelessRing {
 public:
  explicit CarelessRing(Device& device)
      : buffer_(device.memory().AllocateHost(4 * (256 << 10)).value()) {}
  absl::StatusOr<uint8_t*> Next(uint64_t bytes) {
    if (used_ + bytes > buffer_->bytes()) used_ = 0;
    return static_cast<uint8_t*>(buffer_->data()) + used_;
  }
  void Launched(uint64_t bytes, Stream&) { used_ += bytes; }

 private:
  std::unique_ptr<HostBuffer> buffer_;
  uint64_t used_ = 0;
};

TEST(StagingRingTest, NoBlockComesRoundBeforeItWasRead) {
  for (const Streams::Manner manner : {Streams::kOne, Streams::kTwo, Streams::kDestroyed}) {
    for (uint64_t seed = 1; seed <= 40; ++seed) {
      SCOPED_TRACE(testing::Message() << "manner " << manner << ", seed " << seed);
      const auto device = std::make_unique<BusyDevice>(seed, /*busy=*/true);
      {
        auto ring = StagingRing::Create(*device, kGreatest);
        ASSERT_THAT(ring, IsOk());
        Streams streams(*device, manner);
        const Outcome outcome = RunSteps(**ring, *device, streams, seed);
        EXPECT_GT(outcome.launched, kSteps / 2);
        EXPECT_EQ(outcome.wrong, 0);
        EXPECT_EQ(outcome.failed, 0);
        EXPECT_GT((*ring)->waits(), 0u);
      }
      ASSERT_THAT(device->Close(), IsOk());
    }
  }
}

TEST(StagingRingTest, ARingThatDoesNotWaitIsFoundOut) {
  for (const Streams::Manner manner : {Streams::kOne, Streams::kTwo}) {
    const auto device = std::make_unique<BusyDevice>(1, /*busy=*/true);
    {
      CarelessRing ring(*device);
      Streams streams(*device, manner);
      EXPECT_GT(RunSteps(ring, *device, streams, 1).wrong, 0);
    }
    EXPECT_THAT(device->Close(), IsOk());
  }
}

// Whatever call fails, steps that were launched read what was staged for them, and the ring works
// again at the next attempt.
TEST(StagingRingTest, AnyCallMayFail) {
  for (const Streams::Manner manner : {Streams::kOne, Streams::kTwo, Streams::kDestroyed}) {
    const uint64_t calls = ForEveryFailingCall(
        [] { return std::make_unique<BusyDevice>(3, /*busy=*/true); },
        [manner](FaultDevice& device) {
          auto ring = StagingRing::Create(device, kGreatest);
          if (!ring.ok()) return;
          Streams streams(device, manner);
          const Outcome outcome = RunSteps(**ring, device.wrapped(), streams, 3);
          EXPECT_EQ(outcome.wrong, 0);
          EXPECT_LE(outcome.failed, 1);
        });
    EXPECT_GT(calls, 50u);
  }
}

class OneStreamTest : public testing::Test {
 protected:
  OneStreamTest()
      : device_(std::make_unique<BusyDevice>(1, /*busy=*/false)),
        ring_(StagingRing::Create(*device_, kGreatest).value()) {
    stream_ = device_->NewStream().value();
  }
  ~OneStreamTest() override {
    stream_ = nullptr;
    ring_ = nullptr;
    EXPECT_THAT(device_->Close(), IsOk());
  }

  const std::unique_ptr<BusyDevice> device_;
  std::unique_ptr<StagingRing> ring_;
  std::unique_ptr<Stream> stream_;
};

TEST_F(OneStreamTest, BlocksLieApartInsideOfTheRing) {
  Address end = 0;
  for (int i = 0; i < 150; ++i) {
    const uint64_t bytes = 1 + static_cast<uint64_t>(i) * 37;
    const Address at = AddressOf(ring_->Next(bytes).value());
    EXPECT_EQ(at % 256, 0u);
    EXPECT_TRUE(ring_->memory().Contains(AddressRange{at, bytes}));
    EXPECT_GE(at, end) << "none comes round: all fit into the ring";
    end = at + bytes;
    ring_->Launched(bytes, *stream_);
  }
  EXPECT_EQ(ring_->waits(), 0u);
}

TEST_F(OneStreamTest, AStepThatLaunchesNothingGivesItsBlockToTheNext) {
  uint8_t* const block = ring_->Next(1000).value();
  EXPECT_EQ(ring_->Next(5000).value(), block);
  ring_->Launched(5000, *stream_);
  EXPECT_NE(ring_->Next(1000).value(), block);
}

TEST_F(OneStreamTest, NobodyWaitsForWhatIsDone) {
  for (int i = 0; i < 40; ++i) {
    ASSERT_THAT(ring_->Next(kGreatest), IsOk());
    ring_->Launched(kGreatest, *stream_);
    ASSERT_THAT(stream_->Synchronize(), IsOk());
  }
  EXPECT_EQ(ring_->waits(), 0u);
}

// The greatest block takes a segment of its own here, so each step goes on to the next segment. The
// fifth comes to the first one again, whose work nobody has waited for.
TEST_F(OneStreamTest, WaitsAreCounted) {
  Tags tags(device_->wrapped());
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(ring_->waits(), 0u) << i;
    device_->is_busy = i == 4;
    uint8_t* const block = ring_->Next(kGreatest).value();
    ASSERT_THAT(tags.Read(*stream_, block, kGreatest, i), IsOk());
    ring_->Launched(kGreatest, *stream_);
  }
  EXPECT_EQ(ring_->waits(), 1u);
  ASSERT_THAT(stream_->Synchronize(), IsOk());
}

// No event can be recorded on a stream that is gone, so the ring waits for that stream's work.
TEST_F(OneStreamTest, AWaitForADestroyedStreamIsCounted) {
  Tags tags(device_->wrapped());
  uint8_t* const block = ring_->Next(kGreatest).value();
  Tags::Write(block, kGreatest, 7);
  ASSERT_THAT(tags.Read(*stream_, block, kGreatest, 0), IsOk());
  ring_->Launched(kGreatest, *stream_);
  stream_ = nullptr;
  // The next segment's event is fresh, and would be done on any device.
  device_->is_busy = true;
  ASSERT_THAT(ring_->Next(kGreatest), IsOk());
  device_->is_busy = false;
  EXPECT_EQ(tags.at(0), 7u);
  EXPECT_EQ(ring_->waits(), 2u) << "one for the stream, one for the fresh event";
  // A destroyed stream whose work is done is not waited for.
  stream_ = device_->NewStream().value();
  ring_->Launched(kGreatest, *stream_);
  ASSERT_THAT(stream_->Synchronize(), IsOk());
  stream_ = nullptr;
  ASSERT_THAT(ring_->Next(kGreatest), IsOk());
  EXPECT_EQ(ring_->waits(), 2u);
}

// Whoever refused the step has not put its stream after the one before.
TEST_F(OneStreamTest, AStepThatFailedOnAnotherStreamHidesNoWorkOfTheOneBefore) {
  Tags tags(device_->wrapped());
  const std::unique_ptr<Stream> other = device_->NewStream().value();
  uint8_t* const block = ring_->Next(kGreatest / 2).value();
  Tags::Write(block, kGreatest / 2, 7);
  ASSERT_THAT(tags.Read(*stream_, block, kGreatest / 2, 0), IsOk());
  ring_->Launched(kGreatest / 2, *stream_);
  ASSERT_THAT(ring_->Next(kGreatest / 2), IsOk());
  ring_->Failed(kGreatest / 2, *other);
  device_->is_busy = true;
  uint8_t* next = nullptr;
  while (next != block) {
    next = ring_->Next(kGreatest).value();
    ring_->Launched(kGreatest, *other);
  }
  EXPECT_EQ(tags.at(0), 7u);
  ASSERT_THAT(stream_->Synchronize(), IsOk());
}

TEST_F(OneStreamTest, AStreamThatCapturesIsNotTouched) {
  ASSERT_THAT(ring_->Next(kGreatest), IsOk());
  ring_->Launched(kGreatest, *stream_);
  ASSERT_THAT(stream_->BeginCapture(CaptureMode::kThreadLocal), IsOk());
  EXPECT_THAT(ring_->Next(kGreatest).status(),
              FailsWith(absl::StatusCode::kFailedPrecondition, "captures now"));
  const absl::StatusOr<std::unique_ptr<Graph>> graph = stream_->EndCapture();
  ASSERT_THAT(graph, IsOk());
  EXPECT_EQ((*graph)->op_count(), 0u);
  ASSERT_THAT(ring_->Next(kGreatest), IsOk());
}

// The device's side of it: an arena with nothing but a cursor, and ops that run at once.
class Ops {
 public:
  explicit Ops(const StagingRing& ring) : ring_(ring.ring()) {}
  const uint8_t* Run(Address address, uint64_t bytes) {
    ring_.block_units = unpack::BlockUnitsFor(bytes);
    uint8_t* const arena = reinterpret_cast<uint8_t*>(&cursor_);
    const uint8_t* const block = unpack::FindBlock(ring_, PointerTo<uint8_t>(address), arena);
    unpack::MoveCursor(ring_, block, arena);
    return block;
  }

 private:
  unpack::Ring ring_;
  unpack::Cursor cursor_;
};

TEST_F(OneStreamTest, WhatTheOpIsGivenLeadsToTheBlock) {
  Ops ops(*ring_);
  std::mt19937_64 random(1);
  uint64_t doubts = 1;  // about where the cursor is; nothing is known of a fresh one
  for (int step = 0; step < 20000; ++step) {
    const uint64_t bytes = 1 + random() % (random() % 4 == 0 ? kGreatest : 4000);
    uint8_t* const block = ring_->Next(bytes).value();
    switch (random() % 12) {
      case 0:  // launches nothing, though the ring may have gone on to the next segment
        continue;
      case 1:  // nobody knows whether the op has run
        if (random() % 2 == 0) ops.Run(ring_->AddressFor(bytes), bytes);
        ring_->Failed(bytes, *stream_);
        ++doubts;
        continue;
      case 2:  // not the op, but something else reads the block
        ring_->Launched(bytes, *stream_);
        ++doubts;
        continue;
      default:
        ASSERT_EQ(ops.Run(ring_->AddressFor(bytes), bytes), block) << step;
        ring_->Launched(bytes, *stream_, /*moves_cursor=*/true);
    }
  }
  EXPECT_GT(ring_->told(), doubts / 4);
  EXPECT_LT(ring_->told(), 20000u / 2);
}

TEST_F(OneStreamTest, AnOpIsToldOnceAndThenFollows) {
  Ops ops(*ring_);
  Address always = 0;
  for (int step = 0; step < 1000; ++step) {
    const uint64_t bytes = 1 + static_cast<uint64_t>(step) * 997 % kGreatest;
    uint8_t* const block = ring_->Next(bytes).value();
    const Address address = ring_->AddressFor(bytes);
    if (step == 1) always = address;
    EXPECT_EQ(address, step == 0 ? AddressOf(block) : always) << step;
    ASSERT_EQ(ops.Run(address, bytes), block) << step;
    ring_->Launched(bytes, *stream_, /*moves_cursor=*/true);
  }
  EXPECT_EQ(ring_->told(), 1u);
  EXPECT_TRUE(ring_->memory().Contains(AddressRange{always, kGreatest}));
}

TEST_F(OneStreamTest, ABlockThatIsTooLargeIsAMistake) {
  ASSERT_THAT(ring_->Next(kGreatest), IsOk());
  EXPECT_DEATH(ring_->Next(kGreatest + 1).status().IgnoreError(), "a block of 163841 bytes");
}

TEST(StagingRingTest, NoMemoryForARing) {
  FaultDevice device(Host(1));
  device.plan().FailCallOf("Memory.AllocateHost", 1, ErrorCode::kOutOfMemory);
  EXPECT_THAT(StagingRing::Create(device, kGreatest),
              FailsWith(absl::StatusCode::kResourceExhausted,
                        "making a staging ring of 4 times 163840 bytes of page-locked memory: "));
  EXPECT_THAT(device.Close(), IsOk());
}

}  // namespace
}  // namespace graphtree
