// Rows about paths: which graphs are recorded, where they hang, when a path ends.
#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

class PathsTest : public TreeTest {};
GRAPHTREE_ON_EVERY_DEVICE(PathsTest);

TEST_P(PathsTest, RunSimple) {
  const FunctionId cube = Register("cube", {}, Thrice);
  const Tensor small = Given(1, 16), large = Given(2, 32);
  for (const Tensor& x : {small, large}) {
    Values out = CallInSteps(2, cube, {x});
    EXPECT_EQ(Read(out[0]), Times(Read(x), 3));
  }
  EXPECT_EQ(descendants(), (Counts{0, 0}));
  EXPECT_EQ(graphs(), 2u);
}

TEST_P(PathsTest, SeparateRecordings) {
  const FunctionId cube = Register("cube", {}, Thrice);
  const Tensor small = Given(1, 16), large = Given(2, 32);
  CallInSteps(3, cube, {small});
  CallInSteps(3, cube, {large});
  EXPECT_EQ(descendants(), (Counts{0, 0}));
  EXPECT_EQ(replays(), 2u);
}

TEST_P(PathsTest, PartitionDynamicShapes) {
  const FunctionId cube = Register("cube", {}, Thrice);
  for (int64_t words = 1; words <= 3; ++words) {
    const Tensor x = Given(words, words);
    for (int call = 0; call < 3; ++call) {
      Values out = CallInSteps(1, cube, {x});
      EXPECT_EQ(Read(out[0]), Times(Read(x), 3));
    }
  }
  EXPECT_EQ(graphs(), 3u);
}

// The same function twice on one path, and a tail. Two nodes hang below the root; a front end that
// compiled the pair as one function would see one. Both outputs of the one function are held: in
// every run they are two, and neither is written over by the other or by the tail. Let go as soon
// as they are used, they make a path of their own.
TEST_P(PathsTest, FunctionCompiledMultipleTimes) {
  const FunctionId inner = Register("inner", {}, Twice);
  const FunctionId tail = Register("tail", {}, Thrice);
  for (uint32_t step = 1; step <= 4; ++step) {
    NewStep();
    const Values first = Call(inner, {Given(step)});
    const Values second = Call(inner, {first[0]});
    const Values out = Call(tail, {second[0]});
    EXPECT_NE(first[0].storage(), second[0].storage());
    EXPECT_NE(first[0].word(), second[0].word());
    EXPECT_EQ(live(), 3u);
    EXPECT_EQ(Read(first[0]), Times(PatternOf(step), 2)) << "step " << step;
    EXPECT_EQ(Read(second[0]), Times(PatternOf(step), 4)) << "step " << step;
    EXPECT_EQ(Read(out[0]), Times(PatternOf(step), 12)) << "step " << step;
  }
  EXPECT_EQ(descendants(), (Counts{2}));
  EXPECT_EQ(graphs(), 3u);
  EXPECT_EQ(replays(), 6u);
  const Tensor x = Given(3);
  for (int step = 0; step < 3; ++step) {
    NewStep();
    Values out = Call(tail, Call(inner, Call(inner, {x})));
    EXPECT_EQ(Read(out[0]), Times(PatternOf(3), 12));
  }
  EXPECT_EQ(eager(), 0u);
  EXPECT_TRUE(warnings().empty());
}

TEST_P(PathsTest, EndRecordingEarly) {
  const FunctionId first = Register("first", {}, Twice);
  const FunctionId second = Register("second", {}, Twice);
  const FunctionId other = Register("other", {}, Thrice);
  const Tensor x = Given(3);
  auto both = [&] { EXPECT_EQ(Read(Call(second, Call(first, {x}))[0]), Times(PatternOf(3), 4)); };
  // One step: only that nothing is held ends the paths.
  NewStep();
  for (int round = 0; round < 3; ++round) {
    both();
    EXPECT_EQ(Read(Call(other, {x})[0]), Times(PatternOf(3), 3));
  }
  both();
  EXPECT_EQ(descendants(), (Counts{1, 0}));
}

TEST_P(PathsTest, DynamicWarmup) {
  int calls = 0;
  const FunctionId function = Register("scaled", {}, [&calls](Launcher& on, Values& inputs) {
    ++calls;
    Tensor out = Sum(on, inputs[1], inputs[1]);
    Bump(on, out, static_cast<uint32_t>(inputs[0].integer()));
    return Values{out};
  });
  const Tensor x = Given(4);
  for (const int64_t key : {2, 3}) {
    for (int call = 0; call < 3; ++call) {
      Values out = CallInSteps(1, function, {Value::Integer(key), x});
      EXPECT_EQ(Read(out[0])[5], PatternOf(4)[5] * 2 + key);
    }
    EXPECT_EQ(calls, key == 2 ? 2 : 4);
  }
  EXPECT_EQ(graphs(), 2u);
}

TEST_P(PathsTest, DynamicBackward) {
  const FunctionId forward = Register("forward", {}, [](Launcher& on, Values& inputs) {
    return Values{Sum(on, inputs[0], inputs[0]),
                  Value::Integer(Tensor::From(inputs[0]).shape().elements())};
  });
  const FunctionId backward = Register("backward", {}, AddBoth);
  for (const int64_t words : {8, 24}) {
    const Tensor x = Given(words, words);
    for (int call = 0; call < 3; ++call) {
      NewStep();
      Values out = Call(forward, {x});
      ASSERT_EQ(out.size(), 2u);
      EXPECT_EQ(out[1].integer(), words);
      Values gradient = Call(backward, {std::move(out[0]), x});
      EXPECT_EQ(Read(gradient[0]), Times(Read(x), 3));
    }
  }
  EXPECT_EQ(descendants(), (Counts{1, 1}));
}

// Three calls are enough: nothing is recorded any more, and the body does not run again.
TEST_P(PathsTest, FrozenFn) {
  int bodies = 0;
  const FunctionId function = Register("frozen", {}, [&bodies](Launcher& on, Values& inputs) {
    ++bodies;
    return Thrice(on, inputs);
  });
  const Tensor x = Given(3);
  for (const uint64_t replayed : {1, 4}) {
    EXPECT_EQ(Read(CallInSteps(3, function, {x})[0]), Times(PatternOf(3), 3));
    EXPECT_EQ(graphs(), 1u);
    EXPECT_EQ(replays(), replayed);
    EXPECT_EQ(bodies, 2);
  }
}

// Branches on what the prefix computed: the other branch is warmed up and recorded behind a prefix
// that was replayed. The pool's books hold 1, 1, 1, 0 and 0 blocks: a replay owns nothing.
TEST_P(PathsTest, ExecutionIntoRecording) {
  const FunctionId prefix = Register("prefix", {}, Twice);
  const FunctionId left = Register("left", {}, Twice);
  const FunctionId right = Register("right", {}, Thrice);
  const Tensor x = Given(3);
  auto run = [&](FunctionId tail) {
    NewStep();
    return Call(tail, Call(prefix, {x}));
  };
  for (int step = 0; step < 3; ++step) run(left);
  // Every block here is as small as the pool makes them.
  auto blocks = [&] { return tree().stats().pool_live_bytes / 512; };
  Values warm_up = run(right);
  EXPECT_EQ(blocks(), 1u);
  Values recorded = run(right);
  EXPECT_EQ(blocks(), 1u);
  warm_up.clear();
  EXPECT_EQ(blocks(), 1u);
  EXPECT_EQ(Read(recorded[0]), Times(PatternOf(3), 6));
  recorded.clear();
  EXPECT_EQ(blocks(), 0u);
  Values replayed = run(right);
  EXPECT_EQ(blocks(), 0u);
  EXPECT_EQ(Read(replayed[0]), Times(PatternOf(3), 6));
  EXPECT_EQ(descendants(), (Counts{2}));
}

TEST_P(PathsTest, TensorNoLongerInPool) {
  const FunctionId first = Register("first", {}, Twice);
  const FunctionId second = Register("second", {}, Thrice);
  const Tensor x = Given(3), unrelated = Given(9);
  for (int step = 0; step < 3; ++step) {
    NewStep();
    Call(second, Call(first, {x}));
  }
  EXPECT_EQ(checkpoints(), 0u);
  NewStep();
  Values held = Call(first, {x});
  Values out = Call(second, {unrelated});
  EXPECT_EQ(Read(out[0]), Times(PatternOf(9), 3));
  EXPECT_EQ(Read(held[0]), Times(PatternOf(3), 2));
  EXPECT_EQ(checkpoints(), 1u);
  EXPECT_EQ(descendants(), (Counts{2}));
}

// The reason is a counter here, not a line of a log.
TEST_P(PathsTest, RerecordingLogsReason) {
  const FunctionId pair = Register("pair", {}, [](Launcher& on, Values& inputs) {
    return Values{Sum(on, inputs[0], inputs[0]), Sum(on, inputs[0], inputs[0])};
  });
  const FunctionId second = Register("second", {}, Twice);
  const Tensor x = Given(3);
  for (int step = 0; step < 3; ++step) {
    NewStep();
    Values out = Call(pair, {x});
    Call(second, {out[0]});
  }
  EXPECT_EQ(reasons(Reason::kManagedMoved), 0u);
  NewStep();
  Values out = Call(pair, {x});
  Call(second, {out[1]});
  EXPECT_EQ(reasons(Reason::kManagedMoved), 1u);
  EXPECT_EQ(descendants(), (Counts{2}));
}

}  // namespace
}  // namespace graphtree
