// Inputs whose addresses change: patched into the ops that take them, or copied, and one recording
// for all of their addresses.
#include <algorithm>
#include <utility>

#include "tests/kernels/kernels.h"
#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

class MovingTest : public TreeTest {
 protected:
  void SetUp() override {
    TreeTest::SetUp();
    if (!IsSkipped() && !HasFatalFailure()) OpenTree({.patch_bytes = 1});
  }
  uint64_t copied() { return tree().stats().copied_inputs; }
  uint64_t patched() { return tree().stats().patched_inputs; }
};
GRAPHTREE_ON_EVERY_DEVICE(MovingTest);

TEST_P(MovingTest, LargeInputsArePatchedAndNotCopied) {
  const FunctionId add = Register("add", {}, AddBoth);
  const Tensor places[] = {Given(1), Given(2), Given(3)};
  for (int turn = 0; turn < 9; ++turn) {
    const uint32_t x = turn % 3, y = turn / 3;
    Values out = CallInSteps(1, add, {places[x], places[y]});
    EXPECT_EQ(Read(out[0]), Plus(PatternOf(x + 1), PatternOf(y + 1))) << "turn " << turn;
  }
  EXPECT_EQ(graphs(), 1u);
  EXPECT_EQ(replays(), 7u);
  EXPECT_EQ(patched(), 2u);
  EXPECT_EQ(copied(), 0u);
}

TEST_P(MovingTest, TheThresholdCountsBytesForEachOp) {
  for (const uint64_t bytes : {96, 97}) {
    OpenTree({.patch_bytes = bytes});
    const FunctionId thrice = Register("thrice", {}, Thrice);  // two ops of 192 bytes
    CallInSteps(2, thrice, {Given(1)});
    EXPECT_EQ(patched(), bytes == 96 ? 1u : 0u);
    EXPECT_EQ(copied(), bytes == 96 ? 0u : 1u);
  }
}

TEST_P(MovingTest, ViewsCopiesAndFillsAreFollowed) {
  const FunctionId function = Register("views", {}, [](Launcher& on, Values& inputs) {
    const Tensor out = on.Empty(WordsLayout(kWords));
    if (!on.ok()) return Values{};
    on.Copy(out, Tensor::From(inputs[0]));
    on.Copy(Slice(inputs[1], 8, 8), Slice(inputs[0], 16, 8));
    on.Fill(Slice(inputs[1], 40, 8), 7);
    return Values{out, Sum(on, Slice(inputs[0], 4, 12), Slice(inputs[1], 8, 12))};
  });
  for (uint32_t step = 0; step < 6; ++step) {
    const Tensor x = Given(10 + step), y = Given(20 + step);
    Words after = PatternOf(20 + step);
    const Words source = PatternOf(10 + step);
    std::copy(source.begin() + 16, source.begin() + 24, after.begin() + 8);
    std::fill(after.begin() + 40, after.end(), 0x07070707);
    Values out = CallInSteps(1, function, {x, y});
    EXPECT_EQ(Read(out[0]), source);
    EXPECT_EQ(Read(y), after);
    EXPECT_EQ(Read(out[1])[3], source[7] + after[11]);
  }
  EXPECT_EQ(graphs(), 1u);
  EXPECT_EQ(eager(), 0u);
  EXPECT_EQ(copied(), 0u);
}

// A copy would take the write; the caller's own memory is written to at every address.
TEST_P(MovingTest, AnInputThatIsWrittenToIsPatchedWhateverItsSize) {
  OpenTree({});
  const FunctionId mutator = Register("mutator", {}, [](Launcher& on, Values& inputs) {
    Bump(on, inputs[0], 2);
    return Values{inputs[0], Sum(on, inputs[0], inputs[0])};
  });
  const Tensor places[] = {Given(1), Given(2)};
  Words expected[] = {PatternOf(1), PatternOf(2)};
  for (const int at : {0, 0, 1, 0, 1, 1}) {
    Values out = CallInSteps(1, mutator, {places[at]});
    expected[at] = Plus(expected[at], Words(kWords, 2));
    EXPECT_EQ(Read(places[at]), expected[at]);
    EXPECT_EQ(Read(out[1]), Times(expected[at], 2));
    EXPECT_EQ(out[0].word(), places[at].word());
    EXPECT_EQ(Read(places[1 - at]), expected[1 - at]);
  }
  EXPECT_EQ(graphs(), 1u);
  EXPECT_EQ(eager(), 0u);
  EXPECT_TRUE(warnings().empty());
}

TEST_P(MovingTest, AWrittenInputThatMovesOntoAnotherRunsEagerly) {
  const FunctionId function = Register("writes", {}, [](Launcher& on, Values& inputs) {
    Bump(on, inputs[0], 1);
    return Values{Sum(on, inputs[0], inputs[1])};
  });
  const Tensor x = Given(1), y = Given(2);
  for (int step = 0; step < 3; ++step) CallInSteps(1, function, {x, y});
  const Words before = Read(y);
  Values out = CallInSteps(1, function, {y, y});
  const Words after = Plus(before, Words(kWords, 1));
  EXPECT_EQ(Read(y), after);
  EXPECT_EQ(Read(out[0]), Times(after, 2));
  EXPECT_EQ(reasons(Reason::kOverlappingInputs), 1u);
  out = CallInSteps(1, function, {y, x});
  EXPECT_EQ(Read(y), Plus(after, Words(kWords, 1)));
}

// Recorded with one tensor for both, or with two halves of one: each is followed on its own.
TEST_P(MovingTest, TheSameMemoryTwiceAndHalvesOfOneAreToldApart) {
  const Tensor places[] = {Given(1), Given(2), Given(3)};
  for (const bool twice : {true, false}) {
    const FunctionId function = Register("two", {}, [](Launcher& on, Values& inputs) {
      const Tensor sum = Sum(on, inputs[0], inputs[1]);
      return Values{Sum(on, sum, inputs[1])};
    });
    const Tensor first = twice ? places[0] : Slice(places[0], 0, kWords / 2);
    const Tensor second = twice ? places[0] : Slice(places[0], kWords / 2, kWords / 2);
    CallInSteps(2, function, {first, second});
    for (int turn = 0; turn < 4; ++turn) {
      const Tensor x = twice ? places[1 + turn % 2] : Slice(places[turn % 2], 0, kWords / 2);
      const Tensor y = twice ? places[turn / 2] : Slice(places[turn / 2], 4, kWords / 2);
      Values out = CallInSteps(1, function, {x, y});
      EXPECT_EQ(Read(out[0]), Plus(Read(x), Times(Read(y), 2))) << "turn " << turn;
    }
  }
  EXPECT_EQ(graphs(), 2u);
  EXPECT_EQ(patched(), 4u);
}

TEST_P(MovingTest, AnOutputThatLooksIntoAPatchedInputIsTheCallersOwn) {
  const FunctionId function = Register("alias", {}, [](Launcher& on, Values& inputs) {
    return Values{inputs[0], Slice(inputs[0], 4, 8), Sum(on, inputs[0], inputs[0])};
  });
  const Tensor x = Given(3), y = Given(4);
  for (const Tensor& given : {x, x, x, y, x}) {
    Values out = CallInSteps(1, function, {given});
    EXPECT_EQ(out[0].word(), given.word());
    EXPECT_EQ(out[1].word(), given.word() + 16);
    EXPECT_EQ(out[0].storage(), nullptr);
    EXPECT_EQ(Read(out[2]), Times(Read(given), 2));
    EXPECT_EQ(live(), 1u);
  }
  EXPECT_EQ(graphs(), 1u);
}

// The body knows the memory from elsewhere too: that address stays, the input's would not. The two
// cannot be told apart in a graph, so the input is copied.
TEST_P(MovingTest, MemoryThatTheBodyAlsoKnowsFromElsewhereIsCopied) {
  const Tensor constant = Given(1), other = Given(2);
  const FunctionId function = Register("constant", {}, [&](Launcher& on, Values& inputs) {
    return Values{Sum(on, inputs[0], constant)};
  });
  for (const Tensor& x : {constant, constant, other, constant, other}) {
    Values out = CallInSteps(1, function, {x});
    EXPECT_EQ(Read(out[0]), Plus(Read(x), PatternOf(1)));
  }
  EXPECT_EQ(graphs(), 1u);
  EXPECT_EQ(copied(), 1u);
}

// Work on the raw stream has the address in arguments that no launch of ours declared; who does not
// want them sought says so.
TEST_P(MovingTest, AnInputThatOpaqueWorkTakesIsCopiedOrRefusedOnRequest) {
  for (const bool writes : {false, true}) {
    const FunctionOptions copying = {.moving = Moving::kCopy};
    const FunctionId function = Register("opaque", copying, [&](Launcher& on, Values& inputs) {
      const Tensor x = Tensor::From(inputs[0]);
      const Tensor out = Sum(on, x, x);
      if (!on.ok()) return Values{};
      if (writes) {
        on.Writes(x);
        on.Fail(Increment(on.stream(), x.raw_bytes(), 1));
      } else {
        on.Reads(x);
        on.Fail(Add(on.stream(), out.raw_bytes(), x.raw_bytes(), x.raw_bytes()));
      }
      return Values{out};
    });
    for (uint32_t step = 0; step < 4; ++step) {
      const Tensor x = Given(30 + step);
      Values out = CallInSteps(1, function, {x});
      EXPECT_EQ(Read(out[0]), Times(PatternOf(30 + step), 2));
      EXPECT_EQ(Read(x), Plus(PatternOf(30 + step), Words(kWords, writes ? 1 : 0)));
    }
  }
  EXPECT_EQ(graphs(), 1u);
  EXPECT_EQ(copied(), 1u);
  EXPECT_EQ(eager(), 3u);
}

// Nobody declares it, but the recording shows it.
TEST_P(MovingTest, AnAddressThatNobodyDeclaredIsFoundInTheRecording) {
  const FunctionId function = Register("hides", {}, [](Launcher& on, Values& inputs) {
    const Tensor x = Tensor::From(inputs[0]);
    const Tensor out = on.Empty(x.layout());
    if (!on.ok()) return Values{};
    on.Fail(Add(on.stream(), out.raw_bytes(), x.raw_bytes(), x.raw_bytes()));
    return Values{Sum(on, out, x)};
  });
  for (uint32_t step = 0; step < 4; ++step) {
    Values out = CallInSteps(1, function, {Given(30 + step)});
    EXPECT_EQ(Read(out[0]), Times(PatternOf(30 + step), 3));
  }
  EXPECT_EQ(graphs(), 1u);
  EXPECT_EQ(copied(), 1u);
  EXPECT_EQ(patched(), 0u);
}

TEST_P(MovingTest, ALessAlignedInputIsAnotherRecording) {
  const FunctionId twice = Register("twice", {}, Twice);
  const Tensor memory = Given(1, kWords + 8);
  for (const int64_t first : {0, 0, 4, 1, 2, 3, 8}) {
    Values out = CallInSteps(1, twice, {Slice(memory, first, kWords)});
    EXPECT_EQ(Read(out[0])[0], 2 * Pattern(1, kWords + 8)[first]);
  }
  EXPECT_EQ(graphs(), 2u);
  EXPECT_EQ(reasons(Reason::kAlignmentDiffers), 1u);
}

TEST_P(MovingTest, AStaticInputThatMovesIsRecordedOnceMoreForEveryAddress) {
  for (const Moving moving : {Moving::kPatch, Moving::kCopy}) {
    OpenTree({});
    const FunctionId add = Register("add", {.static_inputs = {1}, .moving = moving}, AddBoth);
    const Tensor x = Given(1);
    std::vector<Tensor> buffers;
    for (uint32_t i = 0; i < 16; ++i) buffers.push_back(Given(10 + i));
    for (int round = 0; round < 2; ++round) {
      for (uint32_t i = 0; i < 16; ++i) {
        for (int again = 0; again < 2; ++again) {
          Values out = CallInSteps(1, add, {x, buffers[i]});
          EXPECT_EQ(Read(out[0]), Plus(PatternOf(1), PatternOf(10 + i)));
        }
      }
    }
    EXPECT_EQ(graphs(), 2u) << "the first address, and all others";
    EXPECT_EQ(reasons(Reason::kStaticMoved), 1u);
    EXPECT_EQ(patched(), moving == Moving::kPatch ? 1u : 0u);
    EXPECT_EQ(copied(), moving == Moving::kPatch ? 2u : 3u) << "x in both";
  }
}

// Both recordings are found again behind others: by the hash that leaves out what moves.
TEST_P(MovingTest, AGeneralRecordingIsFoundAmongManySiblings) {
  const FunctionId add =
      Register("add", {.static_inputs = {1}}, [](Launcher& on, Values& inputs) {
        return Values{Sum(on, inputs[0], inputs[1])};
      });
  const Tensor buffers[] = {Given(1), Given(2), Given(3)};
  const Tensor x = Given(4);
  auto call = [&](int buffer, int64_t integer) {
    Values out = CallInSteps(1, add, {x, buffers[buffer], Value::Integer(integer)});
    EXPECT_EQ(Read(out[0]), Plus(PatternOf(4), PatternOf(buffer + 1)));
  };
  for (int64_t integer = 0; integer < 4; ++integer) {
    for (const int buffer : {0, 0, 1}) call(buffer, integer);
  }
  EXPECT_EQ(graphs(), 8u);
  const uint64_t before = replays();
  for (const int buffer : {2, 1, 0}) {
    for (int64_t integer = 0; integer < 4; ++integer) call(buffer, integer);
  }
  EXPECT_EQ(graphs(), 8u);
  EXPECT_EQ(replays(), before + 12);
  const uint64_t patches = patched();
  EXPECT_EQ(patches, 4u + 8u) << "the buffer in four of them, x in all";
}

TEST_P(MovingTest, AStaticInputThatIsWrittenToAndMovesIsPatched) {
  OpenTree({});
  const FunctionId mutator =
      Register("mutator", {.static_inputs = {0}}, [](Launcher& on, Values& inputs) {
        for (int i = 0; i < 5; ++i) Bump(on, inputs[0], 2);
        return Values{};
      });
  const Tensor places[] = {Given(1), Given(2), Given(3)};
  Words expected[] = {PatternOf(1), PatternOf(2), PatternOf(3)};
  for (const int at : {0, 0, 1, 2, 0, 1, 2}) {
    CallInSteps(1, mutator, {places[at]});
    expected[at] = Plus(expected[at], Words(kWords, 10));
    for (int i = 0; i < 3; ++i) EXPECT_EQ(Read(places[i]), expected[i]) << i;
  }
  EXPECT_EQ(graphs(), 2u);
  EXPECT_EQ(eager(), 0u);
}

TEST_P(MovingTest, AFunctionThatWantsToRunEagerlyInsteadIsAskedAgainLater) {
  const FunctionId add =
      Register("add", {.static_inputs = {1}, .moving = Moving::kEager}, AddBoth);
  const Tensor x = Given(1), first = Given(2), second = Given(3);
  CallInSteps(3, add, {x, first});
  for (int step = 0; step < 63; ++step) CallInSteps(1, add, {x, second});
  EXPECT_EQ(graphs(), 1u);
  EXPECT_EQ(eager(), 63u);
  EXPECT_EQ(warnings().size(), 1u);
  CallInSteps(1, add, {x, first});
  EXPECT_EQ(replays(), 2u) << "where it was recorded it is still replayed";
  Values out = CallInSteps(3, add, {x, second});
  EXPECT_EQ(Read(out[0]), Plus(PatternOf(1), PatternOf(3)));
  EXPECT_EQ(graphs(), 2u);
  EXPECT_EQ(eager(), 63u);
}

// Outputs of one function that take turns as another's input: one recording more, not one for each.
class InterchangeableTest : public MovingTest {
 protected:
  static Values Six(Launcher& on, Values& inputs) {
    Values out;
    for (uint32_t i = 0; i < 6; ++i) {
      out.push_back(Filled(on, i, kWords));
      Bump(on, out.back(), static_cast<uint32_t>(inputs[0].integer()));
    }
    return out;
  }
  Words Expected(uint32_t which, uint32_t by) {
    return Plus(PatternOf(which), Words(kWords, by));
  }
};
GRAPHTREE_ON_EVERY_DEVICE(InterchangeableTest);

TEST_P(InterchangeableTest, OneRecordingServesEveryOutput) {
  for (const Moving moving : {Moving::kPatch, Moving::kCopy}) {
    for (const bool keep : {false, true}) {
      OpenTree({});
      const FunctionId six = Register("six", {}, Six);
      const FunctionId twice = Register("twice", {.moving = moving}, ConsumeTwice);
      const FunctionId last = Register("last", {}, Twice);
      for (const uint32_t which : {0, 0, 1, 2, 3, 4, 5, 0, 1, 3}) {
        NewStep();
        Values made = Call(six, {Value::Integer(9)});
        Values inputs;
        if (keep) {
          inputs.push_back(made[which]);
        } else {
          inputs.push_back(std::move(made[which]));
          made[which] = Value();
        }
        Values out = Call(twice, std::move(inputs));
        EXPECT_EQ(Read(out[0]), Times(Expected(which, 9), 2)) << "output " << which;
        for (uint32_t i = 0; i < 6; ++i) {
          if (made[i].is_none()) continue;
          EXPECT_EQ(Read(made[i]), Expected(i, 9)) << "output " << i;
        }
        Values end = Call(last, Gathered(std::move(out[0])));
        EXPECT_EQ(Read(end[0]), Times(Expected(which, 9), 4));
        for (uint32_t i = 0; i < 6; ++i) {
          if (made[i].is_none()) continue;
          EXPECT_EQ(Read(made[i]), Expected(i, 9)) << "output " << i;
        }
      }
      EXPECT_EQ(tree().stats().eager, 0u);
      EXPECT_LE(reasons(Reason::kManagedMoved), 1u);
    }
  }
}

// What the recording consumed is alive at a replay that brings another: its memory may be used
// behind the recording, so that is a miss.
TEST_P(InterchangeableTest, AnOutputThatLivesOnIsNotOverwrittenBehindIt) {
  OpenTree({});
  const FunctionId six = Register("six", {}, Six);
  const FunctionId twice = Register("twice", {}, ConsumeTwice);
  const FunctionId behind = Register("behind", {}, [](Launcher& on, Values&) {
    Values out;
    for (uint32_t i = 0; i < 8; ++i) out.push_back(Filled(on, 100 + i, kWords));
    return out;
  });
  for (int round = 0; round < 3; ++round) {
    for (const uint32_t which : {0, 0, 1, 1, 2}) {
      NewStep();
      Values made = Call(six, {Value::Integer(9)});
      Values kept = {made[(which + 1) % 6], made[(which + 5) % 6]};
      Values out = Call(twice, Gathered(std::move(made[which])));
      made.clear();
      Values more = Call(behind, {});
      EXPECT_EQ(Read(kept[0]), Expected((which + 1) % 6, 9));
      EXPECT_EQ(Read(kept[1]), Expected((which + 5) % 6, 9));
      EXPECT_EQ(Read(out[0]), Times(Expected(which, 9), 2));
      EXPECT_EQ(Read(more[7]), PatternOf(107));
    }
  }
}

}  // namespace
}  // namespace graphtree
