// The n-th device call fails, for every n: whatever fails in whatever state, the caller sees an
// error or the right bytes, the tree goes on, and it closes with nothing left.
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "device/base/status_matchers.h"
#include "device/error.h"
#include "gmock/gmock.h"
#include "graphs/budget.h"
#include "graphs/tree_stats.h"
#include "gtest/gtest.h"
#include "tests/tree/fault_caller.h"

namespace graphtree {
namespace {

// A caller with a tree of two functions that are called after each other: one makes two tensors,
// one consumes them and changes what it made of them. And one that is called alone.
class Caller : public FaultCaller {
 public:
  using FaultCaller::FaultCaller;

  // False if something that is not the tree's failed.
  bool Open(TreeBudget budget = {}) {
    if (!OpenTree({.budget = budget})) return false;
    first_ = tree().Register("first", {}, [](Launcher& on, Values&) {
      return Values{Filled(on, 7, kWords), Filled(on, 8, kWords)};
    });
    second_ = tree().Register("second", {}, [](Launcher& on, Values& inputs) {
      Tensor sum = Sum(on, inputs[0], inputs[1]);
      inputs.clear();
      Bump(on, sum, 1);
      return Values{sum};
    });
    alone_ = tree().Register("alone", {}, Twice);
    return true;
  }

  // One step of the two functions. True if both ran; what they gave is then right.
  bool Step() {
    tree().BeginStep();
    Values outputs;
    if (!tree().Run(first_, {}, stream(), &outputs).ok()) return false;
    EXPECT_EQ(outputs.size(), 2u);
    const Value kept = outputs[0];
    if (!tree().Run(second_, absl::MakeSpan(outputs), stream(), &outputs).ok()) {
      EXPECT_EQ(outputs.size(), 2u) << "a call that fails consumes nothing";
      return false;
    }
    EXPECT_EQ(outputs.size(), 1u);
    const Words sum = Plus(PatternOf(7), PatternOf(8));
    return Holds(kept, PatternOf(7)) && Holds(outputs[0], Plus(sum, Words(kWords, 1)));
  }
  // One step of the function that is alone. It copies its input in.
  bool StepAlone() {
    tree().BeginStep();
    Values values = {Tensor::Foreign(counter(), WordsLayout(kWords))};
    if (!tree().Run(alone_, absl::MakeSpan(values), stream(), &values).ok()) return false;
    return Holds(values[0], Words(kWords, 0));
  }

 private:
  FunctionId first_ = 0;
  FunctionId second_ = 0;
  FunctionId alone_ = 0;
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

// The same with room for two executables, and with room for two recordings: two paths take it from
// each other, so that something goes or comes back in nearly every step.
void FaultsUnder(const TreeBudget& budget, uint64_t (*come_back)(const TreeStats&)) {
  const uint64_t calls = ForEveryFailingCall(MakeHost, [&](FaultDevice& device) {
    Caller caller(device);
    if (!caller.Open(budget)) return;
    int failed = 0;
    for (int round = 0; round < 5; ++round) {
      failed += caller.Step() ? 0 : 1;
      failed += caller.StepAlone() ? 0 : 1;
    }
    EXPECT_LE(failed, 1) << "one fault spoils one step at most; in " << device.plan().fired_in();
    for (int round = 0; round < 2 && device.plan().fired() > 0; ++round) {
      EXPECT_TRUE(caller.Step()) << "the tree is usable; " << device.plan().fired_in();
      EXPECT_TRUE(caller.StepAlone()) << "the tree is usable; " << device.plan().fired_in();
    }
    const TreeStats stats = caller.tree().stats();
    EXPECT_LE(stats.executables, budget.executables);
    EXPECT_LE(stats.nodes, budget.nodes);
    EXPECT_GE(come_back(stats), 2u) << device.plan().fired_in();
  });
  EXPECT_GE(calls, 80u);
}

TEST(TreeFaultTest, AnyCallMayFailWhereExecutablesGoAndComeBack) {
  FaultsUnder({.executables = 2}, [](const TreeStats& stats) { return stats.instantiated_again; });
}
TEST(TreeFaultTest, AnyCallMayFailWhereRecordingsGoAndComeBack) {
  FaultsUnder({.nodes = 2}, [](const TreeStats& stats) { return stats.recordings - 2; });
}

// Faults in one state of a path: the tree is brought there first, and the steps before work.
void FaultsAfter(int steps, bool must_run, ErrorCode code) {
  uint64_t faults = 0, in_recordings = 0, failures = 0, restores = 0;
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
      // Stream.Capture only asks, and no answer counts as none.
      const bool in_recording = (where.find("Capture") != std::string::npos ||
                                 where.find("Graph.") == 0) &&
                                where != "Stream.Capture";
      faults += fired ? 1 : 0;
      failures += ran ? 0 : 1;
      if (must_run && in_recording) {
        ++in_recordings;
        EXPECT_TRUE(ran) << "a recording that fails runs eagerly; it failed in " << where;
        EXPECT_LE(caller.tree().stats().recordings, before + 1);
      }
      for (int step = 0; step < 4; ++step) EXPECT_TRUE(caller.Step()) << where;
      EXPECT_GT(caller.tree().stats().replays, 0u);
      restores += caller.tree().stats().restores;
    }
    EXPECT_THAT(device.Close(), IsOk());
    if (!fired || testing::Test::HasFailure()) break;
  }
  EXPECT_GE(faults, 4u);
  EXPECT_GE(failures, 1u) << "some call is not to be done without";
  if (!must_run) return;
  EXPECT_GE(in_recordings, 4u);
  // A second recording that failed is made again behind a replay of the first.
  EXPECT_GE(restores, 1u);
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
  uint64_t restored_calls = 0, with_faults = 0;
  const uint64_t calls = ForEveryFailingCall(MakeHost, [&](FaultDevice& device) {
    Caller caller(device);
    if (!caller.Open()) return;
    int failed = 0;
    for (int step = 0; step < 3; ++step) failed += caller.Step() ? 0 : 1;
    const FunctionId other = caller.tree().Register(
        "other", {}, [](Launcher& on, Values&) { return Values{Filled(on, 9, 16)}; });
    auto stream = device.NewStream();
    if (!stream.ok()) return;
    for (int step = 0; step < 6; ++step) {
      caller.tree().BeginStep();
      Values outputs;
      if (!caller.tree().Run(0, {}, **stream, &outputs).ok()) {
        ++failed;
        continue;
      }
      const uint64_t restores = caller.tree().stats().restores;
      const uint64_t fired = device.plan().fired();
      Values more;
      failed += caller.tree().Run(other, {}, **stream, &more).ok() ? 0 : 1;
      if (caller.tree().stats().restores == restores) continue;
      ++restored_calls;
      with_faults += device.plan().fired() > fired ? 1 : 0;
    }
    EXPECT_LE(failed, 1);
    EXPECT_GT(caller.tree().stats().restores, 0u) << device.plan().fired_in();
    for (int step = 0; step < 2 && device.plan().fired() > 0; ++step) EXPECT_TRUE(caller.Step());
    caller.Close();  // its stream goes before the caller
  });
  EXPECT_GE(calls, 60u);
  EXPECT_GE(restored_calls, calls);
  EXPECT_GE(with_faults, 10u) << "calls that restored, and in which something failed";
}

// What the device has none left of while a function is recorded is not the pool's memory.
TEST(TreeFaultTest, ARecordingForWhichTheDeviceHasNothingLeft) {
  for (const char* const call : {"Device.NewStream", "Graph.Instantiate"}) {
    FaultDevice device(MakeHost());
    std::vector<std::string> warnings;
    auto tree = Tree::Create(device, {.warn = [&](const std::string& text) {
                               warnings.push_back(text);
                             }}).value();
    auto stream = device.NewStream().value();
    const FunctionId function = tree->Register("forks", {}, [&](Launcher& on, Values&) {
      auto side = device.NewStream();
      on.Fail(side.status());
      return Values{Filled(on, 7, 16)};
    });
    for (int step = 0; step < 3; ++step) {
      if (step == 1) device.plan().FailCallOf(call, 1, ErrorCode::kOutOfMemory);
      tree->BeginStep();
      Values outputs;
      EXPECT_THAT(tree->Run(function, {}, *stream, &outputs), IsOk()) << call;
    }
    EXPECT_EQ(tree->stats().reasons[static_cast<size_t>(Reason::kOutOfPool)], 0u) << call;
    EXPECT_EQ(tree->stats().recordings, 1u) << call;
    ASSERT_EQ(warnings.size(), 1u) << call;
    EXPECT_THAT(warnings[0], testing::HasSubstr("'forks' runs eagerly: the device could not make "
                                                "what its recording needed"));
  }
}

TEST(TreeFaultTest, TheDeviceMayBeLostAtAnyCall) {
  EXPECT_GE(LoseTheDeviceAtAnyCall<Caller>([](Caller&) {}), 20u);
}

}  // namespace
}  // namespace graphtree
