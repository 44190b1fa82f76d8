// When rows and slots may be written again: whatever route a step takes, its events stand for it,
// and writing behind them disturbs nothing.
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "device/fault/every_call.h"
#include "device/fault/fault_device.h"
#include "device/host/host_device.h"
#include "graphs/tree.h"
#include "tests/kernels/kernels.h"
#include "tests/kernels/launches.h"
#include "tests/runtime/runtime_fixture.h"

namespace graphtree {
namespace {

using testing::HasSubstr;

class FreeEventsTest : public RuntimeTest {
 protected:
  // The program of the fixture, which tells. `body_` says when slots are free; none: it does not.
  ProgramOptions TellingOptions(std::string name = "tells") {
    ProgramOptions options = DoubleOptions(std::move(name));
    options.tells_when_free = true;
    options.body = [this](Launcher& on, const ProgramInputs& in) -> Values {
      Values outputs = DoubleBody(on, in);
      if (says_) in.SlotsAreFree(on);
      Hold(on);
      return outputs;
    };
    return options;
  }
  FreeEvents EventsOf(ProgramId program) {
    absl::StatusOr<FreeEvents> events = runtime().WhenFree(program);
    EXPECT_THAT(events, IsOk());
    return events.ok() ? *std::move(events) : FreeEvents{};
  }
  // Work that does not end before `go_`, if tests hold it up.
  void Hold(Launcher& on) {
    if (!holds_) return;
    on.Fail(on.stream().CallHost([this] {
      while (!go_) continue;
    }));
  }
  static bool IsDone(Event& asked) {
    const absl::StatusOr<bool> done = asked.IsDone();
    EXPECT_THAT(done, IsOk());
    return done.ok() && *done;
  }
  // A step whose ids come from device memory.
  Why StepFrom(ProgramId program, AddressRange ids, int32_t tokens) {
    absl::StatusOr<Step> step = runtime().Begin(program, {.tokens = tokens}, a());
    EXPECT_THAT(step, IsOk());
    if (!step.ok()) return Why::kFailed;
    EXPECT_THAT(step->Stage(0, DeviceRows{ids.base, DType::kI32, tokens}), IsOk());
    EXPECT_THAT(step->Run(&outputs_), IsOk());
    return step->why();
  }
  // Each step reads the same memory, which is written anew on another stream behind the step's
  // event, for the next one.
  void StepsFromOneBuffer(ProgramId program, int32_t tokens, int steps) {
    const AddressRange ids = NewWordsWith(std::vector<uint32_t>(kMost, 1));
    const FreeEvents events = EventsOf(program);
    for (int i = 0; i < steps; ++i) {
      StepFrom(program, ids, tokens);
      ASSERT_THAT(b().Wait(*events.rows), IsOk());
      ASSERT_THAT(b().Fill(ids.base, i + 2, 4, kMost), IsOk());
      ASSERT_THAT(b().Record(event()), IsOk());
      const Ids doubled = ReadIds(outputs_[0]);
      EXPECT_EQ(doubled, Ids(doubled.size(), 2 * (i + 1))) << "step " << i;
      ASSERT_THAT(a().Wait(event()), IsOk());
    }
  }
  void TearDown() override {
    outputs_.clear();
    RuntimeTest::TearDown();
  }

  bool says_ = true;
  bool holds_ = false;
  std::atomic<bool> go_{false};
  Values outputs_;
};
GRAPHTREE_ON_EVERY_DEVICE(FreeEventsTest);

TEST_P(FreeEventsTest, RowsMayBeWrittenBehindTheirEventOnEveryRoute) {
  const ProgramId program = Add(TellingOptions(), {{.tokens = 8}});
  StepsFromOneBuffer(program, 8, 6);
  EXPECT_EQ(Count(Why::kHit), 4u);
  StepsFromOneBuffer(program, 9, 3);
  EXPECT_EQ(Count(Why::kAboveCeiling), 3u);
}

TEST_P(FreeEventsTest, RowsAndSlotsAreFreeWhileTheBodyRuns) {
  if (!GetParam().concurrent) GTEST_SKIP() << "no work is under way while the caller looks";
  holds_ = true;
  const ProgramId program = Add(TellingOptions(), {{.tokens = 8}});
  const FreeEvents events = EventsOf(program);
  const AddressRange ids = NewWordsWith(std::vector<uint32_t>(kMost, 1));
  ASSERT_OK_AND_ASSIGN(const Tensor slot, runtime().SlotWhole(program, 0));
  for (int i = 0; i < 6; ++i) {
    go_ = false;
    StepFrom(program, ids, 8);
    // The slot and the rows are written while the step is held up.
    ASSERT_THAT(b().Wait(*events.rows), IsOk());
    ASSERT_THAT(b().Fill(ids.base, i + 2, 4, kMost), IsOk());
    ASSERT_THAT(b().Wait(*events.slots), IsOk());
    ASSERT_THAT(b().Fill(slot.word(), 99, 4, kMost), IsOk());
    ASSERT_THAT(b().Synchronize(), IsOk());
    ASSERT_OK_AND_ASSIGN(const bool over, a().IsDone());
    EXPECT_FALSE(over) << "step " << i;
    go_ = true;
    EXPECT_EQ(ReadIds(outputs_[0]), Ids(8, 2 * (i + 1))) << "step " << i;
  }
  EXPECT_EQ(Count(Why::kHit), 4u);
}

TEST_P(FreeEventsTest, WhereTheBodySaysNothingSlotsAreFreeAtItsEnd) {
  if (!GetParam().concurrent) GTEST_SKIP() << "no work is under way while the caller looks";
  holds_ = true;
  says_ = false;
  const ProgramId program = Add(TellingOptions(), {{.tokens = 8}});
  const FreeEvents events = EventsOf(program);
  const AddressRange ids = NewWordsWith(std::vector<uint32_t>(kMost, 1));
  for (const int32_t tokens : {8, 8, 8, 8, 9}) {
    go_ = false;
    StepFrom(program, ids, tokens);
    ASSERT_THAT(events.rows->Synchronize(), IsOk());
    EXPECT_FALSE(IsDone(*events.slots));
    go_ = true;
    ASSERT_THAT(events.slots->Synchronize(), IsOk());
    ASSERT_THAT(a().Synchronize(), IsOk());
  }
}

// The step before last wrote the slot itself; the next one leaves it out.
TEST_P(FreeEventsTest, ASlotThatIsLeftOutMayBeFilledBehindItsEvent) {
  ProgramOptions options = TellingOptions();
  options.slots[0].may_be_left_out = true;
  options.slots[0].pad = PadRule::kKeep;
  const ProgramId program = Add(std::move(options), {{.tokens = 8}});
  const FreeEvents events = EventsOf(program);
  ASSERT_OK_AND_ASSIGN(const Tensor slot, runtime().SlotWhole(program, 0));
  EXPECT_EQ(slot.shape().extent_bytes(), 4u * kMost);
  for (int i = 1; i < 6; ++i) {
    ASSERT_THAT(b().Wait(*events.slots), IsOk());
    ASSERT_THAT(b().Fill(slot.word(), i, 4, kMost), IsOk());
    ASSERT_THAT(b().Record(event()), IsOk());
    ASSERT_THAT(a().Wait(event()), IsOk());
    ASSERT_OK_AND_ASSIGN(Step step, runtime().Begin(program, {.tokens = 8}, a()));
    ASSERT_THAT(step.Run(&outputs_), IsOk());
    EXPECT_EQ(ReadIds(outputs_[0]), Ids(8, 2 * i)) << "step " << i;
  }
}

TEST_P(FreeEventsTest, ABodyThatBreaksSaysSoBehindItsBreak) {
  ProgramOptions options = TellingOptions();
  options.body = [](Launcher& on, const ProgramInputs& in) -> Values {
    const Tensor sum = on.Empty(DType::kI32, {8});
    on.Break("reads the slot", {In(in.slot(0)), Out(sum)},
             [](Launcher& part, absl::Span<const Tensor> t) {
               part.Launch(AddKernel(), TestShape(), {Out(t[1]), In(t[0]), In(t[0]), Val(8u)});
             });
    in.SlotsAreFree(on);
    const Tensor out = on.Empty(DType::kI32, {8});
    on.Launch(AddKernel(), TestShape(), {Out(out), In(sum), In(sum), Val(8u)});
    return {out};
  };
  const ProgramId program = Add(std::move(options), {{.tokens = 8}}, Mode::kSegmented);
  const FreeEvents events = EventsOf(program);
  ASSERT_OK_AND_ASSIGN(const Tensor slot, runtime().SlotWhole(program, 0));
  for (int32_t i = 1; i < 6; ++i) {
    StepWith(program, Ids(8, i));
    ASSERT_THAT(b().Wait(*events.slots), IsOk());
    ASSERT_THAT(b().Fill(slot.word(), 99, 4, kMost), IsOk());
    ASSERT_THAT(b().Record(event()), IsOk());
    EXPECT_EQ(LastOutput(), Ids(8, 4 * i)) << "step " << i;
    ASSERT_THAT(a().Wait(event()), IsOk());
  }
  EXPECT_EQ(Count(Why::kHit), 3u);
}

TEST_P(FreeEventsTest, ShapesOfOneProgramShareItsEvents) {
  const ProgramId program = Add(TellingOptions(), {{.tokens = 4}, {.tokens = 8}, {.tokens = 64}});
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  const FreeEvents events = EventsOf(program);
  ASSERT_THAT(events.slots->Synchronize(), IsOk());
  EXPECT_TRUE(IsDone(*events.rows));
  const AddressRange ids = NewWordsWith(std::vector<uint32_t>(kMost, 1));
  for (int i = 0; i < 12; ++i) {
    const int32_t tokens = i % 3 == 0 ? 4 : i % 3 == 1 ? 8 : 64;
    EXPECT_EQ(StepFrom(program, ids, tokens), Why::kHit);
    ASSERT_THAT(b().Wait(*events.rows), IsOk());
    ASSERT_THAT(b().Fill(ids.base, i + 2, 4, kMost), IsOk());
    ASSERT_THAT(b().Record(event()), IsOk());
    EXPECT_EQ(ReadIds(outputs_[0]), Ids(tokens, 2 * (i + 1)));
    ASSERT_THAT(a().Wait(event()), IsOk());
  }
}

TEST_P(FreeEventsTest, AStepThatFailsSetsThemAfterItsWork) {
  bool fails = false;
  ProgramOptions options = TellingOptions();
  options.body = [&fails](Launcher& on, const ProgramInputs& in) -> Values {
    Values outputs = DoubleBody(on, in);
    if (fails) on.Fail(absl::InternalError("on purpose"));
    in.SlotsAreFree(on);
    return outputs;
  };
  const ProgramId program = Add(std::move(options), {{.tokens = 8}});
  const FreeEvents events = EventsOf(program);
  ASSERT_OK_AND_ASSIGN(const Tensor slot, runtime().SlotWhole(program, 0));
  const auto overwrite = [&] {
    ASSERT_THAT(b().Wait(*events.slots), IsOk());
    ASSERT_THAT(b().Wait(*events.rows), IsOk());
    ASSERT_THAT(b().Fill(slot.word(), 99, 4, kMost), IsOk());
    ASSERT_THAT(b().Synchronize(), IsOk());
  };
  for (const int32_t tokens : {8, 9, 8}) {  // warming up, eager, recording
    for (const bool now : {true, false}) {
      fails = now;
      ASSERT_OK_AND_ASSIGN(Step step, runtime().Begin(program, {.tokens = tokens}, a()));
      ASSERT_THAT(step.Stage(0, 3.0), IsOk());
      EXPECT_EQ(step.Run(&outputs_).ok(), !fails);
      overwrite();
      if (!fails) {
        EXPECT_EQ(ReadIds(outputs_[0]), Ids(tokens, 6));
      }
    }
  }
}

// Such a step was never ordered after the one before, for which the events stand.
TEST_P(FreeEventsTest, AStepThatFailsBeforeAllWorkLeavesThem) {
  if (!GetParam().concurrent) GTEST_SKIP() << "no work is under way while the caller looks";
  holds_ = true;
  says_ = false;
  ProgramOptions options = TellingOptions();
  options.slots.push_back(
      {.name = "more", .type = DType::kI32, .sizes = {8}, .may_be_left_out = true});
  const ProgramId program = Add(std::move(options), {{.tokens = 8}});
  const FreeEvents events = EventsOf(program);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Tree> other, Tree::Create(device(), {}));
  const FunctionId makes = other->Register("makes", {}, [](Launcher& on, Values&) -> Values {
    const Tensor zeros = on.Empty(DType::kI32, {8});
    on.Fill(zeros, 0);
    return {zeros};
  });
  go_ = true;
  for (int i = 0; i < 3; ++i) StepWith(program, IdsFrom(i, 8));
  Values made;
  for (int i = 0; i < 3; ++i) {
    other->BeginStep();
    ASSERT_THAT(other->Run(makes, {}, b(), &made), IsOk());
  }
  ASSERT_THAT(a().Synchronize(), IsOk());
  ASSERT_THAT(b().Synchronize(), IsOk());
  go_ = false;
  StepWith(program, IdsFrom(7, 8));
  ASSERT_OK_AND_ASSIGN(Step step, runtime().Begin(program, {.tokens = 8}, b()));
  ASSERT_THAT(step.Stage(0, 1.0), IsOk());
  ASSERT_THAT(step.Stage(1, Tensor::From(made[0])), IsOk());
  other->BeginStep();  // what was staged is stale from here on
  EXPECT_FALSE(step.Run(&outputs_).ok());
  EXPECT_FALSE(IsDone(*events.slots)) << "the step before reads its slots";
  go_ = true;
  ASSERT_THAT(a().Synchronize(), IsOk());
  EXPECT_TRUE(IsDone(*events.slots));
  made.clear();
}

TEST_P(FreeEventsTest, TheyOutliveTheirProgramAndItsRuntime) {
  const ProgramId program = Add(TellingOptions(), {{.tokens = 8}});
  for (int32_t i = 0; i < 4; ++i) StepWith(program, IdsFrom(i, 8));
  FreeEvents events = EventsOf(program);
  ASSERT_THAT(runtime().RemoveProgram(program), IsOk());
  EXPECT_THAT(b().Wait(*events.slots), IsOk());
  EXPECT_TRUE(IsDone(*events.rows)) << "its removal waits for its work";
  EXPECT_THAT(runtime().WhenFree(program).status().message(), HasSubstr("was removed"));
  const ProgramId second = Add(TellingOptions("second"), {{.tokens = 8}});
  for (int32_t i = 0; i < 4; ++i) StepWith(second, IdsFrom(i, 8));
  events = EventsOf(second);
  CloseRuntime();
  EXPECT_TRUE(IsDone(*events.slots));
  EXPECT_THAT(b().Wait(*events.rows), IsOk());
  EXPECT_THAT(b().Synchronize(), IsOk());
}

TEST_P(FreeEventsTest, WhatIsWrongIsRefusedInWords) {
  const ProgramId silent = AddDouble({8});
  EXPECT_THAT(runtime().WhenFree(silent).status().message(), HasSubstr("tells_when_free"));
  EXPECT_THAT(runtime().WhenFree({}).status().message(), HasSubstr("no runtime"));
  EXPECT_THAT(runtime().SlotWhole(silent, 1).status().message(), HasSubstr("has no slot 1"));
  for (int32_t i = 0; i < 4; ++i) StepWith(silent, IdsFrom(i, 8));
  EXPECT_EQ(LastOutput(), Doubled(IdsFrom(3, 8), 8));
  ProgramOptions options = TellingOptions();
  options.body = [](Launcher& on, const ProgramInputs& in) -> Values {
    in.SlotsAreFree(on);
    in.SlotsAreFree(on);
    return DoubleBody(on, in);
  };
  const ProgramId twice = Add(std::move(options), {{.tokens = 8}});
  ASSERT_OK_AND_ASSIGN(Step step, runtime().Begin(twice, {.tokens = 8}, a()));
  ASSERT_THAT(step.Stage(0, 1.0), IsOk());
  EXPECT_THAT(step.Run(&outputs_).message(), HasSubstr("set an event twice"));
}

// Every device call of a telling program's life fails once: a step works, or is an error, and its
// events can be waited for either way.
TEST(FreeEventsFaultTest, EveryCallMayFail) {
  const uint64_t fired = ForEveryFailingCall(
      [] { return OpenHostDevice({}).value(); },
      [](FaultDevice& device) {
        RuntimeOptions options;
        options.tree.pool_bytes = 4 << 20;
        options.tree.warn = [](const std::string&) {};
        absl::StatusOr<std::unique_ptr<Stream>> stream = device.NewStream();
        absl::StatusOr<std::unique_ptr<Stream>> side = device.NewStream();
        absl::StatusOr<std::unique_ptr<Runtime>> runtime = Runtime::Create(device, options);
        if (!stream.ok() || !side.ok() || !runtime.ok()) return;
        ProgramOptions telling;
        telling.name = "tells";
        telling.slots = {
            {.name = "ids", .type = DType::kI32, .sizes = {8}, .rows = KeyField::kTokens}};
        telling.tells_when_free = true;
        telling.body = [](Launcher& on, const ProgramInputs& in) -> Values {
          const Tensor out = on.Empty(DType::kI32, {8});
          if (!on.ok()) return {};
          on.Launch(AddKernel(), TestShape(),
                    {Out(out), In(in.slot(0)), In(in.slot(0)), Val(8u)});
          in.SlotsAreFree(on);
          return {out};
        };
        const absl::StatusOr<ProgramId> program = (*runtime)->AddProgram(telling);
        if (!program.ok() || !(*runtime)->AddShapes(*program, {{.tokens = 8}}).ok()) return;
        const absl::StatusOr<FreeEvents> events = (*runtime)->WhenFree(*program);
        ASSERT_THAT(events, IsOk());
        const absl::StatusOr<Tensor> slot = (*runtime)->SlotWhole(*program, 0);
        ASSERT_THAT(slot, IsOk());
        Values outputs;
        for (int i = 0; i < 5; ++i) {
          absl::StatusOr<Step> step = (*runtime)->Begin(*program, {.tokens = 8}, **stream);
          if (!step.ok()) continue;
          if (!step->Stage(0, double(i)).ok()) step->Cancel();
          step->Run(&outputs).IgnoreError();
          if (!(*side)->Wait(*events->slots).ok() || !(*side)->Wait(*events->rows).ok()) return;
          (*side)->Fill(slot->word(), 99, 4, 8).IgnoreError();
          // Two attempts, as faults come alone.
          if (!(*side)->Synchronize().ok()) {
            ASSERT_THAT((*side)->Synchronize(), IsOk());
          }
        }
        outputs.clear();
        EXPECT_THAT(device.health(), IsOk()) << "a write behind the events was a race";
      },
      {});
  EXPECT_GT(fired, 50u);
}

// Two tensors that end with their step are copied for a step of another lane that is no replay.
class CarryingServer {
 public:
  explicit CarryingServer(FaultDevice& device) : device_(device) {
    RuntimeOptions options;
    options.tree.pool_bytes = 4 << 20;
    options.tree.warn = [](const std::string&) {};
    stream_ = *device.NewStream();
    side_ = *device.NewStream();
    runtime_ = *Runtime::Create(device, options);
    const auto add = [this](const char* name, uint32_t lane, bool tells) {
      ProgramOptions program;
      program.name = name;
      for (const char* slot : {"left", "right"}) program.slots.push_back({slot, DType::kI32, {8}});
      program.lane = lane;
      program.tells_when_free = tells;
      program.body = [](Launcher& on, const ProgramInputs& in) -> Values {
        const Tensor left = on.Empty(DType::kI32, {8});
        const Tensor right = on.Empty(DType::kI32, {8});
        if (!on.ok()) return {};
        on.Copy(left, in.slot(0));
        on.Copy(right, in.slot(1));
        return {left, right};
      };
      return *runtime_->AddProgram(std::move(program));
    };
    source_ = add("source", 0, false);
    reader_ = add("reader", 1, true);  // without a shape: it always runs eagerly
    EXPECT_THAT(runtime_->AddShapes(source_, {{.tokens = 1}}), IsOk());
    EXPECT_THAT(runtime_->Record(source_, *stream_), IsOk());
    events_ = *runtime_->WhenFree(reader_);
  }

  // Both steps may fail, and true if a call of theirs did. What the reader was to read is written
  // behind its event.
  bool StepAndOverwrite() {
    Values outputs;
    Values copies;
    if (StepOf(source_, nullptr, &outputs).ok()) {
      StepOf(reader_, &outputs, &copies).IgnoreError();
    } else {
      outputs.clear();
    }
    const bool has_failed = device_.plan().fired() > 0;
    device_.plan().Clear();
    EXPECT_THAT(events_.rows->Synchronize(), IsOk());
    for (const Value& output : outputs) {
      EXPECT_THAT(side_->Fill(output.word(), 99, 4, 8), IsOk());
    }
    EXPECT_THAT(side_->Synchronize(), IsOk());
    EXPECT_THAT(stream_->Synchronize(), IsOk());
    return has_failed;
  }

 private:
  absl::Status StepOf(ProgramId program, const Values* rows, Values* outputs) {
    absl::StatusOr<Step> step = runtime_->Begin(program, {.tokens = 1}, *stream_);
    if (!step.ok()) return step.status();
    for (const SlotId slot : {0, 1}) {
      const absl::Status staged = rows == nullptr
                                      ? step->Stage(slot, 1.0)
                                      : step->Stage(slot, Tensor::From((*rows)[slot]));
      EXPECT_THAT(staged, IsOk());
    }
    return step->Run(outputs);
  }

  FaultDevice& device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Stream> side_;
  std::unique_ptr<Runtime> runtime_;
  ProgramId source_;
  ProgramId reader_;
  FreeEvents events_;
};

TEST(FreeEventsFaultTest, AStepWhoseTensorsCouldNotBeCarriedSetsThem) {
  constexpr uint64_t kMostCalls = 100;
  uint64_t call = 1;
  for (bool has_failed = true; has_failed && call < kMostCalls; ++call) {
    SCOPED_TRACE(call);
    FaultDevice device(OpenHostDevice({}).value());
    {
      CarryingServer server(device);
      server.StepAndOverwrite();
      device.plan().FailCall(call, ErrorCode::kOutOfMemory);
      has_failed = server.StepAndOverwrite();
      server.StepAndOverwrite();
    }
    EXPECT_THAT(device.health(), IsOk()) << "a write behind the event was a race";
    EXPECT_THAT(device.Close(), IsOk());
  }
  EXPECT_GT(call, 10u);
  EXPECT_LT(call, kMostCalls);
}

}  // namespace
}  // namespace graphtree
