// What a body may ask of its tree: another warm-up, objects kept alive, a library's workspace.
#include <functional>
#include <memory>
#include <utility>

#include "absl/types/span.h"
#include "tests/kernels/kernels.h"
#include "tests/kernels/launches.h"
#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

class RequestsTest : public TreeTest {
 protected:
  // x -> x + x, after asking for another warm-up in the runs that `asks` says.
  FunctionId RegisterTuner(std::function<bool(int run)> asks) {
    return Register("tuner", {}, [this, asks = std::move(asks)](Launcher& on, Values& inputs) {
      if (asks(runs_++)) on.WarmUpAgain("candidates left");
      return Twice(on, inputs);
    });
  }
  uint64_t warm_ups() { return tree().stats().warm_ups; }
  // What waits for work of the tree is let go: a step marks where the work ends, a later one looks.
  void LetWorkEnd() {
    for (int step = 0; step < 3; ++step) {
      NewStep();
      EXPECT_THAT(a().Synchronize(), IsOk());
    }
    NewStep();
  }

  int runs_ = 0;
};
GRAPHTREE_ON_EVERY_DEVICE(RequestsTest);

TEST_P(RequestsTest, ABodyIsWarmedUpAsOftenAsItAsks) {
  const FunctionId function = RegisterTuner([](int run) { return run < 3; });
  const Tensor x = Given(1);
  for (int step = 0; step < 6; ++step) {
    EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), Times(PatternOf(1), 2));
  }
  EXPECT_EQ(warm_ups(), 4u);
  EXPECT_EQ(reasons(Reason::kWarmUpAsked), 3u);
  EXPECT_EQ(graphs(), 1u);
  EXPECT_EQ(replays(), 1u);
  EXPECT_TRUE(warnings().empty());
}

TEST_P(RequestsTest, ABodyThatAsksForEverRunsEagerlyAndIsToldOnce) {
  TreeOptions options;
  options.warm_up_limit = 2;
  OpenTree(options);
  bool settled = false;
  const FunctionId function = RegisterTuner([&settled](int) { return !settled; });
  const FunctionId other = Register("other", {}, Thrice);
  const Tensor x = Given(1);
  for (int step = 0; step < 8; ++step) {
    NewStep();
    EXPECT_EQ(Read(Call(function, {x})[0]), Times(PatternOf(1), 2));
    EXPECT_EQ(Read(Call(other, {x})[0]), Times(PatternOf(1), 3));
  }
  EXPECT_EQ(reasons(Reason::kWarmUpForEver), 5u);
  EXPECT_GT(replays(), 0u) << "it does not keep the path behind it from being recorded";
  ASSERT_EQ(warnings().size(), 1u);
  EXPECT_NE(warnings()[0].find("'tuner' runs eagerly: it keeps asking"), std::string::npos);
  EXPECT_NE(warnings()[0].find("candidates left"), std::string::npos) << warnings()[0];

  EXPECT_NE(warnings()[0].find("once a run of it does not ask, it is recorded"), std::string::npos)
      << warnings()[0];

  // Not for ever: a run that does not ask is the beginning of a recording.
  settled = true;
  const uint64_t recorded = graphs();
  CallInSteps(4, function, {x});
  EXPECT_EQ(graphs(), recorded + 1);
}

// No run can show any more that it has settled, and the error says so.
TEST_P(RequestsTest, ABodyThatAsksForEverIsAFinalErrorIfStrict) {
  OpenTree({.warm_up_limit = 2, .strict = true});
  bool settled = false;
  const FunctionId function = RegisterTuner([&settled](int) { return !settled; });
  const Tensor x = Given(1);
  CallInSteps(3, function, {x});
  for (int step = 0; step < 100; ++step) {
    settled = step > 0;
    NewStep();
    const absl::Status refused = Refusal(function, {x});
    EXPECT_THAT(refused, FailsWith(absl::StatusCode::kFailedPrecondition, "candidates left"));
    EXPECT_THAT(refused, FailsWith(absl::StatusCode::kFailedPrecondition,
                                   "it is not run any more, and waiting does not help"));
    EXPECT_EQ(refused.message().find("once a run of it"), std::string::npos) << refused;
  }
  EXPECT_EQ(warm_ups(), 3u);
  NewStep();
  ASSERT_THAT(tree().Unregister(function), IsOk());
  CallInSteps(3, RegisterTuner([](int) { return false; }), {x});
  EXPECT_EQ(replays(), 1u) << "registered again, as the error says";
}

TEST_P(RequestsTest, ABodyThatAsksWhileItIsRecordedIsWarmedUp) {
  const FunctionId function = RegisterTuner([](int run) { return run == 1; });
  const Tensor x = Given(1);
  for (int step = 0; step < 4; ++step) {
    EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), Times(PatternOf(1), 2));
  }
  EXPECT_EQ(runs_, 4) << "warm-up, a recording given up, warm-up, recording";
  EXPECT_EQ(warm_ups(), 2u);
  EXPECT_EQ(graphs(), 1u);
  EXPECT_EQ(eager(), 0u);
}

// A run that asks and then fails has asked for nothing: it is not counted, and brings the limit no
// nearer, whether the function was cold or would have been recorded.
TEST_P(RequestsTest, AnotherWarmUpAskedForInAFailedOne) {
  for (const bool was_warm : {false, true}) {
    OpenTree({.warm_up_limit = 1});
    bool fails = false;
    const FunctionId function = Register("tuner", {}, [&](Launcher& on, Values& inputs) {
      if (!fails) return Twice(on, inputs);
      on.WarmUpAgain("candidates left");
      on.Fail(absl::InternalError("on purpose"));
      return Values{};
    });
    const Tensor x = Given(1);
    if (was_warm) CallInSteps(1, function, {x});
    fails = true;
    for (int run = 0; run < 3; ++run) {
      NewStep();
      EXPECT_THAT(Refusal(function, {x}), FailsWith(absl::StatusCode::kInternal, "on purpose"));
    }
    EXPECT_EQ(warm_ups(), was_warm ? 1u : 0u);
    fails = false;
    for (int step = 0; step < 12; ++step) {
      EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), Times(PatternOf(1), 2));
    }
    EXPECT_EQ(warm_ups(), 1u);
    EXPECT_EQ(graphs(), 1u);
    EXPECT_GT(replays(), 0u);
    EXPECT_EQ(reasons(Reason::kWarmUpAsked), 0u);
    EXPECT_EQ(reasons(Reason::kWarmUpForEver), 0u);
  }
}

// A part asks for its body, and what it needs is held by the recording.
TEST_P(RequestsTest, APartAsksForItsBody) {
  int asks = 2, gone = 0;
  const FunctionId function = Register("asks", {}, [&](Launcher& on, Values& inputs) {
    const Tensor out = Sum(on, inputs[0], inputs[0]);
    on.Break("tunes", {InOut(out)}, [&](Launcher& part, absl::Span<const Tensor>) {
      if (asks-- > 0) part.WarmUpAgain("the tuner is not done");
      part.KeepAlive(std::shared_ptr<void>(&gone, [&gone](void*) { ++gone; }));
    });
    return Values{Sum(on, out, out)};
  });
  const Tensor x = Given(1);
  CallInSteps(3, function, {x});
  EXPECT_EQ(reasons(Reason::kWarmUpAsked), 2u);
  EXPECT_EQ(graphs(), 0u);
  EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), Times(PatternOf(1), 4));
  EXPECT_EQ(graphs(), 1u);
  LetWorkEnd();
  EXPECT_EQ(gone, 3) << "of the warm-ups";
  CallInSteps(2, function, {x});
  LetWorkEnd();
  EXPECT_EQ(gone, 5) << "of the replays";
  CloseTree();
  EXPECT_EQ(gone, 6);
}

// The section before the part has no op, and the one after it finds no room for its executable.
TEST_P(RequestsTest, WhatAPartKeepsAliveOutlivesARecordingThatFails) {
  TreeOptions options;
  options.budget.executable_bytes = 1000;
  OpenTree(options);
  int early = 0, gone = 0;
  const FunctionId function =
      Register("f", {.static_inputs = {0}}, [&](Launcher& on, Values& inputs) {
        const Tensor out = on.Empty(inputs[0].layout());
        if (!on.ok()) return Values{};
        on.Break("sums", {In(Tensor::From(inputs[0])), Out(out)},
                 [&](Launcher& part, absl::Span<const Tensor> tensors) {
                   part.Copy(tensors[1], tensors[0]);
                   for (int i = 0; i < 20; ++i) Bump(part, tensors[1], 1);
                   const std::shared_ptr<Event> over = *device().NewEvent({});
                   part.Fail(part.stream().Record(*over));
                   part.KeepAlive(std::shared_ptr<void>(&gone, [&gone, &early, over](void*) {
                     const absl::StatusOr<bool> done = over->IsDone();
                     early += done.ok() && *done ? 0 : 1;
                     ++gone;
                   }));
                 });
        return Values{Sum(on, out, out)};
      });
  const Tensor x = Given(1);
  for (int step = 0; step < 4; ++step) {
    NewStep();
    Values inputs = {x}, outputs;
    ASSERT_THAT(tree().Run(function, absl::MakeSpan(inputs), a(), &outputs), IsOk());
  }
  EXPECT_GT(reasons(Reason::kOverBudget), 0u);
  ASSERT_THAT(a().Synchronize(), IsOk());
  NewStep();
  CloseTree();
  EXPECT_GE(gone, 5) << "a warm-up, a recording that failed, and three runs at once";
  EXPECT_EQ(early, 0);
}

TEST_P(RequestsTest, ANodeHoldsWhatItNeedsAsLongAsItMayBeReplayed) {
  std::weak_ptr<int> held;
  const FunctionId function = Register("keeps", {}, [&held](Launcher& on, Values& inputs) {
    const auto object = std::make_shared<int>(1);
    held = object;
    on.KeepAlive(object);
    return Twice(on, inputs);
  });
  const Tensor x = Given(1);
  CallInSteps(1, function, {x});
  EXPECT_FALSE(held.expired()) << "its work may be under way";
  LetWorkEnd();
  EXPECT_TRUE(held.expired()) << "a warm-up's is let go when its work is done";
  CallInSteps(4, function, {x});
  EXPECT_FALSE(held.expired());
  CloseTree();
  EXPECT_TRUE(held.expired());
}

// An eager run's launches wait in the stream when the body has returned.
TEST_P(RequestsTest, AnEagerRunHoldsWhatItsWorkNeeds) {
  std::weak_ptr<int> held;
  const FunctionId function =
      Register("keeps", {.exclude = true}, [&held](Launcher& on, Values& inputs) {
        const auto object = std::make_shared<int>(1);
        held = object;
        on.KeepAlive(object);
        return Twice(on, inputs);
      });
  const Tensor x = Given(1);
  CallInSteps(1, function, {x});
  EXPECT_FALSE(held.expired());
  LetWorkEnd();
  EXPECT_TRUE(held.expired());
}

class WorkspaceTest : public RequestsTest {
 protected:
  // x -> x + x, by way of the workspace.
  FunctionId RegisterUser(WorkspaceId id) {
    return Register("matmul", {}, [id](Launcher& on, Values& inputs) {
      const AddressRange memory = on.Workspace(id);
      if (!on.ok()) return Values{};
      const Tensor scratch = Tensor::Foreign(memory.base, WordsLayout(kWords));
      const Tensor x = Tensor::From(inputs[0]);
      const uint32_t count = kWords;
      on.Launch(AddKernel(), TestShape(), {Out(scratch), In(x), In(x), Val(count)});
      const Tensor out = on.Empty(WordsLayout(kWords));
      if (!on.ok()) return Values{};
      on.Copy(out, scratch);
      return Values{out};
    });
  }
};
GRAPHTREE_ON_EVERY_DEVICE(WorkspaceTest);

TEST_P(WorkspaceTest, AGrownWorkspaceIsRecordedAgain) {
  const AddressRange small = NewWords(kWords), large = NewWords(4 * kWords);
  const WorkspaceId id = tree().RegisterWorkspace("scratch", small);
  const FunctionId function = RegisterUser(id);
  const Tensor x = Given(1);
  CallInSteps(3, function, {x});
  EXPECT_EQ(graphs(), 1u);
  EXPECT_THAT(tree().MoveWorkspace(id, small), IsOk());
  EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), Times(PatternOf(1), 2));
  EXPECT_EQ(graphs(), 1u) << "the same memory is no change";

  EXPECT_THAT(tree().MoveWorkspace(id, large), IsOk());
  const Words untouched(kWords, 0xABCD);
  Write(small, untouched);
  for (int step = 0; step < 3; ++step) {
    EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), Times(PatternOf(1), 2));
  }
  EXPECT_EQ(ConformanceTest::Read(small), untouched) << "the old memory is the library's no more";
  EXPECT_EQ(graphs(), 2u);
  EXPECT_EQ(reasons(Reason::kWorkspaceMoved), 1u);
  EXPECT_EQ(replays(), 4u);
}

TEST_P(WorkspaceTest, AWorkspaceThatMovesForEverNeverReachesTheLimit) {
  TreeOptions options;
  options.rerecord_limit = 1;
  OpenTree(options);
  const AddressRange places[] = {NewWords(kWords), NewWords(kWords)};
  const WorkspaceId id = tree().RegisterWorkspace("scratch", places[0]);
  const FunctionId function = RegisterUser(id);
  for (int step = 0; step < 8; ++step) {
    EXPECT_THAT(tree().MoveWorkspace(id, places[step % 2]), IsOk());
    EXPECT_EQ(Read(CallInSteps(1, function, {Given(1)})[0]), Times(PatternOf(1), 2));
  }
  EXPECT_EQ(eager(), 0u);
}

// The library grows it in the middle of the body: what was launched before points to nothing.
TEST_P(WorkspaceTest, AWorkspaceThatGrowsInsideTheBody) {
  const AddressRange small = NewWords(kWords), large = NewWords(2 * kWords);
  const WorkspaceId id = tree().RegisterWorkspace("scratch", small);
  int runs = 0;
  const FunctionId function = Register("grows", {}, [&](Launcher& on, Values& inputs) {
    on.Workspace(id);
    if (runs++ == 1) {
      EXPECT_THAT(tree().MoveWorkspace(id, large), IsOk());
    }
    return Twice(on, inputs);
  });
  const Tensor x = Given(1);
  for (int step = 0; step < 5; ++step) {
    EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), Times(PatternOf(1), 2));
  }
  EXPECT_EQ(reasons(Reason::kWorkspaceMoved), 1u);
  EXPECT_EQ(eager(), 1u);
  EXPECT_EQ(graphs(), 1u);
  EXPECT_GT(replays(), 0u);
}

// A part lets the library grow it, in a replay: the sections behind the part were recorded with the
// memory of before.
TEST_P(WorkspaceTest, AWorkspaceThatAPartMovesInAReplay) {
  const AddressRange places[] = {NewWords(kWords), NewWords(kWords)};
  const WorkspaceId id = tree().RegisterWorkspace("scratch", places[0]);
  int now = 0;
  bool moves = false;
  const FunctionId function = Register("grows", {}, [&](Launcher& on, Values& inputs) {
    on.Break("tunes", {}, [&](Launcher& part, absl::Span<const Tensor>) {
      if (!std::exchange(moves, false)) return;
      now = 1 - now;
      part.Fail(tree().MoveWorkspace(id, places[now]));
    });
    const AddressRange memory = on.Workspace(id);
    if (!on.ok()) return Values{};
    const Tensor scratch = Tensor::Foreign(memory.base, WordsLayout(kWords));
    const Tensor x = Tensor::From(inputs[0]);
    const uint32_t count = kWords;
    on.Launch(AddKernel(), TestShape(), {Out(scratch), In(x), In(x), Val(count)});
    const Tensor out = on.Empty(WordsLayout(kWords));
    if (on.ok()) on.Copy(out, scratch);
    return Values{out};
  });
  const Tensor x = Given(1);
  const Words untouched(kWords, 0xABCD);
  for (int step = 0; step < 8; ++step) {
    moves = step == 3 || step == 6;
    const bool has_moved = moves;
    const AddressRange before = places[now];
    Write(before, untouched);
    EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), Times(PatternOf(1), 2)) << "step " << step;
    if (!has_moved) continue;
    EXPECT_EQ(ConformanceTest::Read(before), untouched) << "the old memory is not the library's";
  }
  EXPECT_EQ(eager(), 2u);
  EXPECT_EQ(reasons(Reason::kWorkspaceMoved), 4u) << "two replays, and two recordings made again";
}

TEST_P(WorkspaceTest, AWorkspaceThatIsNotRegistered) {
  const FunctionId function = RegisterUser(3);
  Values outputs, inputs = {Given(1)};
  EXPECT_THAT(tree().Run(function, absl::MakeSpan(inputs), a(), &outputs),
              FailsWith(absl::StatusCode::kInvalidArgument, "workspace 3 is not registered"));
}

// A break inside of a part is no cut of its own, and what its part asks for is the body's wish too.
TEST_P(RequestsTest, APartInsideOfAPartMayAsk) {
  const auto object = std::make_shared<int>(1);
  const FunctionId function = Register("nested", {}, [&](Launcher& on, Values& inputs) {
    const bool asks = runs_++ == 1;
    on.Break("outer", {}, [object, asks](Launcher& outer, absl::Span<const Tensor>) {
      outer.Break("inner", {}, [object, asks](Launcher& inner, absl::Span<const Tensor>) {
        if (asks) inner.WarmUpAgain("candidates left");
        inner.KeepAlive(object);
      });
    });
    return Twice(on, inputs);
  });
  const Tensor x = Given(1);
  for (int step = 0; step < 4; ++step) {
    EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), Times(PatternOf(1), 2));
  }
  EXPECT_EQ(warm_ups(), 2u) << "the recording, whose part asked, became a warm-up";
  EXPECT_EQ(reasons(Reason::kWarmUpAsked), 1u);
  EXPECT_EQ(graphs(), 1u);
  EXPECT_EQ(replays(), 1u);
  LetWorkEnd();
  // Ours, the part's that the recording cuts, and one that its node keeps.
  EXPECT_EQ(object.use_count(), 3);
}

}  // namespace
}  // namespace graphtree
