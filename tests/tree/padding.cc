// Pads in bodies and parts: which are in place, and that nobody can tell by the bytes.
// padding_model.cc has random bodies.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "graphs/launcher.h"
#include "graphs/layout.h"
#include "graphs/tensor.h"
#include "graphs/tree.h"
#include "tests/kernels/kernels.h"
#include "tests/tree/breaks_fixture.h"

namespace graphtree {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class PaddingTest : public BreaksFixture {
 protected:
  static constexpr int64_t kMore = kWords + 16;
  static constexpr uint32_t kValue = 7;

  uint64_t in_place() { return tree().stats().pads_in_place; }
  uint64_t copied() { return tree().stats().pads_copied; }
  uint64_t room_bytes() { return tree().stats().pad_room_bytes; }

  // Filled(seed), with room for kMore words.
  static Tensor FilledWithRoom(Launcher& on, uint32_t seed) {
    const Tensor out = on.Empty(DType::kI32, {kWords}, {kMore});
    if (!on.ok()) return out;
    const uint32_t count = kWords;
    on.Launch(FillPatternKernel(), TestShape(), {Out(out), Val(seed), Val(count)});
    return out;
  }
  // The words, and kValue up to kMore.
  static Words Padded(Words words) {
    words.resize(kMore, kValue);
    return words;
  }
  static Tensor PadMore(Launcher& on, Tensor tensor) {
    return on.Pad(std::move(tensor), {kMore}, kValue);
  }
  // What `body` returns is the padded pattern of 5 in six steps, of which four are replays.
  void ExpectPaddedInSixSteps(Body body) {
    const FunctionId function = Register("pads", {}, std::move(body));
    for (int step = 0; step < 6; ++step) {
      EXPECT_EQ(Read(CallInSteps(1, function, {})[0]), Padded(PatternOf(5))) << "step " << step;
    }
    EXPECT_EQ(replays(), 4u);
  }
};
GRAPHTREE_ON_EVERY_DEVICE(PaddingTest);

TEST_P(PaddingTest, WhatWasMadeWithRoomIsPaddedInPlace) {
  ExpectPaddedInSixSteps([](Launcher& on, Values&) {
    Tensor tensor = FilledWithRoom(on, 5);
    const Address at = tensor.word();
    const Tensor padded = PadMore(on, std::move(tensor));
    EXPECT_EQ(padded.word(), at);
    EXPECT_EQ(padded.layout(), WordsLayout(kMore));
    return Values{padded};
  });
  EXPECT_EQ(in_place(), 2u);  // the warm-up and the recording; a replay runs no body
  EXPECT_EQ(copied(), 0u);
  EXPECT_EQ(room_bytes(), 0u);
}

TEST_P(PaddingTest, RoomIsLearnedInTheWarmUp) {
  ExpectPaddedInSixSteps([](Launcher& on, Values&) {
    const Tensor other = Filled(on, 6, kWords);
    Tensor tensor = Filled(on, 5, kWords);
    return Values{PadMore(on, std::move(tensor)), other};
  });
  EXPECT_EQ(copied(), 1u);
  EXPECT_EQ(in_place(), 1u);
  EXPECT_EQ(room_bytes(), (kMore - kWords) * 4);
}

TEST_P(PaddingTest, WhatIsMadeAfterAPadHasLearnedRoomToo) {
  ExpectPaddedInSixSteps([](Launcher& on, Values&) {
    const Tensor first = PadMore(on, Filled(on, 4, kWords));
    return Values{PadMore(on, Filled(on, 5, kWords)), first};
  });
  EXPECT_EQ(copied(), 2u);
  EXPECT_EQ(in_place(), 2u);
}

TEST_P(PaddingTest, LearnedRoomIsWithinItsBudget) {
  for (const uint64_t budget : {(kMore - kWords) * 4, (kMore - kWords) * 4 - 1, int64_t{0}}) {
    OpenTree({.pad_room_bytes = budget});
    ExpectPaddedInSixSteps([](Launcher& on, Values&) {
      return Values{PadMore(on, Filled(on, 5, kWords))};
    });
    const bool enough = budget == (kMore - kWords) * 4;
    EXPECT_EQ(in_place(), enough ? 1u : 0u);
    EXPECT_EQ(copied(), enough ? 1u : 2u);
    EXPECT_EQ(room_bytes(), enough ? budget : 0u);
  }
}

// The second run allocates one tensor more, before the one that is padded: the room is behind the
// wrong one.
TEST_P(PaddingTest, AnotherOrderOfAllocationsIsACopy) {
  int runs = 0;
  ExpectPaddedInSixSteps([&runs](Launcher& on, Values&) {
    if (++runs > 1) Filled(on, 9, kWords);
    return Values{PadMore(on, Filled(on, 5, kWords))};
  });
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(in_place(), 0u);
  EXPECT_EQ(copied(), 2u);
}

TEST_P(PaddingTest, PadsOfPadsAreInOneBlockOnceThatIsLearned) {
  const FunctionId function = Register("pads", {}, [](Launcher& on, Values&) {
    Tensor tensor = Filled(on, 5, kWords);
    for (int64_t more = 1; more <= 3; ++more) {
      tensor = on.Pad(std::move(tensor), {kWords + more}, more);
    }
    return Values{tensor};
  });
  Words expected = PatternOf(5);
  for (const uint32_t more : {1, 2, 3}) expected.push_back(more);
  for (int step = 0; step < 4; ++step) {
    EXPECT_EQ(Read(CallInSteps(1, function, {})[0]), expected);
  }
  EXPECT_EQ(copied(), 3u);
  EXPECT_EQ(in_place(), 3u);
  EXPECT_EQ(room_bytes(), 12u);
}

TEST_P(PaddingTest, RowsGrowIntoTheirStride) {
  const FunctionId function = Register("rows", {}, [](Launcher& on, Values&) {
    const Layout* const rows = Layout::Strided(DType::kI32, {3, 4}, {8, 1});
    Tensor tensor = Filled(on, 5, 3 * 8).View(rows, 0);
    return Values{on.Pad(std::move(tensor), {3, 7}, -1)};
  });
  Words expected = Pattern(5, 3 * 8);
  for (int row = 0; row < 3; ++row) {
    for (int column = 4; column < 7; ++column) expected[row * 8 + column] = ~0u;
  }
  expected.pop_back();  // what the last row leaves of its stride
  for (int step = 0; step < 4; ++step) {
    const Values out = CallInSteps(1, function, {});
    EXPECT_EQ(Tensor::From(out[0]).shape().ToString(), "i32[3,7] strides 8,1");
    EXPECT_EQ(Read(out[0]), expected);
  }
  EXPECT_EQ(in_place(), 2u);
  EXPECT_EQ(copied(), 0u);
}

TEST_P(PaddingTest, InputsAreCopied) {
  const FunctionId make = Register("make", {}, [](Launcher& on, Values&) {
    return Values{FilledWithRoom(on, 5)};
  });
  const FunctionId pads = Register("pads", {}, [](Launcher& on, Values& inputs) {
    Values out;
    for (Value& input : inputs) {
      out.push_back(PadMore(on, Tensor::From(std::exchange(input, Value()))));
    }
    return out;
  });
  // Room of the caller's own is not the body's.
  const Tensor given = Given(5, kMore).View(WordsLayout(kWords), 0);
  for (int step = 0; step < 5; ++step) {
    NewStep();
    Values made = Call(make, {});
    const Values out = Call(pads, Gathered(given, made[0], std::move(made[0])));
    for (const Value& value : out) EXPECT_EQ(Read(value), Padded(PatternOf(5)));
  }
  EXPECT_EQ(Read(given.View(WordsLayout(kMore), 0)), Pattern(5, kMore));
  EXPECT_EQ(in_place(), 0u);
  EXPECT_EQ(copied(), 6u);
}

// Whoever looks into the memory may go on to write to it, or to read what it was.
TEST_P(PaddingTest, WhatSomebodyElseLooksIntoIsCopied) {
  const FunctionId function = Register("pads", {}, [](Launcher& on, Values&) {
    const Tensor held = FilledWithRoom(on, 5);
    const Tensor once = PadMore(on, held);
    Bump(on, held, 1);
    Tensor whole = Filled(on, 5, kMore);
    Tensor start = Slice(whole, 0, kWords);
    const Tensor end = Slice(whole, kWords, 1);
    whole = Tensor();
    const Tensor twice = PadMore(on, std::move(start));
    return Values{held, once, end, twice};
  });
  Words bumped = PatternOf(5);
  for (uint32_t& word : bumped) ++word;
  for (int step = 0; step < 4; ++step) {
    const Values out = CallInSteps(1, function, {});
    EXPECT_EQ(Read(out[0]), bumped);
    EXPECT_EQ(Read(out[1]), Padded(PatternOf(5)));
    EXPECT_EQ(Read(out[2]), Words{PatternWord(5, kWords)});
    EXPECT_EQ(Read(out[3]), Padded(PatternOf(5)));
  }
  EXPECT_EQ(in_place(), 0u);
  EXPECT_EQ(copied(), 4u);
}

TEST_P(PaddingTest, ATensorOfAnotherTreeIsCopied) {
  TreeOptions options;
  options.pool_bytes = 64 << 20;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Tree> other, Tree::Create(device(), options));
  const FunctionId make = other->Register("make", {.exclude = true}, [](Launcher& on, Values&) {
    return Values{FilledWithRoom(on, 5)};
  });
  std::vector<Tensor> known;  // one for each run of the body, which lets go of it
  for (int i = 0; i < 2; ++i) {
    Values made;
    ASSERT_THAT(other->Run(make, {}, a(), &made), IsOk());
    known.push_back(Tensor::From(std::exchange(made[0], Value())));
  }
  ExpectPaddedInSixSteps([&known](Launcher& on, Values&) {
    Tensor handed = std::move(known.back());
    known.pop_back();
    return Values{PadMore(on, std::move(handed))};
  });
  EXPECT_EQ(in_place(), 0u);
  EXPECT_EQ(copied(), 2u);
}

// The side stream reads the tail while the body goes on.
TEST_P(PaddingTest, WhatAnotherStreamUsesIsCopied) {
  const FunctionId function = Register("forks", {}, [this](Launcher& on, Values&) {
    Tensor whole = Filled(on, 5, kMore);
    const Tensor twice = TwiceOnSide(on, whole);
    on.UsedOn(whole, b());
    Tensor start = Slice(whole, 0, kWords);
    whole = Tensor();
    const Tensor padded = PadMore(on, std::move(start));
    JoinSide(on);
    return Values{padded, twice};
  });
  for (int step = 0; step < 4; ++step) {
    const Values out = CallInSteps(1, function, {});
    EXPECT_EQ(Read(out[0]), Padded(PatternOf(5)));
    EXPECT_EQ(Read(out[1]), Times(Pattern(5, kMore), 2));
  }
  EXPECT_EQ(in_place(), 0u);
}

TEST_P(PaddingTest, TheSameSizesAreTheSameTensor) {
  const Tensor given = Given(5);
  const FunctionId function = Register("same", {}, [](Launcher& on, Values& inputs) {
    const Tensor x = on.Input(0);
    const Tensor same = on.Pad(x, {kWords}, 0);
    EXPECT_EQ(same.word(), x.word());
    EXPECT_EQ(same.layout(), x.layout());
    const Tensor none = on.Pad(on.Empty(DType::kF32, {0, 4}), {0, 8}, 0);
    EXPECT_EQ(none.layout(), Layout::Of(DType::kF32, {0, 8}));
    return Values{Sum(on, same, same)};
  });
  for (int step = 0; step < 4; ++step) {
    EXPECT_EQ(Read(CallInSteps(1, function, {given})[0]), Times(PatternOf(5), 2));
  }
  EXPECT_EQ(in_place() + copied(), 0u);
}

TEST_P(PaddingTest, FromNothing) {
  const FunctionId function = Register("all", {}, [](Launcher& on, Values&) {
    return Values{on.Pad(on.Empty(DType::kI32, {0}), {kWords}, kValue),
                  on.Pad(on.Empty(DType::kI32, {0}, {kWords}), {kWords}, kValue)};
  });
  for (int step = 0; step < 4; ++step) {
    for (const Value& value : CallInSteps(1, function, {})) {
      EXPECT_EQ(Read(value), Words(kWords, kValue));
    }
  }
  EXPECT_EQ(copied(), 1u);
  EXPECT_EQ(in_place(), 3u);
}

TEST_P(PaddingTest, MistakesAreErrorsInWordsThatStay) {
  struct Mistake {
    std::string says;
    std::function<Tensor(Launcher&)> make;
  };
  const Mistake mistakes[] = {
      {"pad: a tensor of i32[48] is to be padded to [47]: size 0 would shrink from 48 to 47",
       [](Launcher& on) { return on.Pad(Filled(on, 5, kWords), {kWords - 1}, 0); }},
      {"the one has 1 sizes, the other 2",
       [](Launcher& on) { return on.Pad(Filled(on, 5, kWords), {kWords, 2}, 0); }},
      {"pad: a tensor of i32 cannot hold 0.5: that is no whole number",
       [](Launcher& on) { return on.Pad(Filled(on, 5, kWords), {kMore}, 0.5); }},
      {"pad: a tensor of i32 cannot hold 0.5",  // also where nothing is filled
       [](Launcher& on) { return on.Pad(Filled(on, 5, kWords), {kWords}, 0.5); }},
      {"more bytes than there are addresses",
       [](Launcher& on) { return on.Pad(Filled(on, 5, kWords), {int64_t{1} << 62}, 0); }},
      {"pad was given an undefined tensor",
       [](Launcher& on) { return on.Pad(Tensor(), {kMore}, 0); }},
      {"is to have room for [3]: size 0 would shrink from 4 to 3",
       [](Launcher& on) { return on.Empty(DType::kI32, {4}, {3}); }},
      {"9 dimensions are left",
       [](Launcher& on) {
         return on.Pad(on.Empty(DType::kI32, {1, 1, 1, 1, 1, 1, 1, 1, 1}),
                       {2, 2, 2, 2, 2, 2, 2, 2, 2}, 0);
       }},
  };
  for (const Mistake& mistake : mistakes) {
    const FunctionId function = Register("errs", {}, [&mistake](Launcher& on, Values&) {
      const Tensor tensor = mistake.make(on);
      EXPECT_FALSE(on.ok());
      // The body goes on, and nothing more happens.
      const Tensor after = on.Pad(tensor, {kMore}, 0);
      EXPECT_EQ(after.word(), 0u);
      return Values{after};
    });
    const std::string refusal(Refusal(function, {}).message());
    EXPECT_THAT(refusal, HasSubstr(mistake.says));
    EXPECT_THAT(refusal, HasSubstr("'errs'"));
  }
  EXPECT_EQ(live(), 0u);
}

// Each run of the part has memory of its own; what it is given is the body's.
TEST_P(PaddingTest, APartPadsItsOwnInPlaceInEveryRun) {
  const FunctionId function = Register("breaks", {}, [](Launcher& on, Values&) {
    const Tensor given = FilledWithRoom(on, 5);
    const Tensor own = on.Empty(WordsLayout(kMore)), copy = on.Empty(WordsLayout(kMore));
    on.Break("pads", {In(given), Out(own), Out(copy)},
             [](Launcher& part, absl::Span<const Tensor> tensors) {
               part.Copy(tensors[1], PadMore(part, FilledWithRoom(part, 6)));
               part.Copy(tensors[2], PadMore(part, tensors[0]));
             });
    return Values{own, copy, PadMore(on, given)};
  });
  for (uint64_t step = 1; step <= 5; ++step) {
    const Values out = CallInSteps(1, function, {});
    EXPECT_EQ(Read(out[0]), Padded(PatternOf(6)));
    EXPECT_EQ(Read(out[1]), Padded(PatternOf(5)));
    EXPECT_EQ(Read(out[2]), Padded(PatternOf(5)));
    EXPECT_EQ(in_place(), step);
    EXPECT_EQ(copied(), step + std::min<uint64_t>(step, 2));
  }
  EXPECT_EQ(replays(), 3u);
}

// A part that has taken a tensor of its body along has its bytes in every replay, and not the room.
TEST_P(PaddingTest, WhatAPartTookAlongIsCopied) {
  const FunctionId function = Register("breaks", {}, [](Launcher& on, Values&) {
    Tensor taken = FilledWithRoom(on, 5);
    const Tensor out = on.Empty(WordsLayout(kMore));
    on.Break("pads", {Out(out)},
             [taken = std::move(taken)](Launcher& part, absl::Span<const Tensor> tensors) {
               part.Copy(tensors[0], PadMore(part, taken));
             });
    return Values{out};
  });
  for (int step = 0; step < 5; ++step) {
    EXPECT_EQ(Read(CallInSteps(1, function, {})[0]), Padded(PatternOf(5)));
  }
  EXPECT_EQ(in_place(), 0u);
}

// The input dies inside, and what is padded lies in its place, tail and all. If the call fails
// afterwards, the input is as it was.
TEST_P(PaddingTest, AFailedCallPutsTheTailsBytesBack) {
  const FunctionId make = Register("make", {}, [](Launcher& on, Values&) {
    return Values{Filled(on, 3, kMore)};
  });
  bool fails = false;
  Address given_at = 0, padded_at = 1;
  const FunctionId function = Register("pads", {}, [&](Launcher& on, Values& inputs) {
    given_at = inputs[0].word();
    inputs[0] = Value();
    const Tensor padded = PadMore(on, FilledWithRoom(on, 5));
    padded_at = padded.word();
    on.Break("fails", {In(padded)}, [&fails](Launcher& part, absl::Span<const Tensor>) {
      if (fails) part.Fail(absl::AbortedError("on purpose"));
    });
    return Values{padded};
  });
  for (int step = 0; step < 8; ++step) {
    NewStep();
    fails = step >= 1 && step % 2 == 1;
    Values inputs = Call(make, {});
    const absl::Status status = Failure(function, inputs);
    EXPECT_EQ(status.ok(), !fails) << status;
    EXPECT_EQ(given_at, padded_at);  // or the test tests nothing
    if (fails && inputs[0].is_tensor()) {
      EXPECT_EQ(Read(inputs[0]), Pattern(3, kMore)) << "step " << step;
    }
    EXPECT_EQ(inputs[0].is_tensor(), fails) << "step " << step;
  }
  EXPECT_GE(replays(), 8u);
}

TEST_P(PaddingTest, AKeptOutputIsPaddedInPlaceAndStays) {
  const FunctionId function =
      Register("keeps", {.kept_outputs = {0}}, [](Launcher& on, Values& inputs) {
        const Tensor sum = Sum(on, inputs[0], inputs[0]);
        Tensor start = Filled(on, 5, kWords);
        on.Copy(start, sum);
        return Values{PadMore(on, std::move(start))};
      });
  std::vector<Values> held;
  for (uint32_t step = 0; step < 6; ++step) {
    NewStep();
    held.push_back(Call(function, {Given(step)}));
    for (uint32_t i = 0; i <= step; ++i) {
      EXPECT_EQ(Read(held[i][0]), Padded(Times(PatternOf(i), 2))) << "of step " << i;
    }
  }
  EXPECT_EQ(in_place(), 1u);
  EXPECT_GE(replays(), 4u);
}

TEST_P(PaddingTest, CheckedModeFindsNothingWrong) {
  OpenTree({.strict = true, .check = true, .compare_replays = true});
  const FunctionId function = Register("pads", {}, [](Launcher& on, Values& inputs) {
    Tensor sum = Sum(on, inputs[0], inputs[0]);
    const Layout* const rows = Layout::Strided(DType::kI32, {3, 4}, {8, 1});
    Tensor strided = Filled(on, 5, 3 * 8).View(rows, 0);
    return Values{PadMore(on, std::move(sum)), PadMore(on, Tensor::From(inputs[0])),
                  on.Pad(std::move(strided), {3, 7}, 1)};
  });
  const Tensor x = Given(2);
  for (int step = 0; step < 5; ++step) {
    const Values out = CallInSteps(1, function, {x});
    EXPECT_EQ(Read(out[0]), Padded(Times(PatternOf(2), 2)));
    EXPECT_EQ(Read(out[1]), Padded(PatternOf(2)));
  }
  EXPECT_GE(replays(), 3u);
  EXPECT_THAT(warnings(), IsEmpty());
}

// Six tensors are alive together, and their padded forms are not: all the room together is too
// much, so the body is recorded without any.
TEST_P(PaddingTest, RoomThatIsTooMuchIsGivenUp) {
  constexpr int64_t kSmall = 1 << 10, kLarge = 3 << 20;  // words: 12 MiB
  OpenTree({.pool_bytes = 64 << 20,
            .pad_room_bytes = uint64_t{1} << 30,
            .budget = {.retry_after = 2}});
  const FunctionId function = Register("large", {}, [](Launcher& on, Values&) {
    std::vector<Tensor> tensors;
    for (uint32_t i = 0; i < 6; ++i) tensors.push_back(Filled(on, i, kSmall));
    Values ends;
    while (!tensors.empty()) {
      const Tensor padded = on.Pad(std::move(tensors.back()), {kLarge}, kValue);
      tensors.pop_back();
      const Tensor end = on.Empty(WordsLayout(kSmall));
      on.Copy(end, Slice(padded, kSmall / 2, kSmall));
      ends.push_back(end);
    }
    return ends;
  });
  for (int step = 0; step < 8; ++step) {
    const Values ends = CallInSteps(1, function, {});
    for (uint32_t i = 0; i < 6; ++i) {
      Words expected = Pattern(5 - i, kSmall);
      expected.erase(expected.begin(), expected.begin() + kSmall / 2);
      expected.resize(kSmall, kValue);
      EXPECT_EQ(Read(ends[i]), expected) << "tensor " << i << " in step " << step;
    }
  }
  EXPECT_EQ(reasons(Reason::kOutOfPool), 1u);
  EXPECT_EQ(graphs(), 1u);
  EXPECT_GE(replays(), 1u);
}

// Room is not worth a recording: where it is all that does not fit, there is none.
TEST_P(PaddingTest, RoomThatDoesNotFitIsNotTaken) {
  constexpr int64_t kSmall = 1 << 10, kLarge = 10 << 20;
  OpenTree({.pool_bytes = 64 << 20});
  const FunctionId function = Register("large", {}, [](Launcher& on, Values&) {
    Tensor beside = on.Empty(WordsLayout(kLarge));
    on.Fill(beside, 1);
    Tensor tensor = Filled(on, 5, kSmall);
    beside = Tensor();
    const Tensor padded = on.Pad(std::move(tensor), {kLarge}, kValue);
    const Tensor end = on.Empty(WordsLayout(kSmall));
    on.Copy(end, Slice(padded, 0, kSmall));
    return Values{end};
  });
  for (int step = 0; step < 5; ++step) {
    EXPECT_EQ(Read(CallInSteps(1, function, {})[0]), Pattern(5, kSmall));
  }
  EXPECT_EQ(graphs(), 1u);
  EXPECT_EQ(replays(), 3u);
  EXPECT_EQ(in_place(), 0u);
}

}  // namespace
}  // namespace graphtree
