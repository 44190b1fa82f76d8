// Eager parts that write where an input of the call lies, though their break does not say so: what
// the body launches after the part reads what the part has left there, and no copy from before it.
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

}  // namespace
}  // namespace graphtree
