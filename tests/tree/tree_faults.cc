// The n-th device call fails, for every n: whatever fails in whatever state, the caller sees an
// error or the right bytes, the tree goes on, and it closes with nothing left.
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "device/base/status_matchers.h"
#include "device/fault/every_call.h"
#include "device/fault/fault_device.h"
#include "device/host/host_device.h"
#include "gmock/gmock.h"
#include "graphs/tree.h"
#include "gtest/gtest.h"
#include "tests/kernels/kernels.h"
#include "tests/tree/bodies.h"

namespace graphtree {
namespace {

constexpr int64_t kWords = 16;

std::unique_ptr<Device> MakeHost() { return OpenHostDevice().value(); }

// A caller with a tree of two functions: one copies its input in, one consumes and mutates.
class Caller {
 public:
  explicit Caller(FaultDevice& device) : device_(device) {}
  ~Caller() {
    tree_.reset();
    stream_.reset();
    host_.reset();
  }

  // False if something that is not the tree's failed.
  bool Open() {
    auto stream = device_.NewStream();
    auto host = device_.memory().AllocateHost(kWords * sizeof(uint32_t));
    if (!stream.ok() || !host.ok()) return false;
    stream_ = *std::move(stream);
    host_ = *std::move(host);
    TreeOptions options;
    options.pool_bytes = 32 << 20;
    auto tree = Tree::Create(device_, options);
    if (!tree.ok()) return false;
    tree_ = *std::move(tree);
    first_ = tree_->Register("first", {}, [](Launcher& on, Values&) {
      return Values{Filled(on, 7, kWords), Filled(on, 8, kWords)};
    });
    second_ = tree_->Register("second", {}, [](Launcher& on, Values& inputs) {
      Tensor sum = Sum(on, inputs[0], inputs[1]);
      inputs.clear();
      Bump(on, sum, 1);
      return Values{sum};
    });
    return true;
  }

  // One step of both functions. True if both ran; what they gave is then right.
  bool Step() {
    tree_->BeginStep();
    Values outputs;
    if (!tree_->Run(first_, {}, *stream_, &outputs).ok()) return false;
    EXPECT_EQ(outputs.size(), 2u);
    const Value kept = outputs[0];
    if (!tree_->Run(second_, absl::MakeSpan(outputs), *stream_, &outputs).ok()) {
      EXPECT_EQ(outputs.size(), 2u) << "a call that fails consumes nothing";
      return false;
    }
    EXPECT_EQ(outputs.size(), 1u);
    const Words sum = Plus(Pattern(7), Pattern(8));
    return Holds(kept, Pattern(7)) && Holds(outputs[0], Plus(sum, Words(kWords, 1)));
  }

  Tree& tree() { return *tree_; }
  void Close() { tree_.reset(); }

 private:
  static Words Pattern(uint32_t seed) {
    Words words(kWords);
    for (uint32_t i = 0; i < kWords; ++i) words[i] = PatternWord(seed, i);
    return words;
  }
  // False if it could not be looked at; fails the test if it was looked at and is wrong.
  bool Holds(const Value& value, const Words& expected) {
    if (!stream_->Copy(host_->range().base, value.word(), host_->bytes()).ok()) return false;
    if (!stream_->Synchronize().ok()) return false;
    Words found(kWords);
    std::memcpy(found.data(), host_->data(), host_->bytes());
    EXPECT_EQ(found, expected) << "in state " << tree_->state();
    return true;
  }

  FaultDevice& device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<HostBuffer> host_;
  std::unique_ptr<Tree> tree_;
  FunctionId first_ = 0;
  FunctionId second_ = 0;
};

// One fault anywhere in a tree's whole life, from opening to closing.
TEST(TreeFaultTest, AnyOneCallOfAWholeLifeMayFail) {
  const uint64_t calls = ForEveryFailingCall(MakeHost, [](FaultDevice& device) {
    Caller caller(device);
    if (!caller.Open()) {
      EXPECT_GT(device.plan().fired(), 0u);
      return;
    }
    int failed = 0;
    for (int step = 0; step < 6; ++step) failed += caller.Step() ? 0 : 1;
    EXPECT_LE(failed, 1) << "one fault spoils one step at most";
    EXPECT_TRUE(failed == 0 || device.plan().fired() > 0);
    // Else the fault is for the closing.
    for (int step = 0; step < 3 && device.plan().fired() > 0; ++step) {
      EXPECT_TRUE(caller.Step()) << "the tree is usable";
    }
    EXPECT_GT(caller.tree().stats().replays, 0u) << "and it replays";
  });
  EXPECT_GE(calls, 40u);
  RecordProperty("calls", static_cast<int>(calls));
}

// Faults in one state of a path: the tree is brought there first, and the steps before work.
void FaultsAfter(int steps, bool must_run, ErrorCode code) {
  for (uint64_t n = 1;; ++n) {
    FaultDevice device(MakeHost());
    SCOPED_TRACE(testing::Message() << "call " << n << " after " << steps << " steps");
    bool fired = false;
    {
      Caller caller(device);
      ASSERT_TRUE(caller.Open());
      for (int step = 0; step < steps; ++step) ASSERT_TRUE(caller.Step());
      device.plan().FailCall(n, code);
      const uint64_t before = caller.tree().stats().recordings;
      const bool ran = caller.Step();
      fired = device.plan().fired() > 0;
      const std::string where = device.plan().fired_in();
      device.plan().Clear();
      EXPECT_TRUE(ran || fired);
      const bool in_recording = where.find("Capture") != std::string::npos ||
                                where.find("Graph.") == 0;
      if (must_run && in_recording) {
        EXPECT_TRUE(ran) << "a recording that fails runs eagerly; it failed in " << where;
        EXPECT_LE(caller.tree().stats().recordings, before + 1);
      }
      for (int step = 0; step < 4; ++step) EXPECT_TRUE(caller.Step()) << where;
      EXPECT_GT(caller.tree().stats().replays, 0u);
    }
    EXPECT_THAT(device.Close(), IsOk());
    if (!fired || testing::Test::HasFailure()) break;
  }
}

TEST(TreeFaultTest, AnyCallOfAWarmUpMayFail) { FaultsAfter(0, false, ErrorCode::kOutOfMemory); }
TEST(TreeFaultTest, AnyCallOfARecordingMayFail) {
  FaultsAfter(1, true, ErrorCode::kOutOfMemory);
}
TEST(TreeFaultTest, AnyCallOfARecordingMayFailAsUnsupported) {
  FaultsAfter(1, true, ErrorCode::kCaptureUnsupported);
}
TEST(TreeFaultTest, AnyCallOfAReplayMayFail) { FaultsAfter(2, false, ErrorCode::kOutOfMemory); }

// A restore: the second function is called behind a replay with what it was not recorded for.
TEST(TreeFaultTest, AnyCallOfARestoreMayFail) {
  const uint64_t calls = ForEveryFailingCall(MakeHost, [](FaultDevice& device) {
    Caller caller(device);
    if (!caller.Open()) return;
    int failed = 0;
    for (int step = 0; step < 3; ++step) failed += caller.Step() ? 0 : 1;
    const FunctionId other = caller.tree().Register(
        "other", {}, [](Launcher& on, Values&) { return Values{Filled(on, 9, kWords)}; });
    auto stream = device.NewStream();
    if (!stream.ok()) return;
    for (int step = 0; step < 6; ++step) {
      caller.tree().BeginStep();
      Values outputs;
      if (!caller.tree().Run(0, {}, **stream, &outputs).ok()) {
        ++failed;
        continue;
      }
      Values more;
      failed += caller.tree().Run(other, {}, **stream, &more).ok() ? 0 : 1;
    }
    EXPECT_LE(failed, 1);
    for (int step = 0; step < 2 && device.plan().fired() > 0; ++step) EXPECT_TRUE(caller.Step());
    caller.Close();  // its stream goes before the caller
  });
  EXPECT_GE(calls, 60u);
}

// A device that is lost fails everything; the tree still closes and leaves nothing.
TEST(TreeFaultTest, TheDeviceMayBeLostAtAnyCall) {
  EveryCallOptions options;
  options.code = ErrorCode::kIllegalAddress;
  // From behind the opening on: what a lost device does not take back is no fault of the tree's.
  {
    FaultDevice device(MakeHost());
    Caller caller(device);
    ASSERT_TRUE(caller.Open());
    options.first = device.plan().calls() + 1;
  }
  ForEveryFailingCall(
      MakeHost,
      [](FaultDevice& device) {
        Caller caller(device);
        if (!caller.Open()) return;
        bool lost = false;
        for (int step = 0; step < 4; ++step) {
          const bool ran = caller.Step();
          EXPECT_FALSE(lost && ran) << "a lost device ran a step";
          lost = !device.plan().lost().ok();
        }
        device.plan().Clear();
      },
      options);
}

}  // namespace
}  // namespace graphtree
