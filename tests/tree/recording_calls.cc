// Which calls of the device a recording makes beyond its body's own: a capture, an executable, a
// launch, and what puts streams in order. Counted by name, so that one more shows here.
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "device/address.h"
#include "device/base/status_matchers.h"
#include "device/fault/fault_device.h"
#include "device/host/host_device.h"
#include "device/memory.h"
#include "device/stream.h"
#include "gmock/gmock.h"
#include "graphs/tree.h"
#include "graphs/tree_stats.h"
#include "gtest/gtest.h"
#include "tests/kernels/launches.h"
#include "tests/tree/bodies.h"

namespace graphtree {
namespace {

using Calls = std::map<std::string, uint64_t>;

constexpr uint64_t kOps = 123;
constexpr int64_t kWords = 48;

class RecordingCallsTest : public testing::Test {
 protected:
  void SetUp() override {
    device_ = std::make_unique<FaultDevice>(*OpenHostDevice());
    stream_ = *device_->NewStream();
    Memory& memory = device_->memory();
    const uint64_t bytes = memory.granularity();
    range_ = *memory.Reserve(bytes, {});
    physical_ = *memory.Create(bytes);
    ASSERT_THAT(memory.Map(range_.base, *physical_), IsOk());
    ASSERT_THAT(memory.SetAccess(range_, MemoryAccess::kReadWrite), IsOk());
    ASSERT_THAT(stream_->Fill(range_.base, 1, 4, bytes / 4), IsOk());
    tree_ = *Tree::Create(*device_, {.pool_bytes = 64 << 20});
  }
  void TearDown() override {
    tree_.reset();
    ASSERT_THAT(stream_->Synchronize(), IsOk());
    EXPECT_THAT(device_->memory().Unmap(range_), IsOk());
    EXPECT_THAT(device_->memory().Release(range_), IsOk());
    physical_.reset();
    stream_.reset();
    EXPECT_THAT(device_->Close(), IsOk());
  }
  Tensor At(int64_t place) const {
    return Tensor::Foreign(range_.base + place * 1024, WordsLayout(kWords));
  }
  // Opaque work on memory of the caller's.
  static Body OpaqueOn(size_t input) {
    return [input](Launcher& on, Values& inputs) {
      const Tensor data = Tensor::From(inputs[input]);
      on.Reads(data);
      on.Writes(data);
      for (uint32_t i = 0; i < kOps && on.ok(); ++i) {
        on.Fail(Increment(on.stream(), data.raw_bytes(), i));
      }
      return Values{};
    };
  }
  // What the recording of a function asks of the device, where the pool has its memory already:
  // another function like it has been recorded.
  Calls CallsOfRecording(const FunctionOptions& options, const Body& body, const Values& inputs) {
    Calls calls;
    for (const char* name : {"the first", "the second"}) {
      const FunctionId function = tree_->Register(name, options, body);
      Call(function, inputs);
      const uint64_t recordings = tree_->stats().recordings;
      const Calls before = device_->plan().counts();
      Call(function, inputs);
      EXPECT_EQ(tree_->stats().recordings, recordings + 1);
      calls = Since(before);
    }
    // Who comes after whom, among streams, and who captures: few calls, however many ops there are.
    // The bytes that a recording gets were used by runs at once, on the tree's other stream. Each
    // of its two captures leaves an event before it (device/stream_life.h), which is three calls.
    // Streams whose bytes are set aside are asked whether they capture.
    uint64_t order = 0;
    for (const char* name : {"Device.NewEvent", "Stream.Capture", "Stream.Record", "Stream.Wait"}) {
      order += calls[name];
      calls.erase(name);
    }
    EXPECT_LE(order, 24u);
    return calls;
  }
  void Call(FunctionId function, Values inputs) {
    Values outputs;
    tree_->BeginStep();
    EXPECT_THAT(tree_->Run(function, absl::MakeSpan(inputs), *stream_, &outputs), IsOk());
  }
  Calls Since(const Calls& before) const {
    Calls calls;
    for (const auto& [name, count] : device_->plan().counts()) {
      const auto earlier = before.find(name);
      const uint64_t more = count - (earlier == before.end() ? 0 : earlier->second);
      if (more > 0) calls[name] = more;
    }
    return calls;
  }
  // A recording's, with so many launches of the body's and others.
  static Calls CaptureAndLaunch(uint64_t captures, uint64_t launches) {
    return {{"Stream.BeginCapture", captures},
            {"Stream.Launch", launches},
            {"Stream.EndCapture", captures},
            {"Graph.Instantiate", 1},
            {"Executable.Launch", 1}};
  }

  std::unique_ptr<FaultDevice> device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<PhysicalMemory> physical_;
  AddressRange range_;
  std::unique_ptr<Tree> tree_;
};

// Nothing is asked but what a capture by hand asks.
TEST_F(RecordingCallsTest, OfMemoryThatStays) {
  EXPECT_EQ(CallsOfRecording({.static_inputs = {0}}, OpaqueOn(0), {At(0)}),
            CaptureAndLaunch(1, kOps));
}

TEST_F(RecordingCallsTest, OfAnInputThatIsCopied) {
  Calls calls = CaptureAndLaunch(1, kOps + 1);
  calls["Stream.CaptureFrontier"] = 1;  // which op copies
  EXPECT_EQ(CallsOfRecording({.static_inputs = {0}}, OpaqueOn(0), {At(0), At(1)}), calls);
}

// It is recorded twice, the first time at addresses that are mapped for it.
TEST_F(RecordingCallsTest, OfAnInputThatIsWritten) {
  Calls calls = CaptureAndLaunch(2, 2 * kOps);
  for (const char* name : {"Reserve", "Create", "Map", "SetAccess", "Unmap", "Release"}) {
    calls[std::string("Memory.") + name] = 1;
  }
  EXPECT_EQ(CallsOfRecording({}, OpaqueOn(0), {At(0)}), calls);
}

// Its address is found where nobody said that it is, so it is recorded again, with a copy at its
// end.
TEST_F(RecordingCallsTest, OfAnOutputThatIsKept) {
  const Body body = [](Launcher& on, Values&) {
    const Tensor out = on.Empty(WordsLayout(kWords));
    on.Writes(out);
    for (uint32_t i = 0; i < kOps && on.ok(); ++i) {
      on.Fail(FillPattern(on.stream(), out.raw_bytes(), i));
    }
    return Values{out};
  };
  Calls calls = CaptureAndLaunch(2, 2 * kOps + 1);
  calls["Stream.CaptureFrontier"] = 1;  // which op copies
  EXPECT_EQ(CallsOfRecording({.kept_outputs = {0}}, body, {}), calls);
}

}  // namespace
}  // namespace graphtree
