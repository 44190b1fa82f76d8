// Steps of one program: how they run, and what they leave.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "tests/kernels/kernels.h"
#include "tests/runtime/runtime_fixture.h"

namespace graphtree {
namespace {

using testing::HasSubstr;

class StepsTest : public RuntimeTest {
 protected:
  // A step of `first`, and one of `second` that goes on from there. The outputs of both are held:
  // else a tree may let the path end.
  void RunBehind(ProgramId first, ProgramId second) {
    Values outputs[2];
    for (const bool continues : {false, true}) {
      ASSERT_OK_AND_ASSIGN(Step step, runtime().Begin(continues ? second : first, {.tokens = 8},
                                                      a(), {.continues = continues}));
      ASSERT_THAT(step.Stage(0, 1.0), IsOk());
      ASSERT_THAT(step.Run(&outputs[continues]), IsOk());
    }
  }
};
GRAPHTREE_ON_EVERY_DEVICE(StepsTest);

TEST_P(StepsTest, AShapeIsRecordedByItsSecondStepAndReplayedAfterThat) {
  const ProgramId program = AddDouble({8});
  const std::vector<Why> expected = {Why::kWarmingUp, Why::kNotRecorded, Why::kHit, Why::kHit};
  for (int32_t i = 0; i < 4; ++i) {
    const Ids ids = IdsFrom(10 * i + 1, 8);
    EXPECT_EQ(StepWith(program, ids), expected[i]) << "step " << i;
    EXPECT_EQ(LastOutput(), Doubled(ids, 8)) << "step " << i;
  }
  EXPECT_EQ(runtime().stats().recordings, 1u);
  EXPECT_EQ(Count(Why::kHit), 2u);
}

TEST_P(StepsTest, RecordingAheadMakesTheFirstStepAHit) {
  const ProgramId program = AddDouble({1, 8, 64});
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  EXPECT_EQ(runtime().stats().recordings, 3u);
  EXPECT_EQ(StepWith(program, IdsFrom(3, 8)), Why::kHit);
  EXPECT_EQ(LastOutput(), Doubled(IdsFrom(3, 8), 8));
  EXPECT_EQ(StepWith(program, IdsFrom(5, 1)), Why::kHit);
  EXPECT_EQ(LastOutput(), Doubled(IdsFrom(5, 1), 1));
  EXPECT_EQ(runtime().stats().steps, 2u) << "recording ahead makes no steps";
}

TEST_P(StepsTest, ASmallerStepIsPaddedWithZeros) {
  const ProgramId program = AddDouble({8, 64});
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  EXPECT_EQ(StepWith(program, IdsFrom(1, 64)), Why::kHit);
  EXPECT_EQ(StepWith(program, IdsFrom(100, 9)), Why::kCover);
  EXPECT_EQ(LastOutput(), Doubled(IdsFrom(100, 9), 64));
  EXPECT_THAT(LastDescription(), HasSubstr("cover, tokens=9"));
  EXPECT_THAT(LastDescription(), HasSubstr("tokens=64"));
}

TEST_P(StepsTest, AboveTheLargestShapeAStepRunsEagerlyAndSaysWhy) {
  const ProgramId program = AddDouble({8});
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  for (int32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(StepWith(program, IdsFrom(i, 9)), Why::kAboveCeiling);
    EXPECT_EQ(LastOutput(), Doubled(IdsFrom(i, 9), 9));
  }
  EXPECT_THAT(LastDescription(), HasSubstr("above_ceiling"));
  EXPECT_EQ(StepWith(program, IdsFrom(1, 8)), Why::kHit);
}

TEST_P(StepsTest, WithoutRecordingWhileServingAShapeWaitsForRecord) {
  OpenRuntime({.records_while_serving = false});
  const ProgramId program = AddDouble({8});
  for (int32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(StepWith(program, IdsFrom(i, 8)), Why::kNotRecorded);
    EXPECT_EQ(LastOutput(), Doubled(IdsFrom(i, 8), 8));
  }
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  EXPECT_EQ(StepWith(program, IdsFrom(1, 8)), Why::kHit);
}

TEST_P(StepsTest, ThousandsOfStepsInARowEachReadTheirOwnData) {
  const ProgramId program = AddDouble({64});
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  // Each step adds what it was given to a sum: a block that is written over too early shows.
  const AddressRange sum = NewWordsWith(std::vector<uint32_t>(64));
  ProgramOptions options = DoubleOptions("sum");
  options.body = [sum](Launcher& on, const ProgramInputs& in) -> Values {
    const Tensor total = Tensor::Foreign(sum.base, Layout::Of(DType::kI32, {64}));
    on.Launch(AddKernel(), TestShape(),
              {Out(total), In(total), In(in.slot(0)), Val(uint32_t{64})});
    return {};
  };
  ASSERT_OK_AND_ASSIGN(const ProgramId sums, runtime().AddProgram(std::move(options)));
  const Key key = {.tokens = 64};
  ASSERT_THAT(runtime().AddShapes(sums, {key}), IsOk());
  uint32_t expected = 0;
  for (int32_t i = 0; i < 5000; ++i) {
    ASSERT_OK_AND_ASSIGN(Step step, runtime().Begin(sums, key, a()));
    ASSERT_THAT(step.Stage(0, HostRows{Ids(64, i).data(), DType::kI32, 64}), IsOk());
    Values none;
    ASSERT_THAT(step.Run(&none), IsOk());
    expected += i;
  }
  ASSERT_THAT(a().Synchronize(), IsOk());
  EXPECT_EQ(Read(sum), std::vector<uint32_t>(64, expected));
  EXPECT_EQ(Count(Why::kHit), 4998u);
}

TEST_P(StepsTest, TokensOf64BitsBecomeThoseOf32AndOneThatCannotIsAnError) {
  const ProgramId program = AddDouble({2});
  const Key key = {.tokens = 2};
  const std::vector<int64_t> wide = {-7, 2147483647};
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK_AND_ASSIGN(Step step, runtime().Begin(program, key, a()));
    ASSERT_THAT(step.Stage(0, HostRows{wide.data(), DType::kI64, 2}), IsOk());
    Values outputs;
    ASSERT_THAT(step.Run(&outputs), IsOk());
    EXPECT_EQ(ReadIds(outputs[0]), (Ids{-14, -2}));
  }
  const std::vector<int64_t> too_wide = {1, int64_t{1} << 31};
  ASSERT_OK_AND_ASSIGN(Step step, runtime().Begin(program, key, a()));
  EXPECT_THAT(step.Stage(0, HostRows{too_wide.data(), DType::kI64, 2}).message(),
              HasSubstr("2147483648"));
  // The slot may still be staged.
  EXPECT_THAT(step.Stage(0, HostRows{wide.data(), DType::kI64, 2}), IsOk());
  Values outputs;
  EXPECT_THAT(step.Run(&outputs), IsOk());
}

TEST_P(StepsTest, RowsOfTheDevicesAreReadByTheGraph) {
  const ProgramId program = AddDouble({8});
  const AddressRange rows = NewWordsWith({1, 2, 3, 4, 5, 6, 7, 8});
  for (uint32_t i = 0; i < 4; ++i) {
    ASSERT_OK_AND_ASSIGN(Step step, runtime().Begin(program, {.tokens = 4}, a()));
    ASSERT_THAT(step.Stage(0, DeviceRows{rows.base + 4 * i, DType::kI32, 4}), IsOk());
    Values outputs;
    ASSERT_THAT(step.Run(&outputs), IsOk());
    EXPECT_EQ(ReadIds(outputs[0]), Doubled(IdsFrom(i + 1, 4), 8));
  }
}

TEST_P(StepsTest, RowsAreWrittenInPlace) {
  const ProgramId program = AddDouble({kMost});
  for (int32_t i = 0; i < 100; ++i) {
    ASSERT_OK_AND_ASSIGN(Step step, runtime().Begin(program, {.tokens = 40}, a()));
    ASSERT_OK_AND_ASSIGN(void* const rows, step.Buffer(0, 40));
    const Ids ids = IdsFrom(100 * i, 40);
    std::copy(ids.begin(), ids.end(), static_cast<int32_t*>(rows));
    Values outputs;
    ASSERT_THAT(step.Run(&outputs), IsOk());
    EXPECT_FALSE(step.Buffer(0, 1).ok()) << "the step is closed";
    if (i % 10 != 0) continue;
    EXPECT_EQ(ReadIds(outputs[0]), Doubled(ids, kMost));
  }
}

TEST_P(StepsTest, AValueFillsEveryRow) {
  const ProgramId program = AddDouble({8});
  for (int i = 0; i < 4; ++i) {
    ASSERT_OK_AND_ASSIGN(Step step, runtime().Begin(program, {.tokens = 3}, a()));
    ASSERT_THAT(step.Stage(0, double(i)), IsOk());
    Values outputs;
    ASSERT_THAT(step.Run(&outputs), IsOk());
    EXPECT_EQ(ReadIds(outputs[0]), Ids(8, 2 * i));
  }
}

TEST_P(StepsTest, PreparationRunsInTheSameLaunch) {
  ProgramOptions options = DoubleOptions();
  options.prepare = [](Launcher& on, const ProgramInputs& in) -> Values {
    const Tensor plan = on.Empty(DType::kI32, {in.key().tokens});
    if (!on.ok()) return {};
    on.Launch(AddKernel(), TestShape(),
              {Out(plan), In(in.slot(0)), In(in.slot(0)),
               Val(static_cast<uint32_t>(in.key().tokens))});
    return {plan};
  };
  options.body = [](Launcher& on, const ProgramInputs& in) -> Values {
    const Tensor plan = Tensor::From(in.prepared()[0]);
    const Tensor out = on.Empty(DType::kI32, {in.key().tokens});
    if (!on.ok()) return {};
    on.Launch(AddKernel(), TestShape(),
              {Out(out), In(plan), In(in.slot(0)), Val(static_cast<uint32_t>(in.key().tokens))});
    return {out};
  };
  ASSERT_OK_AND_ASSIGN(const ProgramId program, runtime().AddProgram(std::move(options)));
  ASSERT_THAT(runtime().AddShapes(program, {{.tokens = 4}}), IsOk());
  for (int32_t i = 0; i < 4; ++i) {
    StepWith(program, {i, i, i, i});
    EXPECT_EQ(LastOutput(), Ids(4, 3 * i));
  }
  EXPECT_EQ(Count(Why::kHit), 2u);
  ASSERT_EQ(runtime().tree()->stats().nodes, 1u) << "unpack, preparation and body are one graph";
}

TEST_P(StepsTest, ATouchedDependencyMakesTheRecordingAgain) {
  const AddressRange weights[] = {NewWordsWith({100, 200}), NewWordsWith({7, 8})};
  const AddressRange* current = &weights[0];
  ASSERT_OK_AND_ASSIGN(const DepId unused, runtime().DeclareDep("unused"));
  ASSERT_OK_AND_ASSIGN(const DepId dep, runtime().DeclareDep("weights"));
  ProgramOptions options = DoubleOptions();
  options.deps = {unused, dep};
  options.body = [&current](Launcher& on, const ProgramInputs& in) -> Values {
    const Tensor weight = Tensor::Foreign(current->base, Layout::Of(DType::kI32, {2}));
    const Tensor out = on.Empty(DType::kI32, {2});
    if (!on.ok()) return {};
    on.Launch(AddKernel(), TestShape(), {Out(out), In(in.slot(0)), In(weight), Val(uint32_t{2})});
    return {out};
  };
  ASSERT_OK_AND_ASSIGN(const ProgramId program, runtime().AddProgram(std::move(options)));
  ASSERT_THAT(runtime().AddShapes(program, {{.tokens = 2}}), IsOk());
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  EXPECT_EQ(StepWith(program, {1, 2}), Why::kHit);
  EXPECT_EQ(LastOutput(), (Ids{101, 202}));
  current = &weights[1];
  ASSERT_THAT(runtime().Touch(dep), IsOk());
  EXPECT_EQ(StepWith(program, {1, 2}), Why::kStaleDependency);
  EXPECT_EQ(LastOutput(), (Ids{8, 10}));
  EXPECT_THAT(LastDescription(), HasSubstr("'weights'"));
  EXPECT_THAT(LastDescription(), testing::Not(HasSubstr("'unused'")));
  EXPECT_EQ(StepWith(program, {3, 4}), Why::kHit);
  EXPECT_EQ(LastOutput(), (Ids{10, 12}));
}

TEST_P(StepsTest, AnExcludedShapeServesNoStepUntilItIsIncluded) {
  const ProgramId program = AddDouble({8});
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  ASSERT_THAT(runtime().Exclude(program, {.tokens = 8}), IsOk());
  EXPECT_EQ(StepWith(program, IdsFrom(1, 8)), Why::kExcluded);
  EXPECT_EQ(LastOutput(), Doubled(IdsFrom(1, 8), 8));
  ASSERT_THAT(runtime().Exclude(program, {.tokens = 8}, false), IsOk());
  EXPECT_EQ(StepWith(program, IdsFrom(1, 8)), Why::kHit);
  EXPECT_THAT(runtime().Exclude(program, {.tokens = 9}).message(), HasSubstr("tokens=9"));
}

TEST_P(StepsTest, ModesThatTheCallerDoesNotAllowLeaveTheStepEager) {
  const ProgramId program = AddDouble({8});
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  EXPECT_EQ(StepWith(program, IdsFrom(1, 8), {.modes = Modes::None()}), Why::kMode);
  EXPECT_EQ(LastOutput(), Doubled(IdsFrom(1, 8), 8));
  EXPECT_EQ(StepWith(program, IdsFrom(1, 8), {.modes = Modes::Only(Mode::kFull)}), Why::kHit);
}

// Found by the simulation: a body that breaks where it may did not in runs at once.
TEST_P(StepsTest, ABodyIsToldTheModeOfItsRun) {
  std::vector<Mode> modes;
  ProgramOptions options = DoubleOptions();
  options.body = [&modes](Launcher& on, const ProgramInputs& in) -> Values {
    modes.push_back(in.mode());
    return DoubleBody(on, in);
  };
  ASSERT_OK_AND_ASSIGN(const ProgramId program, runtime().AddProgram(std::move(options)));
  ASSERT_THAT(runtime().AddShapes(program, {{.tokens = 4}}, Mode::kSegmented), IsOk());
  ASSERT_THAT(runtime().AddShapes(program, {{.tokens = 8}}), IsOk());
  StepWith(program, IdsFrom(1, 4));
  StepWith(program, IdsFrom(1, 8));
  StepWith(program, IdsFrom(1, 9));
  EXPECT_EQ(modes, (std::vector<Mode>{Mode::kSegmented, Mode::kFull, Mode::kEager}));
}

TEST_P(StepsTest, ProgramsOfTwoLanesKeepTheirOutputsApart) {
  const ProgramId first = AddDouble({8}, "first");
  ProgramOptions options = DoubleOptions("second");
  options.lane = 3;
  ASSERT_OK_AND_ASSIGN(const ProgramId second, runtime().AddProgram(std::move(options)));
  ASSERT_THAT(runtime().AddShapes(second, {{.tokens = 8}}), IsOk());
  EXPECT_NE(runtime().tree(0), runtime().tree(3));
  EXPECT_EQ(runtime().tree(1), nullptr);
  for (int32_t i = 0; i < 4; ++i) {
    ASSERT_OK_AND_ASSIGN(Step one, runtime().Begin(first, {.tokens = 8}, a()));
    ASSERT_OK_AND_ASSIGN(Step two, runtime().Begin(second, {.tokens = 8}, b()));
    ASSERT_THAT(one.Stage(0, double(i)), IsOk());
    ASSERT_THAT(two.Stage(0, double(100 + i)), IsOk());
    Values of_one;
    Values of_two;
    ASSERT_THAT(one.Run(&of_one), IsOk());
    ASSERT_THAT(two.Run(&of_two), IsOk());
    ASSERT_THAT(b().Synchronize(), IsOk());
    EXPECT_EQ(ReadIds(of_one[0]), Ids(8, 2 * i));
    EXPECT_EQ(ReadIds(of_two[0]), Ids(8, 200 + 2 * i));
  }
}

TEST_P(StepsTest, AStepThatContinuesKeepsTheOutputsOfTheOneBefore) {
  const ProgramId first = AddDouble({8}, "first");
  const ProgramId second = AddDouble({8}, "second");
  for (int32_t i = 0; i < 5; ++i) {
    ASSERT_OK_AND_ASSIGN(Step one, runtime().Begin(first, {.tokens = 8}, a()));
    ASSERT_THAT(one.Stage(0, double(i)), IsOk());
    Values of_one;
    ASSERT_THAT(one.Run(&of_one), IsOk());
    ASSERT_OK_AND_ASSIGN(Step two,
                         runtime().Begin(second, {.tokens = 8}, a(), {.continues = true}));
    ASSERT_THAT(two.Stage(0, DeviceRows{of_one[0].word(), DType::kI32, 8}), IsOk());
    Values of_two;
    ASSERT_THAT(two.Run(&of_two), IsOk());
    EXPECT_EQ(ReadIds(of_one[0]), Ids(8, 2 * i));
    EXPECT_EQ(ReadIds(of_two[0]), Ids(8, 4 * i));
  }
  EXPECT_GE(Count(Why::kHit), 5u);
}

// A recording behind another step serves no step that begins anew.
TEST_P(StepsTest, RecordMakesWhatIsRecordedOnlyBehindAnotherStep) {
  const ProgramId first = AddDouble({8}, "first");
  const ProgramId second = AddDouble({8}, "second");
  for (int i = 0; i < 3; ++i) RunBehind(first, second);
  ASSERT_EQ(runtime().stats().recordings, 2u);
  ASSERT_THAT(runtime().Record(second, a()), IsOk());
  EXPECT_EQ(runtime().stats().recordings, 3u);
  EXPECT_EQ(StepWith(second, IdsFrom(1, 8)), Why::kHit);
}

TEST_P(StepsTest, RecordMakesAgainWhatIsFreshOnlyBehindAnotherStep) {
  ASSERT_OK_AND_ASSIGN(const DepId cache, runtime().DeclareDep("cache"));
  const ProgramId first = AddDouble({8}, "first");
  ProgramOptions options = DoubleOptions("second");
  options.deps = {cache};
  ASSERT_OK_AND_ASSIGN(const ProgramId second, runtime().AddProgram(std::move(options)));
  ASSERT_THAT(runtime().AddShapes(second, {{.tokens = 8}}), IsOk());
  ASSERT_THAT(runtime().Record(second, a()), IsOk());
  ASSERT_THAT(runtime().Touch(cache), IsOk());
  for (int i = 0; i < 3; ++i) RunBehind(first, second);
  ASSERT_THAT(runtime().Record(second, a()), IsOk());
  EXPECT_EQ(StepWith(second, IdsFrom(1, 8)), Why::kHit);
}

// Steps that failed to record a shape try that less and less often; who asks for it has it tried.
TEST_P(StepsTest, RecordTriesAtOnceWhatStepsFailedToRecord) {
  OpenRuntime({});
  bool waits = true;
  ProgramOptions options = DoubleOptions();
  options.body = [&waits](Launcher& on, const ProgramInputs& in) {
    Values outputs = DoubleBody(on, in);
    if (waits) on.Fail(on.stream().Synchronize());
    return outputs;
  };
  ASSERT_OK_AND_ASSIGN(const ProgramId program, runtime().AddProgram(std::move(options)));
  ASSERT_THAT(runtime().AddShapes(program, {{.tokens = 4}}), IsOk());
  const Ids ids = IdsFrom(1, 4);
  for (int step = 0; step < 12; ++step) StepWith(program, ids);
  EXPECT_FALSE(runtime().Record(program, a()).ok()) << "it still waits";
  waits = false;
  EXPECT_THAT(runtime().Record(program, a()), IsOk());
  EXPECT_EQ(StepWith(program, ids), Why::kHit);
  EXPECT_EQ(LastOutput(), Doubled(ids, 4));
}

}  // namespace
}  // namespace graphtree
