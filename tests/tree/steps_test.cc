// Rows about steps, streams, options and random numbers.
#include <memory>
#include <utility>

#include "graphs/random/generator.h"
#include "graphs/random/random_source.h"
#include "graphs/random/uniform.h"
#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

class StepsTest : public TreeTest {
 protected:
  // 20 numbers.
  Body Draws() {
    return [this](Launcher& on, Values&) {
      const uint32_t count = 20;
      const Tensor out = on.Empty(DType::kF32, {count});
      if (!on.ok()) return Values{};
      on.Launch(UniformKernel(), UniformShape(count),
                {Out(out), Val(count), Val(on.Random(generator_, count))});
      return Values{out};
    };
  }
  void ExpectTheSameNumbersAgain(FunctionId function) {
    std::vector<Words> first;
    generator_->Seed(0);
    for (int call = 0; call < 3; ++call) first.push_back(Read(CallInSteps(1, function, {})[0]));
    EXPECT_NE(first[0], first[1]);
    EXPECT_NE(first[1], first[2]);
    generator_->Seed(0);
    for (int call = 0; call < 3; ++call) {
      EXPECT_EQ(Read(CallInSteps(1, function, {})[0]), first[call]);
    }
  }
  const GeneratorPtr generator_ = std::make_shared<Generator>(0);
};
GRAPHTREE_ON_EVERY_DEVICE(StepsTest);

TEST_P(StepsTest, RngTrees) {
  ExpectTheSameNumbersAgain(Register("draws", {}, Draws()));
  EXPECT_EQ(replays(), 4u);
}

TEST_P(StepsTest, RngRecordedApart) {
  FunctionOptions apart;
  apart.recorded_apart = true;
  const FunctionId function = Register("draws", apart, Draws());
  std::vector<Words> eager_numbers;
  for (int call = 0; call < 3; ++call) {
    eager_numbers.push_back(Read(CallInSteps(1, function, {})[0]));
  }
  generator_->Seed(0);
  NewStep();
  ASSERT_THAT(tree().Record(function, {}, a()), IsOk());
  for (const Words& numbers : eager_numbers) {
    EXPECT_EQ(Read(CallInSteps(1, function, {})[0]), numbers);
  }
  EXPECT_EQ(replays(), 3u);
}

TEST_P(StepsTest, RngNonTrees) {
  OpenTree({.enabled = false});
  ExpectTheSameNumbersAgain(Register("draws", {}, Draws()));
  EXPECT_EQ(eager(), 6u);
}

TEST_P(StepsTest, ErrorOnDeallocUse) {
  const FunctionId function = Register("make", {}, Twice);
  const FunctionId other = Register("other", {}, Thrice);
  const Tensor x = Given(1);
  Values first = CallInSteps(1, function, {x});
  Values second = CallInSteps(1, function, {x});
  Call(other, {x});
  EXPECT_THAT(Tensor::From(first[0]).bytes(),
              FailsWith(absl::StatusCode::kFailedPrecondition, "output 0 of 'make'"));
  EXPECT_THAT(Tensor::From(first[0]).bytes(),
              FailsWith(absl::StatusCode::kFailedPrecondition, "last: 'other'"));
  EXPECT_THAT(Tensor::From(second[0]).bytes(), IsOk());
  Values third = CallInSteps(1, function, {x});
  EXPECT_THAT(Tensor::From(second[0]).bytes(),
              FailsWith(absl::StatusCode::kFailedPrecondition, "step"));
  EXPECT_EQ(Read(third[0]), Times(PatternOf(1), 2));
}

// Also behind replays, and through a view that was taken before.
TEST_P(StepsTest, ErrorOnDeallocUse2) {
  const FunctionId function = Register("make", {}, Twice);
  const Tensor x = Given(1);
  for (int step = 0; step < 5; ++step) {
    Values out = CallInSteps(1, function, {x});
    const Tensor view = Slice(out[0], 4, 8);
    EXPECT_EQ(Read(view)[0], 2 * PatternOf(1)[4]);
    NewStep();
    EXPECT_THAT(view.bytes(),
                FailsWith(absl::StatusCode::kFailedPrecondition, "output 0 of 'make'"));
  }
}

// Steps are begun by the caller, so no output that waits for a backward pass keeps a path open.
TEST_P(StepsTest, MarkStep) {
  const FunctionId forward = Register("forward", {}, Twice);
  const Tensor x = Given(1);
  Values held[3];
  for (Values& out : held) out = CallInSteps(1, forward, {x});
  EXPECT_EQ(graphs(), 1u);
  EXPECT_EQ(replays(), 1u);
}

// Without steps, outputs that are held keep the path growing warm-ups: nothing is recorded behind
// them, and everything stays right.
TEST_P(StepsTest, WarnOnPendingBackward) {
  const FunctionId forward = Register("forward", {}, Twice);
  const Tensor x = Given(1);
  NewStep();
  Values held[3];
  for (Values& out : held) out = Call(forward, {x});
  EXPECT_EQ(graphs(), 0u);
  EXPECT_EQ(live(), 3u);
  EXPECT_TRUE(warnings().empty()) << "the step is the caller's to end";
  for (const Values& out : held) EXPECT_EQ(Read(out[0]), Times(PatternOf(1), 2));
}

// Two forward passes, the backward of one alone; its outputs die with the step.
TEST_P(StepsTest, ForwardBackwardNotCalled) {
  const FunctionId forward = Register("forward", {}, Twice);
  const FunctionId other = Register("other", {}, Thrice);
  const FunctionId backward = Register("backward", {}, AddBoth);
  const Tensor x = Given(1);
  for (int step = 0; step < 3; ++step) {
    NewStep();
    Values first = Call(forward, {x});
    Values second = Call(other, {x});
    Values gradient = Call(backward, Gathered(std::move(first[0]), x));
    EXPECT_EQ(Read(gradient[0]), Times(PatternOf(1), 3));
  }
  EXPECT_EQ(graphs(), 3u);
}

TEST_P(StepsTest, ForwardWithSkippedCudagraphedBackward) {
  const FunctionId forward = Register("forward", {}, Twice);
  const FunctionId backward = Register("backward", {.exclude = true}, AddBoth);
  const Tensor x = Given(1);
  for (int step = 0; step < 3; ++step) {
    NewStep();
    Values out = Call(forward, {x});
    EXPECT_EQ(Read(Call(backward, Gathered(std::move(out[0]), x))[0]), Times(PatternOf(1), 3));
  }
  EXPECT_EQ(graphs(), 1u);
  EXPECT_EQ(reasons(Reason::kExcluded), 3u);
}

TEST_P(StepsTest, CudagraphOrError) {
  OpenTree({.strict = true});
  const FunctionId mutator =
      Register("mutator", {.mutated_inputs = {0}, .moving = Moving::kCopy},
               [](Launcher& on, Values& inputs) {
                 Bump(on, inputs[0], 2);
                 return Values{};
               });
  Values inputs = {Given(1)}, outputs;
  EXPECT_THAT(tree().Run(mutator, absl::MakeSpan(inputs), a(), &outputs),
              FailsWith(absl::StatusCode::kFailedPrecondition, "'mutator'"));
  EXPECT_EQ(Read(inputs[0]), PatternOf(1)) << "it did not run";
}

// A long chain behind work of the caller's: the warm-up runs on a stream of the tree's own.
TEST_P(StepsTest, WarmupStreamSync) {
  const FunctionId chain = Register("chain", {}, [](Launcher& on, Values& inputs) {
    Tensor x = Sum(on, inputs[0], inputs[1]);
    for (int i = 0; i < 50; ++i) x = Sum(on, x, inputs[1]);
    return Values{x};
  });
  const Tensor x = Given(1), one = Given(2), sum = Given(3);
  for (int step = 0; step < 3; ++step) {
    NewStep();
    ASSERT_THAT(Delay(a(), 2000), IsOk());
    ASSERT_THAT(FillPattern(a(), x.raw_bytes(), 7 + step), IsOk());
    Values out = Call(chain, {x, one});
    ASSERT_THAT(
        Add(a(), sum.raw_bytes(), Tensor::From(out[0]).raw_bytes(), one.raw_bytes()), IsOk());
    EXPECT_EQ(Read(sum), Plus(PatternOf(7 + step), Times(PatternOf(2), 52)));
  }
}

// The function forks a stream of the caller's and joins it again.
TEST_P(StepsTest, SideStreamMemoryAllocation) {
  const FunctionId function = Register("forks", {}, [this](Launcher& on, Values& inputs) {
    const Tensor side = TwiceOnSide(on, inputs[0]);
    const Tensor main = Sum(on, inputs[0], inputs[0]);
    JoinSide(on);
    return Values{Sum(on, main, side), side};
  });
  const Tensor x = Given(1);
  for (int step = 0; step < 3; ++step) {
    Values out = CallInSteps(1, function, {x});
    EXPECT_EQ(Read(out[0]), Times(PatternOf(1), 4));
    EXPECT_EQ(Read(out[1]), Times(PatternOf(1), 2));
  }
  EXPECT_EQ(graphs(), 1u);
}

}  // namespace
}  // namespace graphtree
