// Functions that Tree::Record alone records: nothing is launched before a call replays them.
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "tests/kernels/kernels.h"
#include "tests/kernels/launches.h"
#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

using testing::HasSubstr;

class RecordedApartTest : public TreeTest {
 protected:
  static FunctionOptions Apart() {
    FunctionOptions options;
    options.recorded_apart = true;
    return options;
  }
  absl::Status Record(FunctionId function, Values inputs) {
    return tree().Record(function, std::move(inputs), a());
  }
  CallRoute LastRoute() { return tree().last_call().route; }
};
GRAPHTREE_ON_EVERY_DEVICE(RecordedApartTest);

TEST_P(RecordedApartTest, NothingIsLaunchedUntilACallReplays) {
  const Tensor sum = Given(1);
  FunctionOptions options = Apart();
  options.static_inputs = {1};
  const FunctionId add = Register("add", options, [](Launcher& on, Values& inputs) {
    const Tensor total = on.Input(1);
    on.Launch(AddKernel(), TestShape(),
              {InOut(total), In(total), In(on.Input(0)), Val(uint32_t{kWords})});
    return Values{Sum(on, inputs[0], inputs[0])};
  });
  Words expected = PatternOf(1);
  const auto call = [&](uint32_t seed) {
    NewStep();
    Values out = Call(add, {Given(seed), sum});
    expected = Plus(expected, PatternOf(seed));
    EXPECT_EQ(Read(out[0]), Times(PatternOf(seed), 2));
    EXPECT_EQ(Read(sum), expected);
    return LastRoute();
  };
  EXPECT_THAT(Record(add, {Given(2), sum}).message(), HasSubstr("not warmed up"));
  EXPECT_EQ(call(2), CallRoute::kWarmedUp);
  EXPECT_EQ(call(3), CallRoute::kRanEagerly);
  EXPECT_EQ(reasons(Reason::kRecordedApart), 1u);
  EXPECT_EQ(graphs(), 0u);
  NewStep();
  ASSERT_THAT(Record(add, {Given(4), sum}), IsOk());
  EXPECT_EQ(graphs(), 1u);
  EXPECT_EQ(Read(sum), expected);
  EXPECT_EQ(live(), 0u);
  ASSERT_THAT(Record(add, {Given(4), sum}), IsOk()) << "it is there";
  EXPECT_EQ(graphs(), 1u);
  for (uint32_t i = 5; i < 12; ++i) EXPECT_EQ(call(i), CallRoute::kReplayed) << i;
}

// The recording that takes any address is given a stand-in, which is no output of the path.
TEST_P(RecordedApartTest, WhatItReturnsOfItsInputsIsTheCallers) {
  FunctionOptions options;
  options.static_inputs = {0};
  const FunctionId make = Register("make", {}, Twice);
  const FunctionId pass = Register("pass", options, [](Launcher& on, Values&) {
    return Values{on.Input(0), Sum(on, on.Input(0), on.Input(0))};
  });
  const FunctionId next = Register("next", {}, Twice);
  const Tensor x = Given(3);
  for (int i = 0; i < 8; ++i) {
    NewStep();
    const Values one = Call(make, {x});
    if (i == 1) {
      Call(pass, {x});  // recorded with another input
      continue;
    }
    if (i == 2) {
      ASSERT_THAT(Record(pass, {one[0]}), IsOk());
    }
    const Values two = Call(pass, {one[0]});
    EXPECT_EQ(two[0].word(), one[0].word());
    if (i < 3) continue;  // so that `next` is missed behind a replay
    const Values three = Call(next, {two[1]});
    EXPECT_EQ(Read(three[0]), Times(PatternOf(3), 8)) << "in step " << i;
  }
}

TEST_P(RecordedApartTest, ThePathStaysWhereItWas) {
  const auto twice = [](Launcher& on, Values& inputs) {
    return Values{Sum(on, inputs[0], inputs[0])};
  };
  const FunctionId first = Register("first", {}, twice);
  const FunctionId apart = Register("apart", Apart(), twice);
  const FunctionId last = Register("last", {}, twice);
  const Tensor x = Given(3);
  for (int i = 0; i < 8; ++i) {
    NewStep();
    const Values one = Call(first, {x});
    if (i > 1) {
      const absl::Status recorded = Record(apart, {one[0]});
      EXPECT_TRUE(recorded.ok()) << recorded << " in step " << i;
    }
    const Values two = Call(last, {one[0]});
    const Values three = Call(apart, {one[0]});
    EXPECT_EQ(Read(one[0]), Times(PatternOf(3), 2));
    EXPECT_EQ(Read(two[0]), Times(PatternOf(3), 4));
    EXPECT_EQ(Read(three[0]), Times(PatternOf(3), 4));
    EXPECT_EQ(Read(one[0]), Times(PatternOf(3), 2));
  }
  NewStep();
  const Values one = Call(first, {x});
  EXPECT_EQ(LastRoute(), CallRoute::kReplayed);
  const Values three = Call(apart, {one[0]});
  EXPECT_EQ(LastRoute(), CallRoute::kReplayed) << "recorded right after the first";
  EXPECT_EQ(Read(three[0]), Times(PatternOf(3), 4));
}

// A refusal is as if nobody had asked, however often somebody does.
TEST_P(RecordedApartTest, ARefusalIsNotCounted) {
  const auto twice = [](Launcher& on, Values& inputs) {
    return Values{Sum(on, inputs[0], inputs[0])};
  };
  const FunctionId first = Register("first", {}, twice);
  const FunctionId apart = Register("apart", Apart(), twice);
  const Tensor x = Given(3);
  NewStep();
  Call(first, {x});
  NewStep();
  const Values held = Call(first, {x});
  ASSERT_EQ(LastRoute(), CallRoute::kRecorded);
  for (int i = 0; i < 2000; ++i) {
    EXPECT_THAT(Record(apart, {held[0]}).message(), HasSubstr("was not recorded"));
  }
  EXPECT_EQ(reasons(Reason::kLongStep), 0u) << "the step has one call";
}

TEST_P(RecordedApartTest, KeptOutputsAndMovingInputs) {
  FunctionOptions options = Apart();
  options.kept_outputs = {0};
  const FunctionId function = Register("kept", options, [](Launcher& on, Values& inputs) {
    return Values{Sum(on, inputs[0], inputs[0])};
  });
  NewStep();
  Call(function, {Given(1)});
  NewStep();
  ASSERT_THAT(Record(function, {Given(1)}), IsOk());
  EXPECT_EQ(tree().stats().kept_bytes, 0u);
  std::vector<Value> held;
  for (uint32_t i = 1; i < 9; ++i) {
    NewStep();
    held.push_back(Call(function, {Given(i)})[0]);
    EXPECT_EQ(LastRoute(), CallRoute::kReplayed);
  }
  for (uint32_t i = 1; i < 9; ++i) EXPECT_EQ(Read(held[i - 1]), Times(PatternOf(i), 2));
}

TEST_P(RecordedApartTest, BodiesThatNeedALaunchAreRefusedInWords) {
  const FunctionId breaks = Register("breaks", Apart(), [](Launcher& on, Values& inputs) {
    const Tensor out = Sum(on, inputs[0], inputs[0]);
    on.Break("a look", {In(out)}, [](Launcher&, absl::Span<const Tensor>) {});
    return Values{out};
  });
  Tensor stored;
  const FunctionId stores = Register("stores", Apart(), [&stored](Launcher& on, Values& inputs) {
    stored = Sum(on, inputs[0], inputs[0]);
    return Values{stored};
  });
  for (const FunctionId function : {breaks, stores}) {
    NewStep();
    Values out = Call(function, {Given(2)});
    NewStep();
    const absl::Status status = Record(function, {Given(2)});
    EXPECT_THAT(status.message(), HasSubstr("nothing was to be launched"));
    out = Call(function, {Given(4)});
    EXPECT_EQ(Read(out[0]), Times(PatternOf(4), 2));
  }
  stored = {};
  EXPECT_EQ(graphs(), 0u);
}

TEST_P(RecordedApartTest, AWorkspaceThatMovesIsRecordedAgainByRecordAlone) {
  const WorkspaceId workspace = tree().RegisterWorkspace("weights", {});
  const FunctionId function = Register("uses", Apart(), [workspace](Launcher& on, Values& inputs) {
    on.Workspace(workspace);
    return Values{Sum(on, inputs[0], inputs[0])};
  });
  const auto call = [&] {
    NewStep();
    EXPECT_EQ(Read(Call(function, {Given(5)})[0]), Times(PatternOf(5), 2));
    return LastRoute();
  };
  call();
  NewStep();
  ASSERT_THAT(Record(function, {Given(5)}), IsOk());
  EXPECT_EQ(call(), CallRoute::kReplayed);
  ASSERT_THAT(tree().TouchWorkspace(workspace), IsOk());
  EXPECT_EQ(call(), CallRoute::kRanEagerly);
  EXPECT_EQ(call(), CallRoute::kRanEagerly);
  NewStep();
  ASSERT_THAT(Record(function, {Given(5)}), IsOk());
  EXPECT_EQ(call(), CallRoute::kReplayed);
  EXPECT_EQ(graphs(), 2u);
}

TEST_P(RecordedApartTest, WouldReplayFirstSaysWhatTheNextStepDoes) {
  const auto twice = [](Launcher& on, Values& inputs) {
    return Values{Sum(on, inputs[0], inputs[0])};
  };
  FunctionOptions pins;
  pins.static_inputs = {0};
  const FunctionId pinned = Register("pinned", pins, twice);
  const FunctionId copied = Register("copied", {}, twice);
  const Tensor x = Given(6);
  for (int i = 0; i < 5; ++i) {
    Values inputs = {x};
    const bool would = tree().WouldReplayFirst(pinned, absl::MakeSpan(inputs), a());
    NewStep();
    const Values held = Call(pinned, {x});
    EXPECT_EQ(would, LastRoute() == CallRoute::kReplayed) << i;
    EXPECT_EQ(would, i >= 2) << "whatever the last step has left";
    EXPECT_FALSE(tree().WouldReplayFirst(copied, absl::MakeSpan(inputs), a()))
        << "a copy comes before the body's first op";
    NewStep();
    Call(copied, {x});
  }
}

// The recordings are still there, and go with the step.
TEST_P(RecordedApartTest, WouldReplayFirstKnowsThatSizesVary) {
  for (const bool by_tree : {false, true}) {
    OpenTree({.skip_varying_sizes = by_tree});
    const FunctionId function = Register(
        "f", {.static_inputs = {0}, .skip_varying_sizes = !by_tree}, Twice);
    const Tensor x = Given(6), shorter = Given(7, kWords / 2);
    const auto would = [&] {
      Values inputs = {x};
      return tree().WouldReplayFirst(function, absl::MakeSpan(inputs), a());
    };
    CallInSteps(2, function, {x});
    NewStep();
    const Values held = Call(function, {x});
    EXPECT_EQ(LastRoute(), CallRoute::kReplayed);
    EXPECT_TRUE(would());
    Call(function, {shorter});
    EXPECT_FALSE(would());
    NewStep();
    EXPECT_EQ(Read(Call(function, {x})[0]), Times(PatternOf(6), 2));
    EXPECT_EQ(LastRoute(), CallRoute::kRanEagerly);
    EXPECT_FALSE(would());
  }
}

TEST_P(RecordedApartTest, WouldReplayFirstKnowsThatTheFirstReplayIsCompared) {
  OpenTree({.check = true, .compare_replays = true});
  const FunctionId function = Register("f", {.static_inputs = {0}}, Twice);
  const Tensor x = Given(6);
  const auto would = [&] {
    Values inputs = {x};
    return tree().WouldReplayFirst(function, absl::MakeSpan(inputs), a());
  };
  CallInSteps(2, function, {x});
  EXPECT_FALSE(would()) << "the body runs before it";
  CallInSteps(1, function, {x});
  EXPECT_TRUE(would());
}

TEST_P(RecordedApartTest, WouldReplayFirstKnowsThatTheStreamCaptures) {
  const FunctionId function = Register("f", {.static_inputs = {0}}, Twice);
  const Tensor x = Given(6);
  Values inputs = {x};
  CallInSteps(3, function, {x});
  EXPECT_TRUE(tree().WouldReplayFirst(function, absl::MakeSpan(inputs), a()));
  ASSERT_THAT(b().BeginCapture(CaptureMode::kRelaxed), IsOk());
  EXPECT_FALSE(tree().WouldReplayFirst(function, absl::MakeSpan(inputs), b()));
  EXPECT_TRUE(tree().WouldReplayFirst(function, absl::MakeSpan(inputs), a()));
  EXPECT_THAT(b().EndCapture().status(), IsOk());
}

}  // namespace
}  // namespace graphtree
