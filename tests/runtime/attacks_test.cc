// Careless and hostile use of the runtime: whatever is refused, later steps are as ever.
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device/fault/every_call.h"
#include "device/fault/fault_device.h"
#include "device/host/host_device.h"
#include "gmock/gmock.h"
#include "tests/kernels/kernels.h"
#include "tests/runtime/runtime_fixture.h"

namespace graphtree {
namespace {

using testing::HasSubstr;

class AttacksTest : public RuntimeTest {
 protected:
  void TearDown() override {
    held_.clear();
    RuntimeTest::TearDown();
  }

  absl::Status TryStep(ProgramId program, int32_t tokens, double value, Stream& on, Values* outputs,
                       StepOptions options = {}, Why* why = nullptr) {
    absl::StatusOr<Step> step = runtime().Begin(program, {.tokens = tokens}, on, options);
    if (!step.ok()) return step.status();
    if (absl::Status staged = step->Stage(0, value); !staged.ok()) {
      step->Cancel();
      return staged;
    }
    const absl::Status status = step->Run(outputs);
    if (why != nullptr) *why = step->why();
    description_ = step->Describe();
    return status;
  }

  // Adds what each step brings to a sum: a block that is written over too early shows.
  ProgramOptions SumOptions(AddressRange sum, int64_t rows, std::string name = "sum") {
    ProgramOptions options;
    options.name = std::move(name);
    options.slots = {
        {.name = "ids", .type = DType::kI32, .sizes = {rows}, .rows = KeyField::kTokens}};
    options.body = [sum](Launcher& on, const ProgramInputs& in) -> Values {
      const Tensor total = Tensor::Foreign(sum.base, Layout::Of(DType::kI32, {64}));
      on.Launch(AddKernel(), TestShape(),
                {Out(total), In(total), In(in.slot(0)), Val(uint32_t{64})});
      return {};
    };
    return options;
  }

  Values held_;
  std::string description_;
};
GRAPHTREE_ON_EVERY_DEVICE(AttacksTest);

TEST_P(AttacksTest, RecordingAheadLeavesASlotThatIsFilledOnce) {
  ProgramOptions options = DoubleOptions();
  options.slots[0].pad = PadRule::kFillOnce;
  options.slots[0].pad_value = 7;
  const ProgramId program = Add(std::move(options), {{.tokens = 8}});
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  EXPECT_EQ(StepWith(program, {1, 2, 3}), Why::kCover);
  EXPECT_EQ(LastOutput(), (Ids{2, 4, 6, 14, 14, 14, 14, 14}));
}

TEST_P(AttacksTest, RecordingAheadLeavesWhatALeftOutSlotHas) {
  ProgramOptions options = DoubleOptions();
  options.slots.push_back(
      {.name = "bias", .type = DType::kI32, .sizes = {8}, .may_be_left_out = true});
  options.body = [](Launcher& on, const ProgramInputs& in) -> Values {
    const Tensor out = on.Empty(DType::kI32, {4});
    if (!on.ok()) return {};
    on.Launch(AddKernel(), TestShape(), {Out(out), In(in.slot(0)), In(in.slot(1)), Val(4u)});
    return {out};
  };
  const ProgramId program = Add(std::move(options), {{.tokens = 8}});
  {
    ASSERT_OK_AND_ASSIGN(Step step, runtime().Begin(program, {.tokens = 8}, a()));
    ASSERT_THAT(step.Stage(0, 1.0), IsOk());
    ASSERT_THAT(step.Stage(1, 5.0), IsOk());
    ASSERT_THAT(step.Run(&held_), IsOk());
  }
  EXPECT_EQ(StepWith(program, IdsFrom(1, 8)), Why::kNotRecorded);
  EXPECT_EQ(LastOutput(), (Ids{6, 7, 8, 9}));
  ASSERT_THAT(runtime().AddShapes(program, {{.tokens = 16}}), IsOk());
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  EXPECT_EQ(StepWith(program, IdsFrom(1, 8)), Why::kHit);
  EXPECT_EQ(LastOutput(), (Ids{6, 7, 8, 9}));
}

TEST_P(AttacksTest, AFunctionOfAProgramIsCalledByStepsAlone) {
  const ProgramId program = Add(DoubleOptions(), {{.tokens = 4}, {.tokens = 8}});
  const AddressRange words = NewWords(1);
  for (int round = 0; round < 3; ++round) {
    StepWith(program, IdsFrom(1, 8));
    // The first function of the tree copies tensors, and is nobody's in particular.
    for (FunctionId function = 1; function < 5; ++function) {
      for (size_t count = 0; count < 3; ++count) {
        Values outputs;
        Values inputs(count, Tensor::Foreign(words.base, Layout::Of(DType::kI32, {1})));
        EXPECT_THAT(runtime().tree()->Run(function, absl::MakeSpan(inputs), a(), &outputs),
                    testing::Not(IsOk()))
            << function;
      }
    }
    EXPECT_EQ(LastOutput(), Doubled(IdsFrom(1, 8), 8));
  }
  EXPECT_THAT(device().health(), IsOk());
}

// Also where it is recorded and the block looks like a step's: a replay runs no body that could say
// so, and would unpack whatever lies there.
TEST_P(AttacksTest, ARecordedFunctionOfAProgramIsReplayedByStepsAlone) {
  const ProgramId program = Add(DoubleOptions(), {{.tokens = 8}});
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  EXPECT_EQ(StepWith(program, IdsFrom(1, 8)), Why::kHit);
  const uint64_t replays = runtime().tree()->stats().replays;
  const AddressRange words = NewWords(64);
  for (FunctionId function = 1; function < 5; ++function) {
    for (int64_t bytes = 16; bytes <= 256; bytes += 16) {
      for (const DType type : {DType::kU8, DType::kI32}) {
        Values outputs;
        const int64_t size = bytes / BytesOf(type);
        Values inputs = {Tensor::Foreign(words.base, Layout::Of(type, {size}))};
        EXPECT_THAT(runtime().tree()->Run(function, absl::MakeSpan(inputs), a(), &outputs),
                    testing::Not(IsOk()))
            << function << ", " << bytes;
      }
    }
  }
  EXPECT_EQ(runtime().tree()->stats().replays, replays);
  EXPECT_EQ(LastOutput(), Doubled(IdsFrom(1, 8), 8));
  EXPECT_EQ(StepWith(program, IdsFrom(2, 8)), Why::kHit);
  EXPECT_EQ(LastOutput(), Doubled(IdsFrom(2, 8), 8));
}

TEST_P(AttacksTest, ABodyThatUsesItsRuntimeIsRefusedAndNothingIsLost) {
  const ProgramId other = AddDouble({8}, "other");
  std::vector<absl::Status> said;
  bool tries = true;
  ProgramOptions options = DoubleOptions("recursive");
  ProgramId self;
  options.body = [&](Launcher& on, const ProgramInputs& in) -> Values {
    if (tries) {
      said.push_back(runtime().Begin(other, {.tokens = 8}, a()).status());
      said.push_back(runtime().AddShapes(self, {{.tokens = 2}}));
      said.push_back(runtime().Record(other, a()));
      said.push_back(runtime().RemoveProgram(self));
      said.push_back(runtime().AddProgram(DoubleOptions("new")).status());
    }
    return DoubleBody(on, in);
  };
  self = Add(std::move(options), {{.tokens = 8}});
  for (int32_t i = 0; i < 3; ++i) {
    StepWith(self, IdsFrom(i, 8));
    EXPECT_EQ(LastOutput(), Doubled(IdsFrom(i, 8), 8));
  }
  EXPECT_FALSE(said.empty());
  for (const absl::Status& status : said) {
    EXPECT_THAT(status.message(), HasSubstr("under way")) << status;
  }
  tries = false;
  for (int32_t i = 0; i < 3; ++i) StepWith(self, IdsFrom(i, 8));
  EXPECT_EQ(StepWith(self, IdsFrom(4, 8)), Why::kHit);
  EXPECT_EQ(LastOutput(), Doubled(IdsFrom(4, 8), 8));
}

TEST_P(AttacksTest, AStepOnAStreamThatCapturesIsRefusedAndDisturbsNoOther) {
  constexpr int64_t kRows = 20000;  // a block fills a segment of the ring
  const AddressRange sum = NewWordsWith(std::vector<uint32_t>(64));
  const ProgramId program = Add(SumOptions(sum, kRows), {{.tokens = kRows}});
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  uint32_t expected = 0;
  Values none;
  ASSERT_THAT(TryStep(program, kRows, 1, b(), &none), IsOk());
  ++expected;
  ASSERT_THAT(b().Synchronize(), IsOk());
  ASSERT_THAT(TryStep(program, kRows, 1, a(), &none), IsOk());
  ++expected;
  ASSERT_THAT(b().BeginCapture(CaptureMode::kThreadLocal), IsOk());
  for (int i = 2; i < 12; ++i) {
    EXPECT_FALSE(TryStep(program, kRows, i, b(), &none).ok());
    EXPECT_THAT(TryStep(program, kRows, i, a(), &none), IsOk());
    expected += i;
  }
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Graph> graph, b().EndCapture());
  EXPECT_EQ(graph->op_count(), 0u);
  for (int i = 12; i < 20; ++i) {
    EXPECT_THAT(TryStep(program, kRows, i, i % 2 == 0 ? a() : b(), &none), IsOk());
    expected += i;
  }
  ASSERT_THAT(a().Synchronize(), IsOk());
  ASSERT_THAT(b().Synchronize(), IsOk());
  EXPECT_EQ(Read(sum), std::vector<uint32_t>(64, expected));
}

TEST_P(AttacksTest, AStreamThatItsOwnerCapturesAfterStepsIsLeftAlone) {
  constexpr int64_t kRows = 20000;  // a block fills a segment of the ring
  const AddressRange sum = NewWordsWith(std::vector<uint32_t>(64));
  const ProgramId program = Add(SumOptions(sum, kRows), {{.tokens = kRows}});
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  uint32_t expected = 0;
  Values none;
  for (int i = 0; i < 6; ++i) {
    ASSERT_THAT(TryStep(program, kRows, i, a(), &none), IsOk());
    expected += i;
  }
  ASSERT_THAT(a().BeginCapture(CaptureMode::kThreadLocal), IsOk());
  EXPECT_THAT(TryStep(program, kRows, 1, a(), &none).message(), HasSubstr("captures"));
  EXPECT_THAT(TryStep(program, kRows, 1, b(), &none).message(), HasSubstr("captures"));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Graph> graph, a().EndCapture());
  EXPECT_EQ(graph->op_count(), 0u);
  for (int i = 0; i < 6; ++i) {
    ASSERT_THAT(TryStep(program, kRows, i, b(), &none), IsOk());
    expected += i;
  }
  ASSERT_THAT(b().Synchronize(), IsOk());
  EXPECT_EQ(Read(sum), std::vector<uint32_t>(64, expected));
}

TEST_P(AttacksTest, NoProgramIsRemovedWhileItsStreamCaptures) {
  const AddressRange sum = NewWordsWith(std::vector<uint32_t>(64));
  const ProgramId program = Add(SumOptions(sum, 64), {{.tokens = 64}});
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  Values none;
  uint32_t expected = 0;
  for (int i = 0; i < 5; ++i) {
    ASSERT_THAT(TryStep(program, 64, i, a(), &none), IsOk());
    expected += i;
  }
  ASSERT_THAT(a().BeginCapture(CaptureMode::kThreadLocal), IsOk());
  EXPECT_THAT(runtime().RemoveProgram(program).message(), HasSubstr("capture"));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Graph> graph, a().EndCapture());
  EXPECT_THAT(a().Synchronize(), IsOk());
  EXPECT_EQ(Read(sum), std::vector<uint32_t>(64, expected));
  EXPECT_THAT(runtime().RemoveProgram(program), IsOk());
}

TEST_P(AttacksTest, AShapeThatIsExcludedWhileItIsRecordedStaysExcluded) {
  const ProgramId program = AddDouble({8});
  StepWith(program, IdsFrom(1, 8));
  ASSERT_OK_AND_ASSIGN(Step step, runtime().Begin(program, {.tokens = 8}, a()));
  ASSERT_THAT(step.Stage(0, 1.0), IsOk());
  ASSERT_THAT(runtime().Exclude(program, {.tokens = 8}), IsOk());
  ASSERT_THAT(step.Run(&held_), IsOk());
  EXPECT_EQ(StepWith(program, IdsFrom(1, 8)), Why::kExcluded);
}

TEST_P(AttacksTest, RecordMakesStaleRecordingsAgain) {
  ASSERT_OK_AND_ASSIGN(const DepId dep, runtime().DeclareDep("weights"));
  ProgramOptions options = DoubleOptions();
  options.deps = {dep};
  const ProgramId program = Add(std::move(options), {{.tokens = 8}});
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  ASSERT_THAT(runtime().Touch(dep), IsOk());
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  EXPECT_EQ(StepWith(program, IdsFrom(1, 8)), Why::kHit);
}

TEST_P(AttacksTest, RecordOnAStreamThatCannotSpoilsNoShape) {
  const ProgramId program = AddDouble({8});
  ASSERT_THAT(b().BeginCapture(CaptureMode::kThreadLocal), IsOk());
  EXPECT_FALSE(runtime().Record(program, b()).ok());
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Graph> graph, b().EndCapture());
  EXPECT_EQ(StepWith(program, IdsFrom(1, 8)), Why::kWarmingUp);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Device> other, GetParam().open());
  {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Stream> stream, other->NewStream());
    ASSERT_THAT(runtime().AddShapes(program, {{.tokens = 16}}), IsOk());
    const absl::Status status = runtime().Record(program, *stream);
    EXPECT_FALSE(status.ok());
    std::printf("record elsewhere: %s\n", status.ToString().c_str());
    EXPECT_EQ(StepWith(program, IdsFrom(1, 16)), Why::kWarmingUp);
  }
  EXPECT_THAT(other->Close(), IsOk());
}

TEST_P(AttacksTest, AStepThatWasNotRunDoesNotSayThatItWas) {
  const ProgramId program = AddDouble({8});
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  ASSERT_OK_AND_ASSIGN(Step step, runtime().Begin(program, {.tokens = 8}, a()));
  EXPECT_FALSE(step.Run(&held_).ok());
  EXPECT_FALSE(IsReplay(step.why())) << step.Describe();
  EXPECT_EQ(Count(Why::kHit), 0u);
  ASSERT_OK_AND_ASSIGN(step, runtime().Begin(program, {.tokens = 8}, a()));
  ASSERT_THAT(step.Stage(0, 1.0), IsOk());
  EXPECT_FALSE(step.Run(nullptr).ok());
  EXPECT_FALSE(IsReplay(step.why())) << step.Describe();
}

TEST_P(AttacksTest, RemovingAProgramLeavesWhatAnotherOnesStepSays) {
  const ProgramId first = AddDouble({8}, "first");
  const ProgramId second = AddDouble({8}, "second");
  ASSERT_OK_AND_ASSIGN(Step step, runtime().Begin(first, {.tokens = 8}, a()));
  ASSERT_THAT(step.Stage(0, 1.0), IsOk());
  ASSERT_THAT(step.Run(&held_), IsOk());
  const std::string before = step.Describe();
  ASSERT_THAT(runtime().RemoveProgram(second), IsOk());
  EXPECT_EQ(step.Describe(), before);
}

TEST_P(AttacksTest, ShapesThatAreAddedLeaveWhatAStepSays) {
  const ProgramId program = AddDouble({8});
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  ASSERT_OK_AND_ASSIGN(Step step, runtime().Begin(program, {.tokens = 3}, a()));
  ASSERT_THAT(step.Stage(0, 1.0), IsOk());
  ASSERT_THAT(step.Run(&held_), IsOk());
  EXPECT_THAT(step.Describe(), HasSubstr("tokens=8"));
  ASSERT_THAT(runtime().AddShapes(program, {{.tokens = 4}}), IsOk());
  EXPECT_THAT(step.Describe(), HasSubstr("tokens=8"));
}

TEST_P(AttacksTest, TwoThreadsInTwoLanesCountEveryStep) {
  if (!GetParam().concurrent) GTEST_SKIP() << "one thread at a time";
  constexpr int kSteps = 40000;
  std::vector<ProgramId> programs;
  for (uint32_t lane = 0; lane < 2; ++lane) {
    ProgramOptions options = DoubleOptions(lane == 0 ? "zero" : "one");
    options.lane = lane;
    programs.push_back(Add(std::move(options), {{.tokens = 8}}));
    ASSERT_THAT(runtime().Record(programs[lane], a()), IsOk());
  }
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (uint32_t lane = 0; lane < 2; ++lane) {
    threads.emplace_back([&, lane] {
      Values outputs;
      for (int i = 0; i < kSteps; ++i) {
        absl::StatusOr<Step> step =
            runtime().Begin(programs[lane], {.tokens = 8}, lane == 0 ? a() : b());
        if (!step.ok() || !step->Stage(0, double(i)).ok() || !step->Run(&outputs).ok()) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(runtime().stats().steps, 2u * kSteps);
  EXPECT_EQ(Count(Why::kHit), 2u * kSteps);
}

TEST_P(AttacksTest, AShapeForWhichThereWasNoMemorySaysSo) {
  RuntimeOptions options;
  options.tree.pool_bytes = 2 << 20;
  OpenRuntime(options);
  ProgramOptions of_program = DoubleOptions();
  of_program.body = [](Launcher& on, const ProgramInputs& in) -> Values {
    const Tensor out = on.Empty(DType::kI32, {in.key().tokens * 100000});
    if (!on.ok()) return {};
    on.Launch(AddKernel(), TestShape(), {Out(out), In(in.slot(0)), In(in.slot(0)), Val(1u)});
    return {};
  };
  of_program.unseen_writes = true;
  const ProgramId program = Add(std::move(of_program), {{.tokens = 1}, {.tokens = 8}});
  EXPECT_TRUE(absl::IsResourceExhausted(runtime().Record(program, a())));
  ASSERT_OK_AND_ASSIGN(const Choice small, runtime().Choose(program, {.tokens = 1}));
  EXPECT_EQ(small.why, Why::kHit);
  ASSERT_OK_AND_ASSIGN(const Choice large, runtime().Choose(program, {.tokens = 8}));
  EXPECT_EQ(large.why, Why::kNoMemory);
}

// What a recording keeps alive ends inside of RemoveProgram, and calls the runtime about that
// program.
TEST_P(AttacksTest, AnObjectThatEndsWithItsProgramCallsTheRuntime) {
  using Calls = std::vector<std::function<absl::Status(ProgramId)>>;
  const Calls calls = {
      [this](ProgramId id) { return runtime().AddShapes(id, {{.tokens = 1}, {.tokens = 2}}); },
      [this](ProgramId id) { return runtime().RemoveProgram(id); },
      [this](ProgramId id) { return runtime().Begin(id, {.tokens = 8}, a()).status(); },
      [this](ProgramId id) { return runtime().Record(id, a()); }};
  for (const auto& call : calls) {
    std::function<void()> at_end;
    ProgramOptions options;
    options.name = "ends";
    options.body = [&at_end](Launcher& on, const ProgramInputs&) -> Values {
      on.KeepAlive(std::shared_ptr<void>(nullptr, [&at_end](void*) {
        if (at_end) std::exchange(at_end, nullptr)();
      }));
      return {on.Empty(DType::kI32, {4})};
    };
    options.unseen_writes = true;
    const ProgramId program = Add(std::move(options), {{.tokens = 8}, {.tokens = 9}});
    ASSERT_THAT(runtime().Record(program, a()), IsOk());
    ASSERT_THAT(a().Synchronize(), IsOk());
    absl::Status said;
    at_end = [&] { said = call(program); };
    EXPECT_THAT(runtime().RemoveProgram(program), IsOk());
    EXPECT_THAT(std::string(said.message()), HasSubstr("was removed"));
  }
  const ProgramId next = AddDouble({8});
  for (int i = 0; i < 4; ++i) StepWith(next, IdsFrom(i, 8));
  EXPECT_EQ(LastOutput(), Doubled(IdsFrom(3, 8), 8));
}

TEST_P(AttacksTest, FunctionsBesideProgramsGoOnInMemoryThatStaysParked) {
  ProgramOptions options = DoubleOptions();
  options.tag = "graphs";
  ASSERT_THAT(runtime().AddProgram(std::move(options)), IsOk());
  Tree& tree = *runtime().tree();
  const FunctionId fills = tree.Register("fills", {}, [](Launcher& on, Values& inputs) -> Values {
    const Tensor output = on.Empty(DType::kI32, {16});
    on.Fill(output, static_cast<uint8_t>(inputs[0].integer()));
    return {output};
  });
  Values outputs;
  const auto call = [&](int64_t with) {
    Values inputs = {Value::Integer(with)};
    outputs.clear();
    return tree.Run(fills, absl::MakeSpan(inputs), a(), &outputs);
  };
  for (int i = 0; i < 3; ++i) ASSERT_THAT(call(1), IsOk());
  for (const int64_t with : {2, 3}) {
    ASSERT_THAT(runtime().Park("graphs", Contents::kPinned), IsOk());
    ASSERT_THAT(call(with), IsOk());
    ASSERT_THAT(runtime().Wake("graphs"), IsOk());
  }
}

}  // namespace
}  // namespace graphtree
