// What a call brings and its body does not expect: every such thing is an error that names the
// function, the input, what came and what was wanted. Beside it, layouts that cannot be.
#include <cstdint>
#include <memory>
#include <utility>

#include "tests/kernels/kernels.h"
#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

using absl::StatusCode;

class WrongInputsTest : public TreeTest {
 protected:
  static Values TwiceByNumber(Launcher& on, Values&) {
    const Tensor x = on.Input(0);
    EXPECT_EQ(x.dim(0), on.ok() ? kWords : 0) << "a body may go on looking";
    return Values{Sum(on, x, x)};
  }
};
GRAPHTREE_ON_EVERY_DEVICE(WrongInputsTest);

TEST_P(WrongInputsTest, AskedForByNumberTheyAreWhatTheCallBrought) {
  const FunctionId function = Register("scaled", {}, [](Launcher& on, Values&) {
    const Tensor x = on.Input(0);
    Tensor sum = Sum(on, x, x);
    for (int64_t i = 2; i < on.Integer(1); ++i) sum = Sum(on, sum, x);
    return Values{sum};
  });
  for (int step = 0; step < 4; ++step) {
    for (const int64_t times : {2, 5}) {
      const Values out = CallInSteps(1, function, {Given(3), Value::Integer(times)});
      EXPECT_EQ(Read(out[0]), Times(PatternOf(3), static_cast<uint32_t>(times)));
    }
  }
  EXPECT_EQ(graphs(), 2u);
  EXPECT_GT(replays(), 0u);
}

TEST_P(WrongInputsTest, NoTensorWhereOneIsTaken) {
  for (const bool exclude : {false, true}) {
    FunctionOptions options;
    options.exclude = exclude;
    const FunctionId function = Register("twice", options, TwiceByNumber);
    const std::pair<Value, const char*> cases[] = {
        {Value::Integer(-7), "the body takes input 0 as a tensor, and it is the integer -7"},
        {Value::Opaque(std::make_shared<int>(1)), "and it is an opaque object"},
        {Value::Opaque(std::make_shared<int>(1), 4), "and it is an opaque object of version 4"},
        {Value(), "the body takes input 0 as a tensor, and there is nothing"}};
    for (const auto& [value, text] : cases) {
      NewStep();
      const absl::Status refusal = Refusal(function, {value});
      EXPECT_THAT(refusal, FailsWith(StatusCode::kInvalidArgument, text));
      EXPECT_THAT(refusal, FailsWith(StatusCode::kInvalidArgument,
                                     "'twice', before the first op of its body: "));
    }
    EXPECT_THAT(Refusal(function, {}),
                FailsWith(StatusCode::kInvalidArgument,
                          "input 0 as a tensor, and the call brought 0 inputs, counted from 0"));
    EXPECT_EQ(Read(CallInSteps(3, function, {Given(1)})[0]), Times(PatternOf(1), 2))
        << "nothing of it stays";
  }
}

TEST_P(WrongInputsTest, NoIntegerWhereOneIsTaken) {
  const FunctionId function = Register("count", {}, [](Launcher& on, Values&) {
    return Values{Value::Integer(on.Integer(1) + 1)};
  });
  EXPECT_THAT(Refusal(function, {Given(1), Given(2)}),
              FailsWith(StatusCode::kInvalidArgument,
                        "'count', before the first op of its body: the body takes input 1 as an "
                        "integer, and it is a tensor of i32[48]"));
  EXPECT_EQ(Call(function, {Given(1), Value::Integer(4)})[0].integer(), 5);
}

// The launcher holds nothing: what the body has emptied is dead, and its memory is used again.
TEST_P(WrongInputsTest, AnInputThatTheBodyDroppedIsDead) {
  const FunctionId make = Register("make", {}, Twice);
  bool shares = false;
  const FunctionId eats = Register("eats", {}, [&](Launcher& on, Values& inputs) {
    Address before = 0;
    Tensor sum;
    {
      const Tensor x = on.Input(0);
      before = x.word();
      sum = Sum(on, x, x);
    }
    inputs[0] = Value();
    const Tensor next = Sum(on, sum, sum);
    shares = next.word() == before;
    return Values{next};
  });
  for (int step = 0; step < 4; ++step) {
    NewStep();
    Values made = Call(make, {Given(1)});
    EXPECT_EQ(Read(Call(eats, std::move(made))[0]), Times(PatternOf(1), 8));
    if (step < 2) {
      EXPECT_TRUE(shares) << "step " << step;
    }
  }
  OpenTree({});
  const FunctionId again = Register("again", {}, [](Launcher& on, Values& inputs) {
    inputs[0] = Value();
    return Values{on.Input(0)};
  });
  EXPECT_THAT(Refusal(again, {Given(1)}),
              FailsWith(StatusCode::kInvalidArgument, "or the body has dropped it before"));
  const FunctionId taken = Register("taken", {}, [](Launcher& on, Values& inputs) {
    const Values mine = std::move(inputs);
    return Values{on.Input(0)};
  });
  EXPECT_THAT(Refusal(taken, {Given(1)}),
              FailsWith(StatusCode::kInvalidArgument, "has taken it out of its inputs before"));
}

TEST_P(WrongInputsTest, APartHasNoInputs) {
  const FunctionId function = Register("breaks", {}, [](Launcher& on, Values&) {
    on.Break("asks", {}, [](Launcher& part, absl::Span<const Tensor>) { part.Input(0); });
    return Values{};
  });
  EXPECT_THAT(Refusal(function, {Given(1)}),
              FailsWith(StatusCode::kInvalidArgument,
                        "eager part 'asks': the body takes input 0 as a tensor, and an eager part "
                        "has none: pass it to Launcher::Break"));
}

// Where it could not be launched the op is named itself, and else the one before.
TEST_P(WrongInputsTest, TheOpThatFailedIsNamed) {
  const FunctionId function = Register("two", {}, [](Launcher& on, Values&) {
    const Tensor x = on.Input(0);
    const Tensor sum = Sum(on, x, x);
    on.Fill(Tensor::Foreign(sum.word(), Layout::Of(DType::kU8, {-1})), 1);
    return Values{sum};
  });
  EXPECT_THAT(Refusal(function, {Given(1)}),
              FailsWith(StatusCode::kInvalidArgument,
                        "'two', at op 2 of its body ('fill'): fill: a tensor of u8[-1] has a "
                        "negative size"));
  const FunctionId wide = Register("wide", {}, [](Launcher& on, Values&) {
    const Tensor x = on.Input(0);
    on.Copy(on.Empty(WordsLayout(kWords)), x);
    on.Launch(AddKernel(), {.grid = {1}, .block = {1 << 20}},
              {Out(x), In(x), In(x), Val(static_cast<uint32_t>(kWords))});
    return Values{};
  });
  EXPECT_THAT(Refusal(wide, {Given(1)}),
              FailsWith(StatusCode::kInvalidArgument, "'wide', at op 2 of its body ('add'): "));
}

TEST_P(WrongInputsTest, LayoutsThatCannotBe) {
  const Layout* const huge = Layout::Of(DType::kU8, {int64_t{1} << 32, int64_t{1} << 32});
  const char* const kWhy =
      "a tensor of u8[4294967296,4294967296] has more bytes than there are addresses";
  const FunctionId empty = Register("empty", {}, [huge](Launcher& on, Values&) {
    const Tensor made = on.Empty(huge);
    EXPECT_EQ(made.dim(1), 0);
    on.Fill(made, 1);
    return Values{made};
  });
  EXPECT_THAT(Refusal(empty, {}), FailsWith(StatusCode::kInvalidArgument, kWhy));
  const FunctionId twice = Register("twice", {}, Twice);
  const Tensor x = Given(1);
  EXPECT_THAT(Refusal(twice, {Tensor::Foreign(x.word(), huge)}),
              FailsWith(StatusCode::kInvalidArgument,
                        "input 0 of 'twice': a tensor of u8[4294967296,4294967296] has"));
  const FunctionId reads = Register("reads", {}, [huge](Launcher& on, Values&) {
    on.Reads(on.Input(0).View(huge, 0));
    return Values{};
  });
  EXPECT_THAT(Refusal(reads, {x}), FailsWith(StatusCode::kInvalidArgument, kWhy));
  const FunctionId view = Register("view", {}, [huge](Launcher& on, Values&) {
    return Values{on.Input(0).View(huge, 0)};
  });
  EXPECT_THAT(Refusal(view, {x}),
              FailsWith(StatusCode::kInvalidArgument, "it returned as output 0: a tensor of u8["));
  EXPECT_EQ(Read(CallInSteps(3, twice, {x})[0]), Times(PatternOf(1), 2));
}

// Of no bytes, and first in its region: it is of that region, and not of the one that ends there.
TEST_P(WrongInputsTest, KeptOutputsOfNoBytes) {
  const FunctionId function = Register("none", {.kept_outputs = {0}}, [](Launcher& on, Values&) {
    const Tensor none = on.Empty(DType::kU8, {0}), x = on.Input(0);
    return Values{none, Sum(on, x, x)};
  });
  const FunctionId twice = Register("twice", {}, TwiceByNumber);
  for (uint32_t step = 0; step < 6; ++step) {
    NewStep();
    Values out = Call(function, {Given(step)});
    out[0] = Value();
    const Values next = Call(twice, {Given(step)});
    EXPECT_EQ(Read(out[1]), Times(PatternOf(step), 2)) << "step " << step;
    EXPECT_EQ(Read(next[0]), Times(PatternOf(step), 2)) << "step " << step;
  }
  EXPECT_EQ(eager(), 0u);
  EXPECT_GT(replays(), 0u);
}

}  // namespace
}  // namespace graphtree
