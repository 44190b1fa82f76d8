// Forward and backward passes: what waits for its backward is what is saved for it and held, and
// nothing else. No flag says that a backward is due, so none can stay behind.
#include <bit>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "graphs/random/generator.h"
#include "graphs/random/philox.h"
#include "graphs/random/uniform.h"
#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

// x -> x + x + x, and x + x, which is saved for the backward pass.
Values ForwardBody(Launcher& on, Values& inputs) {
  const Tensor saved = Sum(on, inputs[0], inputs[0]);
  return {Sum(on, saved, inputs[0]), saved};
}

// saved, gradient -> saved + gradient; the saved tensor dies inside.
Values BackwardBody(Launcher& on, Values& inputs) {
  const Tensor gradient = Sum(on, inputs[0], inputs[1]);
  inputs.clear();
  return {gradient};
}

class BackwardTest : public TreeTest {
 protected:
  void SetUp() override {
    TreeTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    RegisterPasses({});
  }
  void RegisterPasses(FunctionOptions backward) {
    forward_ = Register("forward", {}, ForwardBody);
    backward_ = Register("backward", std::move(backward), BackwardBody);
  }
  // The forward pass of micro-batch `seed`; keeps what is saved, and lets the result go.
  Value Forward(uint32_t seed) {
    Values out = Call(forward_, {GivenOnce(seed)});
    EXPECT_EQ(Read(out[0]), Times(PatternOf(seed), 3));
    return std::move(out[1]);
  }
  void Backward(uint32_t seed, Value saved) {
    Values gradient = Call(backward_, Gathered(std::move(saved), GivenOnce(9)));
    EXPECT_EQ(Read(gradient[0]), Plus(Times(PatternOf(seed), 2), PatternOf(9)));
  }
  Tensor GivenOnce(uint32_t seed) {
    Tensor& tensor = given_[seed];
    if (!tensor.defined()) tensor = Given(seed);
    return tensor;
  }

  FunctionId forward_ = 0;
  FunctionId backward_ = 0;

 private:
  Tensor given_[10];
};
GRAPHTREE_ON_EVERY_DEVICE(BackwardTest);

// Row 81. Every block that a recording made belongs to one stream, whatever the caller uses.
// Nothing runs on that stream.
TEST_P(BackwardTest, SingleStreamUse) {
  std::set<const Stream*> captured, ran;
  const auto noting = [&captured, &ran](const Body& body) -> Body {
    return [&captured, &ran, body](Launcher& on, Values& inputs) {
      (on.stream().IsCapturing() ? captured : ran).insert(&on.stream());
      return body(on, inputs);
    };
  };
  forward_ = Register("forward", {}, noting(ForwardBody));
  backward_ = Register("backward", {}, noting(BackwardBody));
  for (int step = 0; step < 4; ++step) {
    NewStep();
    Backward(1, Forward(1));
  }
  EXPECT_GE(graphs(), 1u);
  EXPECT_EQ(captured.size(), 1u);
  for (const Stream* stream : captured) EXPECT_FALSE(ran.contains(stream));
}

// Row 24. The forward pass drops out at random and saves what it drew. What the backward pass takes
// for dead is told by what makes it another recording: none of the forward pass's outputs must be
// dead before it, and after it the second and the third, which it consumes. A program that is run
// anew, or without recordings, has the same losses and gradients.
class CachedPassesTest : public TreeTest {
 protected:
  // x -> 2x, which is handed out; a random mask; the sum of both. The last two are saved.
  void RegisterPasses() {
    numbers_ = std::make_shared<Generator>(5);
    forward_ = Register("forward", {}, [this](Launcher& on, Values& inputs) {
      const Tensor twice = Sum(on, inputs[0], inputs[0]);
      const Tensor mask = on.Empty(twice.layout());
      if (!on.ok()) return Values{};
      const uint32_t count = kWords;
      on.Launch(UniformKernel(), UniformShape(count),
                {Out(mask), Val(count), Val(on.Random(numbers_, count))});
      return Values{twice, mask, Sum(on, twice, mask)};
    });
    backward_ = Register("backward", {}, [](Launcher& on, Values& inputs) {
      const Tensor sum = Sum(on, inputs[0], inputs[1]);
      inputs.clear();
      return Values{Sum(on, sum, sum)};
    });
  }
  // One step. The caller goes on holding output `held`, and has let go of output `dropped` before
  // the backward pass; -1 for none. The loss and the gradient.
  std::pair<Words, Words> Train(uint32_t seed, int held, int dropped) {
    NewStep();
    const uint64_t drawn = numbers_->offset();
    Values out = Call(forward_, {Given(seed)});
    Words mask;
    for (uint32_t i = 0; i < kWords; ++i) {
      mask.push_back(std::bit_cast<uint32_t>(UniformFloat(RandomWord(5, drawn + i))));
    }
    const Words loss = Read(out[2]);
    EXPECT_EQ(loss, Plus(Times(PatternOf(seed), 2), mask)) << "seed " << seed;
    Value keep;
    if (held >= 0) keep = out[held];
    const Words kept = held >= 0 ? Read(keep) : Words();
    if (dropped >= 0) out[dropped] = Value();
    const Values gradient = Call(backward_, Gathered(std::move(out[1]), std::move(out[2])));
    if (held >= 0) {
      EXPECT_EQ(Read(keep), kept) << "output " << held << " was written over";
    }
    return {loss, Read(gradient[0])};
  }

  std::shared_ptr<Generator> numbers_;

 private:
  FunctionId forward_ = 0;
  FunctionId backward_ = 0;
};
GRAPHTREE_ON_EVERY_DEVICE(CachedPassesTest);

TEST_P(CachedPassesTest, CachedForwardBackward) {
  std::vector<std::pair<Words, Words>> expected;
  for (const bool enabled : {false, true, true}) {
    OpenTree({.enabled = enabled});
    RegisterPasses();
    std::vector<std::pair<Words, Words>> run;
    for (uint32_t step = 0; step < 5; ++step) run.push_back(Train(step + 1, 0, -1));
    if (expected.empty()) expected = run;
    EXPECT_EQ(run, expected);
    for (const auto& [loss, gradient] : run) EXPECT_NE(loss, gradient);
    EXPECT_EQ(descendants(), enabled ? Counts{1} : Counts{});
    EXPECT_EQ(replays(), enabled ? 6u : 0u);
  }
  EXPECT_EQ(eager(), 0u);
}

TEST_P(CachedPassesTest, WhatIsExpectedDead) {
  for (const int output : {0, 1, 2}) {
    OpenTree({});
    RegisterPasses();
    for (uint32_t step = 1; step <= 3; ++step) Train(step, 0, -1);
    EXPECT_EQ(graphs(), 2u);
    Train(4, output, -1);
    const bool is_dead_after = output != 0;
    EXPECT_EQ(reasons(Reason::kConsumerDiffers), is_dead_after ? 1u : 0u) << "output " << output;
    EXPECT_EQ(reasons(Reason::kLivenessDiffers), 0u) << "nothing is expected to be dead before";
    EXPECT_EQ(graphs(), is_dead_after ? 3u : 2u);
    Train(5, 0, -1);
    EXPECT_EQ(graphs(), is_dead_after ? 3u : 2u) << "the first recording serves on";
  }
  // Recorded without it, the first output is expected to be dead before.
  OpenTree({});
  RegisterPasses();
  for (uint32_t step = 1; step <= 3; ++step) Train(step, -1, 0);
  EXPECT_EQ(graphs(), 2u);
  Train(4, 0, -1);
  EXPECT_EQ(reasons(Reason::kLivenessDiffers), 1u);
  EXPECT_EQ(reasons(Reason::kConsumerDiffers), 0u);
  EXPECT_EQ(graphs(), 3u);
  EXPECT_EQ(eager(), 0u);
}

// Two micro-batches in a step, their backward passes in both orders, and after each other.
TEST_P(BackwardTest, BackwardPassesInEveryOrder) {
  for (int order = 0; order < 3; ++order) {
    const uint64_t replayed = replays();
    for (int step = 0; step < 5; ++step) {
      NewStep();
      Value first = Forward(1);
      if (order == 2) Backward(1, std::move(first));
      Value second = Forward(2);
      if (order == 0) {
        Backward(1, std::move(first));
        Backward(2, std::move(second));
      } else {
        Backward(2, std::move(second));
        if (order == 1) Backward(1, std::move(first));
      }
    }
    EXPECT_GE(replays(), replayed + 8) << "order " << order;
  }
  EXPECT_EQ(eager(), 0u);
}

// A pipeline: the forward pass of the next micro-batch comes before the backward pass of the last,
// without any mark of a step. Something is always saved, so the path never ends by itself: it is
// warmed up to its end, then recorded to its end, and replayed from there on.
TEST_P(BackwardTest, APipelineThatNeverEndsItsPath) {
  constexpr uint64_t kCalls = 13;
  for (uint64_t pass = 0; pass < 4; ++pass) {
    NewStep();
    Value saved = Forward(1);
    for (int i = 0; i < 6; ++i) {
      Value next = Forward(1 + (i + 1) % 2);
      Backward(1 + i % 2, std::move(saved));
      saved = std::move(next);
    }
    EXPECT_EQ(live(), 1u);
    EXPECT_EQ(tree().stats().warm_ups, kCalls) << "the first pass";
    EXPECT_EQ(graphs(), pass == 0 ? 0 : kCalls) << "the second";
    EXPECT_EQ(replays(), pass < 2 ? 0 : (pass - 1) * kCalls);
  }
  EXPECT_EQ(descendants(), (Counts{kCalls - 1}));
  EXPECT_EQ(eager(), 0u);
}

// What the flag of others gets wrong: the backward pass never comes, what was saved is dropped, and
// recording goes on without a mark of a step.
TEST_P(BackwardTest, ABackwardThatNeverComesHoldsNothingUp) {
  for (int i = 0; i < 6; ++i) Forward(1);
  EXPECT_EQ(graphs(), 1u);
  EXPECT_EQ(replays(), 4u);
  EXPECT_EQ(tree().stats().warm_ups, 1u);
}

// As long as what was saved is held, the next forward goes behind it and leaves it alone.
TEST_P(BackwardTest, SavedOutputsAreNotWrittenOver) {
  for (int round = 0; round < 3; ++round) {
    NewStep();
    std::vector<Value> saved;
    for (uint32_t seed = 1; seed <= 4; ++seed) saved.push_back(Forward(seed));
    EXPECT_EQ(live(), 4u);
    for (uint32_t seed = 1; seed <= 4; ++seed) {
      EXPECT_EQ(Read(saved[seed - 1]), Times(PatternOf(seed), 2));
    }
    for (uint32_t seed = 4; seed >= 1; --seed) Backward(seed, std::move(saved[seed - 1]));
    EXPECT_EQ(live(), 0u);
  }
  EXPECT_GT(replays(), 0u);
}

// A step that begins in between takes what was saved: the backward pass is told, and nothing runs.
TEST_P(BackwardTest, AStepBetweenForwardAndBackwardIsAnError) {
  for (int step = 0; step < 4; ++step) {
    NewStep();
    Value saved = Forward(1);
    NewStep();
    Values inputs = Gathered(std::move(saved), GivenOnce(9)), outputs;
    const absl::Status status = tree().Run(backward_, absl::MakeSpan(inputs), a(), &outputs);
    EXPECT_THAT(status, FailsWith(absl::StatusCode::kFailedPrecondition,
                                  "input 0 of 'backward' may not be used: output 1 of 'forward'"));
    EXPECT_TRUE(inputs[0].is_tensor()) << "a refused call consumes nothing";
  }
}

// A backward pass that runs outside of the tree ends nothing and leaves nothing behind.
TEST_P(BackwardTest, AnEagerBackwardIsAsGood) {
  RegisterPasses({.exclude = true});
  for (int i = 0; i < 6; ++i) Backward(1, Forward(1));
  EXPECT_EQ(graphs(), 1u);
  EXPECT_EQ(eager(), 6u);
  EXPECT_EQ(live(), 0u);
}

// Row 50. Two backward passes of a step add to a gradient of the caller's, in place; what one of
// them gave is as it was when another is added to it out of place.
TEST_P(BackwardTest, AccumulateGrad) {
  const FunctionId accumulate =
      Register("accumulate", {.static_inputs = {0}}, [](Launcher& on, Values& inputs) {
        if (!on.ok()) return Values{};
        const Tensor gradient = Tensor::From(inputs[0]);
        on.Copy(gradient, Sum(on, gradient, inputs[1]));
        return Values{};
      });
  const FunctionId add = Register("add", {}, AddBoth);
  const Tensor gradient = Given(5);
  Words expected = PatternOf(5);
  const Words once = Plus(Times(PatternOf(1), 2), PatternOf(9));
  for (int step = 0; step < 4; ++step) {
    NewStep();
    Values passes[2];
    for (Values& pass : passes) {
      pass = Call(backward_, Gathered(Forward(1), GivenOnce(9)));
      Call(accumulate, {gradient, pass[0]});
      expected = Plus(expected, once);
    }
    EXPECT_EQ(Read(gradient), expected);
    EXPECT_EQ(Read(Call(add, {passes[0][0], passes[1][0]})[0]), Times(once, 2));
    EXPECT_EQ(Read(passes[0][0]), once) << "out of place";
  }
  EXPECT_EQ(eager(), 0u);
  EXPECT_GT(replays(), 0u);
}

}  // namespace
}  // namespace graphtree
