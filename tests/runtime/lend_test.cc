// Idle memory of a lane is lent for the caller's own work: never what a recording needs, never new
// memory, and the lane's steps come after that work.
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "runtime/lending.h"
#include "runtime/parking.h"
#include "tests/kernels/kernels.h"
#include "tests/kernels/launches.h"
#include "tests/runtime/runtime_fixture.h"

namespace graphtree {
namespace {

using absl::StatusCode;

class LendTest : public RuntimeTest {
 protected:
  static constexpr uint64_t kLarge = uint64_t{3} << 20;

  // Its recording takes kLarge bytes of the step region, and a step that ran eagerly has taken as
  // many of the lasting region, which are idle now.
  ProgramId AddLarge(std::string tag = "") {
    ProgramOptions options = DoubleOptions("large");
    options.tag = std::move(tag);
    options.unseen_writes = true;
    options.body = [](Launcher& on, const ProgramInputs& in) -> Values {
      const Tensor scratch = on.Empty(DType::kI32, {static_cast<int64_t>(kLarge / 4)});
      const Tensor out = on.Empty(DType::kI32, {in.key().tokens});
      if (!on.ok()) return {};
      const auto count = static_cast<uint32_t>(in.key().tokens);
      const Tensor first = Tensor::From(scratch);
      on.Launch(AddKernel(), TestShape(),
                {Out(first), In(in.slot(0)), In(in.slot(0)), Val(count)});
      on.Launch(AddKernel(), TestShape(), {Out(out), In(first), In(in.slot(0)), Val(count)});
      return {out};
    };
    const absl::StatusOr<ProgramId> program = runtime().AddProgram(std::move(options));
    EXPECT_THAT(program, IsOk());
    if (!program.ok()) return {};
    EXPECT_THAT(runtime().AddShapes(*program, {{.tokens = 8}}), IsOk());
    EXPECT_THAT(runtime().Record(*program, a()), IsOk());
    EXPECT_FALSE(IsReplay(StepWith(*program, IdsFrom(1, 20))));
    ExpectStep(*program, 1);
    return *program;
  }
  void ExpectStep(ProgramId program, int32_t first) {
    EXPECT_EQ(StepWith(program, IdsFrom(first, 8)), Why::kHit);
    Ids expected = IdsFrom(first, 8);
    for (int32_t& id : expected) id *= 3;
    EXPECT_EQ(LastOutput(), expected);
  }
  uint64_t mapped() { return runtime().tree()->stats().pool_reserved_bytes; }
  uint64_t lent() { return runtime().metrics().lanes[0].lent_bytes; }
};
GRAPHTREE_ON_EVERY_DEVICE(LendTest);

TEST_P(LendTest, ALoanTakesNothingFromReplaysAndNoNewMemory) {
  const ProgramId program = AddLarge();
  ExpectStep(program, 1);
  const uint64_t before = mapped();
  ASSERT_OK_AND_ASSIGN(Loan loan,
                       runtime().Lend({.bytes = kLarge, .until = LoanUntil::kGivenBack}, b()));
  EXPECT_EQ(mapped(), before);
  EXPECT_EQ(loan.range().bytes, kLarge);
  EXPECT_GE(lent(), kLarge);
  const AddressRange range = loan.range();
  ASSERT_THAT(b().Fill(range.base, 77, 4, kLarge / 4), IsOk());
  for (int32_t step = 0; step < 5; ++step) ExpectStep(program, step);
  ASSERT_THAT(b().Synchronize(), IsOk());
  for (uint64_t at = 0; at < kLarge; at += kLarge / 3 / 4096 * 4096) {
    for (const uint32_t word : Read({range.base + at, 4096})) ASSERT_EQ(word, 77u) << at;
  }
  EXPECT_EQ(loan.range(), range) << "steps run beside it";
  loan.GiveBack();
  EXPECT_TRUE(loan.is_over());
  EXPECT_EQ(lent(), 0u);
  ExpectStep(program, 9);
}

TEST_P(LendTest, MoreThanIsIdleIsRefusedWithHowMuchIs) {
  const ProgramId program = AddLarge();
  const absl::Status refused =
      runtime().Lend({.bytes = mapped() + 1}, a()).status();
  EXPECT_THAT(refused, FailsWith(StatusCode::kResourceExhausted, "are idle, of"));
  EXPECT_THAT(refused, FailsWith(StatusCode::kResourceExhausted, "recordings or outputs need"));
  // All that is idle at all, and no more: what the recording has allocated is none of it.
  std::vector<Loan> loans;
  uint64_t all = 0;
  for (uint64_t bytes = kLarge; bytes >= 512; bytes /= 2) {
    while (true) {
      absl::StatusOr<Loan> loan =
          runtime().Lend({.bytes = bytes, .until = LoanUntil::kGivenBack}, a());
      if (!loan.ok()) {
        EXPECT_THAT(loan.status(), FailsWith(StatusCode::kResourceExhausted, "are idle"));
        break;
      }
      all += bytes;
      ASSERT_THAT(a().Fill(loan->range().base, 0xBAD, 4, bytes / 4), IsOk());
      loans.push_back(*std::move(loan));
    }
  }
  EXPECT_GE(all, kLarge);
  EXPECT_LE(all, mapped() - kLarge);
  EXPECT_EQ(lent(), all);
  ExpectStep(program, 3);
  loans.clear();
  EXPECT_EQ(lent(), 0u);
  ExpectStep(program, 4);
}

// What was mapped ahead and nobody has used moves to where loans are.
TEST_P(LendTest, PiecesThatNobodyUsesAreLentToo) {
  OpenRuntime({.tree = {.initial_bytes = 8 * kLarge}});
  const ProgramId program = AddLarge();
  const uint64_t before = mapped();
  ASSERT_GE(before, 8 * kLarge);
  for (int32_t step = 0; step < 3; ++step) {
    ASSERT_OK_AND_ASSIGN(const Loan loan, runtime().Lend({.bytes = 4 * kLarge}, b()));
    EXPECT_LE(mapped(), before);
    ASSERT_THAT(b().Fill(loan.range().base, 0xBAD, 4, kLarge), IsOk());
    ExpectStep(program, step);
    EXPECT_TRUE(loan.is_over());
  }
}

// The step may use the bytes again, after what the loan's streams had until then.
TEST_P(LendTest, AStepEndsALoanThatLastsUntilThen) {
  const ProgramId program = AddLarge();
  for (int32_t step = 0; step < 4; ++step) {
    ASSERT_OK_AND_ASSIGN(Loan loan, runtime().Lend({.bytes = kLarge}, a()));
    ASSERT_THAT(loan.UseOn(b()), IsOk());
    for (int i = 0; i < 20; ++i) {
      ASSERT_THAT(b().Fill(loan.range().base, 0xBAD, 4, kLarge / 4), IsOk());
    }
    absl::StatusOr<Step> begun = runtime().Begin(program, {.tokens = 20}, a());
    ASSERT_THAT(begun, IsOk());
    EXPECT_TRUE(loan.is_over());
    EXPECT_EQ(lent(), 0u);
    EXPECT_THAT(loan.UseOn(b()), FailsWith(StatusCode::kFailedPrecondition, "it is over"));
    loan.GiveBack();
    // It is run eagerly, in the bytes of the loan.
    const Ids ids = IdsFrom(step, 20);
    ASSERT_THAT(begun->Stage(0, HostRows{ids.data(), DType::kI32, 20}), IsOk());
    Values outputs;
    ASSERT_THAT(begun->Run(&outputs), IsOk());
    EXPECT_FALSE(IsReplay(begun->why()));
    Ids expected = ids;
    for (int32_t& id : expected) id *= 3;
    EXPECT_EQ(ReadIds(outputs[0]), expected);
  }
}

TEST_P(LendTest, WhatIsLentIsNotParkedAndWhatIsParkedIsNotLent) {
  const ProgramId program = AddLarge("graphs");
  for (const LoanUntil until : {LoanUntil::kNextStep, LoanUntil::kGivenBack}) {
    ASSERT_OK_AND_ASSIGN(Loan loan, runtime().Lend({.bytes = 4096, .until = until}, a()));
    EXPECT_THAT(runtime().Park("graphs", Contents::kKeep),
                FailsWith(StatusCode::kFailedPrecondition,
                          "while 4096 bytes of lane 0 are lent"));
    loan.GiveBack();
    ASSERT_THAT(runtime().Park("graphs", Contents::kKeep), IsOk());
    EXPECT_THAT(runtime().Lend({.bytes = 4096}, a()).status(),
                FailsWith(StatusCode::kFailedPrecondition, "'large' is parked: 'graphs'"));
    ASSERT_THAT(runtime().Wake("graphs"), IsOk());
    // What was idle did not come back, as nobody needs it.
    EXPECT_FALSE(IsReplay(StepWith(program, IdsFrom(1, 20))));
    ExpectStep(program, 1);
  }
}

// A body that is run to be recorded may use the bytes, as any step of the lane.
TEST_P(LendTest, WhatIsRecordedBetweenStepsEndsALoanToo) {
  const ProgramId program = AddLarge();
  int32_t tokens = 3;
  const auto ends = [&](const std::function<absl::Status()>& record) {
    ASSERT_THAT(runtime().AddShapes(program, {{.tokens = ++tokens}}), IsOk());
    ASSERT_OK_AND_ASSIGN(const Loan loan, runtime().Lend({.bytes = 4096}, a()));
    ASSERT_FALSE(loan.is_over());
    EXPECT_THAT(record(), IsOk());
    EXPECT_TRUE(loan.is_over());
  };
  ends([&] { return runtime().Record(program, a()); });
  ends([&] { return runtime().Progress(a(), {.budget_ns = 1'000'000}).status(); });
  ends([&]() -> absl::Status {
    const absl::StatusOr<RecordingPlan> plan = runtime().Plan({}, 0);
    return plan.ok() ? runtime().RecordPlan(*plan, a()).status() : plan.status();
  });
}

TEST_P(LendTest, WrongCallsAreRefusedInWords) {
  EXPECT_THAT(runtime().Lend({.bytes = 1}, a()).status(),
              FailsWith(StatusCode::kNotFound, "no program lies there"));
  const ProgramId program = AddLarge();
  EXPECT_THAT(runtime().Lend({.bytes = 1, .lane = 7}, a()).status(),
              FailsWith(StatusCode::kNotFound, "lane 7"));
  EXPECT_THAT(runtime().Lend({}, a()).status(),
              FailsWith(StatusCode::kInvalidArgument, "0 bytes were to be lent"));
  EXPECT_THAT(
      runtime().Lend({.bytes = 1, .until = static_cast<LoanUntil>(5)}, a()).status(),
      FailsWith(StatusCode::kInvalidArgument, "time 5"));
  {
    absl::StatusOr<Step> step = runtime().Begin(program, {.tokens = 8}, a());
    ASSERT_THAT(step, IsOk());
    EXPECT_THAT(runtime().Lend({.bytes = 1}, a()).status(),
                FailsWith(StatusCode::kFailedPrecondition, "while a step is under way there"));
    step->Cancel();
  }
  EXPECT_THAT(Loan().range().bytes, 0u);
  EXPECT_THAT(Loan().UseOn(a()), FailsWith(StatusCode::kFailedPrecondition, "it is over"));
}

TEST_P(LendTest, ALoanMayOutliveItsRuntime) {
  AddLarge();
  ASSERT_OK_AND_ASSIGN(Loan loan,
                       runtime().Lend({.bytes = 4096, .until = LoanUntil::kGivenBack}, a()));
  ASSERT_THAT(a().Fill(loan.range().base, 1, 4, 1024), IsOk());
  CloseRuntime();
  EXPECT_TRUE(loan.is_over());
  OpenRuntime({});
  loan = Loan();
}

}  // namespace
}  // namespace graphtree
