// A body that returns its slots: the outputs are copies, which no later step writes over and which
// outlast the program. And rows that lie in the program's own slots are not staged.
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "tests/kernels/kernels.h"
#include "tests/runtime/runtime_fixture.h"

namespace graphtree {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class SlotOutputsTest : public RuntimeTest {
 protected:
  void TearDown() override {
    held_.clear();
    RuntimeTest::TearDown();
  }

  // Returns the slot, a view of its rows from the third on, and twice the slot.
  ProgramOptions PassingOptions() {
    ProgramOptions options = DoubleOptions("pass");
    options.kept_outputs = {0, 1};
    options.body = [](Launcher& on, const ProgramInputs& in) -> Values {
      Values outputs = DoubleBody(on, in);
      const Layout* tail = Layout::Of(DType::kI32, {in.key().tokens - 2});
      outputs.insert(outputs.begin(), in.slot(0).View(tail, 2 * sizeof(int32_t)));
      outputs.insert(outputs.begin(), in.slot(0));
      return outputs;
    };
    return options;
  }
  ProgramId Add(ProgramOptions options, Mode mode) {
    return RuntimeTest::Add(std::move(options), {{.tokens = 8}}, mode);
  }
  absl::Status TryStep(ProgramId program, const Ids& ids, Values* outputs) {
    absl::StatusOr<Step> step =
        runtime().Begin(program, {.tokens = static_cast<int32_t>(ids.size())}, a());
    if (!step.ok()) return step.status();
    const HostRows rows = {ids.data(), DType::kI32, static_cast<int64_t>(ids.size())};
    if (absl::Status staged = step->Stage(0, rows); !staged.ok()) {
      step->Cancel();
      return staged;
    }
    return step->Run(outputs);
  }
  // The outputs that the steps have left, each after all steps.
  void ExpectAllHeld() {
    for (size_t step = 0; step < held_.size(); ++step) {
      const Ids ids = IdsFrom(static_cast<int32_t>(10 * step), 8);
      EXPECT_EQ(ReadIds(held_[step][0]), ids) << "step " << step;
      EXPECT_EQ(ReadIds(held_[step][1]), Ids(ids.begin() + 2, ids.end())) << "step " << step;
    }
  }
  void RunSteps(ProgramId program) {
    for (int32_t step = 0; step < 6; ++step) {
      Values outputs;
      ASSERT_THAT(TryStep(program, IdsFrom(10 * step, 8), &outputs), IsOk());
      ASSERT_EQ(outputs.size(), 3u);
      EXPECT_EQ(ReadIds(outputs[2]), Doubled(IdsFrom(10 * step, 8), 8)) << "step " << step;
      outputs.pop_back();
      held_.push_back(std::move(outputs));
    }
  }

  std::vector<Values> held_;
};
GRAPHTREE_ON_EVERY_DEVICE(SlotOutputsTest);

TEST_P(SlotOutputsTest, AKeptOneStaysAsItWas) {
  for (const Mode mode : {Mode::kFull, Mode::kSegmented}) {
    RunSteps(Add(PassingOptions(), mode));
    ExpectAllHeld();
    held_.clear();
    OpenRuntime({});
  }
}

TEST_P(SlotOutputsTest, AKeptOneOutlastsItsProgramAndItsRuntime) {
  const ProgramId program = Add(PassingOptions(), Mode::kFull);
  RunSteps(program);
  ASSERT_THAT(runtime().RemoveProgram(program), IsOk());
  ExpectAllHeld();
  CloseRuntime();
  ExpectAllHeld();
  EXPECT_THAT(device().health(), IsOk());
}

TEST_P(SlotOutputsTest, OneThatIsNotKeptCanBeReadAfterItsProgram) {
  ProgramOptions options = PassingOptions();
  options.kept_outputs = {};
  const ProgramId program = Add(std::move(options), Mode::kFull);
  for (int step = 0; step < 3; ++step) {
    Values outputs;
    ASSERT_THAT(TryStep(program, IdsFrom(5, 8), &outputs), IsOk());
    held_.assign(1, std::move(outputs));
  }
  ASSERT_THAT(runtime().RemoveProgram(program), IsOk());
  EXPECT_EQ(ReadIds(held_[0][0]), IdsFrom(5, 8));
  EXPECT_THAT(device().health(), IsOk());
}

TEST_P(SlotOutputsTest, OneThatIsStagedAgainIsReadBeforeTheSlotIsWritten) {
  const ProgramId program = Add(PassingOptions(), Mode::kFull);
  Values outputs;
  ASSERT_THAT(TryStep(program, IdsFrom(1, 8), &outputs), IsOk());
  for (int step = 0; step < 5; ++step) {
    ASSERT_OK_AND_ASSIGN(Step again, runtime().Begin(program, {.tokens = 8}, a()));
    ASSERT_THAT(again.Stage(0, Tensor::From(outputs[2])), IsOk());
    ASSERT_THAT(again.Run(&outputs), IsOk());
    EXPECT_EQ(ReadIds(outputs[0])[0], 2 << step) << "step " << step;
    EXPECT_EQ(ReadIds(outputs[2])[0], 4 << step) << "step " << step;
  }
}

TEST_P(SlotOutputsTest, OneThatIsReturnedAfterTheSlotsAreFreeIsAnError) {
  ProgramOptions options = PassingOptions();
  options.tells_when_free = true;
  const ProgramBody body = options.body;
  bool says_early = true;
  options.body = [&says_early, body](Launcher& on, const ProgramInputs& in) {
    if (says_early) in.SlotsAreFree(on);
    return body(on, in);
  };
  const ProgramId program = Add(std::move(options), Mode::kFull);
  Values outputs;
  EXPECT_THAT(TryStep(program, IdsFrom(1, 8), &outputs).message(),
              AllOf(HasSubstr("memory of its slots as output 0"), HasSubstr("SlotsAreFree")));
  says_early = false;
  RunSteps(program);
  ExpectAllHeld();
}

TEST_P(SlotOutputsTest, RowsInTheProgramsOwnSlotsAreNotStaged) {
  ProgramOptions options = DoubleOptions();
  options.slots.push_back(
      {.name = "bias", .type = DType::kI32, .sizes = {8}, .may_be_left_out = true});
  const ProgramId program = Add(std::move(options), Mode::kFull);
  ASSERT_OK_AND_ASSIGN(const Tensor bias, runtime().SlotWhole(program, 1));
  const DeviceRows rows = {bias.word() + 8, DType::kI32, 2};
  for (int step = 0; step < 4; ++step) {
    ASSERT_OK_AND_ASSIGN(Step begun, runtime().Begin(program, {.tokens = 8}, a()));
    const auto is_refused = AllOf(HasSubstr("slot 'ids'"), HasSubstr("lie in slot 'bias'"));
    EXPECT_THAT(begun.Stage(0, rows).message(), is_refused);
    EXPECT_THAT(begun.Stage(0, bias).message(), is_refused);
    EXPECT_THAT(begun.Stage(0, DeviceRows{bias.word(), DType::kI32, 0}), IsOk());
    Values outputs;
    EXPECT_THAT(begun.Run(&outputs), IsOk());
  }
  EXPECT_THAT(device().health(), IsOk());
}

}  // namespace
}  // namespace graphtree
