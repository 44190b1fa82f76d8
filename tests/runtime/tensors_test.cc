// Slots that are staged with tensors, above all with what the step before returned: a decode loop
// that never comes to the host.
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "allocator/pool.h"
#include "gmock/gmock.h"
#include "tests/kernels/kernels.h"
#include "tests/kernels/launches.h"
#include "tests/runtime/runtime_fixture.h"

namespace graphtree {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class TensorsTest : public RuntimeTest {
 protected:
  void TearDown() override {
    outputs_.clear();
    RuntimeTest::TearDown();
  }

  // ids -> ids + ids, with more memory of its own than one step before it needs, and another output
  // that nobody reads: so that the next run's memory lies over this one's.
  ProgramOptions Decode(std::string name = "decode") {
    ProgramOptions options = DoubleOptions(std::move(name));
    options.body = [](Launcher& on, const ProgramInputs& in) -> Values {
      const auto tokens = static_cast<uint32_t>(in.key().tokens);
      Values scratch;
      for (int i = 0; i < 3; ++i) {
        const Tensor noise = on.Empty(DType::kI32, {in.key().tokens});
        if (!on.ok()) return {};
        on.Launch(FillPatternKernel(), TestShape(), {Out(noise), Val(77u + i), Val(tokens)});
        scratch.push_back(noise);
      }
      Values outputs = DoubleBody(on, in);
      outputs.push_back(scratch.back());
      return outputs;
    };
    return options;
  }
  ProgramId Add(ProgramOptions options, const std::vector<int32_t>& tokens) {
    return RuntimeTest::Add(std::move(options), KeysOf(tokens));
  }
  absl::Status TensorStep(ProgramId program, int32_t tokens, const Tensor& from, Stream& stream,
                          Values* outputs, Why* why, StepOptions options = {}) {
    absl::StatusOr<Step> step = runtime().Begin(program, {.tokens = tokens}, stream, options);
    if (!step.ok()) return step.status();
    if (absl::Status staged = step->Stage(0, from); !staged.ok()) {
      step->Cancel();
      return staged;
    }
    const absl::Status status = step->Run(outputs);
    *why = step->why();
    return status;
  }

  Values outputs_;
};
GRAPHTREE_ON_EVERY_DEVICE(TensorsTest);

// The caller gives a block of its own pool back after Run, in the order of the stream.
TEST_P(TensorsTest, RowsOfABlockThatIsFreedAfterTheStepAreRead) {
  auto pool = *Pool::Create(device(), {.limit_bytes = 32 << 20});
  const ProgramId program = Add(Decode(), {8});
  for (uint32_t step = 0; step < 8; ++step) {
    const Block block = *pool->Allocate(8 * sizeof(uint32_t), a());
    const Ids ids = IdsFrom(static_cast<int32_t>(10 * step), 8);
    Write(block.range, {ids.begin(), ids.end()});
    ASSERT_OK_AND_ASSIGN(Step begun, runtime().Begin(program, {.tokens = 8}, a()));
    ASSERT_THAT(begun.Stage(0, DeviceRows{block.range.base, DType::kI32, 8}), IsOk());
    ASSERT_THAT(begun.Run(&outputs_), IsOk());
    ASSERT_THAT(pool->Free(block.id), IsOk());
    EXPECT_EQ(ReadIds(outputs_[0]), Doubled(ids, 8)) << "step " << step;
  }
}

TEST_P(TensorsTest, ALoopFeedsItselfInEveryKindOfRun) {
  const ProgramId program = Add(Decode(), {4, 8});
  Ids expected = IdsFrom(1, 4);
  StepWith(program, expected);
  {
    ASSERT_OK_AND_ASSIGN(Step step, runtime().Begin(program, {.tokens = 4}, a()));
    ASSERT_THAT(step.Stage(0, HostRows{expected.data(), DType::kI32, 4}), IsOk());
    ASSERT_THAT(step.Run(&outputs_), IsOk());
  }
  expected = Doubled(expected, 4);
  WhyCounts seen = {};
  for (int i = 0; i < 24; ++i) {
    // Other shapes in between, and eager runs.
    const int32_t tokens = i % 5 == 3 ? 8 : 4;
    StepOptions options;
    if (i % 7 == 5) options.modes = Modes::None();
    Tensor from = Tensor::From(outputs_[0]);
    if (from.dim(0) > 4) from = from.View(Layout::Of(DType::kI32, {4}), 0);
    Why why = Why::kFailed;
    ASSERT_THAT(TensorStep(program, tokens, from, i % 3 == 1 ? b() : a(), &outputs_, &why, options),
                IsOk());
    ++seen[static_cast<size_t>(why)];
    from = {};
    expected = Doubled(expected, 4);
    if (i % 4 != 0) continue;
    EXPECT_THAT(b().Synchronize(), IsOk());
    Ids padded = expected;
    padded.resize(tokens);
    EXPECT_EQ(ReadIds(outputs_[0]), padded) << "step " << i;
  }
  for (const Why why : {Why::kHit, Why::kWarmingUp, Why::kNotRecorded, Why::kMode}) {
    EXPECT_GT(seen[static_cast<size_t>(why)], 0u) << WhyName(why);
  }
}

TEST_P(TensorsTest, AComparedReplayReadsWhatTheLastStepReturned) {
  OpenRuntime({.serving = {.parity_every = 1}});
  const ProgramId program = Add(Decode(), {4});
  Ids expected = IdsFrom(1, 4);
  for (int i = 0; i < 8; ++i) {
    ASSERT_OK_AND_ASSIGN(Step step, runtime().Begin(program, {.tokens = 4}, a()));
    if (i == 0) {
      ASSERT_THAT(step.Stage(0, HostRows{expected.data(), DType::kI32, 4}), IsOk());
    } else {
      ASSERT_THAT(step.Stage(0, Tensor::From(outputs_[0])), IsOk());
    }
    ASSERT_THAT(step.Run(&outputs_), IsOk());
    expected = Doubled(expected, 4);
    EXPECT_EQ(ReadIds(outputs_[0]), expected) << "step " << i << ", " << WhyName(step.why());
  }
  EXPECT_GT(runtime().metrics().lanes[0].parity_same, 0u);
  EXPECT_EQ(runtime().metrics().lanes[0].parity_differs, 0u);
}

// A step that has asked how it will run ends the one before, and an object that this lets go wants
// to touch what the step depends on.
TEST_P(TensorsTest, NothingIsTouchedBetweenTheQuestionAndTheRun) {
  ASSERT_OK_AND_ASSIGN(const DepId weights, runtime().DeclareDep("weights"));
  ProgramOptions options = Decode();
  options.deps = {weights};
  const ProgramId program = Add(std::move(options), {4});
  std::vector<absl::Status> touched;
  ProgramOptions eager = DoubleOptions("eager");
  eager.body = [&](Launcher& on, const ProgramInputs& in) {
    on.KeepAlive(std::shared_ptr<void>(
        nullptr, [&](void*) { touched.push_back(runtime().Touch(weights)); }));
    return DoubleBody(on, in);
  };
  const ProgramId before = Add(std::move(eager), {});
  const ProgramId feeds = Add(Decode("feeds"), {4});
  const Ids ids = IdsFrom(1, 4);
  for (int i = 0; i < 3; ++i) StepWith(feeds, ids);
  for (int i = 0; i < 3; ++i) StepWith(program, ids);
  for (int i = 0; i < 4; ++i) {
    StepWith(program, ids);  // recorded again, if it was touched
    StepWith(before, ids);
    ASSERT_OK_AND_ASSIGN(Step step, runtime().Begin(feeds, {.tokens = 4}, a()));
    ASSERT_THAT(step.Stage(0, HostRows{ids.data(), DType::kI32, 4}), IsOk());
    ASSERT_THAT(step.Run(&outputs_), IsOk());
    ASSERT_THAT(a().Synchronize(), IsOk());
    Values next;
    Why why = Why::kFailed;
    ASSERT_THAT(TensorStep(program, 4, Tensor::From(outputs_[0]), a(), &next, &why), IsOk());
    EXPECT_EQ(ReadIds(next[0]), Doubled(Doubled(ids, 4), 4)) << "round " << i;
    outputs_ = std::move(next);
  }
  ASSERT_FALSE(touched.empty());
  for (const absl::Status& status : touched) {
    EXPECT_TRUE(status.ok() || absl::StrContains(status.message(), "after the step had found out"))
        << status;
  }
}

TEST_P(TensorsTest, AHitCopiesNothingAheadOfItsLaunch) {
  const ProgramId program = Add(Decode(), {4});
  for (int i = 0; i < 3; ++i) StepWith(program, IdsFrom(1, 4));
  Why why = Why::kFailed;
  {
    ASSERT_OK_AND_ASSIGN(Step step, runtime().Begin(program, {.tokens = 4}, a()));
    ASSERT_THAT(step.Stage(0, 1.0), IsOk());
    ASSERT_THAT(step.Run(&outputs_), IsOk());
  }
  const uint64_t calls = runtime().tree()->stats().calls;
  for (int i = 0; i < 10; ++i) {
    const Tensor from = Tensor::From(outputs_[0]);
    ASSERT_THAT(TensorStep(program, 4, from, a(), &outputs_, &why), IsOk());
    EXPECT_EQ(why, Why::kHit);
  }
  EXPECT_EQ(runtime().tree()->stats().calls, calls + 10);
  EXPECT_EQ(ReadIds(outputs_[0]), Ids(4, 2 << 10));
}

TEST_P(TensorsTest, KeptOutputsAndStepsThatGoOnNeedNoCopy) {
  ProgramOptions options = Decode();
  options.kept_outputs = {0};
  const ProgramId program = Add(std::move(options), {4});
  StepWith(program, IdsFrom(1, 4));
  Why why = Why::kFailed;
  ASSERT_OK_AND_ASSIGN(Step step, runtime().Begin(program, {.tokens = 4}, a()));
  ASSERT_THAT(step.Stage(0, 1.0), IsOk());
  ASSERT_THAT(step.Run(&outputs_), IsOk());
  const uint64_t calls = runtime().tree()->stats().calls;
  for (int i = 0; i < 6; ++i) {
    const Tensor from = Tensor::From(outputs_[0]);
    ASSERT_THAT(TensorStep(program, 4, from, a(), &outputs_, &why), IsOk());
  }
  EXPECT_EQ(runtime().tree()->stats().calls, calls + 6);
  EXPECT_EQ(ReadIds(outputs_[0]), Ids(4, 2 << 6));
}

TEST_P(TensorsTest, ATensorOfAnotherLaneIsReadBeforeItGoes) {
  ProgramOptions options = Decode("other");
  options.lane = 1;
  const ProgramId other = Add(std::move(options), {4});
  const ProgramId program = Add(Decode(), {4});
  for (int32_t i = 0; i < 12; ++i) {
    Values made;
    {
      const Ids ids = IdsFrom(i, 4);
      ASSERT_OK_AND_ASSIGN(Step step, runtime().Begin(other, {.tokens = 4}, b()));
      ASSERT_THAT(step.Stage(0, HostRows{ids.data(), DType::kI32, 4}), IsOk());
      ASSERT_THAT(step.Run(&made), IsOk());
    }
    // The other stream's work is the caller's to order.
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Event> made_by, device().NewEvent({}));
    ASSERT_THAT(b().Record(*made_by), IsOk());
    ASSERT_THAT(a().Wait(*made_by), IsOk());
    ASSERT_OK_AND_ASSIGN(Step step, runtime().Begin(program, {.tokens = 4}, a()));
    ASSERT_THAT(step.Stage(0, Tensor::From(made[0])), IsOk());
    made.clear();
    ASSERT_THAT(step.Run(&outputs_), IsOk());
    StepWith(other, IdsFrom(90, 4));
    EXPECT_EQ(ReadIds(outputs_[0]), Doubled(Doubled(IdsFrom(i, 4), 4), 4)) << i;
  }
}

TEST_P(TensorsTest, WhatCannotBeReadIsRefusedInWords) {
  const ProgramId program = Add(Decode(), {4});
  for (int i = 0; i < 3; ++i) StepWith(program, IdsFrom(1, 4));
  ASSERT_OK_AND_ASSIGN(Step step, runtime().Begin(program, {.tokens = 4}, a()));
  ASSERT_THAT(step.Stage(0, 1.0), IsOk());
  ASSERT_THAT(step.Run(&outputs_), IsOk());
  const Tensor last = Tensor::From(outputs_[0]);
  StepWith(program, IdsFrom(1, 4));
  ASSERT_OK_AND_ASSIGN(step, runtime().Begin(program, {.tokens = 4}, a()));
  EXPECT_THAT(step.Stage(0, last).message(), AllOf(HasSubstr("'ids'"), HasSubstr("step")));
  EXPECT_THAT(step.Stage(0, Tensor()).message(), HasSubstr("nothing"));
  const Tensor square = Tensor::Foreign(NewWordsWith({1, 2, 3, 4}).base,
                                        Layout::Of(DType::kI32, {2, 2}));
  EXPECT_THAT(step.Stage(0, square).message(), HasSubstr("i32[2,2]"));
  EXPECT_THAT(step.Stage(3, square).message(), HasSubstr("slot 3"));
  const Tensor flat = Tensor::Foreign(square.word(), Layout::Of(DType::kI32, {4}));
  EXPECT_THAT(step.Stage(0, flat), IsOk());
  EXPECT_THAT(step.Stage(0, flat).message(), HasSubstr("twice"));
  ASSERT_THAT(step.Run(&outputs_), IsOk());
  EXPECT_EQ(ReadIds(outputs_[0]), (Ids{2, 4, 6, 8}));
}

TEST_P(TensorsTest, ATensorWhoseStepEndsBeforeTheRunIsAnError) {
  ProgramOptions options = Decode("other");
  options.lane = 1;
  const ProgramId other = Add(std::move(options), {4});
  const ProgramId program = Add(Decode(), {4});
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  ASSERT_THAT(runtime().Record(other, a()), IsOk());
  Values made;
  {
    ASSERT_OK_AND_ASSIGN(Step step, runtime().Begin(other, {.tokens = 4}, a()));
    ASSERT_THAT(step.Stage(0, 1.0), IsOk());
    ASSERT_THAT(step.Run(&made), IsOk());
  }
  ASSERT_OK_AND_ASSIGN(Step step, runtime().Begin(program, {.tokens = 4}, a()));
  ASSERT_THAT(step.Stage(0, Tensor::From(made[0])), IsOk());
  StepWith(other, IdsFrom(7, 4));
  EXPECT_THAT(step.Run(&outputs_).message(), AllOf(HasSubstr("'ids'"), HasSubstr("step")));
  made.clear();
  StepWith(program, IdsFrom(1, 4));
  EXPECT_EQ(LastOutput(), Doubled(IdsFrom(1, 4), 4));
}

TEST_P(TensorsTest, ATensorWithGapsIsCarriedToo) {
  ProgramOptions options;
  options.name = "wide";
  options.slots = {{.name = "ids", .type = DType::kI32, .sizes = {2, 8}, .rows = KeyField::kTokens,
                    .axis = 1}};
  options.body = [](Launcher& on, const ProgramInputs& in) -> Values {
    // Two rows of eight, of which the next step takes the first few of each.
    const Tensor out = on.Empty(DType::kI32, {2, 8});
    if (!on.ok()) return {};
    const Tensor flat = in.slot(0).View(Layout::Of(DType::kI32, {16}), 0);
    on.Launch(AddKernel(), TestShape(), {Out(out), In(flat), In(flat), Val(16u)});
    return {out};
  };
  const ProgramId program = Add(std::move(options), {4, 8});
  Ids expected = IdsFrom(1, 16);
  {
    ASSERT_OK_AND_ASSIGN(Step step, runtime().Begin(program, {.tokens = 8}, a()));
    ASSERT_THAT(step.Stage(0, HostRows{expected.data(), DType::kI32, 8}), IsOk());
    ASSERT_THAT(step.Run(&outputs_), IsOk());
  }
  for (int32_t& id : expected) id *= 2;
  for (int i = 0; i < 6; ++i) {
    const Tensor part = Tensor::From(outputs_[0])
                            .View(Layout::Strided(DType::kI32, {2, 4}, {8, 1}), 0);
    Why why = Why::kFailed;
    ASSERT_THAT(TensorStep(program, 4, part, a(), &outputs_, &why), IsOk()) << i;
    for (size_t at = 0; at < 16; ++at) expected[at] = expected[at] * 2;
    const Ids read = ReadIds(outputs_[0]);
    for (const size_t at : {0, 1, 2, 3, 8, 9, 10, 11}) EXPECT_EQ(read[at], expected[at]) << at;
  }
}

TEST_P(TensorsTest, AStepThatIsCanceledOrRefusedLetsItsTensorsGo) {
  ProgramOptions options = Decode();
  options.kept_outputs = {0};
  const ProgramId program = Add(std::move(options), {4});
  for (int i = 0; i < 3; ++i) StepWith(program, IdsFrom(1, 4));
  LastOutput();
  StepWith(program, IdsFrom(1, 4));
  ASSERT_OK_AND_ASSIGN(Step step, runtime().Begin(program, {.tokens = 4}, a()));
  ASSERT_THAT(step.Stage(0, 1.0), IsOk());
  ASSERT_THAT(step.Run(&outputs_), IsOk());
  StepWith(program, IdsFrom(1, 4));
  const auto kept = [&] { return runtime().tree()->stats().kept_bytes; };
  const uint64_t before = kept();
  for (const bool is_canceled : {true, false}) {
    ASSERT_OK_AND_ASSIGN(step, runtime().Begin(program, {.tokens = 4}, a()));
    ASSERT_THAT(step.Stage(0, Tensor::From(outputs_[0])), IsOk());
    if (is_canceled) {
      step.Cancel();
    } else {
      EXPECT_FALSE(step.Run(nullptr).ok());
    }
  }
  outputs_.clear();
  StepWith(program, IdsFrom(1, 4));
  EXPECT_LT(kept(), before);
}

// The tensor is another lane's, whose memory a part of the step asks to be parked, while the op
// that reads the tensor may still wait in its stream.
TEST_P(TensorsTest, MemoryOfAStagedTensorIsParkedAfterTheStep) {
  ProgramOptions gives = DoubleOptions("gives");
  gives.lane = 1;
  gives.kept_outputs = {0};
  const ProgramId giver = Add(std::move(gives), {4});
  bool parks = false;
  ProgramOptions takes = DoubleOptions("takes");
  takes.body = [this, &parks](Launcher& on, const ProgramInputs& in) {
    Values outputs = DoubleBody(on, in);
    if (!on.ok()) return outputs;
    on.Break("parks", {}, [this, &parks](Launcher& part, absl::Span<const Tensor>) {
      if (parks) part.Fail(runtime().tree(1)->pool().parking().Park(ParkContents::kToHost));
    });
    return outputs;
  };
  const ProgramId taker = Add(std::move(takes), {4});
  StepWith(giver, IdsFrom(1, 4));
  ASSERT_OK_AND_ASSIGN(Step step, runtime().Begin(giver, {.tokens = 4}, a()));
  const Ids ids = IdsFrom(1, 4);
  ASSERT_THAT(step.Stage(0, HostRows{ids.data(), DType::kI32, 4}), IsOk());
  Values given;
  ASSERT_THAT(step.Run(&given), IsOk());
  ASSERT_THAT(a().Synchronize(), IsOk());
  Why why{};
  for (int i = 0; i < 6; ++i) {
    parks = i > 0;
    ASSERT_THAT(TensorStep(taker, 4, Tensor::From(given[0]), b(), &outputs_, &why), IsOk());
    runtime().tree(1)->pool().parking().ParkIfDue();
    EXPECT_EQ(runtime().tree(1)->pool().parking().is_parked(), parks) << "step " << i;
    ASSERT_THAT(runtime().tree(1)->pool().parking().Wake(), IsOk());
    ASSERT_THAT(b().Synchronize(), IsOk());
    EXPECT_EQ(ReadIds(outputs_[0]), Doubled(Doubled(ids, 4), 4)) << "step " << i;
  }
  EXPECT_EQ(why, Why::kHit);
  EXPECT_THAT(device().health(), IsOk());
}

// Two programs hand each other outputs that end with their steps, and another thread has recordings
// evicted at any time: also between the question whether a step replays and the step.
TEST_P(TensorsTest, RecordingsAreGivenUpOnAnotherThread) {
  constexpr int kSteps = 1000;
  const ProgramId programs[] = {Add(Decode("first"), {4}), Add(Decode("second"), {4})};
  for (const ProgramId program : programs) ASSERT_THAT(runtime().Record(program, a()), IsOk());
  std::atomic<bool> is_over{false};
  std::thread other([&] {
    while (!is_over) {
      runtime().tree()->GiveUp({});
      std::this_thread::yield();
    }
  });
  StepWith(programs[0], IdsFrom(1, 4));
  ASSERT_OK_AND_ASSIGN(Step first, runtime().Begin(programs[1], {.tokens = 4}, a()));
  ASSERT_THAT(first.Stage(0, 1.0), IsOk());
  ASSERT_THAT(first.Run(&outputs_), IsOk());
  Ids expected(4, 2);
  Why why{};
  for (int i = 0; i < kSteps && !HasFailure(); ++i) {
    Values outputs;
    EXPECT_THAT(TensorStep(programs[i % 2], 4, Tensor::From(outputs_[0]), a(), &outputs, &why),
                IsOk());
    outputs_ = std::move(outputs);
    for (int32_t& id : expected) id = static_cast<int32_t>(2 * static_cast<uint32_t>(id));
    EXPECT_EQ(ReadIds(outputs_[0]), expected) << "step " << i;
    if (expected[0] != 0) continue;
    // Twice nothing is nothing: begins anew.
    ASSERT_OK_AND_ASSIGN(Step anew, runtime().Begin(programs[1], {.tokens = 4}, a()));
    EXPECT_THAT(anew.Stage(0, 1.0), IsOk());
    EXPECT_THAT(anew.Run(&outputs_), IsOk());
    expected = Ids(4, 2);
  }
  is_over = true;
  other.join();
  EXPECT_THAT(device().health(), IsOk());
}

}  // namespace
}  // namespace graphtree
