// Workspaces that grow: who needs the most is recorded first, or it is told; and nothing stale is
// ever replayed.
#include <algorithm>
#include <functional>
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
using testing::Not;

class WorkspacesTest : public RuntimeTest {
 protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    Declare();
  }
  void Declare(std::string name = "attention") {
    have_ = NewWords(1);
    ASSERT_OK_AND_ASSIGN(workspace_, runtime().DeclareWorkspace(std::move(name), have_));
  }

  // ids -> 2 * ids, by way of a workspace of `need(tokens)` words, which the body makes grow as a
  // library would.
  ProgramOptions UsingOptions(std::function<int32_t(int32_t)> need, std::string name = "decode") {
    ProgramOptions options = DoubleOptions(std::move(name));
    options.deps = {workspace_};
    options.body = [this, need = std::move(need)](Launcher& on, const ProgramInputs& in) -> Values {
      const int32_t tokens = in.key().tokens;
      const int32_t words = std::max(need(tokens), tokens);
      EXPECT_EQ(in.workspace(0), have_);
      if (have_.bytes < 4u * words && may_grow_) Grow(words);
      const Tensor scratch = Tensor::Foreign(have_.base, Layout::Of(DType::kI32, {tokens}));
      const Tensor out = on.Empty(DType::kI32, {tokens});
      if (!on.ok()) return {};
      on.Copy(scratch, in.slot(0));
      on.Launch(AddKernel(), TestShape(),
                {Out(out), In(scratch), In(scratch), Val(static_cast<uint32_t>(tokens))});
      return {out};
    };
    return options;
  }
  void Grow(int32_t words) {
    old_.push_back(have_);
    have_ = NewWords(words);
    EXPECT_THAT(runtime().MoveWorkspace(workspace_, have_), IsOk());
  }
  // The memory that the workspace has left is somebody else's from now on.
  void GiveOldAway() {
    EXPECT_THAT(a().Synchronize(), IsOk());
    for (const AddressRange& range : old_) {
      Write(range, std::vector<uint32_t>(range.bytes / 4, 0xabcd));
    }
  }
  void ExpectOldUntouched() {
    EXPECT_THAT(a().Synchronize(), IsOk());
    for (const AddressRange& range : old_) {
      EXPECT_EQ(Read(range), std::vector<uint32_t>(range.bytes / 4, 0xabcd));
    }
  }
  void ExpectStep(ProgramId program, int32_t tokens, Why why) {
    EXPECT_EQ(StepWith(program, IdsFrom(tokens, tokens)), why) << LastDescription();
    EXPECT_EQ(LastOutput(), Doubled(IdsFrom(tokens, tokens), tokens));
  }

  DepId workspace_;
  AddressRange have_;
  std::vector<AddressRange> old_;
  bool may_grow_ = true;
};
GRAPHTREE_ON_EVERY_DEVICE(WorkspacesTest);

TEST_P(WorkspacesTest, TheLargestUserFirstMakesNothingStale) {
  const ProgramId program = Add(UsingOptions([](int32_t tokens) { return 2 * tokens; }),
                                {{.tokens = 1}, {.tokens = 8}, {.tokens = 64}});
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  EXPECT_EQ(old_.size(), 1u) << "it grew once";
  EXPECT_EQ(runtime().stats().workspace_moves, 0u);
  EXPECT_EQ(runtime().stats().recordings, 3u);
  EXPECT_TRUE(warnings().empty());
  GiveOldAway();
  for (const int32_t tokens : {1, 8, 64}) ExpectStep(program, tokens, Why::kHit);
  ExpectOldUntouched();
}

// Fewer tokens need more: the rule is broken in the order of tokens, told, and made good.
TEST_P(WorkspacesTest, RecordTellsWhatWasStaleAndRecordsItAgain) {
  const ProgramId program = Add(UsingOptions([](int32_t tokens) { return 512 / tokens; }),
                                {{.tokens = 2}, {.tokens = 8}, {.tokens = 64}});
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  const RuntimeStats stats = runtime().stats();
  EXPECT_EQ(stats.workspace_moves, 1u) << "at 64 nothing was recorded, at 8 it is large enough";
  EXPECT_EQ(stats.stale_recordings, 2u);
  EXPECT_EQ(stats.recordings, 5u);
  ASSERT_EQ(warnings().size(), 1u);
  EXPECT_THAT(warnings()[0],
              AllOf(HasSubstr("workspace 'attention' grew from 256 to 1024 bytes"),
                    HasSubstr("while 'decode' ran for tokens=2"),
                    HasSubstr("'decode' for tokens=8"), HasSubstr("'decode' for tokens=64"),
                    Not(HasSubstr("'decode' for tokens=2,")),
                    HasSubstr("Record first what needs the most")));
  GiveOldAway();
  for (const int32_t tokens : {2, 8, 64}) ExpectStep(program, tokens, Why::kHit);
  ExpectOldUntouched();
}

TEST_P(WorkspacesTest, AStepThatMakesItGrowTellsAndTheOthersAreMadeAgain) {
  const auto need = [](int32_t tokens) { return tokens; };
  const ProgramId decode = Add(UsingOptions(need), {{.tokens = 1}, {.tokens = 8}});
  const ProgramId prefill = Add(UsingOptions(need, "prefill"), {{.tokens = 64}});
  ASSERT_THAT(runtime().Record(decode, a()), IsOk());
  EXPECT_TRUE(warnings().empty());
  ExpectStep(decode, 1, Why::kHit);
  ExpectStep(decode, 8, Why::kHit);
  ExpectStep(prefill, 64, Why::kWarmingUp);
  ASSERT_EQ(warnings().size(), 1u);
  EXPECT_THAT(warnings()[0], AllOf(HasSubstr("while 'prefill' ran for tokens=64"),
                                   HasSubstr("'decode' for tokens=1"),
                                   HasSubstr("'decode' for tokens=8")));
  EXPECT_EQ(runtime().stats().workspace_moves, 1u);
  EXPECT_EQ(runtime().stats().stale_recordings, 2u);
  GiveOldAway();
  ExpectStep(decode, 8, Why::kStaleDependency);
  EXPECT_THAT(LastDescription(), HasSubstr("'attention'"));
  ExpectStep(decode, 8, Why::kHit);
  ExpectStep(prefill, 64, Why::kNotRecorded);
  ExpectStep(prefill, 64, Why::kHit);
  ExpectStep(decode, 1, Why::kStaleDependency);
  ExpectStep(decode, 1, Why::kHit);
  ExpectOldUntouched();
  EXPECT_EQ(runtime().stats().workspace_moves, 1u);
}

TEST_P(WorkspacesTest, BetweenStepsItMovesToo) {
  const ProgramId program =
      Add(UsingOptions([](int32_t tokens) { return tokens; }), {{.tokens = 8}});
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  ASSERT_THAT(runtime().MoveWorkspace(workspace_, have_), IsOk());
  EXPECT_EQ(runtime().stats().workspace_moves, 0u) << "the same memory again";
  ExpectStep(program, 8, Why::kHit);
  Grow(8);
  EXPECT_EQ(runtime().stats().workspace_moves, 1u);
  ASSERT_EQ(warnings().size(), 1u);
  EXPECT_THAT(warnings()[0], HasSubstr("moved from 32 to 32 bytes between steps"));
  Grow(16);
  EXPECT_EQ(runtime().stats().workspace_moves, 1u) << "what was stale is not stale once more";
  GiveOldAway();
  ExpectStep(program, 8, Why::kStaleDependency);
  ExpectStep(program, 8, Why::kHit);
  ExpectOldUntouched();
}

// The run that records makes it grow, and not the warm-up before.
TEST_P(WorkspacesTest, ItMayGrowInTheRecordingItself) {
  int runs = 0;
  ProgramOptions options = UsingOptions([](int32_t tokens) { return tokens; });
  const ProgramBody body = std::move(options.body);
  options.body = [&, body](Launcher& on, const ProgramInputs& in) {
    Values outputs = body(on, in);
    if (++runs == 2) Grow(100);
    return outputs;
  };
  const ProgramId program = Add(std::move(options), {{.tokens = 8}});
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  GiveOldAway();
  ExpectStep(program, 8, Why::kHit);
  ExpectOldUntouched();
}

TEST_P(WorkspacesTest, BodiesThatNeverSettleAreAnError) {
  ProgramOptions options = DoubleOptions();
  options.deps = {workspace_};
  options.body = [this](Launcher& on, const ProgramInputs& in) {
    Grow(1);
    return DoubleBody(on, in);
  };
  const ProgramId program = Add(std::move(options), {{.tokens = 8}});
  EXPECT_FALSE(runtime().Record(program, a()).ok());
  EXPECT_EQ(StepWith(program, IdsFrom(1, 8)), Why::kFailed) << LastDescription();
  EXPECT_EQ(LastOutput(), Doubled(IdsFrom(1, 8), 8));
}

TEST_P(WorkspacesTest, WhatIsNoWorkspaceIsRefused) {
  ASSERT_OK_AND_ASSIGN(const DepId weights, runtime().DeclareDep("weights"));
  EXPECT_THAT(runtime().MoveWorkspace(weights, have_).message(), HasSubstr("no workspace"));
  EXPECT_THAT(runtime().MoveWorkspace({}, have_).message(), HasSubstr("no workspace"));
  // Declared before a lane is there, or after it, a workspace is the same.
  const ProgramId first = Add(UsingOptions([](int32_t tokens) { return tokens; }), {{.tokens = 4}});
  ASSERT_THAT(runtime().Record(first, a()), IsOk());
  const AddressRange before = have_;
  Declare("another");
  EXPECT_NE(have_, before);
  const ProgramId second =
      Add(UsingOptions([](int32_t tokens) { return tokens; }, "second"), {{.tokens = 4}});
  ASSERT_THAT(runtime().Record(second, a()), IsOk());
  ExpectStep(second, 4, Why::kHit);
  EXPECT_TRUE(warnings().empty()) << "no recording has the second one yet";
}

// Its recordings are stale when its body returns, until it has what it needs. An error of Record
// says no more than what happened, and the runs that it asks for help.
TEST_P(WorkspacesTest, AWorkspaceThatGrowsInManyRunsIsRecordedInTheEnd) {
  for (int growing = 1; growing < 12; ++growing) {
    const auto grows = [growing, words = have_.bytes / 4, run = 0](int32_t) mutable {
      if (++run <= growing) words += 100;
      return static_cast<int32_t>(words);
    };
    const ProgramId program =
        Add(UsingOptions(grows, "grows" + std::to_string(growing)), {{.tokens = 8}});
    EXPECT_THAT(runtime().Record(program, a()), IsOk()) << growing;
    ExpectStep(program, 8, Why::kHit);
  }
}

}  // namespace
}  // namespace graphtree
