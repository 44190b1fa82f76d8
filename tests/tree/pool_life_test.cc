// The tree's pool under its hands: mapped ahead, parked and woken.
#include <utility>
#include <vector>

#include "allocator/pool.h"
#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

using absl::StatusCode;

class TreePoolTest : public TreeTest {
 protected:
  uint64_t mapped() { return tree().stats().pool_reserved_bytes; }
  PoolStats PoolNow() {
    PoolStats stats;
    tree().Inspect([&] { stats = tree().pool().Stats(); });
    return stats;
  }
  absl::Status Park(ParkContents contents) {
    absl::Status status;
    tree().Inspect([&] { status = tree().pool().parking().Park(contents); });
    return status;
  }
  absl::Status Wake() {
    absl::Status status;
    tree().Inspect([&] { status = tree().pool().parking().Wake(); });
    return status;
  }
};
GRAPHTREE_ON_EVERY_DEVICE(TreePoolTest);

// The pool knows the block from the stream that it was made on, and the write comes on another one.
TEST_P(TreePoolTest, ParkedAfterAnEagerRunOnAnotherStream) {
  const FunctionId make = Register("make", {}, Twice);
  const FunctionId change =
      Register("change", {.exclude = true}, [](Launcher& on, Values& inputs) {
        for (int i = 0; i < 20; ++i) Bump(on, inputs[0], 1);
        return Values{inputs[0]};
      });
  for (uint32_t step = 1; step <= 3; ++step) {
    NewStep();
    Values made = Call(make, {Given(step)}), changed;
    ASSERT_THAT(tree().Run(change, absl::MakeSpan(made), b(), &changed), IsOk());
    ASSERT_THAT(Park(ParkContents::kToHost), IsOk());
    ASSERT_THAT(Wake(), IsOk());
    EXPECT_EQ(Read(changed[0]), Plus(Times(PatternOf(step), 2), Words(kWords, 20)));
  }
}

// The pool hears of the stream by the part alone: nothing is launched or saved before it.
TEST_P(TreePoolTest, ParkedAfterAPartOnAStreamOfItsOwn) {
  const FunctionId sums =
      Register("sums", {.static_inputs = {0}}, [](Launcher& on, Values& inputs) {
        const Tensor out = on.Empty(inputs[0].layout());
        if (!on.ok()) return Values{};
        on.Break("sums", {In(Tensor::From(inputs[0])), Out(out)},
                 [](Launcher& part, absl::Span<const Tensor> tensors) {
                   part.Copy(tensors[1], tensors[0]);
                   for (int i = 0; i < 20; ++i) Bump(part, tensors[1], 1);
                 });
        return Values{out};
      });
  const Tensor x = Given(1);
  for (int step = 0; step < 6; ++step) {
    const auto stream = *device().NewStream();
    NewStep();
    Values inputs = {x}, outputs;
    ASSERT_THAT(tree().Run(sums, absl::MakeSpan(inputs), *stream, &outputs), IsOk());
    ASSERT_THAT(Park(ParkContents::kToHost), IsOk());
    ASSERT_THAT(Wake(), IsOk());
    ASSERT_EQ(Read(outputs[0]), Plus(PatternOf(1), Words(kWords, 20))) << "step " << step;
  }
  EXPECT_GT(replays(), 0u);
  EXPECT_THAT(device().health(), IsOk());
}

// The recording takes new memory and gives it back, under work of the part that it has run.
TEST_P(TreePoolTest, ARecordingIsGivenUpWhileItsPartsWorkIsUnderWay) {
  const int64_t words = static_cast<int64_t>(2 * granularity() / sizeof(uint32_t));
  const FunctionId sums =
      Register("sums", {.static_inputs = {0}}, [words](Launcher& on, Values& inputs) {
        const Tensor large = on.Empty(WordsLayout(words));
        if (!on.ok()) return Values{};
        const Tensor corner = Slice(large, words - kWords, kWords);
        on.Break("sums", {In(Tensor::From(inputs[0])), Out(corner)},
                 [](Launcher& part, absl::Span<const Tensor> tensors) {
                   part.Copy(tensors[1], tensors[0]);
                   for (int i = 0; i < 20; ++i) Bump(part, tensors[1], 1);
                 });
        const Tensor out = Sum(on, corner, corner);
        on.Fail(on.stream().Synchronize());
        return Values{out};
      });
  const Tensor x = Given(1);
  const Words expected = Times(Plus(PatternOf(1), Words(kWords, 20)), 2);
  for (int step = 0; step < 4; ++step) {
    const auto stream = *device().NewStream();
    NewStep();
    Values inputs = {x}, outputs;
    ASSERT_THAT(tree().Run(sums, absl::MakeSpan(inputs), *stream, &outputs), IsOk());
    ASSERT_THAT(stream->Synchronize(), IsOk());
    EXPECT_EQ(Read(outputs[0]), expected) << "step " << step;
    outputs.clear();
    tree().Inspect([&] { EXPECT_THAT(tree().pool().memory().Trim(0).status(), IsOk()); });
  }
  EXPECT_GT(reasons(Reason::kForbiddenCall), 0u);
  EXPECT_THAT(device().health(), IsOk());
}

// Mapped when the tree is made, and enough: what is recorded maps nothing more.
TEST_P(TreePoolTest, InitialBytes) {
  const uint64_t initial = 4 * granularity();
  OpenTree({.initial_bytes = initial});
  EXPECT_EQ(mapped(), initial);
  EXPECT_EQ(PoolNow().initial_bytes, initial);
  EXPECT_EQ(PoolNow().initial_shortfall, 0u);
  const int64_t words = static_cast<int64_t>(granularity() / sizeof(uint32_t));
  const FunctionOptions options = {.unseen_writes = true};
  const FunctionId large = Register("large", options, [words](Launcher& on, Values& inputs) {
    const Tensor first = on.Empty(WordsLayout(words)), second = on.Empty(WordsLayout(words));
    if (!on.ok()) return Values{};
    on.Copy(Slice(second, words - kWords, kWords), Tensor::From(inputs[0]));
    return Values{first, Slice(second, words - kWords, kWords)};
  });
  for (uint32_t step = 1; step <= 4; ++step) {
    EXPECT_EQ(Read(CallInSteps(1, large, {Given(step)})[1]), PatternOf(step));
    EXPECT_EQ(mapped(), initial);
  }
  EXPECT_EQ(replays(), 2u);
  OpenTree({});
  EXPECT_EQ(mapped(), 0u) << "without the option nothing is mapped before it is needed";
}

// As far as there is so much: what is short is counted, and the tree is as good as any.
TEST_P(TreePoolTest, InitialBytesBeyondTheTreesOwnLimit) {
  const uint64_t limit = 2 * granularity();
  OpenTree({.pool_bytes = limit, .initial_bytes = 5 * granularity()});
  EXPECT_EQ(mapped(), limit);
  EXPECT_EQ(PoolNow().initial_shortfall, 3 * granularity());
  const FunctionId twice = Register("twice", {}, Twice);
  EXPECT_EQ(Read(CallInSteps(4, twice, {Given(1)})[0]), Times(PatternOf(1), 2));
  EXPECT_EQ(replays(), 2u);
  EXPECT_EQ(mapped(), limit);
}

// In the middle of a step, while its work is under way: what is held is back after waking, every
// recording is where it was, and the step goes on.
TEST_P(TreePoolTest, ATreeGoesOnAfterItsPoolWasParkedAndWoken) {
  const FunctionId first = Register("first", {}, Twice);
  const FunctionId second = Register("second", {}, Thrice);
  const FunctionId keeps = Register("keeps", {.kept_outputs = {0}}, Twice);
  const Tensor x = Given(1);
  const Values kept = CallInSteps(4, keeps, {x});
  for (int round = 0; round < 4; ++round) {
    NewStep();
    Values held = Call(first, {x});
    const uint64_t before = mapped();
    EXPECT_GT(before, 0u);
    ASSERT_THAT(Park(ParkContents::kToHost), IsOk());
    EXPECT_EQ(mapped(), 0u);
    EXPECT_EQ(PoolNow().parked_bytes, before);
    ASSERT_THAT(Wake(), IsOk());
    EXPECT_EQ(mapped(), before);
    EXPECT_EQ(Read(held[0]), Times(PatternOf(1), 2)) << "round " << round;
    EXPECT_EQ(Read(kept[0]), Times(PatternOf(1), 2)) << "round " << round;
    EXPECT_EQ(Read(Call(second, {held[0]})[0]), Times(PatternOf(1), 6)) << "round " << round;
  }
  EXPECT_EQ(graphs(), 3u);
  EXPECT_EQ(replays(), 2u + 2 * 2) << "of the one that keeps, and of the path";
  EXPECT_EQ(eager(), 0u);
}

// A tree does not know which of its recordings need which piece.
TEST_P(TreePoolTest, APartOfTheMemoryIsParked) {
  const int64_t words = static_cast<int64_t>(2 * granularity() / sizeof(uint32_t));
  const FunctionId large = Register("large", {}, [words](Launcher& on, Values& inputs) {
    const Tensor all = on.Empty(WordsLayout(words));
    if (!on.ok()) return Values{};
    on.Copy(Slice(all, 0, kWords), Tensor::From(inputs[0]));
    return Values{all};
  });
  const Tensor x = Given(1);
  Values held = CallInSteps(4, large, {x});
  ASSERT_EQ(replays(), 2u);
  const AddressRange part = Tensor::From(held[0]).raw_bytes();
  ASSERT_THAT(tree().pool().parking().Park(ParkContents::kToHost, {part}), IsOk());
  ASSERT_GT(PoolNow().parked_bytes, 0u);
  EXPECT_THAT(Tensor::From(held[0]).bytes(), FailsWith(StatusCode::kFailedPrecondition, "parked"));
  EXPECT_THAT(tree().MayRead(Tensor::From(held[0])),
              FailsWith(StatusCode::kFailedPrecondition, "parked"));
  EXPECT_THAT(Refusal(large, {x}),
              FailsWith(StatusCode::kFailedPrecondition, "a part of the tree's memory is parked"));
  ASSERT_THAT(Wake(), IsOk());
  EXPECT_EQ(Read(Tensor::From(Slice(Tensor::From(held[0]), 0, kWords))), PatternOf(1));
  held = CallInSteps(1, large, {x});
  EXPECT_EQ(replays(), 3u);
  EXPECT_THAT(device().health(), IsOk());
}

// The park waits for a capture of the caller's. The next call does it, before anything of its own.
TEST_P(TreePoolTest, AParkThatWaitsForACaptureIsDoneBeforeTheNextCall) {
  int runs = 0;
  const FunctionId makes = Register("makes", {}, Twice);
  const FunctionId bumps = Register("bumps", {}, [&runs](Launcher& on, Values& inputs) {
    ++runs;
    Bump(on, inputs[0], 1);
    return Values{inputs[0]};
  });
  for (int step = 0; step < 4; ++step) {
    NewStep();
    Values held = Call(makes, {Given(1)});
    ASSERT_THAT(b().BeginCapture(CaptureMode::kThreadLocal), IsOk());
    ASSERT_THAT(Park(ParkContents::kToHost), IsOk());
    ASSERT_THAT(b().EndCapture(), IsOk());
    const int before = runs;
    EXPECT_THAT(Refusal(bumps, {held[0]}),
                FailsWith(StatusCode::kFailedPrecondition, "the tree's memory is parked"));
    EXPECT_EQ(runs, before);
    ASSERT_THAT(Wake(), IsOk());
    EXPECT_EQ(Read(held[0]), Times(PatternOf(1), 2)) << "step " << step;
    EXPECT_EQ(Read(Call(bumps, {held[0]})[0]), Plus(Times(PatternOf(1), 2), Words(kWords, 1)));
  }
  EXPECT_THAT(device().health(), IsOk());
}

// The capture ends, on whatever thread, while the tree's call is under way: the park waits for the
// call, too.
TEST_P(TreePoolTest, AParkWaitsForTheCallInWhichTheCaptureEnds) {
  bool ends = false;
  const FunctionId bumps = Register("bumps", {.exclude = true}, [&](Launcher& on, Values& inputs) {
    Bump(on, inputs[0], 1);
    if (ends) on.Fail(b().EndCapture().status());
    const Tensor made = on.Empty(inputs[0].layout());
    on.Copy(made, Tensor::From(inputs[0]));
    return Values{made};
  });
  const Tensor x = Given(1);
  ASSERT_THAT(b().BeginCapture(CaptureMode::kThreadLocal), IsOk());
  ASSERT_THAT(Park(ParkContents::kToHost), IsOk());
  ends = true;
  const Values out = Call(bumps, {x});
  EXPECT_EQ(Read(out[0]), Plus(PatternOf(1), Words(kWords, 1)));
  EXPECT_THAT(Refusal(bumps, {x}), FailsWith(StatusCode::kFailedPrecondition, "is parked"));
  ASSERT_THAT(Wake(), IsOk());
  EXPECT_THAT(device().health(), IsOk());
}

// Between two steps nothing need be saved. Recordings hold no bytes of their own, so what was
// recorded before is replayed, and what is new is recorded.
TEST_P(TreePoolTest, ContentsMayBeDroppedBetweenSteps) {
  const FunctionId first = Register("first", {}, Twice);
  const FunctionId second = Register("second", {}, Thrice);
  const FunctionId third = Register("third", {}, AddBoth);
  const Tensor x = Given(1);
  const auto step = [&](bool with_third) {
    NewStep();
    Values out = Call(second, Call(first, {x}));
    if (with_third) out = Call(third, {out[0], x});
    EXPECT_EQ(Read(out[0]), Times(PatternOf(1), with_third ? 7 : 6));
  };
  for (int i = 0; i < 3; ++i) step(false);
  const uint64_t before = mapped();
  for (int i = 0; i < 3; ++i) {
    NewStep();
    ASSERT_THAT(Park(ParkContents::kDrop), IsOk());
    EXPECT_EQ(mapped(), 0u);
    ASSERT_THAT(Wake(), IsOk());
    EXPECT_EQ(mapped(), before);
    step(false);
    step(true);
  }
  EXPECT_EQ(graphs(), 3u);
  EXPECT_EQ(replays(), 2u + 3 * 4 + 1) << "all but the third function's warm-up and recording";
  EXPECT_EQ(eager(), 0u);
}

// It names the function, says what to do, counts nothing and consumes nothing; also of one that
// never ran, of an excluded one, and of one that would be a replay.
TEST_P(TreePoolTest, ACallIsRefusedWhileThePoolIsParked) {
  const FunctionId make = Register("make", {}, Twice);
  const FunctionId use = Register("use", {}, ConsumeTwice);
  const FunctionId fresh = Register("fresh", {}, Twice);
  const FunctionId eagerly = Register("eagerly", {.exclude = true}, Twice);
  const Tensor x = Given(1);
  for (int i = 0; i < 3; ++i) {
    NewStep();
    Call(use, Call(make, {x}));
  }
  NewStep();
  Values made = Call(make, {x});
  ASSERT_THAT(Park(ParkContents::kToHost), IsOk());
  const uint64_t calls = tree().stats().calls;
  Values outputs;
  EXPECT_THAT(tree().Run(use, absl::MakeSpan(made), a(), &outputs),
              FailsWith(StatusCode::kFailedPrecondition,
                        "'use' was called while the tree's memory is parked. Wake it."));
  EXPECT_THAT(Refusal(fresh, {x}),
              FailsWith(StatusCode::kFailedPrecondition, "'fresh' was called"));
  EXPECT_THAT(Refusal(eagerly, {x}),
              FailsWith(StatusCode::kFailedPrecondition, "'eagerly' was called"));
  EXPECT_THAT(Refusal(make, {x}), FailsWith(StatusCode::kFailedPrecondition, "'make' was called"));
  EXPECT_EQ(tree().stats().calls, calls);
  ASSERT_TRUE(made[0].is_tensor()) << "a refused call consumes nothing";
  ASSERT_THAT(Wake(), IsOk());
  EXPECT_EQ(Read(made[0]), Times(PatternOf(1), 2));
  const uint64_t replayed = replays();
  EXPECT_EQ(Read(Call(use, std::move(made))[0]), Times(PatternOf(1), 4));
  EXPECT_EQ(replays(), replayed + 1);
  EXPECT_EQ(Read(CallInSteps(1, fresh, {x})[0]), Times(PatternOf(1), 2));
}

// The device closes with nothing left, and what was held of an ended step is an error as ever.
TEST_P(TreePoolTest, AParkedTreeCanBeClosed) {
  const FunctionId twice = Register("twice", {}, Twice);
  Values held = CallInSteps(3, twice, {Given(1)});
  ASSERT_THAT(Park(ParkContents::kDrop), IsOk());
  NewStep();
  EXPECT_FALSE(Tensor::From(held[0]).bytes().ok()) << "its step is over";
  CloseTree();
}

}  // namespace
}  // namespace graphtree
