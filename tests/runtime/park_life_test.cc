// Parking where a device call fails, for every one: the call says so, nothing is lost, and it works
// when it is called again. And where one thread parks while another one runs steps.
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "device/base/status_matchers.h"
#include "device/error.h"
#include "device/fault/every_call.h"
#include "device/fault/fault_device.h"
#include "device/host/host_device.h"
#include "graphs/launcher.h"
#include "graphs/tensor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/parking.h"
#include "runtime/runtime.h"
#include "tests/runtime/adding_program.h"

namespace graphtree {
namespace {

constexpr int64_t kMost = 64;
using Ids = std::vector<int32_t>;

std::unique_ptr<Device> MakeHost() { return *OpenHostDevice(); }

ProgramOptions Adds(std::string name, std::string tag, uint32_t lane, AddressRange known = {}) {
  return AddingProgram(std::move(name), std::move(tag), lane, kMost, known);
}

absl::Status RunStep(Runtime& runtime, ProgramId program, int32_t first, Stream& stream,
                     Values* outputs) {
  absl::StatusOr<Step> step = runtime.Begin(program, {.tokens = 8}, stream);
  if (!step.ok()) return step.status();
  Ids ids(8);
  for (int32_t i = 0; i < 8; ++i) ids[i] = first + i;
  if (absl::Status staged = step->Stage(0, HostRows{ids.data(), DType::kI32, 8}); !staged.ok()) {
    step->Cancel();
    return staged;
  }
  return step->Run(outputs);
}

Ids IdsOf(const Value& value) {
  const AddressRange bytes = Tensor::From(value).raw_bytes();
  const auto* const ids = PointerTo<int32_t>(bytes.base);
  return Ids(ids, ids + bytes.bytes / 4);
}

class ParkedServer {
 public:
  explicit ParkedServer(FaultDevice& device) : device_(device) {}
  ~ParkedServer() {
    held_.clear();
    runtime_ = nullptr;
  }

  void Live(Contents contents) {
    TryTo("NewStream", &stream_, [&] { return device_.NewStream(); });
    Start();
    if (HasFailed()) return;
    for (int32_t round = 0; round < 2; ++round) {
      StepOnce(10 * round);
      for (const char* const tag : {"weights", "graphs"}) Park(tag, contents);
      for (const char* const tag : {"weights", "graphs"}) {
        Try("Wake", [&] { return runtime_->Wake(tag); });
      }
      if (contents == Contents::kDrop) Fill();
      ExpectHeld(10 * round);
      StepOnce(10 * round + 5);
    }
    Try("RemoveProgram", [&] { return runtime_->RemoveProgram(program_); });
    Try("RemoveMemory", [&] { return runtime_->RemoveMemory("layer 0"); });
  }

 private:
  bool HasFailed() const { return testing::Test::HasFailure(); }
  template <typename F>
  bool Try(const char* what, const F& call) {
    absl::Status status = call();
    if (status.ok()) return true;
    EXPECT_GT(device_.plan().fired(), 0u) << what << ": " << status;
    EXPECT_FALSE(status.message().empty()) << what;
    status = call();
    EXPECT_THAT(status, IsOk()) << what << " again, after a fault in "
                                << device_.plan().fired_in();
    return status.ok();
  }
  template <typename T, typename F>
  void TryTo(const char* what, T* made, const F& call) {
    Try(what, [&] {
      auto result = call();
      if (result.ok()) *made = *std::move(result);
      return result.status();
    });
  }

  void Start() {
    RuntimeOptions options;
    options.tree.pool_bytes = 16 << 20;
    TryTo("Create", &runtime_, [&] { return Runtime::Create(device_, options); });
    if (runtime_ == nullptr) return;
    TryTo("AddMemory", &weights_, [&] {
      return runtime_->AddMemory({.tag = "weights", .name = "layer 0", .bytes = 4 * kMost});
    });
    Fill();
    ProgramOptions program = Adds("plain", "graphs", 0, weights_);
    program.needs = {"weights"};
    program.kept_outputs = {0};
    TryTo("AddProgram", &program_, [&] { return runtime_->AddProgram(program); });
    Try("AddShapes", [&] { return runtime_->AddShapes(program_, {{.tokens = 8}}); });
    Try("Record", [&] { return runtime_->Record(program_, *stream_); });
  }
  void Synchronize() {
    Try("Synchronize", [&] { return stream_->Synchronize(); });
  }
  void Fill() {
    Try("Fill", [&] { return stream_->Fill(weights_.base, 1000, 4, kMost); });
    Synchronize();
  }
  static Ids Expected(int32_t first) {
    Ids ids(8);
    for (int32_t i = 0; i < 8; ++i) ids[i] = 1000 + first + i;
    return ids;
  }
  void StepOnce(int32_t first) {
    held_.clear();
    Try("a step", [&] { return RunStep(*runtime_, program_, first, *stream_, &held_); });
    ExpectHeld(first);
  }
  void ExpectHeld(int32_t first) {
    Synchronize();
    ASSERT_EQ(held_.size(), 1u);
    EXPECT_EQ(IdsOf(held_[0]), Expected(first)) << "fault in " << device_.plan().fired_in();
  }
  // A park that fails leaves the server as it was.
  void Park(const char* tag, Contents contents) {
    const bool was_awake = runtime_->metrics().programs.size() == 1 && parked_ == 0;
    const absl::Status parked = runtime_->Park(tag, contents);
    if (!parked.ok()) {
      EXPECT_GT(device_.plan().fired(), 0u) << parked;
      if (was_awake && contents != Contents::kDrop) {
        Values outputs;
        EXPECT_THAT(RunStep(*runtime_, program_, 77, *stream_, &outputs), IsOk());
        Synchronize();
        ASSERT_EQ(outputs.size(), 1u);
        EXPECT_EQ(IdsOf(outputs[0]), Expected(77)) << "after " << device_.plan().fired_in();
      }
      ASSERT_THAT(runtime_->Park(tag, contents), IsOk());
    }
    ++parked_;
    Values outputs;
    EXPECT_THAT(RunStep(*runtime_, program_, 1, *stream_, &outputs),
                FailsWith(absl::StatusCode::kFailedPrecondition, tag));
    if (parked_ == 2) parked_ = 0;
  }

  FaultDevice& device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Runtime> runtime_;
  AddressRange weights_;
  ProgramId program_;
  Values held_;
  int parked_ = 0;
};

class ParkFaultsTest : public testing::TestWithParam<Contents> {};
INSTANTIATE_TEST_SUITE_P(Contents, ParkFaultsTest,
                         testing::Values(Contents::kKeep, Contents::kDrop, Contents::kPinned),
                         [](const auto& info) { return ContentsName(info.param); });

TEST_P(ParkFaultsTest, AnyOneCallMayFail) {
  const uint64_t calls = ForEveryFailingCall(
      MakeHost, [](FaultDevice& device) { ParkedServer(device).Live(GetParam()); });
  EXPECT_GE(calls, 50u);
  RecordProperty("calls", static_cast<int>(calls));
}

// What a park did not reach was written to since the last one: a later wake compares it with
// nothing.
TEST(ParkMemoryTest, AWakeAfterAParkThatFailedComparesWithNoEarlierPark) {
  FaultDevice device(MakeHost());
  {
    const std::unique_ptr<Stream> stream = *device.NewStream();
    const std::unique_ptr<Runtime> runtime = *Runtime::Create(device, {});
    ProgramOptions large = Adds("adds", "graphs", 0);
    large.body = [adds = large.body](Launcher& on, const ProgramInputs& in) -> Values {
      const Tensor of_more_pieces = on.Empty(DType::kU8, {5000000});
      on.Fill(of_more_pieces, 1);
      return on.ok() ? adds(on, in) : Values();
    };
    const ProgramId program = *runtime->AddProgram(std::move(large));
    const AddressRange memory =
        *runtime->AddMemory({.tag = "graphs", .name = "weights", .bytes = 4096});
    Values outputs;
    // What is held is saved and mapped again.
    const auto write = [&](uint32_t byte) {
      EXPECT_THAT(stream->Fill(memory.base, byte, 1, memory.bytes), IsOk());
      EXPECT_THAT(RunStep(*runtime, program, static_cast<int32_t>(byte), *stream, &outputs),
                  IsOk());
      EXPECT_THAT(stream->Synchronize(), IsOk());
    };
    int failed_twice = 0;
    for (uint64_t faults = 0; faults < 16; ++faults) {
      const uint64_t unmap = 1 + faults / 4, map = 1 + faults % 4;
      write(1);
      ASSERT_THAT(runtime->Park("graphs", Contents::kKeep), IsOk());
      ASSERT_THAT(runtime->Wake("graphs"), IsOk());
      write(2);
      // The park fails at one of its pieces, and so does the wake that it tries then.
      device.plan().FailCallOf("Memory.Unmap", unmap, ErrorCode::kUnknown);
      device.plan().FailCallOf("Memory.Map", map, ErrorCode::kOutOfMemory);
      const absl::Status parked = runtime->Park("graphs", Contents::kKeep);
      failed_twice += absl::StrContains(parked.message(), "call Wake");
      device.plan().Clear();
      ASSERT_THAT(runtime->Wake("graphs"), IsOk()) << "unmapping " << unmap << ", mapping " << map;
    }
    EXPECT_GT(failed_twice, 0) << "else this test shows nothing";
    write(3);
    outputs.clear();
  }
  EXPECT_THAT(device.Close(), IsOk());
}

// One step has taken nearly all of a small device, and nobody uses that any more.
TEST(ParkMemoryTest, WhatAnIdleLaneDoesNotUseIsThereForOthers) {
  const std::unique_ptr<Device> device = *OpenHostDevice({.memory_bytes = uint64_t{32} << 20});
  const std::unique_ptr<Stream> stream = *device->NewStream();
  std::unique_ptr<Runtime> runtime = *Runtime::Create(*device, {});
  ProgramOptions large = Adds("large", "graphs", 0);
  large.needs = {"cache"};
  large.body = [adds = large.body](Launcher& on, const ProgramInputs& in) -> Values {
    const Tensor most = on.Empty(DType::kU8, {int64_t{25} << 20});
    return on.ok() ? adds(on, in) : Values();
  };
  const ProgramId program = *runtime->AddProgram(std::move(large));
  const auto fill = [&] {
    Values outputs;
    EXPECT_THAT(RunStep(*runtime, program, 1, *stream, &outputs), IsOk());
  };
  ASSERT_THAT(runtime->AddMemory({.tag = "cache", .name = "first", .bytes = 2 << 20}), IsOk());
  fill();
  EXPECT_THAT(runtime->AddMemory({.tag = "other", .name = "second", .bytes = 4 << 20}), IsOk());
  ASSERT_THAT(runtime->Park("other", Contents::kDrop), IsOk());
  fill();
  EXPECT_THAT(runtime->Wake("other"), IsOk());
  ASSERT_THAT(runtime->Park("other", Contents::kDrop), IsOk());
  fill();
  EXPECT_THAT(runtime->SetServing({.serving = Serving::kShadow}), IsOk());
  ASSERT_THAT(runtime->SetServing({}), IsOk());
  ASSERT_THAT(runtime->RemoveMemory("second"), IsOk());
  fill();
  for (int i = 0; i < 4; ++i) {
    const auto added = runtime->AddProgram(Adds("more " + std::to_string(i), "graphs", 0));
    EXPECT_THAT(added, IsOk());
  }
  runtime = nullptr;
}

// Steps of one lane go on while another lane is parked and woken, again and again.
TEST(ParkThreadsTest, OneReplaysAndOneParks) {
  const std::unique_ptr<Device> device = MakeHost();
  {
    const auto runtime = *Runtime::Create(*device, {.pool_bytes = 64 << 20});
    const auto stream = *device->NewStream(), other_stream = *device->NewStream();
    const ProgramId first = *runtime->AddProgram(Adds("first", "a", 0));
    const ProgramId second = *runtime->AddProgram(Adds("second", "b", 1));
    for (const ProgramId program : {first, second}) {
      ASSERT_THAT(runtime->AddShapes(program, {{.tokens = 8}}), IsOk());
      ASSERT_THAT(runtime->Record(program, *stream), IsOk());
    }
    std::atomic<bool> is_over = false;
    std::thread parks([&] {
      for (uint32_t round = 0; round < 60; ++round) {
        EXPECT_THAT(runtime->Park("b", static_cast<Contents>(round % 3)), IsOk());
        EXPECT_THAT(runtime->Wake("b"), IsOk());
        Values outputs;
        EXPECT_THAT(RunStep(*runtime, second, 7, *other_stream, &outputs), IsOk());
        EXPECT_THAT(other_stream->Synchronize(), IsOk());
        EXPECT_EQ(IdsOf(outputs[0])[0], 14);
      }
      is_over = true;
    });
    std::thread asks([&] {
      while (!is_over) {
        EXPECT_EQ(runtime->metrics().lanes.size(), 2u);
        runtime->ledger();
        runtime->Explain();
      }
    });
    for (int32_t step = 0; !is_over; ++step) {
      Values outputs;
      ASSERT_THAT(RunStep(*runtime, first, step, *stream, &outputs), IsOk());
      ASSERT_THAT(stream->Synchronize(), IsOk());
      ASSERT_EQ(IdsOf(outputs[0])[0], 2 * step);
    }
    parks.join();
    asks.join();
  }
  EXPECT_THAT(device->Close(), IsOk());
}

// A thread that steps and one that parks the same lane refuse each other in words, and what runs
// gives the right bytes.
TEST(ParkThreadsTest, BothWantTheSameLane) {
  const std::unique_ptr<Device> device = MakeHost();
  {
    const auto runtime = *Runtime::Create(*device, {});
    const auto stream = *device->NewStream();
    const ProgramId program = *runtime->AddProgram(Adds("first", "a", 0));
    ASSERT_THAT(runtime->AddShapes(program, {{.tokens = 8}}), IsOk());
    ASSERT_THAT(runtime->Record(program, *stream), IsOk());
    std::atomic<bool> is_over = false;
    std::atomic<int> parked = 0;
    std::thread parks([&] {
      for (uint32_t round = 0; round < 200; ++round) {
        const absl::Status status = runtime->Park("a", static_cast<Contents>(round % 3));
        if (!status.ok()) {
          EXPECT_THAT(status, FailsWith(absl::StatusCode::kFailedPrecondition, "is under way"));
          continue;
        }
        ++parked;
        absl::Status woken = runtime->Wake("a");
        for (int tries = 0; tries < 10000 && !woken.ok(); ++tries) {
          EXPECT_THAT(woken, FailsWith(absl::StatusCode::kFailedPrecondition, "is under way"));
          std::this_thread::yield();
          woken = runtime->Wake("a");
        }
        EXPECT_THAT(woken, IsOk());
      }
      is_over = true;
    });
    int ran = 0;
    for (int32_t step = 0; !is_over || ran < 10; ++step) {
      Values outputs;
      const absl::Status status = RunStep(*runtime, program, step, *stream, &outputs);
      if (!status.ok()) {
        ASSERT_THAT(status, testing::AnyOf(
            FailsWith(absl::StatusCode::kFailedPrecondition, "park"),
            FailsWith(absl::StatusCode::kFailedPrecondition, "under way in lane 0")));
        std::this_thread::yield();
        continue;
      }
      ++ran;
      ASSERT_THAT(stream->Synchronize(), IsOk());
      if (step % 2 == 0) std::this_thread::yield();
    }
    parks.join();
    Values outputs;
    ASSERT_THAT(RunStep(*runtime, program, 3, *stream, &outputs), IsOk());
    ASSERT_THAT(stream->Synchronize(), IsOk());
    EXPECT_EQ(IdsOf(outputs[0])[0], 6);
  }
  EXPECT_THAT(device->Close(), IsOk());
}

}  // namespace
}  // namespace graphtree
