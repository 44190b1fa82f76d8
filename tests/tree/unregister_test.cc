// Functions that are unregistered: what goes, what stays good until its step ends, and what is
// said.
#include <malloc.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "device/observer.h"
#include "device/stream.h"
#include "graphs/reports/call_counts.h"
#include "graphs/reports/outline.h"
#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

using absl::StatusCode;

class UnregisterTest : public TreeTest {
 protected:
  void Unregister(FunctionId function) { EXPECT_THAT(tree().Unregister(function), IsOk()); }
  // Lets go of what waited for work that was under way.
  void Settle() {
    EXPECT_THAT(a().Synchronize(), IsOk());
    for (int step = 0; step < 2; ++step) NewStep();
  }
  FunctionId Recorded(const std::string& name, Body body, const Tensor& x) {
    const FunctionId function = Register(name, {}, std::move(body));
    CallInSteps(3, function, {x});
    return function;
  }
  TreeStats stats() { return tree().stats(); }
};
GRAPHTREE_ON_EVERY_DEVICE(UnregisterTest);

TEST_P(UnregisterTest, ItsRecordingsShapesAndObjectsGo) {
  const Tensor x = Given(1);
  const FunctionId stays = Recorded("stays", Twice, x);
  const auto kept = std::make_shared<int>(1);
  const auto captured = std::make_shared<int>(1);
  const FunctionId goes = Recorded(
      "goes",
      [kept, captured](Launcher& on, Values& inputs) {
        on.KeepAlive(kept);
        return Values{Sum(on, inputs[0], inputs[0])};
      },
      x);
  EXPECT_EQ(stats().nodes, 2u);
  EXPECT_EQ(stats().shapes, 2u);
  NewStep();
  Unregister(goes);
  Settle();
  EXPECT_EQ(stats().nodes, 1u);
  EXPECT_EQ(stats().executables, 1u);
  EXPECT_EQ(stats().shapes, 1u);
  EXPECT_EQ(reasons(Reason::kFunctionEvicted), 1u);
  EXPECT_EQ(captured.use_count(), 1);
  EXPECT_EQ(kept.use_count(), 1);
  const uint64_t before = replays();
  EXPECT_EQ(Read(CallInSteps(2, stays, {x})[0]), Times(PatternOf(1), 2));
  EXPECT_EQ(replays(), before + 2);
}

TEST_P(UnregisterTest, CallingItIsAnErrorThatNamesIt) {
  const Tensor x = Given(1);
  const FunctionId first = Recorded("first", Twice, x);
  Unregister(first);
  const FunctionId second = Recorded("second", Thrice, x);
  EXPECT_NE(first, second) << "an id is never another function's";
  EXPECT_THAT(Refusal(first, {x}),
              FailsWith(StatusCode::kInvalidArgument, "'first' (function 0) was unregistered"));
  EXPECT_THAT(tree().Unregister(first),
              FailsWith(StatusCode::kInvalidArgument, "'first' (function 0) was unregistered"));
  EXPECT_THAT(tree().Unregister(17),
              FailsWith(StatusCode::kInvalidArgument, "function 17 is not registered"));
  EXPECT_EQ(Read(CallInSteps(1, second, {x})[0]), Times(PatternOf(1), 3));
  const FunctionId again = Recorded("first", Twice, x);
  EXPECT_EQ(Read(CallInSteps(1, again, {x})[0]), Times(PatternOf(1), 2)) << "names may come again";
}

// On the path in force: what lies behind it goes on, and all of it goes when the step ends.
TEST_P(UnregisterTest, WhatWasHandedOutIsGoodUntilItsStepEnds) {
  const Tensor x = Given(1);
  const FunctionId goes = Register("goes", {}, Twice), next = Register("next", {}, Thrice);
  const auto step = [&](bool unregisters) {
    NewStep();
    const Value made = Call(goes, {x})[0];
    if (unregisters) Unregister(goes);
    EXPECT_EQ(Read(made), Times(PatternOf(1), 2));
    const Value tripled = Call(next, {made})[0];
    EXPECT_EQ(Read(tripled), Times(PatternOf(1), 6));
    EXPECT_EQ(Read(made), Times(PatternOf(1), 2));
    return made;
  };
  for (int round = 0; round < 3; ++round) step(false);
  const Value held = step(true);
  EXPECT_EQ(stats().nodes, 2u) << "the path needs both";
  EXPECT_THAT(Refusal(goes, {x}), FailsWith(StatusCode::kInvalidArgument, "was unregistered"));
  NewStep();
  EXPECT_EQ(stats().nodes, 0u);
  EXPECT_EQ(stats().shapes, 1u);
  EXPECT_THAT(Refusal(next, {held}),
              FailsWith(StatusCode::kFailedPrecondition, "output 0 of 'goes' was made in step"));
  EXPECT_EQ(Read(CallInSteps(3, next, {x})[0]), Times(PatternOf(1), 3));
}

// In every state of a path: warmed up, recorded, replayed, with outputs held and without.
TEST_P(UnregisterTest, WhereverThePathStands) {
  const Tensor x = Given(1);
  const FunctionId other = Recorded("other", Thrice, x);
  for (int calls = 0; calls <= 4; ++calls) {
    for (const bool holds : {false, true}) {
      const FunctionId goes = Register("goes", {}, Twice);
      Values held;
      for (int call = 0; call < calls; ++call) {
        held.clear();
        NewStep();
        held = Call(goes, {x});
        Values behind = Call(other, {x});
        EXPECT_EQ(Read(behind[0]), Times(PatternOf(1), 3));
      }
      if (!holds) held.clear();
      Unregister(goes);
      EXPECT_EQ(Read(Call(other, {x})[0]), Times(PatternOf(1), 3));
      for (const Value& value : held) EXPECT_EQ(Read(value), Times(PatternOf(1), 2));
      Settle();
      for (const OutlineNode& node : tree().outline()) EXPECT_EQ(node.function, "other");
    }
  }
}

TEST_P(UnregisterTest, AKeptOutputLivesOn) {
  const Tensor x = Given(1);
  const FunctionId keeps = Register("keeps", {.kept_outputs = {0}}, Twice);
  Value kept = CallInSteps(3, keeps, {x})[0];
  Unregister(keeps);
  Settle();
  EXPECT_EQ(stats().nodes, 0u);
  EXPECT_EQ(Read(kept), Times(PatternOf(1), 2));
  EXPECT_GT(stats().kept_bytes, 0u);
  kept = Value();
  EXPECT_EQ(stats().kept_bytes, 0u);
}

TEST_P(UnregisterTest, WhatAnObjectAsksThatGoesWithAFunctionIsToldWhoLetItGo) {
  struct Asks {
    std::function<void()> ask;
    ~Asks() { ask(); }
  };
  const Tensor x = Given(1);
  const FunctionId other = Recorded("other", Twice, x);
  absl::Status inside;
  bool asked = false;
  const FunctionId keeps = Register("keeps", {}, [&](Launcher& on, Values& inputs) {
    on.KeepAlive(std::make_shared<Asks>(Asks{[&] {
      if (asked) inside = tree().Unregister(other);
    }}));
    return Values{Sum(on, inputs[0], inputs[0])};
  });
  CallInSteps(3, keeps, {x});
  Settle();
  asked = true;
  EXPECT_THAT(tree().Unregister(keeps), IsOk());
  asked = false;
  EXPECT_THAT(inside, FailsWith(StatusCode::kFailedPrecondition,
                                "or by an object that Tree::Unregister let go"));
}

TEST_P(UnregisterTest, InsideOfABodyItIsAnError) {
  const Tensor x = Given(1);
  const FunctionId other = Recorded("other", Twice, x);
  absl::Status inside;
  const FunctionId asks = Register("asks", {}, [&](Launcher& on, Values& inputs) {
    inside = tree().Unregister(other);
    return Values{Sum(on, inputs[0], inputs[0])};
  });
  CallInSteps(1, asks, {x});
  EXPECT_THAT(inside, FailsWith(StatusCode::kFailedPrecondition,
                                "'other' was not unregistered: that was asked for inside"));
  tree().Inspect([&] { inside = tree().Unregister(other); });
  EXPECT_THAT(inside, FailsWith(StatusCode::kFailedPrecondition, "passed to Tree::Inspect"));
  EXPECT_EQ(Read(CallInSteps(1, other, {x})[0]), Times(PatternOf(1), 2));
}

TEST_P(UnregisterTest, BesideACallItWaits) {
  const Tensor x = Given(1);
  const FunctionId other = Recorded("other", Twice, x);
  std::atomic<bool> runs{false}, goes_on{false}, is_gone{false};
  const FunctionId slow = Register("slow", {}, [&](Launcher& on, Values& inputs) {
    runs = true;
    while (!goes_on) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_FALSE(is_gone) << "the call runs still";
    return Values{Sum(on, inputs[0], inputs[0])};
  });
  std::thread unregisters([&] {
    while (!runs) std::this_thread::yield();
    goes_on = true;
    EXPECT_THAT(tree().Unregister(other), IsOk());
    is_gone = true;
  });
  CallInSteps(1, slow, {x});
  unregisters.join();
  EXPECT_THAT(Refusal(other, {x}), FailsWith(StatusCode::kInvalidArgument, "was unregistered"));
}

// What the body holds may call the tree when it ends.
TEST_P(UnregisterTest, ABodysEndMayCallTheTree) {
  const Tensor x = Given(1);
  const FunctionId other = Recorded("other", Twice, x);
  absl::Status at_the_end = absl::UnknownError("never");
  int anything = 0;
  std::shared_ptr<int> calls(&anything, [&](int*) { at_the_end = Refusal(other, {x}); });
  const FunctionId goes = Register("goes", {}, [calls](Launcher& on, Values& inputs) {
    return Values{Sum(on, inputs[0], inputs[0])};
  });
  calls.reset();
  EXPECT_THAT(at_the_end, FailsWith(StatusCode::kUnknown, "never"));
  ASSERT_THAT(a().Synchronize(), IsOk());
  Unregister(goes);
  EXPECT_THAT(at_the_end, IsOk());
}

// Work that a call has queued, and an object that the call's body has captured: was it there still
// when the work ran?
class CapturedTest : public UnregisterTest {
 protected:
  FunctionId RegisterWatched(FunctionOptions options) {
    auto captured = std::make_shared<int>(1);
    captured_ = captured;
    was_there_ = false;
    return Register("goes", std::move(options),
                    [this, captured = std::move(captured)](Launcher& on, Values& inputs) {
                      on.Fail(on.stream().CallHost(
                          [this, seen = captured_] { was_there_ = !seen.expired(); }));
                      return Values{Sum(on, inputs[0], inputs[0])};
                    });
  }
  // As a warm-up, and outside of the tree's recordings.
  template <typename Check>
  void InBothKindsOfRun(const Check& check) {
    for (const bool is_excluded : {false, true}) check(RegisterWatched({.exclude = is_excluded}));
  }

  std::weak_ptr<int> captured_;
  std::atomic<bool> was_there_{false};
};
GRAPHTREE_ON_EVERY_DEVICE(CapturedTest);

TEST_P(CapturedTest, ItLivesUntilTheWorkOfItsCallsIsDone) {
  const Tensor x = Given(1);
  InBothKindsOfRun([&](FunctionId goes) {
    const Values out = Call(goes, {x});
    Unregister(goes);
    EXPECT_EQ(Read(out[0]), Times(PatternOf(1), 2));
    EXPECT_TRUE(was_there_);
    Settle();
    EXPECT_TRUE(captured_.expired());
  });
}

TEST_P(CapturedTest, ItGoesAtOnceWhereNoWorkIsUnderWay) {
  const Tensor x = Given(1);
  InBothKindsOfRun([&](FunctionId goes) {
    Call(goes, {x});
    ASSERT_THAT(a().Synchronize(), IsOk());
    Unregister(goes);
    EXPECT_TRUE(captured_.expired());
  });
}

TEST_P(CapturedTest, ItOutlivesTheStreamOfTheCall) {
  const Tensor x = Given(1);
  InBothKindsOfRun([&](FunctionId goes) {
    ASSERT_OK_AND_ASSIGN(std::unique_ptr<Stream> stream, device().NewStream());
    ASSERT_THAT(tree().Run(goes, {x}, *stream).status(), IsOk());
    Unregister(goes);
    stream = nullptr;
    NewStep();
    Call(Register("later", {}, Twice), {x});
    Settle();
    EXPECT_TRUE(was_there_);
    EXPECT_TRUE(captured_.expired());
  });
}

// Nobody may wait, or ask an event, while a capture is open.
TEST_P(CapturedTest, UnderACaptureItWaitsForTheEndOfThat) {
  const Tensor x = Given(1);
  InBothKindsOfRun([&](FunctionId goes) {
    Call(goes, {x});
    ASSERT_THAT(b().BeginCapture(CaptureMode::kThreadLocal), IsOk());
    Unregister(goes);
    NewStep();
    EXPECT_FALSE(captured_.expired());
    ASSERT_THAT(b().EndCapture().status(), IsOk());
    Settle();
    EXPECT_TRUE(was_there_);
    EXPECT_TRUE(captured_.expired());
  });
}

// A tree that goes then leaves it to the device, with all else that work may use.
TEST_P(CapturedTest, ATreeThatIsClosedUnderACaptureLeavesItToTheDevice) {
  for (const bool is_unregistered : {false, true}) {
    OpenTree({});
    const Tensor x = Given(1);
    const FunctionId goes = RegisterWatched({.exclude = true});
    Call(goes, {x});
    ASSERT_THAT(a().BeginCapture(CaptureMode::kThreadLocal), IsOk());
    if (is_unregistered) Unregister(goes);
    CloseTree();
    EXPECT_FALSE(captured_.expired());
    ASSERT_THAT(a().EndCapture().status(), IsOk());
    ASSERT_THAT(device().GiveBackLeftovers(), IsOk());
    EXPECT_TRUE(was_there_);
    EXPECT_TRUE(captured_.expired());
  }
  OpenTree({});
}

// The stream has joined another one's capture, so that the tree cannot wait for its work.
TEST_P(CapturedTest, NorDoesATreeThatCannotWaitTakeItAway) {
  OpenTree({});
  const Tensor x = Given(1);
  Call(RegisterWatched({}), {x});
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Event> fork, device().NewEvent({}));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Event> join, device().NewEvent({}));
  ASSERT_THAT(b().BeginCapture(CaptureMode::kThreadLocal), IsOk());
  ASSERT_THAT(b().Record(*fork), IsOk());
  ASSERT_THAT(a().Wait(*fork), IsOk());
  CloseTree();
  EXPECT_FALSE(captured_.expired());
  ASSERT_THAT(a().Record(*join), IsOk());
  ASSERT_THAT(b().Wait(*join), IsOk());
  ASSERT_THAT(b().EndCapture().status(), IsOk());
  ASSERT_THAT(device().GiveBackLeftovers(), IsOk());
  EXPECT_TRUE(was_there_);
  EXPECT_TRUE(captured_.expired());
  OpenTree({});
}

// Also where it has waited for work: then a later step, or a later call, lets it go.
TEST_P(CapturedTest, ItsEndMayCallTheTree) {
  const Tensor x = Given(1);
  const FunctionId other = Recorded("other", Twice, x);
  for (const bool by_step : {false, true}) {
    absl::Status at_the_end = absl::UnknownError("never");
    int anything = 0;
    std::shared_ptr<int> calls(&anything, [&](int*) {
      at_the_end = Refusal(other, {x});
      at_the_end.Update(tree().Unregister(Register("made at the end", {}, Twice)));
    });
    const FunctionId goes = Register("goes", {}, [calls](Launcher& on, Values& inputs) {
      return Values{Sum(on, inputs[0], inputs[0])};
    });
    calls.reset();
    Call(goes, {x});
    ASSERT_THAT(b().BeginCapture(CaptureMode::kThreadLocal), IsOk());
    Unregister(goes);
    ASSERT_THAT(b().EndCapture().status(), IsOk());
    EXPECT_THAT(at_the_end, FailsWith(StatusCode::kUnknown, "never"));
    for (int round = 0; round < 3; ++round) {
      if (by_step) NewStep();
      if (!by_step) Call(Register("new", {}, Thrice), {x});
      ASSERT_THAT(a().Synchronize(), IsOk());
    }
    EXPECT_THAT(at_the_end, IsOk());
  }
}

class Destructions : public Observer {
 public:
  void Saw(const GraphEvent& event) override {
    if (event.moment == GraphMoment::kDestroy) functions_.push_back(std::string(event.function));
  }
  const std::vector<std::string>& functions() const { return functions_; }

 private:
  std::vector<std::string> functions_;
};

TEST_P(UnregisterTest, ObserversAreTold) {
  const Tensor x = Given(1);
  Destructions destructions;
  tree().observers().Join(&destructions);
  const FunctionId goes = Recorded("goes", Twice, x);
  NewStep();
  Unregister(goes);
  EXPECT_EQ(destructions.functions(), std::vector<std::string>{"goes"});
  tree().observers().Leave(&destructions);
}

// The figures, and the host's heap: what stays of a function is a word or two.
TEST_P(UnregisterTest, AThousandRoundsLeaveNothing) {
  const Tensor x = Given(1);
  const FunctionId stays = Recorded("stays", Thrice, x);
  const auto round = [&] {
    const FunctionId goes = Register("goes", {.input_names = {"x"}}, Twice);
    for (int call = 0; call < 3; ++call) {
      NewStep();
      Values out = Call(stays, {x});
      out = Call(goes, {x});
      out = Call(stays, {x});
    }
    NewStep();
    Unregister(goes);
    EXPECT_THAT(a().Synchronize(), IsOk());
  };
  for (int warm = 0; warm < 50; ++warm) round();
  Settle();
  const TreeStats before = stats();
  const size_t heap_before = mallinfo2().uordblks;
  constexpr int kRounds = 1000;
  for (int i = 0; i < kRounds; ++i) round();
  Settle();
  const TreeStats after = stats();
  const size_t heap = mallinfo2().uordblks;
  EXPECT_EQ(after.nodes, before.nodes);
  EXPECT_EQ(after.executables, before.executables);
  EXPECT_EQ(after.executable_bytes, before.executable_bytes);
  EXPECT_EQ(after.shapes, before.shapes);
  EXPECT_EQ(after.pool_live_bytes, before.pool_live_bytes);
  EXPECT_EQ(after.pool_reserved_bytes, before.pool_reserved_bytes);
  EXPECT_EQ(tree().function_stats().size(), 1u);
  EXPECT_LT(heap, heap_before + 256 * kRounds) << "bytes a round";
}

}  // namespace
}  // namespace graphtree
