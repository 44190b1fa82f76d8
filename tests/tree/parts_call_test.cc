// Parts that call another tree, in every kind of run, with and without checked mode.
#include <utility>

#include "tests/tree/other_trees_fixture.h"

namespace graphtree {
namespace {

class PartsCallTest : public OtherTreesFixture {
 protected:
  // Both trees anew, each with checked mode or without it.
  void OpenBoth(bool check, bool other_checks) {
    OpenTree({.strict = true, .check = check});
    other_ = *Tree::Create(device(), {.pool_bytes = 64 << 20, .strict = true,
                                      .check = other_checks});
  }
  // `out` is what the other tree's function, which the part calls with x, makes of x.
  void CallOther(Launcher& part, FunctionId function, const Tensor& x, const Tensor& out) {
    Values inputs = {x}, outputs;
    part.Fail(other().Run(function, absl::MakeSpan(inputs), part.stream(), &outputs));
    if (part.ok()) part.Copy(out, Tensor::From(outputs[0]));
  }
  void ExpectWorks(const Body& body, uint32_t times) {
    for (const int kind : {0, 1, 2, 3}) {
      for (const bool keeps : {false, true}) {
        OpenBoth(kind % 2 == 1, kind > 1);
        makes_ = other().Register("makes", other_options_, other_body_);
        FunctionOptions options;
        if (keeps) options.kept_outputs = {0};
        const FunctionId function = Register("f", options, body);
        const FunctionId more = Register("more", {}, Thrice);
        for (uint32_t step = 1; step <= 6; ++step) {
          other().BeginStep();
          NewStep();
          const Values made = Call(function, {Given(step)});
          ASSERT_EQ(made.size(), 1u) << "step " << step << ", kind " << kind;
          EXPECT_EQ(Read(made[0]), Times(PatternOf(step), times)) << step << ", kind " << kind;
          EXPECT_EQ(Read(Call(more, made)[0]), Times(PatternOf(step), 3 * times)) << step;
        }
        EXPECT_EQ(graphs(), 2u) << "kind " << kind;
        EXPECT_EQ(eager(), 0u) << "kind " << kind;
      }
    }
    EXPECT_THAT(device().health(), IsOk());
  }
  // x -> 4 x, by a part that calls the other tree with what it took along.
  Body TakingAlong() {
    return [this](Launcher& on, Values& inputs) {
      const Tensor twice = Sum(on, inputs[0], inputs[0]);
      const Tensor out = on.Empty(twice.layout());
      on.Break("calls", {Out(out)},
               [this, twice](Launcher& part, absl::Span<const Tensor> tensors) {
                 part.Reads(twice);
                 CallOther(part, makes_, twice, tensors[0]);
               });
      return Values{out};
    };
  }

  FunctionOptions other_options_;
  Body other_body_ = Twice;
};
GRAPHTREE_ON_EVERY_DEVICE(PartsCallTest);

TEST_P(PartsCallTest, WithWhatTheBreakNames) {
  ExpectWorks(
      [this](Launcher& on, Values& inputs) {
        const Tensor twice = Sum(on, inputs[0], inputs[0]);
        const Tensor out = on.Empty(twice.layout());
        on.Break("calls", {In(twice), Out(out)},
                 [this](Launcher& part, absl::Span<const Tensor> tensors) {
                   CallOther(part, makes_, tensors[0], tensors[1]);
                 });
        return Values{Sum(on, out, out)};
      },
      8);
}

TEST_P(PartsCallTest, WithAnInputThatTheBreakNames) {
  ExpectWorks(
      [this](Launcher& on, Values& inputs) {
        const Tensor out = on.Empty(inputs[0].layout());
        on.Break("calls", {In(Tensor::From(inputs[0])), Out(out)},
                 [this](Launcher& part, absl::Span<const Tensor> tensors) {
                   CallOther(part, makes_, tensors[0], tensors[1]);
                 });
        return Values{Sum(on, out, inputs[0])};
      },
      3);
}

TEST_P(PartsCallTest, WithWhatThePartTookAlong) {
  ExpectWorks(
      [this](Launcher& on, Values& inputs) {
        const Tensor twice = Sum(on, inputs[0], inputs[0]);
        const Tensor out = on.Empty(twice.layout());
        on.Break("calls", {Out(out)},
                 [this, twice](Launcher& part, absl::Span<const Tensor> tensors) {
                   CallOther(part, makes_, twice, tensors[0]);
                 });
        return Values{Sum(on, out, out)};
      },
      8);
}

TEST_P(PartsCallTest, WithAnOutputThatThePartTookAlong) {
  ExpectWorks(
      [this](Launcher& on, Values& inputs) {
        const Tensor twice = Sum(on, inputs[0], inputs[0]);
        on.Break("calls", {InOut(twice)},
                 [this, twice](Launcher& part, absl::Span<const Tensor> tensors) {
                   CallOther(part, makes_, twice, tensors[0]);
                 });
        return Values{twice};
      },
      4);
}

// The part's own memory.
TEST_P(PartsCallTest, WithWhatThePartMade) {
  ExpectWorks(
      [this](Launcher& on, Values& inputs) {
        const Tensor out = on.Empty(inputs[0].layout());
        on.Break("calls", {In(Tensor::From(inputs[0])), Out(out)},
                 [this](Launcher& part, absl::Span<const Tensor> tensors) {
                   CallOther(part, makes_, Sum(part, tensors[0], tensors[0]), tensors[1]);
                 });
        return Values{out};
      },
      4);
}

TEST_P(PartsCallTest, WithAStaticInputOfTheOther) {
  other_options_.static_inputs = {0};
  ExpectWorks(TakingAlong(), 4);
}

// The other tree hands out what it was given.
TEST_P(PartsCallTest, WithWhatTheOtherHandsBack) {
  other_body_ = [](Launcher& on, Values& inputs) {
    Sum(on, inputs[0], inputs[0]);
    return Values{inputs[0]};
  };
  ExpectWorks(TakingAlong(), 2);
}

TEST_P(PartsCallTest, WithAFunctionOfTheOtherThatBreaks) {
  other_body_ = [this](Launcher& on, Values& inputs) {
    const Tensor twice = Sum(on, inputs[0], inputs[0]);
    return Values{HostTimes(on, Sum(on, inputs[0], twice), 2)};
  };
  ExpectWorks(TakingAlong(), 12);
}

// What the nested call writes is declared by the part.
TEST_P(PartsCallTest, WithWhatTheOtherWrites) {
  other_body_ = [](Launcher& on, Values& inputs) {
    Bump(on, inputs[0], 1);
    return Values{Tensor::From(inputs[0])};
  };
  for (const bool check : {false, true}) {
    for (const bool takes_along : {false, true}) {
      OpenBoth(check, check);
      makes_ = other().Register("bumps", {}, other_body_);
      const FunctionId function =
          Register("f", {}, [this, takes_along](Launcher& on, Values& inputs) {
            const Tensor twice = Sum(on, inputs[0], inputs[0]);
            const Tensor taken = takes_along ? twice : Tensor();
            on.Break("calls", {In(Tensor::From(inputs[0])), In(twice)},
                     [this, taken](Launcher& part, absl::Span<const Tensor> tensors) {
                       for (const Tensor& x : {tensors[0], taken.defined() ? taken : tensors[1]}) {
                         part.Writes(x);
                         Values values = {x}, outputs;
                         part.Fail(other().Run(makes_, absl::MakeSpan(values), part.stream(),
                                               &outputs));
                       }
                     });
            return Values{Sum(on, twice, inputs[0])};
          });
      for (uint32_t step = 1; step <= 6; ++step) {
        other().BeginStep();
        const Tensor x = Given(step);
        EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]),
                  Plus(Times(PatternOf(step), 3), Words(kWords, 2)))
            << step;
        EXPECT_EQ(Read(x), Plus(PatternOf(step), Words(kWords, 1))) << step;
      }
      EXPECT_EQ(graphs(), 1u) << check << takes_along;
      EXPECT_EQ(eager(), 0u) << check << takes_along;
    }
  }
}

// The part ends, and with it what was made again for it.
TEST_P(PartsCallTest, BehindThePartItIsStaleAgain) {
  OpenBoth(false, false);
  makes_ = other().Register("makes", {}, Twice);
  Tensor along;
  const FunctionId function = Register("f", {}, [&](Launcher& on, Values& inputs) {
    along = Sum(on, inputs[0], inputs[0]);
    const Tensor out = on.Empty(along.layout());
    on.Break("calls", {Out(out)},
             [this, twice = along](Launcher& part, absl::Span<const Tensor> tensors) {
               CallOther(part, makes_, twice, tensors[0]);
             });
    return Values{out};
  });
  for (uint32_t step = 1; step <= 4; ++step) {
    other().BeginStep();
    EXPECT_EQ(Read(CallInSteps(1, function, {Given(step)})[0]), Times(PatternOf(step), 4));
    if (step < 3) continue;
    Values inputs = {along}, outputs;
    EXPECT_THAT(other().Run(makes_, absl::MakeSpan(inputs), a(), &outputs),
                FailsWith(absl::StatusCode::kFailedPrecondition, "that the body of 'f' stored"));
  }
  EXPECT_EQ(replays(), 2u);
}

}  // namespace
}  // namespace graphtree
