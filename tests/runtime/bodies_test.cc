// What a program's body returns, and slots that kernels fill.
#include <atomic>
#include <memory>
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

class BodiesTest : public RuntimeTest {
 protected:
  absl::Status TryStep(ProgramId program, int32_t tokens, StepOptions options = {}) {
    absl::StatusOr<Step> step = runtime().Begin(program, {.tokens = tokens}, a(), options);
    if (!step.ok()) return step.status();
    if (absl::Status staged = step->Stage(0, 1.0); !staged.ok()) return staged;
    Values outputs;
    return step->Run(&outputs);
  }
};
GRAPHTREE_ON_EVERY_DEVICE(BodiesTest);

TEST_P(BodiesTest, SizesThatDoNotFollowTheKeyAreAnError) {
  int64_t rows = 8;
  ProgramOptions options = DoubleOptions();
  options.body = [&rows](Launcher& on, const ProgramInputs& in) -> Values {
    const Tensor out = on.Empty(DType::kI32, {rows});
    if (!on.ok()) return {};
    on.Launch(AddKernel(), TestShape(), {Out(out), In(in.slot(0)), In(in.slot(0)), Val(4u)});
    return {out};
  };
  const ProgramId program = Add(std::move(options), {{.tokens = 8}, {.tokens = 16}});
  EXPECT_THAT(TryStep(program, 8), IsOk());
  rows = 5;
  EXPECT_THAT(TryStep(program, 8).message(),
              AllOf(HasSubstr("i32[5]"), HasSubstr("i32[8]"), HasSubstr("tokens=8")));
  EXPECT_THAT(TryStep(program, 16), IsOk()) << "another key may have other sizes";
  rows = 8;
  EXPECT_THAT(TryStep(program, 8), IsOk());
  EXPECT_EQ(StepWith(program, IdsFrom(1, 8)), Why::kHit);
}

// As an engine's cache: the slot says where the body writes, and padding that it writes nowhere.
TEST_P(BodiesTest, RecordGivesBodiesNothingButPadding) {
  const AddressRange seen = NewWordsWith(std::vector<uint32_t>(16, 99));
  ProgramOptions options = DoubleOptions();
  options.slots.push_back({.name = "mapping",
                           .type = DType::kI32,
                           .sizes = {kMost},
                           .rows = KeyField::kTokens,
                           .pad = PadRule::kValue,
                           .pad_value = -1});
  options.body = [&seen](Launcher& on, const ProgramInputs& in) -> Values {
    on.Copy(Tensor::Foreign(seen.base, in.slot(1).layout()), in.slot(1));
    return DoubleBody(on, in);
  };
  const ProgramId program = Add(std::move(options), {{.tokens = 16}});
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  ASSERT_THAT(a().Synchronize(), IsOk());
  EXPECT_EQ(Read(seen), std::vector<uint32_t>(16, 0xffffffff));
  ASSERT_OK_AND_ASSIGN(Step step, runtime().Begin(program, {.tokens = 16}, a()));
  ASSERT_THAT(step.Stage(0, 1.0), IsOk());
  ASSERT_THAT(step.Stage(1, 7.0), IsOk());
  Values outputs;
  ASSERT_THAT(step.Run(&outputs), IsOk());
  EXPECT_EQ(step.why(), Why::kHit);
  EXPECT_EQ(ReadIds(outputs[0]), Ids(16, 2));
  EXPECT_EQ(Read(seen), std::vector<uint32_t>(16, 7));
}

TEST_P(BodiesTest, EagerRunsOfOneKeyAreHeldToTheSame) {
  bool returns = true;
  ProgramOptions options = DoubleOptions();
  options.body = [&returns](Launcher& on, const ProgramInputs& in) -> Values {
    Values outputs = DoubleBody(on, in);
    if (!returns) outputs.clear();
    return outputs;
  };
  const ProgramId program = Add(std::move(options), {{.tokens = 64}});
  const StepOptions eagerly = {.modes = Modes::None()};
  EXPECT_THAT(TryStep(program, 3, eagerly), IsOk());
  returns = false;
  EXPECT_THAT(TryStep(program, 3, eagerly).message(), HasSubstr("returned ()"));
  EXPECT_THAT(TryStep(program, 5, eagerly), IsOk());
  returns = true;
  EXPECT_THAT(TryStep(program, 7, eagerly), IsOk());
}

TEST_P(BodiesTest, AFilledSlotIsComputedInEveryStep) {
  ProgramOptions options = DoubleOptions();
  options.slots.push_back(
      {.name = "pattern",
       .type = DType::kI32,
       .sizes = {kMost},
       .rows = KeyField::kTokens,
       .fill = [](Launcher& on, const Key& key, const Tensor& slot) {
         on.Launch(FillPatternKernel(), TestShape(),
                   {Out(slot), Val(9u), Val(static_cast<uint32_t>(key.tokens))});
       }});
  options.body = [](Launcher& on, const ProgramInputs& in) -> Values {
    const auto tokens = static_cast<uint32_t>(in.key().tokens);
    const Tensor out = on.Empty(DType::kI32, {in.key().tokens});
    if (!on.ok()) return {};
    on.Launch(AddKernel(), TestShape(),
              {Out(out), In(in.slot(0)), In(in.slot(1)), Val(tokens)});
    // What it left would be seen by the next step if nobody filled the slot again.
    on.Launch(IncrementKernel(), TestShape(), {InOut(in.slot(1)), Val(1u), Val(tokens)});
    return {out};
  };
  const ProgramId program = Add(std::move(options), {{.tokens = 8}});
  const std::vector<uint32_t> pattern = Pattern(9, 8);
  for (int32_t round = 0; round < 5; ++round) {
    const Ids ids = IdsFrom(round, 8);
    const Why why = StepWith(program, ids);
    Ids expected = ids;
    for (size_t i = 0; i < 8; ++i) expected[i] += static_cast<int32_t>(pattern[i]);
    EXPECT_EQ(LastOutput(), expected) << WhyName(why);
    EXPECT_EQ(why == Why::kHit, round >= 2);
  }
  EXPECT_EQ(StepWith(program, IdsFrom(1, 5)), Why::kCover);
  ASSERT_OK_AND_ASSIGN(Step step, runtime().Begin(program, {.tokens = 8}, a()));
  EXPECT_THAT(step.Stage(1, 1.0).message(), AllOf(HasSubstr("'pattern'"), HasSubstr("fill")));
  const Ids ids = IdsFrom(0, 8);
  EXPECT_THAT(step.Stage(1, HostRows{ids.data(), DType::kI32, 8}).message(),
              AllOf(HasSubstr("'pattern'"), HasSubstr("fill")));
  step.Cancel();
}

TEST_P(BodiesTest, ARecordingThatHadToMakeRoomSaysSo) {
  RuntimeOptions options;
  options.tree.budget.nodes = 1;
  OpenRuntime(options);
  const ProgramId program = AddDouble({4, 8});
  for (int i = 0; i < 3; ++i) StepWith(program, IdsFrom(1, 4));
  for (int i = 0; i < 3; ++i) StepWith(program, IdsFrom(1, 8));
  EXPECT_EQ(StepWith(program, IdsFrom(1, 8)), Why::kHit);
  const Why why = StepWith(program, IdsFrom(1, 4));
  EXPECT_EQ(why, Why::kEvicted) << LastDescription();
  EXPECT_EQ(LastOutput(), Doubled(IdsFrom(1, 4), 4));
}

// Work that a step has queued, and an object that the program's body has captured: was it there
// still when the work ran?
TEST_P(BodiesTest, WhatABodyCapturedOutlivesARemovedProgramUntilItsWorkIsDone) {
  for (const bool has_slots : {false, true}) {
    for (const bool has_shape : {false, true}) {
      auto captured = std::make_shared<int>(1);
      const std::weak_ptr<int> seen = captured;
      std::atomic<bool> was_there = false;
      ProgramOptions options = DoubleOptions();
      if (!has_slots) options.slots.clear();
      options.body = [captured = std::move(captured), seen, &was_there](
                         Launcher& on, const ProgramInputs&) -> Values {
        on.Fail(on.stream().CallHost([seen, &was_there] { was_there = !seen.expired(); }));
        return {};
      };
      std::vector<Key> keys;
      if (has_shape) keys.push_back({.tokens = 8});
      const ProgramId program = Add(std::move(options), keys);
      ASSERT_OK_AND_ASSIGN(Step step, runtime().Begin(program, {.tokens = 8}, a()));
      if (has_slots) {
        ASSERT_THAT(step.Stage(0, 1.0), IsOk());
      }
      Values outputs;
      ASSERT_THAT(step.Run(&outputs), IsOk());
      ASSERT_THAT(runtime().RemoveProgram(program), IsOk());
      ASSERT_THAT(a().Synchronize(), IsOk());
      EXPECT_TRUE(was_there);
      runtime().tree()->BeginStep();
      runtime().tree()->BeginStep();
      EXPECT_TRUE(seen.expired());
    }
  }
}

}  // namespace
}  // namespace graphtree
