// Rows about what is alive: checkpoints restored, blocks held, deaths between the two.
#include <utility>

#include "allocator/pool.h"
#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

class LivenessTest : public TreeTest {
 protected:
  // x -> 2x, 3x
  static Values Pair(Launcher& on, Values& inputs) {
    return {Sum(on, inputs[0], inputs[0]), Thrice(on, inputs)[0]};
  }
  // As many outputs are held, and as many blocks of the pool are live for them.
  void ExpectBlocks(uint64_t blocks) {
    EXPECT_EQ(live(), blocks);
    tree().Inspect([&] { EXPECT_EQ(tree().pool().Stats().live_blocks, blocks); });
  }
  // x -> rows 0 and 1 of one tensor of twice the size
  static Values TwoRows(Launcher& on, Values& inputs) {
    const Tensor both = Filled(on, 5, 2 * kWords);
    return {Slice(both, 0, kWords), Slice(both, kWords, kWords)};
  }
};
GRAPHTREE_ON_EVERY_DEVICE(LivenessTest);

// Three variants of a tail, twice each, and their results are held: those of earlier steps go stale
// and hold no block of the pool.
TEST_P(LivenessTest, AccumulateMultipleRecordings) {
  const FunctionId prefix = Register("prefix", {}, Twice);
  const FunctionId tail = Register("tail", {}, [](Launcher& on, Values& inputs) {
    Tensor out = Sum(on, inputs[1], inputs[1]);
    Bump(on, out, static_cast<uint32_t>(inputs[0].integer()));
    return Values{out};
  });
  const Tensor x = Given(3);
  auto twice = [&](int variant) {
    Values out;
    for (int step = 0; step < 2; ++step) {
      NewStep();
      Values y = Call(prefix, {x});
      out = variant == 0 ? std::move(y) : Call(tail, {Value::Integer(variant), std::move(y[0])});
    }
    return out;
  };
  Values first = twice(0);
  ExpectBlocks(1);
  Values second = twice(1);
  EXPECT_EQ(Read(second[0]), Plus(Times(PatternOf(3), 4), Words(kWords, 1)));
  ExpectBlocks(1);
  Values third = twice(2);
  EXPECT_EQ(Read(third[0]), Plus(Times(PatternOf(3), 4), Words(kWords, 2)));
  ExpectBlocks(1);
  first.clear();
  second.clear();
  ExpectBlocks(1);
  EXPECT_EQ(Read(third[0]), Plus(Times(PatternOf(3), 4), Words(kWords, 2)));
  third.clear();
  ExpectBlocks(0);
  EXPECT_EQ(graphs(), 3u) << "the prefix, and a tail of each";
  EXPECT_EQ(descendants(), (Counts{2}));
  EXPECT_EQ(replays(), 4u) << "the prefix before each tail";
}

TEST_P(LivenessTest, LiveOutputsMultipleGraphs) {
  const FunctionId prefix = Register("prefix", {}, Twice);
  const FunctionId tail = Register("tail", {}, Thrice);
  const Tensor x = Given(3);
  CallInSteps(3, prefix, {x});
  EXPECT_EQ(checkpoints(), 0u);
  Values out;
  for (int step = 0; step < 2; ++step) {
    NewStep();
    out = Call(tail, Call(prefix, {x}));
    EXPECT_EQ(Read(out[0]), Times(PatternOf(3), 6));
    EXPECT_EQ(live(), 1u);
  }
  out.clear();
  EXPECT_EQ(live(), 0u);
  EXPECT_EQ(checkpoints(), 2u) << "one for the warm-up, one for the recording";
  EXPECT_EQ(descendants(), (Counts{1}));
}

// The second output was alive when the first function was recorded and is not when the second one
// comes: the restore has to free it.
TEST_P(LivenessTest, TensorDiesBetweenCheckpoint) {
  const FunctionId pair = Register("pair", {}, Pair);
  const FunctionId tail = Register("tail", {}, Twice);
  const Tensor x = Given(3);
  CallInSteps(3, pair, {x});
  for (uint64_t round = 1; round <= 2; ++round) {
    NewStep();
    Values out = Call(pair, {x});
    EXPECT_EQ(checkpoints(), round - 1);
    out.resize(1);
    Values result = Call(tail, std::move(out));
    EXPECT_EQ(checkpoints(), round);
    EXPECT_EQ(live(), 1u);
    EXPECT_EQ(tree().stats().pool_live_bytes, 512u) << "the dead output's block went, too";
    EXPECT_EQ(Read(result[0]), Times(PatternOf(3), 4));
    result.clear();
    EXPECT_EQ(live(), 0u);
  }
}

TEST_P(LivenessTest, AliasedOutputCheckpoint) {
  const FunctionId three = Register("three", {}, [](Launcher& on, Values& inputs) {
    Values out = Pair(on, inputs);
    out.push_back(Slice(out[1], 8, 8));
    return out;
  });
  const FunctionId tail = Register("tail", {}, Twice);
  const Tensor x = Given(3);
  CallInSteps(3, three, {x});
  EXPECT_EQ(checkpoints(), 0u);
  NewStep();
  Values out = Call(three, {x});
  EXPECT_EQ(out[1].storage(), out[2].storage());
  out.resize(1);
  Values result = Call(tail, std::move(out));
  EXPECT_EQ(checkpoints(), 1u);
  EXPECT_EQ(live(), 1u);
  EXPECT_EQ(Read(result[0]), Times(PatternOf(3), 4));
  result.clear();
  EXPECT_EQ(live(), 0u);
}

TEST_P(LivenessTest, CheckpointSharedOutputStorageDeallocation) {
  const FunctionId rows = Register("rows", {}, TwoRows);
  const FunctionId tail = Register("tail", {}, Twice);
  const Tensor x = Given(3);
  CallInSteps(3, rows, {x});
  NewStep();
  Values out = Call(rows, {x});
  EXPECT_EQ(checkpoints(), 0u);
  Call(tail, {out[0]});
  EXPECT_EQ(checkpoints(), 1u);
  EXPECT_EQ(out[0].storage(), out[1].storage());
  EXPECT_EQ(live(), 1u);
  out[0] = Value();
  EXPECT_EQ(live(), 1u);
  EXPECT_EQ(Read(out[1]).size(), static_cast<size_t>(kWords));
  out[1] = Value();
  EXPECT_EQ(live(), 0u);
  EXPECT_EQ(tree().stats().pool_live_bytes, 0u);
}

// The same storage comes back at every replay; after a restore the output owns its block, and the
// next replay hands out another one.
TEST_P(LivenessTest, CheckpointingResetsPersistentRefs) {
  const FunctionId first = Register("first", {}, Twice);
  const FunctionId second = Register("second", {}, [](Launcher& on, Values& inputs) {
    return Values{Slice(inputs[0], 0, 8), Sum(on, inputs[0], inputs[0])};
  });
  const Tensor x = Given(3);
  CallInSteps(2, first, {x});
  const Storage* storage = CallInSteps(1, first, {x})[0].storage();
  EXPECT_EQ(CallInSteps(1, first, {x})[0].storage(), storage);
  for (uint64_t round = 1; round <= 2; ++round) {
    NewStep();
    Values out = Call(second, Call(first, {x}));
    EXPECT_EQ(checkpoints(), round);
    EXPECT_EQ(live(), 2u);
    EXPECT_EQ(Read(out[1]), Times(PatternOf(3), 4));
    out[1] = Value();
    EXPECT_EQ(live(), 1u);
    EXPECT_EQ(Read(out[0])[7], PatternOf(3)[7] * 2);
    out[0] = Value();
    EXPECT_EQ(live(), 0u);
  }
  NewStep();
  Values again = Call(first, {x});
  EXPECT_NE(again[0].storage(), storage);
  EXPECT_EQ(Read(again[0]), Times(PatternOf(3), 2));
}

TEST_P(LivenessTest, PersistedOutputLiveness) {
  const FunctionId function = Register("twice", {}, Twice);
  const Tensor x = Given(3);
  CallInSteps(3, function, {x});
  EXPECT_EQ(live(), 0u);
  NewStep();
  Values out = Call(function, {x});
  EXPECT_EQ(live(), 1u);
  Tensor view = Slice(out[0], 4, 8);
  out.clear();
  EXPECT_EQ(live(), 1u) << "a view keeps it";
  EXPECT_EQ(Read(view)[0], PatternOf(3)[4] * 2);
  view = Tensor();
  EXPECT_EQ(live(), 0u);
}

// What the backward pass consumes dies inside it. Somebody else who holds it then is a mismatch and
// a recording of its own, never an error; and nothing of it is overwritten.
TEST_P(LivenessTest, ForwardBackward) {
  const FunctionId forward = Register("forward", {}, [](Launcher& on, Values& inputs) {
    Values out = Pair(on, inputs);
    out.push_back(Sum(on, out[0], out[1]));
    return out;
  });
  const FunctionId backward = Register("backward", {}, [](Launcher& on, Values& inputs) {
    const Tensor sum = Sum(on, inputs[0], inputs[1]);
    inputs.clear();
    return Values{Sum(on, sum, sum)};
  });
  const Tensor x = Given(3);
  auto step = [&](Value* keep) {
    NewStep();
    Values out = Call(forward, {x});
    if (keep != nullptr) *keep = out[2];
    Values gradient = Call(backward, Gathered(std::move(out[1]), std::move(out[2])));
    EXPECT_EQ(Read(gradient[0]), Times(PatternOf(3), 16));
    EXPECT_EQ(Read(out[0]), Times(PatternOf(3), 2));
  };
  for (int i = 0; i < 4; ++i) step(nullptr);
  EXPECT_EQ(descendants(), (Counts{1}));
  EXPECT_EQ(replays(), 4u);
  Value kept;
  step(&kept);
  EXPECT_EQ(Read(kept), Times(PatternOf(3), 5));
  EXPECT_EQ(reasons(Reason::kConsumerDiffers), 1u);
  EXPECT_EQ(descendants(), (Counts{2}));
  step(nullptr);
  EXPECT_EQ(descendants(), (Counts{2})) << "both recordings serve on";
}

TEST_P(LivenessTest, ForwardGeneration) {
  const FunctionId forward = Register("forward", {}, Twice);
  const FunctionId backward = Register("backward", {}, AddBoth);
  const Tensor x = Given(3);
  for (int step = 0; step < 3; ++step) {
    NewStep();
    Values first = Call(forward, {x});
    Values second = Call(forward, {first[0]});
    EXPECT_EQ(live(), 2u);
    Values gradient = Call(backward, {std::move(first[0]), std::move(second[0])});
    EXPECT_EQ(Read(gradient[0]), Times(PatternOf(3), 6));
    EXPECT_EQ(live(), 1u) << "nothing waits for a backward pass";
  }
  EXPECT_EQ(descendants(), (Counts{2}));
}

TEST_P(LivenessTest, Cleanup) {
  const FunctionId function = Register("twice", {}, Twice);
  Values held = CallInSteps(3, function, {Given(3)});
  CloseTree();
  EXPECT_EQ(Read(held[0]), Times(PatternOf(3), 2)) << "outputs outlive their tree";
}

// The books had been put to where a recording could begin, and it came to nothing: what the next
// replay consumes is no block of the books', whose place it may be writing to.
TEST_P(LivenessTest, AReplayBehindACallThatCameToNothing) {
  for (const bool waits : {false, true}) {
    OpenTree({});
    bool now = false;
    const FunctionId make = Register("make", {}, Twice);
    const FunctionId between = Register("between", {}, [&](Launcher& on, Values& inputs) {
      if (waits) on.Fail(on.stream().Synchronize());
      if (now && !waits) on.Fail(absl::InternalError("on purpose"));
      return Twice(on, inputs);
    });
    const FunctionId consume = Register("consume", {}, [](Launcher& on, Values& inputs) {
      const Tensor twice = Sum(on, inputs[0], inputs[0]);
      inputs[0] = Value();
      return Values{Sum(on, twice, twice)};  // in its place
    });
    const Tensor x = Given(1);
    for (int step = 0; step < 6; ++step) {
      NewStep();
      Values made = Call(make, {x});
      now = step > 2;
      if (now) {
        EXPECT_EQ(Refusal(between, {x}).ok(), waits);
      }
      const Address place = made[0].word();
      const Values out = Call(consume, std::move(made));
      if (now) {
        EXPECT_EQ(out[0].word(), place);
      }
      EXPECT_EQ(Read(out[0]), Times(PatternOf(1), 8));
    }
    EXPECT_GE(replays(), 6u);
  }
}

// One path by hand: what is warmed up, recorded, replayed and restored, call by call.
TEST_P(LivenessTest, TheTraceOfTwoFunctionsAndAThird) {
  const FunctionId f = Register("f", {}, Twice);
  const FunctionId g = Register("g", {}, Twice);
  const FunctionId h = Register("h", {.static_inputs = {1}}, AddBoth);
  const Tensor x = Given(3), parameter = Given(4), other = Given(5);
  for (int step = 0; step < 3; ++step) {
    NewStep();
    Values from_f = Call(f, {x});
    EXPECT_STREQ(tree().state(), step == 0 ? "warm-up" : step == 1 ? "recording" : "replaying");
    Values from_g = Call(g, {from_f[0]});
    EXPECT_EQ(Read(from_g[0]), Times(PatternOf(3), 4));
  }
  EXPECT_EQ(tree().stats().warm_ups, 2u);
  EXPECT_EQ(graphs(), 2u);
  EXPECT_EQ(replays(), 2u);
  EXPECT_EQ(checkpoints(), 0u);
  auto f_then_h = [&](const Tensor& with) {
    NewStep();
    Values from_f = Call(f, {x});
    EXPECT_STREQ(tree().state(), "replaying");
    Values from_h = Call(h, {from_f[0], with});
    EXPECT_EQ(Read(from_h[0]), Plus(Times(PatternOf(3), 2), Read(with)));
  };
  f_then_h(parameter);
  EXPECT_STREQ(tree().state(), "warm-up");
  EXPECT_EQ(checkpoints(), 1u);
  f_then_h(parameter);
  EXPECT_STREQ(tree().state(), "recording");
  EXPECT_EQ(checkpoints(), 2u);
  EXPECT_EQ(graphs(), 3u);
  EXPECT_EQ(descendants(), (Counts{2}));
  f_then_h(other);
  EXPECT_EQ(checkpoints(), 3u);
  EXPECT_EQ(graphs(), 4u);
  EXPECT_EQ(descendants(), (Counts{3}));
  EXPECT_EQ(reasons(Reason::kStaticMoved), 1u);
  EXPECT_EQ(tree().stats().eager, 0u);
}

}  // namespace
}  // namespace graphtree
