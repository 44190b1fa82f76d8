// What a runtime refuses, in words, and that nothing is lost by it.
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "tests/runtime/runtime_fixture.h"

namespace graphtree {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class RefusalsTest : public RuntimeTest {
 protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    program_ = AddDouble({8});
  }
  void TearDown() override {
    outputs_.clear();
    RuntimeTest::TearDown();
  }
  // Steps work as ever.
  void ExpectFine() {
    for (int i = 0; i < 3; ++i) StepWith(program_, IdsFrom(i, 8));
    EXPECT_EQ(LastOutput(), Doubled(IdsFrom(2, 8), 8));
    EXPECT_EQ(StepWith(program_, IdsFrom(2, 8)), Why::kHit);
  }
  std::string SaidOf(const absl::Status& status) {
    EXPECT_FALSE(status.ok());
    return std::string(status.message());
  }

  ProgramId program_;
  Values outputs_;
};
GRAPHTREE_ON_EVERY_DEVICE(RefusalsTest);

TEST_P(RefusalsTest, ANameThatIsTaken) {
  EXPECT_THAT(SaidOf(runtime().AddProgram(DoubleOptions()).status()), HasSubstr("'double'"));
  ExpectFine();
}

TEST_P(RefusalsTest, ABodyThatClosesItsOwnRuntime) {
  if (!device().info().checks_accesses) GTEST_SKIP() << "a process with CUDA cannot be forked";
  // A fork has none of the device's threads, and would wait for them in the body.
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  ProgramOptions options = DoubleOptions("closes");
  bool closes = false;
  options.body = [&](Launcher& on, const ProgramInputs& in) {
    if (closes) CloseRuntime();
    return DoubleBody(on, in);
  };
  ASSERT_OK_AND_ASSIGN(const ProgramId program, runtime().AddProgram(std::move(options)));
  ASSERT_THAT(runtime().AddShapes(program, {{.tokens = 8}}), IsOk());
  const auto close_inside = [&] {
    closes = true;
    StepWith(program, IdsFrom(1, 8));
  };
  EXPECT_DEATH(close_inside(), "a runtime was closed while 'closes' ran for tokens=8");
  ExpectFine();
}

TEST_P(RefusalsTest, ASlotStagedTwice) {
  ASSERT_OK_AND_ASSIGN(Step step, runtime().Begin(program_, {.tokens = 8}, a()));
  ASSERT_THAT(step.Stage(0, 5.0), IsOk());
  EXPECT_THAT(SaidOf(step.Stage(0, 6.0)), AllOf(HasSubstr("'ids'"), HasSubstr("twice")));
  ASSERT_THAT(step.Run(&outputs_), IsOk());
  EXPECT_EQ(ReadIds(outputs_[0]), Ids(8, 10));
  ExpectFine();
}

TEST_P(RefusalsTest, ASlotThatNobodyStaged) {
  ASSERT_OK_AND_ASSIGN(Step step, runtime().Begin(program_, {.tokens = 8}, a()));
  EXPECT_THAT(SaidOf(step.Run(&outputs_)), AllOf(HasSubstr("'ids'"), HasSubstr("'double'")));
  EXPECT_THAT(SaidOf(step.Run(&outputs_)), HasSubstr("closed"));
  ExpectFine();
}

TEST_P(RefusalsTest, MoreRowsThanTheShapeHas) {
  ASSERT_OK_AND_ASSIGN(Step step, runtime().Begin(program_, {.tokens = 8}, a()));
  const Ids ids = IdsFrom(1, 9);
  EXPECT_THAT(SaidOf(step.Stage(0, HostRows{ids.data(), DType::kI32, 9})),
              AllOf(HasSubstr("'ids'"), HasSubstr("9 rows"), HasSubstr("8 rows")));
  step.Cancel();
  ExpectFine();
}

TEST_P(RefusalsTest, AnotherType) {
  ASSERT_OK_AND_ASSIGN(Step step, runtime().Begin(program_, {.tokens = 8}, a()));
  const std::vector<float> floats(8);
  EXPECT_THAT(SaidOf(step.Stage(0, HostRows{floats.data(), DType::kF32, 8})),
              AllOf(HasSubstr("i32"), HasSubstr("f32")));
  step.Cancel();
  ExpectFine();
}

TEST_P(RefusalsTest, ASlotThatIsNotThere) {
  ASSERT_OK_AND_ASSIGN(Step step, runtime().Begin(program_, {.tokens = 8}, a()));
  EXPECT_THAT(SaidOf(step.Stage(1, 1.0)), HasSubstr("slot 1"));
  EXPECT_THAT(SaidOf(step.Stage(99, HostRows{})), HasSubstr("slot 99"));
  EXPECT_THAT(SaidOf(step.Stage(32, DeviceRows{})), HasSubstr("slot 32"));
  step.Cancel();
  ExpectFine();
}

TEST_P(RefusalsTest, AKeyOutsideOfWhatTheSlotsHold) {
  EXPECT_THAT(SaidOf(runtime().Begin(program_, {.tokens = kMost + 1}, a()).status()),
              AllOf(HasSubstr("'ids'"), HasSubstr("65"), HasSubstr("64")));
  EXPECT_THAT(SaidOf(runtime().Begin(program_, {.tokens = -3}, a()).status()), HasSubstr("-3"));
  EXPECT_THAT(SaidOf(runtime().Begin(program_, {.tokens = kAny}, a()).status()),
              HasSubstr("tokens"));
  ExpectFine();
}

TEST_P(RefusalsTest, AShapeThatTheSlotsCannotHold) {
  EXPECT_THAT(SaidOf(runtime().AddShapes(program_, {{.tokens = 4}, {.tokens = 65}})),
              AllOf(HasSubstr("'ids'"), HasSubstr("65")));
  EXPECT_THAT(SaidOf(runtime().AddShapes(program_, {{.tokens = 8}})), HasSubstr("tokens=8"));
  // None of them was added.
  EXPECT_THAT(runtime().AddShapes(program_, {{.tokens = 4}}), IsOk());
  ExpectFine();
}

TEST_P(RefusalsTest, AStepInAStep) {
  ASSERT_OK_AND_ASSIGN(Step step, runtime().Begin(program_, {.tokens = 8}, a()));
  EXPECT_THAT(SaidOf(runtime().Begin(program_, {.tokens = 4}, a()).status()),
              AllOf(HasSubstr("'double'"), HasSubstr("under way")));
  EXPECT_THAT(SaidOf(runtime().AddShapes(program_, {{.tokens = 2}})), HasSubstr("under way"));
  EXPECT_THAT(SaidOf(runtime().RemoveProgram(program_)), HasSubstr("under way"));
  EXPECT_THAT(SaidOf(runtime().Record(program_, a())), HasSubstr("under way"));
  // The first one goes on.
  ASSERT_THAT(step.Stage(0, 1.0), IsOk());
  ASSERT_THAT(step.Run(&outputs_), IsOk());
  EXPECT_EQ(ReadIds(outputs_[0]), Ids(8, 2));
  ExpectFine();
}

TEST_P(RefusalsTest, AStepWhoseHandleIsLostIsCanceledByItsLane) {
  EXPECT_FALSE(runtime().CancelStep());
  { ASSERT_THAT(runtime().Begin(program_, {.tokens = 8}, a()), IsOk()); }
  EXPECT_THAT(SaidOf(runtime().Begin(program_, {.tokens = 8}, a()).status()),
              HasSubstr("under way"));
  EXPECT_FALSE(runtime().CancelStep(1));
  EXPECT_TRUE(runtime().CancelStep());
  EXPECT_FALSE(runtime().CancelStep());
  ExpectFine();
}

TEST_P(RefusalsTest, AClosedStep) {
  ASSERT_OK_AND_ASSIGN(Step step, runtime().Begin(program_, {.tokens = 8}, a()));
  ASSERT_THAT(step.Stage(0, 1.0), IsOk());
  ASSERT_THAT(step.Run(&outputs_), IsOk());
  EXPECT_THAT(SaidOf(step.Stage(0, 1.0)), HasSubstr("closed"));
  ASSERT_OK_AND_ASSIGN(Step next, runtime().Begin(program_, {.tokens = 8}, a()));
  EXPECT_THAT(SaidOf(step.Run(&outputs_)), HasSubstr("later step"));
  step.Cancel();  // of no effect on the later step
  ASSERT_THAT(next.Stage(0, 2.0), IsOk());
  ASSERT_THAT(next.Run(&outputs_), IsOk());
  EXPECT_EQ(ReadIds(outputs_[0]), Ids(8, 4));
}

TEST_P(RefusalsTest, HandlesOfAnotherRuntimeOrOfOneThatIsRemoved) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Runtime> other, Runtime::Create(device(), {}));
  EXPECT_THAT(SaidOf(other->Begin(program_, {.tokens = 8}, a()).status()),
              HasSubstr("another runtime"));
  EXPECT_THAT(SaidOf(runtime().Begin(ProgramId(), {.tokens = 8}, a()).status()),
              HasSubstr("no runtime"));
  ASSERT_OK_AND_ASSIGN(const DepId others, other->DeclareDep("weights"));
  EXPECT_THAT(SaidOf(runtime().Touch(others)), HasSubstr("DeclareDep"));
  const ProgramId second = AddDouble({4}, "second");
  StepWith(second, IdsFrom(1, 4));
  ASSERT_THAT(runtime().RemoveProgram(second), IsOk());
  EXPECT_THAT(SaidOf(runtime().Begin(second, {.tokens = 4}, a()).status()),
              AllOf(HasSubstr("'second'"), HasSubstr("removed")));
  AddDouble({4}, "second");  // the name is free again
  ExpectFine();
}

TEST_P(RefusalsTest, ProgramsThatMakeNoSense) {
  ProgramOptions options = DoubleOptions("bad");
  options.body = nullptr;
  EXPECT_THAT(SaidOf(runtime().AddProgram(options).status()),
              AllOf(HasSubstr("'bad'"), HasSubstr("body")));
  options = DoubleOptions("bad");
  options.slots.push_back(options.slots[0]);
  EXPECT_THAT(SaidOf(runtime().AddProgram(options).status()), HasSubstr("'ids'"));
  options = DoubleOptions("bad");
  options.slots[0].sizes = {0};
  EXPECT_THAT(SaidOf(runtime().AddProgram(options).status()), HasSubstr("'ids'"));
  options = DoubleOptions("bad");
  options.deps = {DepId()};
  EXPECT_THAT(SaidOf(runtime().AddProgram(options).status()), HasSubstr("DeclareDep"));
  ExpectFine();
}

TEST_P(RefusalsTest, DependenciesThatMakeNoSense) {
  ASSERT_OK_AND_ASSIGN(const DepId weights, runtime().DeclareDep("weights"));
  EXPECT_THAT(SaidOf(runtime().DeclareDep("weights").status()),
              AllOf(HasSubstr("'weights'"), HasSubstr("already")));
  EXPECT_THAT(SaidOf(runtime().DeclareWorkspace("weights", {}).status()),
              AllOf(HasSubstr("'weights'"), HasSubstr("already")));
  ASSERT_THAT(runtime().DeclareWorkspace("attention", {}), IsOk());
  EXPECT_THAT(SaidOf(runtime().DeclareDep("attention").status()), HasSubstr("'attention'"));
  EXPECT_THAT(SaidOf(runtime().DeclareDep("").status()), HasSubstr("no name"));
  ASSERT_OK_AND_ASSIGN(Step step, runtime().Begin(program_, {.tokens = 8}, a()));
  EXPECT_THAT(SaidOf(runtime().DeclareDep("late").status()),
              AllOf(HasSubstr("'late'"), HasSubstr("under way")));
  step.Cancel();
  EXPECT_THAT(runtime().DeclareDep("late"), IsOk());
  EXPECT_THAT(runtime().Touch(weights), IsOk()) << "what was declared first is as it was";
  ExpectFine();
}

TEST_P(RefusalsTest, ABodyThatFailsFailsItsStepAndNoOther) {
  ProgramOptions options = DoubleOptions("fails");
  bool fails = true;
  options.body = [&fails](Launcher& on, const ProgramInputs& in) -> Values {
    if (fails) on.Fail(absl::InternalError("the model is not there"));
    return DoubleBody(on, in);
  };
  ASSERT_OK_AND_ASSIGN(const ProgramId program, runtime().AddProgram(std::move(options)));
  ASSERT_THAT(runtime().AddShapes(program, {{.tokens = 8}}), IsOk());
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK_AND_ASSIGN(Step step, runtime().Begin(program, {.tokens = 8}, a()));
    ASSERT_THAT(step.Stage(0, 1.0), IsOk());
    EXPECT_THAT(SaidOf(step.Run(&outputs_)),
                AllOf(HasSubstr("'fails'"), HasSubstr("tokens=8"), HasSubstr("not there")));
    EXPECT_EQ(step.why(), Why::kFailed);
  }
  fails = false;
  for (int i = 0; i < 3; ++i) StepWith(program, IdsFrom(i, 8));
  EXPECT_EQ(LastOutput(), Doubled(IdsFrom(2, 8), 8));
  ExpectFine();
}

TEST_P(RefusalsTest, NumbersThatAreNoValueOfTheirEnum) {
  EXPECT_THAT(SaidOf(runtime().SetServing({.serving = static_cast<Serving>(9)})),
              HasSubstr("a mode of serving, 9, and there is none with that number"));
  EXPECT_EQ(runtime().serving().serving, Serving::kReplay);
  EXPECT_FALSE(runtime().AddShapes(program_, {{.tokens = 4}}, static_cast<Mode>(7)).ok());
  ASSERT_OK_AND_ASSIGN(Step step, runtime().Begin(program_, {.tokens = 8}, a()));
  const Ids ids = IdsFrom(0, 8);
  EXPECT_FALSE(step.Stage(0, HostRows{ids.data(), static_cast<DType>(99), 8}).ok());
  step.Cancel();
  ExpectFine();
}

TEST_P(RefusalsTest, AWorkspaceBeyondTheLastAddress) {
  constexpr AddressRange kWraps = {~uint64_t{0} - 15, 32};
  EXPECT_THAT(SaidOf(runtime().DeclareWorkspace("scratch", kWraps).status()),
              HasSubstr("workspace 'scratch' is said to lie at 0xfffffffffffffff0 with 32 bytes"));
  ASSERT_OK_AND_ASSIGN(const DepId scratch, runtime().DeclareWorkspace("scratch", NewWords(4)));
  const uint64_t touches = runtime().touches();
  EXPECT_THAT(SaidOf(runtime().MoveWorkspace(scratch, kWraps)), HasSubstr("beyond the last"));
  EXPECT_EQ(runtime().touches(), touches);
  ExpectFine();
}

// A name of the caller's is one line of UTF-8 wherever people read it.
TEST_P(RefusalsTest, NamesWithControlCharacters) {
  ASSERT_OK_AND_ASSIGN(const DepId dep, runtime().DeclareDep("we\nights\x1b\xff"));
  ProgramOptions options = DoubleOptions("other");
  options.deps = {dep};
  ASSERT_OK_AND_ASSIGN(const ProgramId other, runtime().AddProgram(std::move(options)));
  ASSERT_THAT(runtime().AddShapes(other, {{.tokens = 8}}), IsOk());
  ASSERT_THAT(runtime().Record(other, a()), IsOk());
  ASSERT_THAT(runtime().Touch(dep), IsOk());
  EXPECT_EQ(StepWith(other, IdsFrom(0, 8)), Why::kStaleDependency);
  EXPECT_THAT(LastDescription(), HasSubstr(R"('we\nights\x1b\xff')"));
  ExpectFine();
}

// A recording that its tree's budget has no room for is a lack of something, and no bug.
TEST_P(RefusalsTest, ARecordingThatTheBudgetHasNoRoomFor) {
  RuntimeOptions small;
  small.tree.budget.executables = 1;
  OpenRuntime(small);
  ProgramOptions options = DoubleOptions("broken");
  options.body = [](Launcher& on, const ProgramInputs& in) -> Values {
    on.Break("a look", {In(in.slot(0))}, [](Launcher&, absl::Span<const Tensor>) {});
    return on.ok() ? DoubleBody(on, in) : Values{};
  };
  ASSERT_OK_AND_ASSIGN(const ProgramId broken, runtime().AddProgram(std::move(options)));
  ASSERT_THAT(runtime().AddShapes(broken, {{.tokens = 8}}, Mode::kSegmented), IsOk());
  EXPECT_THAT(runtime().Record(broken, a()),
              FailsWith(absl::StatusCode::kResourceExhausted, "budget has no room for it"));
  EXPECT_EQ(StepWith(broken, IdsFrom(0, 8)), Why::kNoMemory);
  EXPECT_EQ(LastOutput(), Doubled(IdsFrom(0, 8), 8));
  program_ = AddDouble({8});
  ExpectFine();
}

}  // namespace
}  // namespace graphtree
