// Eager parts that write where an input of the call lies, though their break does not say so: what
// the body launches after the part reads what the part has left there, and no copy from before it.
// What a part's own launch declares counts, in checked mode too.
#include <utility>

#include "tests/kernels/launches.h"
#include "tests/tree/breaks_fixture.h"

namespace graphtree {
namespace {

class PartInputsTest : public BreaksFixture {
 protected:
  // x -> 2 x, after a part has added 1 to the ledger that it knows of.
  Body NoteAndDouble() {
    return [this](Launcher& on, Values& inputs) {
      on.Break("note", {}, [this](Launcher& part, absl::Span<const Tensor>) {
        Bump(part, *ledger_, 1);
      });
      return Values{Sum(on, inputs[0], inputs[0])};
    };
  }
  // Steps that bring the ledger itself, which holds Pattern(2) and as many notes as calls so far.
  void ExpectNotesSeen(FunctionId function, const Tensor& ledger, uint32_t notes, int steps) {
    ledger_ = &ledger;
    for (int step = 1; step <= steps; ++step) {
      const Words expected = Plus(PatternOf(2), Words(kWords, notes + step));
      EXPECT_EQ(Read(CallInSteps(1, function, {ledger})[0]), Times(expected, 2)) << step;
      EXPECT_EQ(Read(ledger), expected) << step;
    }
  }
  const Tensor* ledger_ = nullptr;
};
GRAPHTREE_ON_EVERY_DEVICE(PartInputsTest);

TEST_P(PartInputsTest, FromTheFirstCallOn) {
  const FunctionId function = Register("f", {}, NoteAndDouble());
  ExpectNotesSeen(function, Given(2), 0, 5);
  EXPECT_EQ(graphs(), 1u);
}

TEST_P(PartInputsTest, AfterRecordingsForOtherInputs) {
  const FunctionId function = Register("f", {}, NoteAndDouble());
  const Tensor ledger = Given(2), x = Given(1);
  ledger_ = &ledger;
  for (int step = 1; step <= 3; ++step) {
    EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), Times(PatternOf(1), 2));
  }
  ExpectNotesSeen(function, ledger, 3, 4);
  EXPECT_EQ(eager(), 0u);
}

// The recording, and not the warm-up, is the first to see it.
TEST_P(PartInputsTest, AtTheRecording) {
  const FunctionId function = Register("f", {}, NoteAndDouble());
  const Tensor ledger = Given(2), x = Given(1);
  ledger_ = &ledger;
  CallInSteps(1, function, {x});
  ExpectNotesSeen(function, ledger, 1, 4);
  EXPECT_EQ(eager(), 0u);
}

// No run before has shown it: the part's host code chooses where it writes.
TEST_P(PartInputsTest, InAReplayForTheFirstTime) {
  const FunctionId function = Register("f", {}, NoteAndDouble());
  const Tensor other = Given(1), ledger = Given(2);
  ledger_ = &other;
  CallInSteps(3, function, {ledger});
  EXPECT_EQ(replays(), 1u);
  ExpectNotesSeen(function, ledger, 0, 4);
  EXPECT_EQ(eager(), 1u);
  EXPECT_EQ(graphs(), 2u);
}

// The break says that its part reads the input, and the part's launch says that it writes there.
class PartGivenToReadTest : public BreaksFixture {
 protected:
  // x -> 2 x, after a part has added `by_` to x.
  Body BumpAndDouble() {
    return [this](Launcher& on, Values& inputs) {
      on.Break("note", {In(Tensor::From(inputs[0]))},
               [this](Launcher& part, absl::Span<const Tensor> tensors) {
                 if (by_ != 0) Bump(part, tensors[0], by_);
               });
      return Values{Sum(on, inputs[0], inputs[0])};
    };
  }
  void ExpectBumped(FunctionId function, int steps) {
    for (int step = 0; step < steps; ++step) {
      const Tensor x = Given(step);
      const Words expected = Plus(PatternOf(step), Words(kWords, by_));
      EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), Times(expected, 2)) << step;
      EXPECT_EQ(Read(x), expected) << step;
    }
  }
  uint32_t by_ = 1;
};
GRAPHTREE_ON_EVERY_DEVICE(PartGivenToReadTest);

TEST_P(PartGivenToReadTest, WhatItsLaunchSaysCounts) {
  for (const bool check : {false, true}) {
    for (const bool strict : {false, true}) {
      OpenTree({.strict = strict, .check = check});
      ExpectBumped(Register("f", {}, BumpAndDouble()), 5);
      EXPECT_EQ(graphs(), 1u) << check << strict;
      EXPECT_EQ(eager(), 0u) << check << strict;
      EXPECT_EQ(reasons(Reason::kUndeclaredWrite), 0u) << check << strict;
    }
  }
}

// A recording would write to its copy, so there is none.
TEST_P(PartGivenToReadTest, AnInputThatIsToBeCopied) {
  for (const bool check : {false, true}) {
    OpenTree({.check = check});
    ExpectBumped(Register("f", {.moving = Moving::kCopy}, BumpAndDouble()), 5);
    EXPECT_EQ(graphs(), 0u) << check;
    EXPECT_GT(reasons(Reason::kMutatedInput), 0u) << check;
    EXPECT_EQ(reasons(Reason::kUndeclaredWrite), 0u) << check;
  }
}

TEST_P(PartGivenToReadTest, OpaqueWorkOfAPartInAPart) {
  for (const bool check : {false, true}) {
    OpenTree({.strict = true, .check = check});
    const FunctionId function = Register("f", {}, [](Launcher& on, Values& inputs) {
      const auto bump = [](Launcher& part, absl::Span<const Tensor> tensors) {
        part.Writes(tensors[0]);
        part.Fail(Increment(part.stream(), tensors[0].raw_bytes(), 1));
      };
      on.Break("outer", {In(Tensor::From(inputs[0]))},
               [bump](Launcher& part, absl::Span<const Tensor> tensors) {
                 part.Break("inner", {In(tensors[0])}, bump);
               });
      return Values{Sum(on, inputs[0], inputs[0])};
    });
    ExpectBumped(function, 5);
    EXPECT_EQ(graphs(), 1u) << check;
  }
}

// No run before the recording has shown it.
TEST_P(PartGivenToReadTest, AtTheRecording) {
  const FunctionId function = Register("f", {}, BumpAndDouble());
  by_ = 0;
  ExpectBumped(function, 1);
  by_ = 1;
  ExpectBumped(function, 4);
  EXPECT_EQ(graphs(), 1u);
  EXPECT_EQ(eager(), 0u);
}

// No run before has shown it: the part's host code decides.
TEST_P(PartGivenToReadTest, InAReplayForTheFirstTime) {
  for (const Moving moving : {Moving::kPatch, Moving::kCopy}) {
    OpenTree({});
    const FunctionId function = Register("f", {.moving = moving}, BumpAndDouble());
    by_ = 0;
    ExpectBumped(function, 4);
    EXPECT_EQ(replays(), 2u);
    by_ = 1;
    ExpectBumped(function, 4);
    EXPECT_EQ(graphs(), moving == Moving::kPatch ? 2u : 1u);
    by_ = 0;
    ExpectBumped(function, 2);
  }
}

// An input that died inside, in whose place the body's own tensor lies, is not written.
TEST_P(PartGivenToReadTest, WhatLiesInThePlaceOfAnInputThatDied) {
  const FunctionId made = Register("made", {}, Twice);
  const FunctionId function = Register("f", {.moving = Moving::kCopy}, [](Launcher& on,
                                                                          Values& inputs) {
    const Tensor twice = Sum(on, inputs[0], inputs[0]);
    inputs[0] = Value();
    const Tensor more = Sum(on, twice, twice);
    on.Break("note", {In(more)}, [](Launcher& part, absl::Span<const Tensor> tensors) {
      Bump(part, tensors[0], 1);
    });
    return Values{more};
  });
  for (int step = 0; step < 4; ++step) {
    NewStep();
    Values inputs = Call(made, {Given(step)});
    EXPECT_EQ(Read(Call(function, std::move(inputs))[0]),
              Plus(Times(PatternOf(step), 8), Words(kWords, 1)));
  }
  for (int step = 0; step < 4; ++step) {
    EXPECT_EQ(Read(CallInSteps(1, function, {Given(step)})[0]),
              Plus(Times(PatternOf(step), 4), Words(kWords, 1)));
  }
  EXPECT_EQ(eager(), 0u) << "no input is known to be written";
}

}  // namespace
}  // namespace graphtree
