// The n-th device call fails, for every n, in the life of a function that breaks: a call that fails
// leaves the caller's memory as it was, in whichever section or part it failed.
#include <cstring>
#include <utility>

#include "absl/types/span.h"
#include "device/error.h"
#include "graphs/tree_stats.h"
#include "gtest/gtest.h"
#include "tests/tree/fault_caller.h"

namespace graphtree {
namespace {

// A caller whose function consumes one input, changes another in three places, and keeps an output.
class Caller : public FaultCaller {
 public:
  using FaultCaller::FaultCaller;

  bool Open() {
    if (!OpenTree({})) return false;
    make_ = tree().Register("make", {}, [](Launcher& on, Values&) {
      return Values{Filled(on, 7, kWords)};
    });
    cut_ = tree().Register("cut", {.static_inputs = {1}, .kept_outputs = {0}}, Body);
    return true;
  }

  // True if both functions ran; what they gave is then right. If not, `count` is what it was.
  bool Step() {
    tree().BeginStep();
    const Words before = Counted();
    const uint64_t warm_ups = tree().stats().warm_ups;
    const uint64_t eager = tree().stats().eager;
    const uint64_t parts = tree().stats().eager_parts;
    Values values;
    if (!tree().Run(make_, {}, stream(), &values).ok()) return false;
    values.push_back(Tensor::Foreign(counter(), WordsLayout(kWords)));
    Values outputs;
    const absl::Status status = tree().Run(cut_, absl::MakeSpan(values), stream(), &outputs);
    if (!status.ok()) {
      EXPECT_EQ(values.size(), 2u) << "a call that fails consumes nothing";
      undone_ += tree().stats().eager_parts > parts && Counted() == before ? 1 : 0;
      if (warm_ && !expects_nothing_) {
        SCOPED_TRACE(device().plan().fired_in() + ": " + status.ToString());
        EXPECT_TRUE(IsPattern(values[0]));
        EXPECT_EQ(Counted(), before);
      }
      return false;
    }
    warm_ = warm_ || tree().stats().warm_ups > warm_ups || tree().stats().eager > eager;
    if (expects_nothing_) return stream().Synchronize().ok();
    EXPECT_EQ(Counted(), Plus(before, Words(kWords, 111))) << "in state " << tree().state();
    return Holds(outputs[0], Plus(Times(PatternOf(7), 2), Counted()));
  }
  // Calls that failed when a part had run, and of which nothing is left.
  int undone() const { return undone_; }
  void ExpectNothingOfMemory() { expects_nothing_ = true; }

 private:
  static Values Body(Launcher& on, Values& inputs) {
    const Value count = inputs[1];
    const Tensor twice = Sum(on, inputs[0], inputs[0]);
    inputs[0] = Value();
    Bump(on, count, 1);
    on.Break("ten", {InOut(Tensor::From(count))},
             [](Launcher& part, absl::Span<const Tensor> tensors) { Bump(part, tensors[0], 10); });
    Bump(on, count, 100);
    on.Break("nothing", {}, [](Launcher& part, absl::Span<const Tensor>) {
      part.Fail(part.stream().Synchronize());
    });
    return {Sum(on, twice, count)};
  }
  Words Counted() {
    // Not by the device's calls: they may be the ones that fail.
    while (!stream().Synchronize().ok()) {
      if (!device().plan().lost().ok()) break;
    }
    return WordsAt(counter());
  }
  bool IsPattern(const Value& value) {
    if (!value.is_tensor()) return false;
    const absl::StatusOr<Words> words = Read(value);
    return words.ok() && *words == PatternOf(7);
  }
  FunctionId make_ = 0;
  FunctionId cut_ = 0;
  bool warm_ = false;
  bool expects_nothing_ = false;
  int undone_ = 0;
};

TEST(BreaksFaultTest, AnyOneCallOfAWholeLifeMayFail) {
  for (const ErrorCode code : {ErrorCode::kOutOfMemory, ErrorCode::kCaptureUnsupported}) {
    EveryCallOptions options;
    options.code = code;
    int undone = 0;
    const uint64_t calls = ForEveryFailingCall(
        MakeHost,
        [&undone](FaultDevice& device) {
          Caller caller(device);
          if (!caller.Open()) return;
          int failed = 0;
          for (int step = 0; step < 6; ++step) failed += caller.Step() ? 0 : 1;
          EXPECT_LE(failed, 1) << "one fault spoils one step at most; in "
                               << device.plan().fired_in();
          for (int step = 0; step < 3 && device.plan().fired() > 0; ++step) {
            EXPECT_TRUE(caller.Step()) << "the tree is usable";
          }
          EXPECT_GT(caller.tree().stats().replays, 0u);
          EXPECT_GT(caller.tree().stats().eager_parts, 0u);
          undone += caller.undone();
        },
        options);
    EXPECT_GE(calls, 80u);
    EXPECT_GE(undone, 5);
  }
}

// A caller whose second function takes the executables of the first one's two sections.
class CrowdedCaller : public FaultCaller {
 public:
  using FaultCaller::FaultCaller;

  bool Open() {
    if (!OpenTree({.budget = {.executables = 2}})) return false;
    cut_ = tree().Register("cut", {}, [](Launcher& on, Values& inputs) {
      const Tensor twice = Sum(on, inputs[0], inputs[0]);
      on.Break("nothing", {}, [](Launcher&, absl::Span<const Tensor>) {});
      return Values{Sum(on, twice, inputs[0])};
    });
    other_ = tree().Register("other", {}, [](Launcher& on, Values& inputs) {
      return Values{Sum(on, inputs[0], inputs[0])};
    });
    return true;
  }
  void CallCut(uint32_t seed) { Call(cut_, seed, 3); }
  void CallOther(uint32_t seed) { Call(other_, seed, 2); }

 private:
  void Call(FunctionId function, uint32_t seed, uint32_t times) {
    std::memcpy(PointerTo<void>(counter()), PatternOf(seed).data(), kBytes);
    tree().BeginStep();
    Values inputs = {Tensor::Foreign(counter(), WordsLayout(kWords))};
    Values outputs;
    const absl::Status status =
        tree().Run(function, absl::MakeSpan(inputs), stream(), &outputs);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_TRUE(Holds(outputs[0], Times(PatternOf(seed), times)));
    EXPECT_LE(tree().stats().executables, 2u);
  }
  FunctionId cut_ = 0;
  FunctionId other_ = 0;
};

// Where the device has no memory for the second section, the first one does not go to make room.
TEST(BreaksFaultTest, ARecordingThatComesBackMakesNoRoomForItself) {
  FaultDevice device(MakeHost());
  {
    CrowdedCaller caller(device);
    ASSERT_TRUE(caller.Open());
    for (uint32_t seed = 1; seed <= 2; ++seed) caller.CallCut(seed);
    for (uint32_t seed = 3; seed <= 4; ++seed) caller.CallOther(seed);
    // Nor does what was evicted for it become its own.
    device.plan().FailEveryCallOf("Executable.Update", ErrorCode::kOutOfMemory);
    device.plan().FailCallOf("Graph.Instantiate", 2, ErrorCode::kOutOfMemory);
    caller.CallCut(5);
    EXPECT_EQ(device.plan().fired_in(), "Graph.Instantiate");
    device.plan().Clear();
    for (uint32_t seed = 6; seed <= 8; ++seed) caller.CallCut(seed);
    EXPECT_GT(caller.tree().stats().replays, 0u);
  }
  EXPECT_TRUE(device.Close().ok());
}

// What a lost device did to the memory of the caller nobody can undo; the tree closes all the same.
TEST(BreaksFaultTest, TheDeviceMayBeLostAtAnyCall) {
  const uint64_t lost = LoseTheDeviceAtAnyCall<Caller>(
      [](Caller& caller) { caller.ExpectNothingOfMemory(); });
  EXPECT_GE(lost, 40u);
}

}  // namespace
}  // namespace graphtree
