// Events that a body sets in its middle: every run sets them, whatever its route, and they are done
// while the rest of the run is not.
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

class SetEventTest : public TreeTest {
 protected:
  // x -> 4 * x, where x is read no more once the event is set; `holds_` holds the run up after it.
  Body FourTimes(Event& event) {
    return [this, &event](Launcher& on, Values& inputs) {
      const Tensor twice = Sum(on, inputs[0], inputs[0]);
      on.SetEvent(event);
      if (holds_) {
        on.Fail(on.stream().CallHost([this] {
          while (!go_) continue;
        }));
      }
      return Values{Sum(on, twice, twice)};
    };
  }
  bool IsDone(Event& asked) {
    const absl::StatusOr<bool> done = asked.IsDone();
    EXPECT_THAT(done, IsOk());
    return done.ok() && *done;
  }
  // Calls the function in a step of its own, and writes its input anew on another stream once the
  // event is done: for the next step.
  void StepAndRefill(FunctionId function, const Tensor& x, uint32_t seed) {
    NewStep();
    const Values out = Call(function, {x});
    ASSERT_THAT(b().Wait(event()), IsOk());
    ASSERT_THAT(FillPattern(b(), x.raw_bytes(), seed + 1), IsOk());
    ASSERT_THAT(b().Record(other_event()), IsOk());
    EXPECT_EQ(Read(out[0]), Times(PatternOf(seed), 4)) << "step with seed " << seed;
    ASSERT_THAT(a().Wait(other_event()), IsOk());
  }

  bool holds_ = false;
  std::atomic<bool> go_{false};
};
GRAPHTREE_ON_EVERY_DEVICE(SetEventTest);

TEST_P(SetEventTest, EveryRouteSetsItAnew) {
  for (const bool eager : {false, true}) {
    const FunctionId function =
        Register(eager ? "eager" : "recorded", {.exclude = eager}, FourTimes(event()));
    const Tensor x = Given(1);
    for (uint32_t seed = 1; seed <= 6; ++seed) StepAndRefill(function, x, seed);
  }
  EXPECT_EQ(graphs(), 1u);
  EXPECT_EQ(replays(), 4u);
  EXPECT_EQ(eager(), 6u);
}

TEST_P(SetEventTest, ItIsDoneWhileTheRestRuns) {
  if (!GetParam().concurrent) GTEST_SKIP() << "no work is under way while the caller looks";
  holds_ = true;
  const FunctionId function = Register("held", {}, FourTimes(event()));
  const Tensor x = Given(1);
  for (uint32_t seed = 1; seed <= 5; ++seed) {
    go_ = false;
    NewStep();
    const Values out = Call(function, {x});
    ASSERT_THAT(event().Synchronize(), IsOk());
    ASSERT_OK_AND_ASSIGN(const bool over, a().IsDone());
    EXPECT_FALSE(over) << "step " << seed;
    ASSERT_THAT(FillPattern(b(), x.raw_bytes(), seed + 1), IsOk());
    ASSERT_THAT(b().Synchronize(), IsOk());
    go_ = true;
    EXPECT_EQ(Read(out[0]), Times(PatternOf(seed), 4)) << "step " << seed;
  }
  EXPECT_GE(replays(), 3u);
}

TEST_P(SetEventTest, FromTheCallOnItStandsForTheReplay) {
  if (!GetParam().concurrent) GTEST_SKIP() << "no work is under way while the caller looks";
  const FunctionId function = Register("held first", {}, [this](Launcher& on, Values& inputs) {
    on.Fail(on.stream().CallHost([this] {
      while (!go_) continue;
    }));
    on.SetEvent(event());
    return Values{Sum(on, inputs[0], inputs[0])};
  });
  const Tensor x = Given(1);
  for (int step = 0; step < 5; ++step) {
    go_ = false;
    NewStep();
    const Values out = Call(function, {x});
    EXPECT_FALSE(IsDone(event())) << "step " << step;
    go_ = true;
    EXPECT_EQ(Read(out[0]), Times(PatternOf(1), 2));
    EXPECT_TRUE(IsDone(event())) << "step " << step;
  }
}

TEST_P(SetEventTest, SectionsAndPartsSetThem) {
  const FunctionId function = Register("cut", {}, [this](Launcher& on, Values& inputs) {
    const Tensor twice = Sum(on, inputs[0], inputs[0]);
    on.SetEvent(event());
    on.Break("in the middle", {InOut(twice)}, [this](Launcher& part, absl::Span<const Tensor> t) {
      Bump(part, t[0], 1);
      part.SetEvent(other_event());
    });
    return Values{Sum(on, twice, twice)};
  });
  const Tensor x = Given(1);
  Words expected = Times(Plus(Times(PatternOf(1), 2), Words(kWords, 1)), 2);
  for (int step = 0; step < 5; ++step) {
    NewStep();
    const Values out = Call(function, {x});
    ASSERT_THAT(b().Wait(event()), IsOk());
    ASSERT_THAT(c().Wait(other_event()), IsOk());
    ASSERT_THAT(FillPattern(b(), x.raw_bytes(), 1), IsOk());
    ASSERT_THAT(b().Synchronize(), IsOk());
    ASSERT_THAT(c().Synchronize(), IsOk());
    EXPECT_EQ(Read(out[0]), expected) << "step " << step;
    EXPECT_TRUE(IsDone(event()));
    EXPECT_TRUE(IsDone(other_event()));
  }
  EXPECT_EQ(tree().stats().sections, 2u);
  EXPECT_EQ(replays(), 3u);
}

TEST_P(SetEventTest, ExecutablesThatTakeTurnsSetTheSame) {
  OpenTree({.patch_bytes = 1});
  const FunctionId function = Register("turns", {.kept_outputs = {0}}, FourTimes(event()));
  const Tensor x = Given(1);
  Value held;
  for (uint32_t seed = 1; seed <= 12; ++seed) {
    NewStep();
    Values out = Call(function, {x});
    ASSERT_THAT(b().Wait(event()), IsOk());
    ASSERT_THAT(FillPattern(b(), x.raw_bytes(), seed + 1), IsOk());
    ASSERT_THAT(b().Record(other_event()), IsOk());
    EXPECT_EQ(Read(out[0]), Times(PatternOf(seed), 4)) << "step with seed " << seed;
    ASSERT_THAT(a().Wait(other_event()), IsOk());
    held = std::move(out[0]);
  }
  EXPECT_EQ(tree().stats().spares, 1u);
}

TEST_P(SetEventTest, ExecutablesThatAreMadeAgainSetTheSame) {
  TreeOptions options;
  options.budget.executables = 1;
  OpenTree(options);
  const FunctionId first = Register("first", {}, FourTimes(event()));
  const FunctionId second = Register("second", {}, FourTimes(event()));
  const Tensor x = Given(1);
  for (uint32_t seed = 1; seed <= 16; ++seed) {
    StepAndRefill((seed - 1) / 2 % 2 == 0 ? first : second, x, seed);
  }
  EXPECT_GT(tree().stats().instantiated_again, 0u);
}

TEST_P(SetEventTest, TheEventMayGoBeforeItsTree) {
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<Event> brief, device().NewEvent({}));
  Event* set = brief.get();
  const FunctionId function = Register("brief", {}, [&set](Launcher& on, Values& inputs) {
    if (set != nullptr) on.SetEvent(*set);
    return Values{Sum(on, inputs[0], inputs[0])};
  });
  const Tensor x = Given(1);
  CallInSteps(3, function, {x});
  set = nullptr;
  brief = nullptr;
  EXPECT_EQ(Read(CallInSteps(3, function, {x})[0]), Times(PatternOf(1), 2));
  EXPECT_EQ(replays(), 4u);
}

TEST_P(SetEventTest, AnEventIsNoWorkThatWritesAnything) {
  const FunctionId function = Register("elsewhere", {}, [this](Launcher& on, Values& inputs) {
    const Tensor out = on.Empty(DType::kI32, {kWords});
    on.SetEvent(event());
    return Values{out};
  });
  CallInSteps(3, function, {Given(1)});
  EXPECT_GT(reasons(Reason::kWorksElsewhere), 0u) << "nothing writes the output";
}

TEST_P(SetEventTest, TwiceInOneRunIsAnError) {
  bool twice = true;
  const FunctionId function = Register("twice", {}, [&](Launcher& on, Values& inputs) {
    on.SetEvent(event());
    const Tensor out = Sum(on, inputs[0], inputs[0]);
    if (twice) on.SetEvent(event());
    return Values{out};
  });
  const Tensor x = Given(1);
  EXPECT_THAT(Refusal(function, {x}),
              FailsWith(absl::StatusCode::kFailedPrecondition, "set an event twice"));
  twice = false;
  EXPECT_EQ(Read(CallInSteps(4, function, {x})[0]), Times(PatternOf(1), 2));
}

TEST_P(SetEventTest, AnEventOfAnotherDeviceIsAnError) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Device> other, GetParam().open());
  {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Event> foreign, other->NewEvent({}));
    Event* set = foreign.get();
    const FunctionId function = Register("foreign", {}, [&](Launcher& on, Values& inputs) {
      on.SetEvent(*set);
      return Values{Sum(on, inputs[0], inputs[0])};
    });
    const Tensor x = Given(1);
    EXPECT_THAT(Refusal(function, {x}).message(), testing::HasSubstr("another device"));
    set = &event();
    EXPECT_EQ(Read(CallInSteps(4, function, {x})[0]), Times(PatternOf(1), 2));
  }
  EXPECT_THAT(other->Close(), IsOk());
}

}  // namespace
}  // namespace graphtree
