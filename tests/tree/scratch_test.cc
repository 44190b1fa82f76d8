// Scratch is memory for one op, whatever route runs its body: it lies over nothing that is alive,
// and is an error afterwards.
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "tests/tree/breaks_fixture.h"

namespace graphtree {
namespace {

using testing::HasSubstr;

class ScratchTest : public BreaksFixture {
 protected:
  static constexpr uint64_t kScratchBytes = 1 << 16;

  // x + x by way of scratch, which one op writes.
  static Values TwiceWithScratch(Launcher& on, Values& inputs) {
    const Tensor out = Sum(on, inputs[0], inputs[0]);
    on.Fill(on.Scratch(kScratchBytes), 0x99);
    return Values{out};
  }
  static void SpoilScratch(Launcher& on, absl::Span<const Tensor>) {
    on.Fill(on.Scratch(kScratchBytes), 0x99);
  }
};
GRAPHTREE_ON_EVERY_DEVICE(ScratchTest);

TEST_P(ScratchTest, EveryRouteGivesTheSameBytes) {
  const FunctionId function = Register("f", {}, TwiceWithScratch);
  const Tensor x = Given(1);
  for (int step = 0; step < 5; ++step) {
    EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), Times(PatternOf(1), 2));
  }
  EXPECT_EQ(graphs(), 1u);
  EXPECT_EQ(replays(), 3u);
}

// The books show another state than the replay's, so the step's memory seems to be free.
TEST_P(ScratchTest, OfAnEagerRunLeavesAReplaysOutputAlone) {
  const FunctionId kept = Register("held", {}, Twice);
  const FunctionId spoils = Register("spoils", {.exclude = true}, [](Launcher& on, Values&) {
    SpoilScratch(on, {});
    return Values{};
  });
  const Tensor x = Given(1);
  for (int step = 0; step < 5; ++step) {
    NewStep();
    const Values held = Call(kept, {x});
    Call(spoils, {});
    EXPECT_EQ(Read(held[0]), Times(PatternOf(1), 2)) << "in step " << step;
  }
  EXPECT_EQ(replays(), 3u);
}

TEST_P(ScratchTest, OfAPartLeavesAReplaysOutputAlone) {
  const FunctionId kept = Register("held", {}, Twice);
  const FunctionId breaks = Register("breaks", {}, [](Launcher& on, Values&) {
    on.Break("part", {}, SpoilScratch);
    return Values{};
  });
  const Tensor x = Given(1);
  for (int step = 0; step < 6; ++step) {
    NewStep();
    const Values held = Call(kept, {x});
    Call(breaks, {});
    EXPECT_EQ(Read(held[0]), Times(PatternOf(1), 2)) << "in step " << step;
  }
  EXPECT_GE(replays(), 6u);
}

// Another path goes first in some steps, so that the books are not at the recording's end.
TEST_P(ScratchTest, OfAPartLeavesWhatPassesTheCutAlone) {
  const FunctionId breaks = Register("breaks", {}, [](Launcher& on, Values& inputs) {
    const Tensor passes = Sum(on, inputs[0], inputs[0]);
    on.Break("part", {In(passes)}, SpoilScratch);
    return Values{Sum(on, passes, inputs[0])};
  });
  const FunctionId other = Register("other", {}, [](Launcher& on, Values&) {
    return Values{Filled(on, 5, kWords)};
  });
  const Tensor x = Given(1);
  for (int step = 0; step < 8; ++step) {
    NewStep();
    Values before;
    if (step % 2 == 1) before = Call(other, {});
    EXPECT_EQ(Read(Call(breaks, {x})[0]), Times(PatternOf(1), 3)) << "in step " << step;
  }
  EXPECT_GE(replays(), 4u);
}

TEST_P(ScratchTest, IsNoCallersMemoryForCheckedMode) {
  OpenTree({.check = true});
  const FunctionId function = Register("f", {}, TwiceWithScratch);
  const Tensor x = Given(1);
  for (int step = 0; step < 4; ++step) {
    EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), Times(PatternOf(1), 2));
  }
  EXPECT_EQ(replays(), 2u);
  EXPECT_THAT(warnings(), testing::IsEmpty());
}

TEST_P(ScratchTest, IsAnErrorAfterItsOp) {
  for (const bool exclude : {false, true}) {
    const FunctionId function =
        Register("greedy", {.exclude = exclude}, [](Launcher& on, Values&) {
          const Tensor scratch = on.Scratch(256);
          on.Fill(scratch, 1);
          on.Fill(scratch, 2);
          return Values{};
        });
    EXPECT_THAT(std::string(Refusal(function, {}).message()),
                HasSubstr("scratch memory of the body of 'greedy', which was good for one op"));
  }
}

TEST_P(ScratchTest, IsNoOutput) {
  for (const bool launches : {false, true}) {
    const FunctionId function = Register("returns", {}, [launches](Launcher& on, Values&) {
      const Tensor scratch = on.Scratch(256);
      if (launches) on.Fill(scratch, 1);
      return Values{scratch};
    });
    EXPECT_THAT(std::string(Refusal(function, {}).message()),
                HasSubstr("it returned as output 0 what may not be used: it is scratch memory"));
  }
  EXPECT_EQ(live(), 0u);
}

// It would be good in the run that takes it, and in no replay: the part is given its own.
TEST_P(ScratchTest, OfABodyIsNotAPartsToTakeAlong) {
  for (const bool exclude : {false, true}) {
    const FunctionId function = Register("f", {.exclude = exclude}, [](Launcher& on, Values&) {
      const Tensor scratch = on.Scratch(256);
      on.Break("takes", {}, [scratch](Launcher& part, absl::Span<const Tensor>) {
        part.Fill(scratch, 1);
      });
      return Values{};
    });
    for (int step = 0; step < 4; ++step) {
      NewStep();
      EXPECT_THAT(Refusal(function, {}),
                  FailsWith(absl::StatusCode::kFailedPrecondition,
                            "eager part 'takes': fill: the part has taken scratch memory of its "
                            "body along"))
          << "step " << step;
    }
  }
}

// The part's ops, a part inside it among them, end their own scratch and not the body's.
TEST_P(ScratchTest, OfABreakIsItsPartsUntilItEnds) {
  const FunctionId function = Register("f", {}, [](Launcher& on, Values& inputs) {
    const Tensor out = on.Empty(inputs[0].layout());
    const Tensor scratch = on.Scratch(inputs[0].layout()->extent_bytes());
    on.Break("part", {In(Tensor::From(inputs[0])), Out(out), InOut(scratch)},
             [](Launcher& part, absl::Span<const Tensor> tensors) {
               part.Copy(tensors[2], tensors[0]);
               part.Break("inner", {}, SpoilScratch);
               SpoilScratch(part, {});
               part.Copy(tensors[1], tensors[2]);
             });
    return Values{out};
  });
  const Tensor x = Given(1);
  for (int step = 0; step < 5; ++step) {
    EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), PatternOf(1)) << "in step " << step;
  }
  EXPECT_EQ(replays(), 3u);
}

}  // namespace
}  // namespace graphtree
