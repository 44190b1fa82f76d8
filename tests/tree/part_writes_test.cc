// Eager parts that write to memory which their break does not name: what they launch says so, and a
// call that fails takes it back.
#include <utility>

#include "allocator/foreign.h"
#include "tests/tree/breaks_fixture.h"

namespace graphtree {
namespace {

using absl::StatusCode;

class PartWritesTest : public BreaksFixture {
 protected:
  // x -> 4 x; its first part adds 1 to the ledger, and its second one fails if it is told to.
  Body Noting(const Tensor& ledger, bool nested = false) {
    return [this, ledger, nested](Launcher& on, Values& inputs) {
      const Tensor twice = Sum(on, inputs[0], inputs[0]);
      const auto note = [ledger](Launcher& part, absl::Span<const Tensor>) {
        Bump(part, ledger, 1);
      };
      on.Break("note", {In(twice)}, [note, nested](Launcher& part, absl::Span<const Tensor> t) {
        if (!nested) return note(part, t);
        part.Break("inside", {}, note);
      });
      on.Break("may fail", {}, [this](Launcher& part, absl::Span<const Tensor>) {
        if (fails_) part.Fail(absl::UnavailableError("the disk is full"));
      });
      return Values{Sum(on, twice, twice)};
    };
  }
  void ExpectTakenBack(FunctionOptions options, bool nested) {
    const Tensor x = Given(1), ledger = Given(2);
    const FunctionId function = Register("f", std::move(options), Noting(ledger, nested));
    for (uint32_t step = 1; step <= 4; ++step) {
      EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), Times(PatternOf(1), 4));
      const Words expected = Plus(PatternOf(2), Words(kWords, step));
      EXPECT_EQ(Read(ledger), expected);
      fails_ = true;
      NewStep();
      Values inputs = {x};
      EXPECT_THAT(Failure(function, inputs), FailsWith(StatusCode::kUnavailable, "may fail"));
      EXPECT_EQ(Read(ledger), expected) << "step " << step;
      fails_ = false;
    }
  }
  bool fails_ = false;
};
GRAPHTREE_ON_EVERY_DEVICE(PartWritesTest);

TEST_P(PartWritesTest, AReplayThatFailsTakesThemBack) {
  ExpectTakenBack({}, false);
  EXPECT_EQ(graphs(), 1u);
}

TEST_P(PartWritesTest, AnEagerRunThatFailsTakesThemBack) {
  ExpectTakenBack({.exclude = true}, false);
}

TEST_P(PartWritesTest, APartInsideAPart) { ExpectTakenBack({}, true); }

// The first section and the part have run when the budget refuses the second section, and the eager
// run does all of it once more.
TEST_P(PartWritesTest, ARecordingThatFailsAfterThePartWritesOnce) {
  OpenTree({.budget = {.executables = 1}});
  const Tensor x = Given(1), ledger = Given(2);
  const FunctionId function = Register("f", {}, Noting(ledger));
  for (uint32_t step = 1; step <= 3; ++step) {
    EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), Times(PatternOf(1), 4));
    EXPECT_EQ(Read(ledger), Plus(PatternOf(2), Words(kWords, step)));
  }
  EXPECT_EQ(reasons(Reason::kOverBudget), 2u);
}

// What a part writes of its own is gone when the part is: nobody looks there for what was.
TEST_P(PartWritesTest, MemoryOfThePartItself) {
  const Tensor x = Given(1);
  const FunctionId function = Register("f", {}, [this](Launcher& on, Values& inputs) {
    const Tensor out = on.Empty(inputs[0].layout());
    on.Break("own memory", {In(Tensor::From(inputs[0])), Out(out)},
             [](Launcher& part, absl::Span<const Tensor> t) {
               Bump(part, Filled(part, 3, 7 * kWords), 1);
               part.Fill(part.Scratch(5000), 0x11);
               part.Copy(t[1], Sum(part, t[0], t[0]));
             });
    on.Break("may fail", {}, [this](Launcher& part, absl::Span<const Tensor>) {
      if (fails_) part.Fail(absl::UnavailableError("the disk is full"));
    });
    return Values{Sum(on, out, out)};
  });
  for (int step = 0; step < 4; ++step) {
    EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), Times(PatternOf(1), 4));
    fails_ = true;
    NewStep();
    Values inputs = {x};
    EXPECT_THAT(Failure(function, inputs), FailsWith(StatusCode::kUnavailable, "may fail"));
    fails_ = false;
  }
}

// A body whose region is full gets its memory beside it, where the caller's tensors may lie, too.
TEST_P(PartWritesTest, MemoryOfTheBodyThatDidNotFit) {
  const uint64_t piece = granularity();
  OpenTree({.pool_bytes = 2 * piece});
  const uint64_t most = piece * 3 / 5;
  const FunctionId keeps = Register("keeps", {.exclude = true}, Twice);
  const FunctionId holds = Register("holds", {}, [most](Launcher& on, Values&) {
    return Values{on.Empty(WordsLayout(static_cast<int64_t>(most / sizeof(uint32_t))))};
  });
  const FunctionId function = Register("f", {}, [this, most](Launcher& on, Values& inputs) {
    on.Fill(on.Scratch(most), 0x11);
    return Values{HostTimes(on, Sum(on, inputs[0], inputs[0]), 3)};
  });
  const Tensor x = Given(1), y = Given(2);
  const Values kept = CallInSteps(1, keeps, {x});
  CallInSteps(1, function, {x});
  NewStep();
  const Values held = Call(holds, {});
  for (int call = 0; call < 3; ++call) {
    const uint64_t parts = tree().stats().eager_parts;
    EXPECT_EQ(Read(Call(function, {y})[0]), Times(PatternOf(2), 6));
    EXPECT_LE(tree().stats().eager_parts, parts + 1) << "refused before the part ran";
  }
  EXPECT_EQ(Read(kept[0]), Times(PatternOf(1), 2));
}

// A size that is not to be recorded runs eagerly without a shape of its own.
TEST_P(PartWritesTest, AnEagerRunOfASizeThatIsNotListed) {
  const Tensor x = Given(1), ledger = Given(2);
  const FunctionId function =
      Register("f", {.recorded_sizes = {{kWords + 1}}}, Noting(ledger));
  CallInSteps(1, function, {x});
  fails_ = true;
  Values inputs = {x};
  EXPECT_THAT(Failure(function, inputs), FailsWith(StatusCode::kUnavailable, "may fail"));
  EXPECT_EQ(Read(ledger), Plus(PatternOf(2), Words(kWords, 1)));
}

// What foreign code freed in the call may be where the caller's bytes were saved meanwhile.
TEST_P(PartWritesTest, ATemporaryOfForeignCode) {
  const auto body = [this](Launcher& on, Values& inputs) {
    ForeignAllocator& foreign = tree().foreign_allocator();
    const absl::StatusOr<Address> at = foreign.Allocate(kWords * 4, on.stream());
    on.Fail(at.status());
    if (!on.ok()) return Values{};
    on.Fill(Tensor::Foreign(*at, inputs[0].layout()), 1);
    on.Fail(foreign.Free(*at, on.stream()));
    const Tensor out = Filled(on, 3, kWords);
    Bump(on, inputs[0], 5);
    on.Break("may fail", {In(out)}, [this](Launcher& part, absl::Span<const Tensor>) {
      if (fails_) part.Fail(absl::UnavailableError("the disk is full"));
    });
    return Values{out};
  };
  const FunctionId function = Register("f", {.static_inputs = {0}}, body);
  const Tensor x = Given(1), y = Given(2);
  const Values held = CallInSteps(1, function, {x});
  for (int attempt = 0; attempt < 3; ++attempt) {
    fails_ = true;
    Values inputs = {y};
    EXPECT_THAT(Failure(function, inputs), FailsWith(StatusCode::kUnavailable, "may fail"));
    EXPECT_EQ(Read(y), PatternOf(2)) << "attempt " << attempt;
    fails_ = false;
  }
}

}  // namespace
}  // namespace graphtree
