// A call that fails half-way, between the sections of a cut recording: everything is as before it.
#include <bit>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graphs/random/generator.h"
#include "graphs/random/philox.h"
#include "graphs/random/random_source.h"
#include "graphs/random/uniform.h"
#include "tests/tree/breaks_fixture.h"

namespace graphtree {
namespace {

using absl::StatusCode;

class BreaksFailuresTest : public BreaksFixture {
 protected:
  // A part that changes x on the host, and fails if it is told to.
  void HostBumpOrFail(Launcher& on, const Value& x, uint32_t by) {
    HostBump(on, x, by);
    if (!on.ok()) return;
    on.Break("may fail", {}, [this](Launcher& part, absl::Span<const Tensor>) {
      if (fails_) part.Fail(absl::UnavailableError("the disk is full"));
    });
  }
  // Calls of a body that adds `by` by `bump` and 10 in a part, and whose recording fails behind it.
  void ExpectWritesOnce(void (*bump)(Launcher&, const Value&, uint32_t), uint32_t by) {
    const FunctionId function =
        Register("f", {.static_inputs = {0}}, [this, bump, by](Launcher& on, Values& inputs) {
          bump(on, inputs[0], by);
          HostBump(on, inputs[0], 10);
          const Tensor out = Sum(on, inputs[0], inputs[0]);
          on.Fail(on.stream().Synchronize());
          return Values{out};
        });
    const Tensor x = Given(1);
    Words words = PatternOf(1);
    for (int step = 0; step < 3; ++step) {
      words = Plus(words, Words(kWords, by + 10));
      EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), Times(words, 2));
      EXPECT_EQ(Read(x), words);
    }
    EXPECT_EQ(reasons(Reason::kForbiddenCall), 2u);
  }
  bool fails_ = false;
};
GRAPHTREE_ON_EVERY_DEVICE(BreaksFailuresTest);

// It writes to a static input before and in the part, and to where an input died.
TEST_P(BreaksFailuresTest, APartThatFailsLeavesEverythingAsItWas) {
  const FunctionId make = Register("make", {}, Twice);
  const FunctionId function =
      Register("f", {.static_inputs = {1}}, [this](Launcher& on, Values& inputs) {
        const Value y = inputs[1];
        Bump(on, y, 1);
        const Tensor a = Sum(on, inputs[0], inputs[0]);
        inputs.clear();
        const Tensor b = Filled(on, 3, kWords);  // where the first input was
        HostBumpOrFail(on, y, 10);
        Bump(on, y, 100);
        return Values{Sum(on, a, b)};
      });
  const Tensor x = Given(1), y = Given(2);
  Words y_words = PatternOf(2);
  for (int step = 0; step < 6; ++step) {
    NewStep();
    Values inputs = Call(make, {x});
    inputs.push_back(y);
    if (step > 0) {
      fails_ = true;
      for (int attempt = 0; attempt < 2; ++attempt) {
        const absl::Status failure = Failure(function, inputs);
        EXPECT_THAT(failure, FailsWith(StatusCode::kUnavailable, "'f'"));
        EXPECT_THAT(failure, FailsWith(StatusCode::kUnavailable,
                                       "eager part 'may fail': the disk is full"));
        ASSERT_EQ(inputs.size(), 2u);
        EXPECT_EQ(Read(y), y_words) << step;
        EXPECT_EQ(Read(inputs[0]), Times(PatternOf(1), 2)) << step;
      }
      fails_ = false;
    }
    const Values out = Call(function, std::move(inputs));
    y_words = Plus(y_words, Words(kWords, 111));
    EXPECT_EQ(Read(out[0]), Plus(Times(PatternOf(1), 4), PatternOf(3))) << step;
    EXPECT_EQ(Read(y), y_words) << step;
  }
  EXPECT_EQ(eager(), 0u);
  EXPECT_GE(replays(), 4u);
}

// What lies where an input died is smaller than the input, or larger. A call that fails gives the
// input back whole, whether the body wrote to it or not.
TEST_P(BreaksFailuresTest, AnotherSizeLiesWhereAnInputDied) {
  constexpr int64_t kLarge = 1024, kSmall = 24;
  for (const bool shrinks : {true, false}) {
    const int64_t in_words = shrinks ? kLarge : kSmall, out_words = shrinks ? kSmall : kLarge;
    for (const bool writes : {true, false}) {
      for (const bool names_it : {true, false}) {
        OpenTree({});
        SCOPED_TRACE(absl::StrCat(shrinks ? "shrinks" : "grows", writes ? ", writes" : "",
                                  names_it ? ", names it" : ""));
        const FunctionId make = Register("make", {}, Twice);
        const FunctionId function = Register("f", {}, [=, this](Launcher& on, Values& inputs) {
          if (writes) Bump(on, inputs[0], 1);
          const Tensor sum = Sum(on, inputs[0], inputs[0]);
          inputs.clear();
          const Tensor out = Filled(on, 3, out_words);  // where the input was
          if (names_it) HostBump(on, out, 10);
          on.Break("may fail", {}, [this](Launcher& part, absl::Span<const Tensor>) {
            if (fails_) part.Fail(absl::UnavailableError("the disk is full"));
          });
          return Values{out, sum};
        });
        const Tensor x = Given(1, in_words);
        const Words made = Times(Pattern(1, in_words), 2);
        for (int step = 0; step < 5; ++step) {
          NewStep();
          Values inputs = Call(make, {x});
          if (step > 0) {
            fails_ = true;
            for (int attempt = 0; attempt < 2; ++attempt) {
              EXPECT_THAT(Failure(function, inputs), FailsWith(StatusCode::kUnavailable, "'f'"));
              EXPECT_EQ(Read(inputs[0]), made) << "step " << step;
            }
            fails_ = false;
          }
          const Values out = Call(function, std::move(inputs));
          Words in = made;
          if (writes) in = Plus(in, Words(in_words, 1));
          EXPECT_EQ(Read(out[0]), Plus(Pattern(3, out_words), Words(out_words, names_it ? 10 : 0)));
          EXPECT_EQ(Read(out[1]), Times(in, 2));
        }
        EXPECT_GE(replays(), 4u);
        ASSERT_THAT(device().health(), IsOk());
      }
    }
  }
}

// Once it is known to break, also where it is never recorded.
TEST_P(BreaksFailuresTest, AnEagerRunThatFails) {
  const FunctionId function =
      Register("f", {.exclude = true}, [this](Launcher& on, Values& inputs) {
        Bump(on, inputs[0], 1);
        HostBumpOrFail(on, inputs[0], 10);
        return Values{Sum(on, inputs[0], inputs[0])};
      });
  Values inputs = {Given(1)};
  Words words = PatternOf(1);
  for (int step = 0; step < 3; ++step) {
    if (step > 0) {
      fails_ = true;
      EXPECT_THAT(Failure(function, inputs), FailsWith(StatusCode::kUnavailable, "'may fail'"));
      EXPECT_EQ(Read(inputs[0]), words);
      fails_ = false;
    }
    words = Plus(words, Words(kWords, 11));
    EXPECT_EQ(Read(CallInSteps(1, function, inputs)[0]), Times(words, 2));
    EXPECT_EQ(Read(inputs[0]), words);
  }
}

// Another shape showed that it breaks.
TEST_P(BreaksFailuresTest, TheFirstRunOfAFurtherShape) {
  for (const bool exclude : {false, true}) {
    const FunctionId function =
        Register("f", {.static_inputs = {0}, .exclude = exclude}, [this](Launcher& on, Values& in) {
          Bump(on, in[0], 1);
          HostBumpOrFail(on, in[0], 10);
          return Values{Sum(on, in[0], in[0])};
        });
    CallInSteps(1, function, {Given(1)});
    for (int64_t words = 8; words <= 16; words += 8) {
      Values inputs = {Given(2, words)};
      NewStep();
      fails_ = true;
      EXPECT_THAT(Failure(function, inputs), FailsWith(StatusCode::kUnavailable, "'may fail'"));
      EXPECT_EQ(Read(inputs[0]), Pattern(2, words));
      fails_ = false;
      const Words expected = Plus(Pattern(2, words), Words(words, 11));
      EXPECT_EQ(Read(Call(function, inputs)[0]), Times(expected, 2));
      EXPECT_EQ(Read(inputs[0]), expected);
    }
  }
}

// Patched inputs that move: what is restored lies where this call has them.
TEST_P(BreaksFailuresTest, WhatIsRestoredMayHaveMoved) {
  OpenTree({.patch_bytes = 1});
  const FunctionId function = Register("f", {}, [this](Launcher& on, Values& inputs) {
    Bump(on, Slice(inputs[0], 8, 8), 1);
    HostBumpOrFail(on, inputs[0], 10);
    Bump(on, inputs[0], 100);
    return Values{Sum(on, inputs[0], inputs[0])};
  });
  CallInSteps(2, function, {Given(1)});
  for (uint32_t seed = 2; seed < 6; ++seed) {
    Values inputs = {Given(seed)};
    NewStep();
    fails_ = true;
    EXPECT_THAT(Failure(function, inputs), FailsWith(StatusCode::kUnavailable, "'may fail'"));
    EXPECT_EQ(Read(inputs[0]), PatternOf(seed));
    fails_ = false;
    Words expected = Plus(PatternOf(seed), Words(kWords, 110));
    for (size_t i = 8; i < 16; ++i) ++expected[i];
    const Values out = Call(function, inputs);
    EXPECT_EQ(Read(inputs[0]), expected);
    EXPECT_EQ(Read(out[0]), Times(expected, 2));
  }
  EXPECT_EQ(graphs(), 1u);
}

// The second section cannot be captured: the first one and the part have run by then, and an eager
// run does everything once more.
TEST_P(BreaksFailuresTest, ARecordingThatFailsBehindACutWritesOnce) {
  ExpectWritesOnce(Bump, 1);
  EXPECT_EQ(graphs(), 0u);
}

// The first run shows the write; from then on it is saved like those that are declared.
TEST_P(BreaksFailuresTest, AWriteThatCheckedModeFoundOutIsTakenBackToo) {
  OpenTree({.check = true});
  ExpectWritesOnce(BumpInSecret, 5);
}

// What is declared behind the cut does not hide what is done before it.
TEST_P(BreaksFailuresTest, AHiddenWriteOfWhatIsDeclaredElsewhereIsTakenBackToo) {
  OpenTree({.check = true});
  const FunctionId function =
      Register("f", {.static_inputs = {0}}, [this](Launcher& on, Values& inputs) {
        BumpInSecret(on, inputs[0], 5);
        const Tensor out = HostTimes(on, inputs[0], 2);
        Bump(on, inputs[0], 1);
        on.Fail(on.stream().Synchronize());
        return Values{out};
      });
  const Tensor x = Given(1);
  Words words = PatternOf(1);
  for (int step = 0; step < 3; ++step) {
    const Words doubled = Times(Plus(words, Words(kWords, 5)), 2);
    words = Plus(words, Words(kWords, 6));
    EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), doubled) << step;
    EXPECT_EQ(Read(x), words) << step;
  }
  EXPECT_EQ(reasons(Reason::kForbiddenCall), 2u);
}

TEST_P(BreaksFailuresTest, ABreakInsideAForkThatDoesNotJoin) {
  const FunctionId function = Register("f", {}, [this](Launcher& on, Values& inputs) {
    const Tensor out = TwiceOnSide(on, inputs[0]);
    on.Break("host", {}, [](Launcher&, absl::Span<const Tensor>) {});
    JoinSide(on);
    return Values{out};
  });
  const Tensor x = Given(1);
  for (int step = 0; step < 3; ++step) {
    EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), Times(PatternOf(1), 2));
  }
  EXPECT_EQ(graphs(), 0u);
  EXPECT_EQ(reasons(Reason::kUnjoinedFork), 2u);
  ASSERT_EQ(warnings().size(), 1u);
  EXPECT_NE(warnings()[0].find("break 'host' comes inside a fork that is not joined before it; "
                               "its work ends in op 1 ('add')"),
            std::string::npos)
      << warnings()[0];
}

TEST_P(BreaksFailuresTest, AForkThatJoinsBeforeTheBreak) {
  const FunctionId function = Register("f", {}, [this](Launcher& on, Values& inputs) {
    const Tensor out = TwiceOnSide(on, inputs[0]);
    JoinSide(on);
    return Values{Sum(on, HostTimes(on, out, 3), out)};
  });
  const Tensor x = Given(1);
  for (int step = 0; step < 5; ++step) {
    EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), Times(PatternOf(1), 8));
  }
  EXPECT_EQ(graphs(), 1u);
}

// Sections and parts draw in the order in which an eager run would, and what a call drew that
// failed is drawn again.
TEST_P(BreaksFailuresTest, RandomNumbersAcrossCuts) {
  constexpr uint32_t kCount = 16;
  const auto generator = std::make_shared<Generator>(11);
  const auto draw = [&](Launcher& on, const Tensor& out) {
    on.Launch(UniformKernel(), UniformShape(kCount),
              {Out(out), Val(kCount), Val(on.Random(generator, kCount))});
  };
  const FunctionId function = Register("f", {}, [&](Launcher& on, Values&) {
    Tensor outs[3];
    for (Tensor& out : outs) out = on.Empty(DType::kF32, {kCount});
    if (!on.ok()) return Values{};
    draw(on, outs[0]);
    on.Break("draws", {Out(outs[1])}, [&](Launcher& part, absl::Span<const Tensor> tensors) {
      draw(part, tensors[0]);
      if (fails_) part.Fail(absl::UnavailableError("no"));
    });
    draw(on, outs[2]);
    return Values{outs[0], outs[1], outs[2]};
  });
  for (uint64_t step = 0; step < 5; ++step) {
    Values none;
    if (step > 0) {
      fails_ = true;
      NewStep();
      EXPECT_THAT(Failure(function, none), FailsWith(StatusCode::kUnavailable, "no"));
      EXPECT_EQ(generator->offset(), step * 3 * kCount);
      fails_ = false;
    }
    const Values made = CallInSteps(1, function, {});
    for (uint64_t i = 0; i < 3; ++i) {
      const Words words = Read(made[i]);
      for (uint32_t word = 0; word < kCount; ++word) {
        const float expected = UniformFloat(RandomWord(11, (step * 3 + i) * kCount + word));
        EXPECT_EQ(std::bit_cast<float>(words[word]), expected) << step << " " << i;
      }
    }
  }
  EXPECT_EQ(graphs(), 1u);
}

// The recording fails behind the part, which runs twice in that call. What the other tree's
// function writes of the caller's is put back in between, as the part declares it before its call.
TEST_P(BreaksFailuresTest, APartDeclaresWhatAnotherTreesCallWrites) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Tree> other, Tree::Create(device(), {}));
  const Value known = Given(2);
  const FunctionId counts = other->Register("counts", {}, [&](Launcher& on, Values& inputs) {
    Bump(on, known, 1);
    return Values{Sum(on, Tensor::From(known), inputs[0])};
  });
  int parts = 0;
  const FunctionId function = Register("f", {}, [&](Launcher& on, Values& inputs) {
    const Tensor out = Sum(on, inputs[0], inputs[0]);
    on.Break("another tree", {InOut(out)}, [&](Launcher& part, absl::Span<const Tensor> tensors) {
      ++parts;
      part.Writes(Tensor::From(known));
      const absl::StatusOr<Values> made = other->Run(counts, {tensors[0]}, part.stream());
      part.Fail(made.status());
      if (made.ok()) part.Copy(tensors[0], Tensor::From((*made)[0]));
    });
    on.Fail(on.stream().Synchronize());
    return Values{out};
  });
  const Tensor x = Given(1);
  Words words = PatternOf(2);
  for (int step = 0; step < 4; ++step) {
    other->BeginStep();
    words = Plus(words, Words(kWords, 1));
    EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), Plus(words, Times(PatternOf(1), 2))) << step;
    EXPECT_EQ(Read(known), words) << step;
  }
  EXPECT_EQ(reasons(Reason::kForbiddenCall), 3u);
  EXPECT_GT(parts, 4);
}

TEST_P(BreaksFailuresTest, APartThatCallsItsOwnTree) {
  FunctionId function = 0;
  absl::Status refusal;
  function = Register("f", {}, [&](Launcher& on, Values& inputs) {
    const Tensor out = Sum(on, inputs[0], inputs[0]);
    on.Break("recursive", {}, [&](Launcher&, absl::Span<const Tensor>) {
      Values none;
      refusal = Failure(function, none);
    });
    return Values{out};
  });
  const Tensor x = Given(1);
  for (int step = 0; step < 4; ++step) {
    EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), Times(PatternOf(1), 2));
    EXPECT_THAT(refusal, FailsWith(StatusCode::kFailedPrecondition,
                                   "the body of 'f' called its own tree"));
    refusal = absl::OkStatus();
  }
}

TEST_P(BreaksFailuresTest, AValueIsNoTensor) {
  const FunctionId function = Register("f", {}, [](Launcher& on, Values& inputs) {
    const uint32_t value = 7;
    on.Break("host", {Val(value)}, [](Launcher&, absl::Span<const Tensor>) {});
    return Values{};
  });
  Values none;
  EXPECT_THAT(Failure(function, none),
              FailsWith(StatusCode::kInvalidArgument,
                        "break 'host' was given a value as argument 0, where only tensors stand"));
}

}  // namespace
}  // namespace graphtree
