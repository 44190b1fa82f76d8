// Steps and captures that the caller has open: a step is no part of another's graph.
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "tests/kernels/launches.h"
#include "tests/runtime/runtime_fixture.h"

namespace graphtree {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class CapturesTest : public RuntimeTest {
 protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    ProgramOptions options = DoubleOptions();
    options.tells_when_free = true;
    ASSERT_OK_AND_ASSIGN(program_, runtime().AddProgram(std::move(options)));
    ASSERT_THAT(runtime().AddShapes(program_, {{.tokens = 8}}), IsOk());
    ASSERT_THAT(runtime().Record(program_, a()), IsOk());
    words_ = NewWordsWith({1, 2, 3, 4});
  }
  // What the caller captures on `a`; while it is open `during` is called.
  template <typename Call>
  void Capture(const Call& during) {
    ASSERT_THAT(a().BeginCapture(CaptureMode::kThreadLocal), IsOk());
    ASSERT_THAT(Increment(a(), words_, 1), IsOk());
    during();
    ASSERT_THAT(Increment(a(), words_, 1), IsOk());
    ASSERT_OK_AND_ASSIGN(graph_, a().EndCapture());
  }
  // It has what the caller put there, and nothing else; and steps go on.
  void ExpectFine() {
    EXPECT_EQ(graph_->op_count(), 2u);
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Executable> executable, graph_->Instantiate());
    for (int32_t i = 0; i < 4; ++i) {
      ASSERT_THAT(executable->Launch(a()), IsOk());
      EXPECT_EQ(StepWith(program_, IdsFrom(i, 8)), Why::kHit);
      EXPECT_EQ(LastOutput(), Doubled(IdsFrom(i, 8), 8));
    }
    ASSERT_THAT(a().Synchronize(), IsOk());
    EXPECT_EQ(Read(words_), (std::vector<uint32_t>{9, 10, 11, 12}));
    EXPECT_THAT(device().health(), IsOk());
  }

  void TearDown() override {
    graph_ = nullptr;
    RuntimeTest::TearDown();
  }

  ProgramId program_;
  AddressRange words_;
  std::unique_ptr<Graph> graph_;
};
GRAPHTREE_ON_EVERY_DEVICE(CapturesTest);

TEST_P(CapturesTest, NoStepBeginsOnAStreamThatCaptures) {
  Capture([&] {
    EXPECT_THAT(runtime().Begin(program_, {.tokens = 8}, a()).status().message(),
                AllOf(HasSubstr("'double'"), HasSubstr("captures")));
    EXPECT_FALSE(runtime().CancelStep()) << "nobody has the lane";
    EXPECT_THAT(runtime().Record(program_, a()).message(), HasSubstr("captures"));
  });
  EXPECT_EQ(runtime().stats().steps, 0u);
  ExpectFine();
}

// Whoever begins a capture within a step has the step's Run refused.
TEST_P(CapturesTest, AStepDoesNotRunOnAStreamThatCapturesMeanwhile) {
  ASSERT_OK_AND_ASSIGN(Step step, runtime().Begin(program_, {.tokens = 8}, a()));
  ASSERT_THAT(step.Stage(0, 1.0), IsOk());
  Values outputs;
  Capture([&] {
    EXPECT_THAT(step.Run(&outputs).message(), AllOf(HasSubstr("'double'"), HasSubstr("captures")));
  });
  EXPECT_EQ(step.why(), Why::kFailed);
  ExpectFine();
}

// The tensor is the last step's, which ends with the next one: nothing is copied into the capture.
TEST_P(CapturesTest, ATensorThatWasStagedMeanwhileIsLetGo) {
  StepWith(program_, IdsFrom(1, 8));
  Values outputs;
  {
    ASSERT_OK_AND_ASSIGN(Step source, runtime().Begin(program_, {.tokens = 8}, a()));
    ASSERT_THAT(source.Stage(0, 2.0), IsOk());
    ASSERT_THAT(source.Run(&outputs), IsOk());
  }
  ASSERT_OK_AND_ASSIGN(Step step, runtime().Begin(program_, {.tokens = 64}, a()));
  const Tensor whole = Tensor::From(outputs[0]);
  ASSERT_THAT(step.Stage(0, whole), IsOk());
  Capture([&] { EXPECT_THAT(step.Run(&outputs).message(), HasSubstr("captures")); });
  outputs.clear();
  ExpectFine();
}

// A capture on another stream is its owner's, and steps go on beside it.
TEST_P(CapturesTest, StepsRunBesideACaptureOfAnotherStream) {
  ASSERT_THAT(b().BeginCapture(CaptureMode::kThreadLocal), IsOk());
  ASSERT_THAT(Increment(b(), words_, 1), IsOk());
  for (int32_t i = 0; i < 3; ++i) EXPECT_EQ(StepWith(program_, IdsFrom(i, 8)), Why::kHit);
  ASSERT_THAT(Increment(b(), words_, 1), IsOk());
  ASSERT_OK_AND_ASSIGN(graph_, b().EndCapture());
  ExpectFine();
}

}  // namespace
}  // namespace graphtree
