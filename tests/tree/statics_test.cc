// Rows about static inputs that are exchanged and inputs that are mutated: what is recorded again,
// what runs eagerly, and what is said about it.
#include <string>
#include <utility>

#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

class StaticsTest : public TreeTest {
 protected:
  // x, p -> x + p; then its backward pass, which reads p as well
  void RegisterPair(bool first_has_parameter) {
    const FunctionOptions with_parameter = {.static_inputs = {1}};
    forward_ = Register("forward", with_parameter, AddBoth);
    backward_ = Register("backward", first_has_parameter ? with_parameter : FunctionOptions{},
                         AddBoth);
  }
  void Train(const Tensor& parameter, const Tensor& x) {
    NewStep();
    Values out = Call(forward_, {x, parameter});
    EXPECT_EQ(Read(out[0]), Plus(Read(x), Read(parameter)));
    Values gradient = Call(backward_, Gathered(std::move(out[0]), parameter));
    EXPECT_EQ(Read(gradient[0]), Plus(Read(x), Times(Read(parameter), 2)));
  }
  // One warning in all: of this function, and that it writes to an input.
  void ExpectToldOnce(const std::string& function) {
    ASSERT_EQ(warnings().size(), 1u);
    EXPECT_THAT(warnings()[0], testing::HasSubstr("'" + function + "' runs eagerly: it "));
    EXPECT_THAT(warnings()[0], testing::HasSubstr(kMutates));
  }
  static constexpr const char* kMutates = "writes to an input";

  FunctionId forward_ = 0;
  FunctionId backward_ = 0;
};
GRAPHTREE_ON_EVERY_DEVICE(StaticsTest);

// Modules that exchange one of theirs are in modules_test.cc.
TEST_P(StaticsTest, MultiDispatchSingleCompileParamInputs) {
  RegisterPair(true);
  const Tensor p1 = Given(1), p2 = Given(2), x = Given(3);
  for (const Tensor& parameter : {p1, p2, p1}) {
    for (int step = 0; step < 5; ++step) Train(parameter, x);
  }
  EXPECT_EQ(graphs(), 4u);
  EXPECT_EQ(descendants(), (Counts{1, 1}));
  EXPECT_EQ(eager(), 0u);
}

// The parameter is the second function's alone: one root, two children, and their backwards.
TEST_P(StaticsTest, MultiDispatchChildNode) {
  const FunctionId first = Register("first", {}, Twice);
  RegisterPair(true);
  const Tensor p1 = Given(1), p2 = Given(2), x = Given(3);
  for (const Tensor& parameter : {p1, p2, p1}) {
    for (int step = 0; step < 4; ++step) {
      NewStep();
      Values hidden = Call(first, {x});
      Values out = Call(forward_, Gathered(std::move(hidden[0]), parameter));
      Values gradient = Call(backward_, Gathered(std::move(out[0]), parameter));
      EXPECT_EQ(Read(gradient[0]), Plus(Times(PatternOf(3), 2), Times(Read(parameter), 2)));
    }
  }
  EXPECT_EQ(graphs(), 5u);
  EXPECT_EQ(descendants(), (Counts{4}));
}

TEST_P(StaticsTest, MultiDispatchParentNode) {
  RegisterPair(true);
  const FunctionId last = Register("last", {}, Twice);
  const Tensor p1 = Given(1), p2 = Given(2), x = Given(3);
  for (const Tensor& parameter : {p1, p2, p1}) {
    for (int step = 0; step < 4; ++step) {
      NewStep();
      Values out = Call(forward_, {x, parameter});
      Values gradient = Call(backward_, Gathered(std::move(out[0]), parameter));
      Values end = Call(last, std::move(gradient));
      EXPECT_EQ(Read(end[0]), Times(Plus(PatternOf(3), Times(Read(parameter), 2)), 2));
    }
  }
  EXPECT_EQ(graphs(), 6u);
  EXPECT_EQ(descendants(), (Counts{2, 2}));
}

TEST_P(StaticsTest, RerecordIfStaticInputAddressChanged) {
  const FunctionId function = Register("static", {.static_inputs = {1, 2}},
                                       [](Launcher& on, Values& inputs) {
                                         const Tensor sum = Sum(on, inputs[0], inputs[1]);
                                         return Values{Sum(on, sum, inputs[2])};
                                       });
  const Tensor x = Given(3);
  for (const uint32_t seed : {10, 20}) {
    const Tensor buffer = Given(seed), bias = Given(seed + 1);
    for (int step = 0; step < 3; ++step) {
      Values out = CallInSteps(1, function, {x, buffer, bias});
      EXPECT_EQ(Read(out[0]), Plus(PatternOf(3), Plus(PatternOf(seed), PatternOf(seed + 1))));
    }
  }
  EXPECT_EQ(graphs(), 2u);
  EXPECT_EQ(tree().stats().copied_inputs, 2u) << "one input of three, in each recording";
}

TEST_P(StaticsTest, NotFallbackToEagerIfHaveNotRecompilingTooManyTimes) {
  OpenTree({.rerecord_limit = 1});
  RegisterPair(true);
  const Tensor p1 = Given(1), p2 = Given(2), x = Given(3);
  for (const Tensor& parameter : {p1, p2}) {
    for (int step = 0; step < 3; ++step) Train(parameter, x);
  }
  EXPECT_EQ(graphs(), 4u);
  EXPECT_EQ(eager(), 0u);
}

TEST_P(StaticsTest, ParamPtrChurnDoesNotCountTowardRerecordLimit) {
  OpenTree({.rerecord_limit = 1});
  RegisterPair(true);
  const Tensor x = Given(3);
  for (uint32_t seed = 10; seed < 15; ++seed) {
    const Tensor parameter = Given(seed);
    for (int step = 0; step < 2; ++step) Train(parameter, x);
  }
  EXPECT_EQ(eager(), 0u);
  EXPECT_EQ(reasons(Reason::kRerecordLimit), 0u);
  EXPECT_TRUE(warnings().empty());
}

// An input made on the path that is another one each time, and a function that is not to be
// recorded for any address (moving_test.cc shows the one that is).
TEST_P(StaticsTest, FallbackToEagerDueToManagedTensor) {
  const FunctionId many = Register("many", {}, [](Launcher& on, Values& inputs) {
    Values out;
    for (int i = 0; i < 6; ++i) out.push_back(Sum(on, inputs[0], inputs[0]));
    return out;
  });
  const FunctionId second = Register("second", {.moving = Moving::kEager}, Twice);
  const Tensor x = Given(3);
  for (const int which : {0, 0, 1, 2, 3, 4}) {
    NewStep();
    Values out = Call(many, {x});
    EXPECT_EQ(Read(Call(second, {out[which]})[0]), Times(PatternOf(3), 4));
  }
  EXPECT_EQ(graphs(), 2u) << "the function that makes them, and one of the second";
  EXPECT_EQ(eager(), 4u);
  ASSERT_EQ(warnings().size(), 1u);
  EXPECT_NE(warnings()[0].find("'second'"), std::string::npos);
}

// Rows R3 to R5. Static inputs that moved never count, so what is counted here is an input made on
// this path that is another one; the limit is 0. Each function is told of once.
TEST_P(StaticsTest, FallbackToEagerIfRecompilingTooManyTimes) {
  OpenTree({.rerecord_limit = 0});
  const FunctionId pair = Register("pair", {}, [](Launcher& on, Values& inputs) {
    return Values{Sum(on, inputs[0], inputs[0]), Sum(on, inputs[0], inputs[0])};
  });
  const FunctionId functions[] = {Register("second", {}, Twice), Register("third", {}, Thrice)};
  const Tensor x = Given(3);
  for (const int which : {0, 0, 1, 1}) {
    for (const FunctionId function : functions) {
      NewStep();
      const Values out = Call(pair, {x});
      const uint32_t times = function == functions[0] ? 4 : 6;
      EXPECT_EQ(Read(Call(function, {out[which]})[0]), Times(PatternOf(3), times));
    }
  }
  EXPECT_EQ(graphs(), 3u);
  EXPECT_EQ(eager(), 4u);
  EXPECT_EQ(reasons(Reason::kRerecordLimit), 4u);
  ASSERT_EQ(warnings().size(), 2u);
  EXPECT_NE(warnings()[0].find("'second' runs eagerly: "), std::string::npos) << warnings()[0];
  EXPECT_NE(warnings()[0].find("rerecord_limit"), std::string::npos) << warnings()[0];
  EXPECT_NE(warnings()[1].find("'third' runs eagerly: "), std::string::npos) << warnings()[1];
}

TEST_P(StaticsTest, NoRerecordWithMarkStaticAddress) {
  const FunctionId forward = Register("forward", {.static_inputs = {1}}, AddBoth);
  const FunctionId backward = Register("backward", {.static_inputs = {1}}, AddBoth);
  const Tensor y = Given(2);
  for (uint32_t step = 0; step < 5; ++step) {
    NewStep();
    Values out = Call(forward, {Given(10 + step), y});
    Values gradient = Call(backward, Gathered(std::move(out[0]), y));
    EXPECT_EQ(Read(gradient[0]), Plus(PatternOf(10 + step), Times(PatternOf(2), 2)));
  }
  EXPECT_EQ(graphs(), 2u);
}

TEST_P(StaticsTest, CompiledAutogradStaticInputParams) {
  const FunctionId function = Register(
      "three", {.static_inputs = {0}}, [](Launcher& on, Values& inputs) {
        return Values{Sum(on, inputs[0], Sum(on, inputs[1], inputs[2]))};
      });
  const Tensor parameter = Given(1);
  for (uint32_t step = 0; step < 5; ++step) {
    CallInSteps(1, function, {parameter, Given(10 + step), Given(20 + step)});
  }
  EXPECT_EQ(tree().stats().copied_inputs, 2u);
}

// These rows are about inputs that would be copied; moving_test.cc has those that are patched. A
// fresh tensor of the caller's is added to in place: the message names the function and the cause,
// once, every eager run is counted under that cause alone, and no node is made.
TEST_P(StaticsTest, MutationOnInp) {
  const FunctionId mutator =
      Register("mutator", {.moving = Moving::kCopy}, [](Launcher& on, Values& inputs) {
        Bump(on, inputs[0], 2);
        return Values{inputs[0]};
      });
  for (uint32_t call = 1; call <= 4; ++call) {
    const Tensor fresh = Given(call);
    const Values out = CallInSteps(1, mutator, {fresh});
    EXPECT_EQ(Read(fresh), Plus(PatternOf(call), Words(kWords, 2)));
    EXPECT_EQ(out[0].word(), fresh.word());
    EXPECT_EQ(reasons(Reason::kMutatedInput), call - 1) << "the first call was the warm-up";
  }
  EXPECT_EQ(eager(), 3u);
  EXPECT_EQ(graphs(), 0u);
  EXPECT_TRUE(descendants().empty());
  ExpectToldOnce("mutator");
}

TEST_P(StaticsTest, MutationOnInpOfABuffer) {
  const FunctionId mutator =
      Register("mutator", {.static_inputs = {0}}, [](Launcher& on, Values& inputs) {
        Bump(on, inputs[0], 2);
        return Values{Sum(on, inputs[0], inputs[0])};
      });
  const Tensor buffer = Given(1);
  for (uint32_t call = 1; call <= 3; ++call) {
    Values out = CallInSteps(1, mutator, {buffer});
    const Words expected = Plus(PatternOf(1), Words(kWords, 2 * call));
    EXPECT_EQ(Read(buffer), expected);
    EXPECT_EQ(Read(out[0]), Times(expected, 2));
  }
  EXPECT_EQ(graphs(), 1u);
  EXPECT_TRUE(warnings().empty());
}

// The function mutates a device constant of its own, which no one declares.
TEST_P(StaticsTest, TensorConstantMutation) {
  const Tensor constant = Given(1);
  const FunctionId function = Register("constant", {}, [&](Launcher& on, Values& inputs) {
    Bump(on, constant, 1);
    return Values{Sum(on, constant, inputs[0])};
  });
  const Tensor x = Given(2);
  for (uint32_t call = 1; call <= 3; ++call) {
    Values out = CallInSteps(1, function, {x});
    EXPECT_EQ(Read(out[0]), Plus(PatternOf(2), Plus(PatternOf(1), Words(kWords, call))));
  }
  EXPECT_EQ(graphs(), 1u);
}

// In place on what an earlier function made: recorded. On a copy of it: eager, and said once.
TEST_P(StaticsTest, MutationCudagraphManagedTensors) {
  const FunctionId first = Register("first", {}, Twice);
  const FunctionId mutator =
      Register("mutator", {.moving = Moving::kCopy}, [](Launcher& on, Values& inputs) {
        Bump(on, inputs[0], 3);
        return Values{inputs[0]};
      });
  const Tensor x = Given(1);
  const Words expected = Plus(Times(PatternOf(1), 2), Words(kWords, 3));
  for (int step = 0; step < 3; ++step) {
    NewStep();
    EXPECT_EQ(Read(Call(mutator, Call(first, {x}))[0]), expected);
  }
  EXPECT_TRUE(warnings().empty());
  EXPECT_EQ(reasons(Reason::kMutatedInput), 0u);
  EXPECT_EQ(replays(), 2u);
  NewStep();
  Values out = Call(first, {x});
  const Tensor clone = Tensor::Foreign(NewWordsWith(Read(out[0])).base, WordsLayout(kWords));
  EXPECT_EQ(Read(Call(mutator, {clone})[0]), expected);
  ASSERT_EQ(warnings().size(), 1u);
  EXPECT_NE(warnings()[0].find(kMutates), std::string::npos);
  EXPECT_EQ(reasons(Reason::kMutatedInput), 1u);
}

// Fresh inputs at every step, and another function that reads what was written.
TEST_P(StaticsTest, MutationCudagraphManagedTensorWarn) {
  const FunctionId mutator =
      Register("mutator", {.moving = Moving::kCopy}, [](Launcher& on, Values& inputs) {
        Bump(on, inputs[0], 3);
        return Values{};
      });
  const FunctionId reader = Register("reader", {}, Twice);
  for (uint32_t step = 1; step <= 3; ++step) {
    const Tensor fresh = Given(step);
    NewStep();
    Call(mutator, {fresh});
    EXPECT_EQ(Read(Call(reader, {fresh})[0]), Times(Plus(PatternOf(step), Words(kWords, 3)), 2));
  }
  ASSERT_EQ(warnings().size(), 1u);
  EXPECT_NE(warnings()[0].find("'mutator'"), std::string::npos) << warnings()[0];
  EXPECT_EQ(reasons(Reason::kMutatedInput), 2u) << "the first call was the warm-up";
  EXPECT_EQ(graphs(), 1u) << "the reader's";
}

// It writes its result where the caller wants it, into memory of another type.
TEST_P(StaticsTest, MutationReinplaced) {
  for (const Moving moving : {Moving::kCopy, Moving::kPatch}) {
    OpenTree({});
    const FunctionId function =
        Register("into", {.moving = moving}, [](Launcher& on, Values& inputs) {
          const Tensor sum = Sum(on, inputs[0], inputs[0]);
          if (!on.ok()) return Values{};
          const Tensor out = Tensor::From(inputs[1]);
          EXPECT_EQ(out.shape().type(), DType::kF32);
          on.Copy(out, sum);
          return Values{};
        });
    const Layout* floats = Layout::Of(DType::kF32, {kWords});
    for (uint32_t step = 1; step <= 4; ++step) {
      const Tensor out = Tensor::Foreign(Given(9).word(), floats);
      CallInSteps(1, function, {Given(step), out});
      EXPECT_EQ(Read(out), Times(PatternOf(step), 2));
    }
    const bool is_copied = moving == Moving::kCopy;
    EXPECT_EQ(reasons(Reason::kMutatedInput), is_copied ? 3u : 0u);
    EXPECT_EQ(eager(), is_copied ? 3u : 0u);
    EXPECT_EQ(graphs(), is_copied ? 0u : 1u);
    EXPECT_EQ(replays(), is_copied ? 0u : 2u);
    if (is_copied) {
      ExpectToldOnce("into");
    } else {
      EXPECT_TRUE(warnings().empty());
    }
  }
}

// At the root with fresh tensors: eager, and said. After a node with what that has made: recorded,
// without a word. After the same node with a copy of it: eager again, counted, and not said again,
// though it is another place of the tree; and the node's own recording serves on.
TEST_P(StaticsTest, MutationCudagraphManagedTensorWarnOnlyOnce) {
  const FunctionId first = Register("first", {}, Twice);
  const FunctionId mutator =
      Register("mutator", {.moving = Moving::kCopy}, [](Launcher& on, Values& inputs) {
        Bump(on, inputs[0], 3);
        return Values{Sum(on, inputs[0], inputs[0])};
      });
  const Tensor x = Given(1);
  const Words bumped = Plus(Times(PatternOf(1), 2), Words(kWords, 3));
  const auto after_first = [&](bool clones) {
    NewStep();
    Values made = Call(first, {x});
    if (clones) {
      made[0] = Tensor::Foreign(NewWordsWith(Read(made[0])).base, WordsLayout(kWords));
    }
    EXPECT_EQ(Read(Call(mutator, {made[0]})[0]), Times(bumped, 2));
    EXPECT_EQ(Read(made[0]), bumped);
  };
  for (uint32_t step = 0; step < 3; ++step) {
    const Tensor fresh = Given(5);
    const Words expected = Plus(PatternOf(5), Words(kWords, 3));
    EXPECT_EQ(Read(CallInSteps(1, mutator, {fresh})[0]), Times(expected, 2));
    EXPECT_EQ(Read(fresh), expected);
    EXPECT_EQ(reasons(Reason::kMutatedInput), step) << "the first of all was the warm-up";
  }
  ExpectToldOnce("mutator");
  for (int step = 0; step < 4; ++step) after_first(false);
  EXPECT_EQ(reasons(Reason::kMutatedInput), 2u);
  EXPECT_EQ(graphs(), 2u);
  const uint64_t replayed = replays();
  for (uint64_t step = 1; step <= 2; ++step) {
    after_first(true);
    EXPECT_EQ(reasons(Reason::kMutatedInput), 2 + step);
  }
  EXPECT_EQ(replays(), replayed + 2) << "of the first";
  after_first(false);
  EXPECT_EQ(replays(), replayed + 4) << "of both";
  EXPECT_EQ(graphs(), 2u);
  EXPECT_EQ(eager(), 4u);
  ExpectToldOnce("mutator");
}

}  // namespace
}  // namespace graphtree
