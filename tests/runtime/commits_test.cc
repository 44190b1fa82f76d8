// Programs whose graphs must be committed before they are launched.
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "tests/kernels/kernels.h"
#include "tests/kernels/launches.h"
#include "tests/runtime/runtime_fixture.h"

namespace graphtree {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class CommitsTest : public RuntimeTest {
 protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    runs_ = NewWordsWith(std::vector<uint32_t>(1));
  }
  // "double", which counts in memory of the test's how often its work has run.
  ProgramOptions Counting(std::string name = "committed") {
    ProgramOptions options = DoubleOptions(std::move(name));
    options.needs_commit = true;
    options.body = [this](Launcher& on, const ProgramInputs& in) -> Values {
      const Tensor runs = Tensor::Foreign(runs_.base, Layout::Of(DType::kI32, {1}));
      on.Launch(IncrementKernel(), TestShape(), {InOut(runs), Val(1u), Val(1u)});
      return DoubleBody(on, in);
    };
    return options;
  }
  uint32_t Runs() {
    EXPECT_THAT(a().Synchronize(), IsOk());
    return Read(runs_)[0];
  }
  // A step of eight ids; its output is right, whatever its reason.
  Why RightStep(ProgramId program, int32_t first, size_t padded = 8) {
    const Why why = StepWith(program, IdsFrom(first, 8));
    EXPECT_EQ(LastOutput(), Doubled(IdsFrom(first, 8), padded));
    return why;
  }

  AddressRange runs_;
};
GRAPHTREE_ON_EVERY_DEVICE(CommitsTest);

TEST_P(CommitsTest, NoGraphIsLaunchedBeforeItsEpochIsCommitted) {
  const ProgramId program = Add(Counting(), {{.tokens = 8}});
  EXPECT_EQ(runtime().epoch(), 1u);
  EXPECT_EQ(RightStep(program, 1), Why::kWarmingUp);
  EXPECT_EQ(RightStep(program, 2), Why::kNotRecorded);
  EXPECT_EQ(runtime().stats().recordings, 1u);
  for (int32_t i = 3; i < 6; ++i) EXPECT_EQ(RightStep(program, i), Why::kNotCommitted);
  EXPECT_EQ(Runs(), 5u) << "each step ran once, eagerly";
  EXPECT_EQ(runtime().tree()->stats().replays, 0u);
  ASSERT_EQ(runtime().Uncommitted().size(), 1u);
  EXPECT_EQ(runtime().Uncommitted()[0].key, (Key{.tokens = 8}));
  ASSERT_THAT(runtime().Commit(1), IsOk());
  EXPECT_EQ(runtime().epoch(), 2u);
  EXPECT_TRUE(runtime().Uncommitted().empty());
  for (int32_t i = 6; i < 10; ++i) EXPECT_EQ(RightStep(program, i), Why::kHit);
  EXPECT_EQ(Runs(), 9u);
}

// A plan that was made before its shapes were recorded lists them.
TEST_P(CommitsTest, APlanRunsNothingThatIsRecorded) {
  const ProgramId program = Add(Counting(), {{.tokens = 8}, {.tokens = 16}});
  ASSERT_OK_AND_ASSIGN(const RecordingPlan plan, runtime().Plan({}, 0));
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  const uint32_t runs = Runs();
  ASSERT_THAT(runtime().RecordPlan(plan, a()), IsOk());
  EXPECT_EQ(Runs(), runs);
  EXPECT_EQ(runtime().tree()->stats().replays, 0u);
  EXPECT_EQ(runtime().Uncommitted().size(), 2u);
}

TEST_P(CommitsTest, RecordingAheadLaunchesNoGraph) {
  const ProgramId program = Add(Counting(), {{.tokens = 8}, {.tokens = 16}});
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  EXPECT_EQ(Runs(), 2u) << "one warm-up for each shape";
  EXPECT_EQ(runtime().Uncommitted().size(), 2u);
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  EXPECT_EQ(Runs(), 2u) << "all are recorded";
  EXPECT_EQ(RightStep(program, 1), Why::kNotCommitted);
  ASSERT_THAT(runtime().Commit(runtime().epoch()), IsOk());
  EXPECT_EQ(RightStep(program, 2), Why::kHit);
  EXPECT_EQ(StepWith(program, IdsFrom(1, 12)), Why::kCover);
  EXPECT_EQ(LastOutput(), Doubled(IdsFrom(1, 12), 16));
}

TEST_P(CommitsTest, AnotherEpochIsRefused) {
  const ProgramId program = Add(Counting(), {{.tokens = 8}});
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  for (const uint64_t wrong : {0, 2, 7}) {
    EXPECT_THAT(runtime().Commit(wrong).message(),
                AllOf(HasSubstr(std::to_string(wrong)), HasSubstr("is 1")));
  }
  EXPECT_EQ(RightStep(program, 1), Why::kNotCommitted);
  ASSERT_THAT(runtime().Commit(1), IsOk());
  EXPECT_FALSE(runtime().Commit(1).ok()) << "it is committed";
  EXPECT_EQ(RightStep(program, 2), Why::kHit);
}

TEST_P(CommitsTest, AStaleGraphIsMadeAgainAndCommittedAgain) {
  ASSERT_OK_AND_ASSIGN(const DepId weights, runtime().DeclareDep("weights"));
  ProgramOptions options = Counting();
  options.deps = {weights};
  const ProgramId program = Add(std::move(options), {{.tokens = 8}});
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  ASSERT_THAT(runtime().Commit(1), IsOk());
  EXPECT_EQ(RightStep(program, 1), Why::kHit);
  ASSERT_THAT(runtime().Touch(weights), IsOk());
  EXPECT_EQ(RightStep(program, 2), Why::kStaleDependency);
  EXPECT_THAT(LastDescription(), HasSubstr("'weights'"));
  EXPECT_EQ(RightStep(program, 3), Why::kNotCommitted);
  EXPECT_EQ(runtime().Uncommitted().size(), 1u);
  ASSERT_THAT(runtime().Commit(2), IsOk());
  EXPECT_EQ(RightStep(program, 4), Why::kHit);
  ASSERT_THAT(runtime().Touch(weights), IsOk());
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  EXPECT_EQ(RightStep(program, 5), Why::kNotCommitted);
}

// Touched between recording and commit: what is committed is not what would be right.
TEST_P(CommitsTest, ACommitDoesNotReviveAStaleGraph) {
  ASSERT_OK_AND_ASSIGN(const DepId weights, runtime().DeclareDep("weights"));
  ProgramOptions options = Counting();
  options.deps = {weights};
  const ProgramId program = Add(std::move(options), {{.tokens = 8}});
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  ASSERT_THAT(runtime().Touch(weights), IsOk());
  ASSERT_THAT(runtime().Commit(1), IsOk());
  const uint64_t replays = runtime().tree()->stats().replays;
  EXPECT_EQ(RightStep(program, 1), Why::kStaleDependency);
  EXPECT_EQ(runtime().tree()->stats().replays, replays);
  EXPECT_EQ(RightStep(program, 2), Why::kNotCommitted);
  ASSERT_THAT(runtime().Commit(2), IsOk());
  EXPECT_EQ(RightStep(program, 3), Why::kHit);
}

TEST_P(CommitsTest, ALargerShapeServesWhileTheBetterOneWaits) {
  const ProgramId program = Add(Counting(), {{.tokens = 16}});
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  ASSERT_THAT(runtime().Commit(1), IsOk());
  ASSERT_THAT(runtime().AddShapes(program, {{.tokens = 8}}), IsOk());
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  EXPECT_EQ(RightStep(program, 1, 16), Why::kCover);
  EXPECT_THAT(LastDescription(), HasSubstr("not_committed"));
  ASSERT_THAT(runtime().Commit(2), IsOk());
  EXPECT_EQ(RightStep(program, 2), Why::kHit);
}

TEST_P(CommitsTest, AnExcludedShapeWaitsForItsCommitAllTheSame) {
  const ProgramId program = Add(Counting(), {{.tokens = 8}});
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  ASSERT_THAT(runtime().Exclude(program, {.tokens = 8}), IsOk());
  EXPECT_EQ(RightStep(program, 1), Why::kExcluded);
  ASSERT_THAT(runtime().Exclude(program, {.tokens = 8}, false), IsOk());
  EXPECT_EQ(RightStep(program, 2), Why::kNotCommitted);
  ASSERT_THAT(runtime().Exclude(program, {.tokens = 8}), IsOk());
  ASSERT_THAT(runtime().Commit(1), IsOk());
  EXPECT_EQ(RightStep(program, 3), Why::kExcluded);
  ASSERT_THAT(runtime().Exclude(program, {.tokens = 8}, false), IsOk());
  EXPECT_EQ(RightStep(program, 4), Why::kHit);
}

TEST_P(CommitsTest, SegmentedShapesAndCommitsInAStepAreRefused) {
  const ProgramId program = Add(Counting(), {{.tokens = 8}});
  EXPECT_THAT(runtime().AddShapes(program, {{.tokens = 4}}, Mode::kSegmented).message(),
              AllOf(HasSubstr("'committed'"), HasSubstr("segmented")));
  ASSERT_OK_AND_ASSIGN(Step step, runtime().Begin(program, {.tokens = 8}, a()));
  EXPECT_THAT(runtime().Commit(1).message(), HasSubstr("under way"));
  step.Cancel();
  EXPECT_THAT(runtime().Commit(1), IsOk());
}

TEST_P(CommitsTest, ABodyThatBreaksIsNeverRecordedAndServesAllTheSame) {
  ProgramOptions options = Counting();
  options.body = [](Launcher& on, const ProgramInputs& in) -> Values {
    Values outputs = DoubleBody(on, in);
    if (!on.ok()) return {};
    on.Break("a look", {In(Tensor::From(outputs[0]))},
             [](Launcher&, absl::Span<const Tensor>) {});
    return outputs;
  };
  const ProgramId program = Add(std::move(options), {{.tokens = 8}});
  EXPECT_EQ(RightStep(program, 1), Why::kWarmingUp);
  EXPECT_EQ(RightStep(program, 2), Why::kNotRecorded);
  EXPECT_EQ(RightStep(program, 3), Why::kFailed);
  ASSERT_FALSE(warnings().empty());
  EXPECT_THAT(warnings().back(), AllOf(HasSubstr("'committed'"), HasSubstr("a look")));
  EXPECT_EQ(runtime().stats().recordings, 0u);
}

TEST_P(CommitsTest, AShapeThatFailsToBeRecordedAgainWaitsForNoCommit) {
  ASSERT_OK_AND_ASSIGN(const DepId weights, runtime().DeclareDep("weights"));
  bool is_broken = false;
  ProgramOptions options = Counting();
  options.deps = {weights};
  options.body = [&is_broken](Launcher& on, const ProgramInputs& in) -> Values {
    if (is_broken) on.Fail(absl::InternalError("its body fails"));
    return DoubleBody(on, in);
  };
  const ProgramId program = Add(std::move(options), {{.tokens = 8}});
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  ASSERT_EQ(runtime().Uncommitted().size(), 1u);
  ASSERT_THAT(runtime().Touch(weights), IsOk());
  is_broken = true;
  EXPECT_FALSE(runtime().Record(program, a()).ok());
  EXPECT_TRUE(runtime().Uncommitted().empty()) << "its graph will never run";
  is_broken = false;
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  EXPECT_EQ(runtime().Uncommitted().size(), 1u);
  ASSERT_THAT(runtime().Commit(1), IsOk());
  EXPECT_EQ(RightStep(program, 1), Why::kHit);
}

}  // namespace
}  // namespace graphtree
