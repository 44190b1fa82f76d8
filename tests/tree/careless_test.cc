// What a careless program does: a null pointer, a tensor that was never allocated, a stream that
// captures, another thread. Each is an error in words, and the tree goes on.
#include <atomic>
#include <memory>
#include <thread>
#include <utility>

#include "absl/base/config.h"
#include "tests/tree/foreign_fixture.h"

namespace graphtree {
namespace {

using absl::StatusCode;

class CarelessTest : public ForeignFixture {
 protected:
  void ExpectGoesOn() {
    const FunctionId function = Register("goes on", {}, Twice);
    for (uint32_t seed = 1; seed <= 4; ++seed) {
      EXPECT_EQ(Read(CallInSteps(1, function, {Given(seed)})[0]), Times(PatternOf(seed), 2));
    }
    EXPECT_GT(replays(), 0u);
  }
};
GRAPHTREE_ON_EVERY_DEVICE(CarelessTest);

TEST_P(CarelessTest, NoLayout) {
  const FunctionId function = Register("bare", {}, [](Launcher& on, Values&) {
    return Values{on.Empty(nullptr)};
  });
  EXPECT_THAT(Refusal(function, {}),
              FailsWith(StatusCode::kInvalidArgument, "Empty was given no layout"));
  ExpectGoesOn();
}

TEST_P(CarelessTest, NoPlaceForTheOutputs) {
  const FunctionId function = Register("twice", {}, Twice);
  Values inputs = {Given(1)};
  EXPECT_THAT(tree().Run(function, absl::MakeSpan(inputs), a(), nullptr),
              FailsWith(StatusCode::kInvalidArgument,
                        "'twice' was called without a place for its outputs"));
  EXPECT_TRUE(inputs[0].is_tensor());
  ExpectGoesOn();
}

// A body makes a table once and stores it; the first time there is no memory for it.
TEST_P(CarelessTest, ATensorThatWasNeverAllocated) {
  auto table = std::make_shared<Tensor>();
  const FunctionId function =
      Register("looks up", {.exclude = true}, [table](Launcher& on, Values& inputs) {
        if (!table->defined()) *table = on.Empty(WordsLayout(int64_t{1} << 36));
        return Values{Sum(on, inputs[0], Slice(*table, 0, kWords))};
      });
  EXPECT_THAT(Refusal(function, {Given(1)}), FailsWith(StatusCode::kResourceExhausted, ""));
  EXPECT_THAT(Refusal(function, {Given(1)}),
              FailsWith(StatusCode::kFailedPrecondition,
                        "a tensor of 192 bytes at address 0; whoever made it had failed"));
  ExpectGoesOn();
}

TEST_P(CarelessTest, AnInputAtAddressZero) {
  const FunctionId function = Register("twice", {}, Twice);
  EXPECT_THAT(Refusal(function, {Tensor::Foreign(0, WordsLayout(kWords))}),
              FailsWith(StatusCode::kInvalidArgument,
                        "input 0 of 'twice' is a tensor of 192 bytes at address 0"));
  ExpectGoesOn();
}

// The body never reads it, but a recording would copy it.
TEST_P(CarelessTest, AnInputThatReachesBeyondTheLastAddress) {
  const FunctionId function = Register("twice", {}, Twice);
  const Tensor far = Tensor::Foreign(~Address{0} - 9, WordsLayout(kWords));
  EXPECT_THAT(Refusal(function, {Given(1), far}),
              FailsWith(StatusCode::kInvalidArgument,
                        "input 1 of 'twice' is a tensor of 192 bytes at 0xfffffffffffffff6, and "
                        "would reach past the last address"));
  ExpectGoesOn();
}

TEST_P(CarelessTest, TheLayoutOfAnInteger) {
  const FunctionId function = Register("bare", {}, [](Launcher& on, Values&) {
    return Values{on.Empty(Layout::OfKind(ValueKind::kOpaque))};
  });
  EXPECT_THAT(Refusal(function, {}),
              FailsWith(StatusCode::kInvalidArgument,
                        "Empty was given the layout of values that are no tensors"));
  ExpectGoesOn();
}

TEST_P(CarelessTest, MoreScratchThanThereAreAddresses) {
  const FunctionId function = Register("vast", {}, [](Launcher& on, Values&) {
    on.Scratch(~uint64_t{0});
    return Values{};
  });
  EXPECT_THAT(Refusal(function, {}),
              FailsWith(StatusCode::kInvalidArgument,
                        "scratch of 18446744073709551615 bytes is more than there are addresses"));
  ExpectGoesOn();
}

TEST_P(CarelessTest, AHitOnAStreamThatCaptures) {
  const FunctionId function = Register("twice", {}, Twice);
  const Tensor x = Given(1);
  CallInSteps(3, function, {x});
  const uint64_t replayed = replays();
  EXPECT_GT(replayed, 0u);
  NewStep();
  ASSERT_THAT(b().BeginCapture(CaptureMode::kThreadLocal), IsOk());
  ASSERT_THAT(b().Fill(x.word(), 0, 1, 4), IsOk());
  Values inputs = {x}, outputs;
  EXPECT_THAT(tree().Run(function, absl::MakeSpan(inputs), b(), &outputs),
              FailsWith(StatusCode::kFailedPrecondition,
                        "'twice' was called on a stream that captures"));
  const auto graph = b().EndCapture();
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ((*graph)->op_count(), 1u);
  EXPECT_EQ(replays(), replayed);
  ExpectGoesOn();
}

// The work before that capture cannot be awaited from another stream.
TEST_P(CarelessTest, TheStreamOfTheLastCallIsCapturedNow) {
  for (const bool exclude : {false, true}) {
    const FunctionId function = Register("twice", {.exclude = exclude}, Twice);
    const Tensor x = Given(1);
    CallInSteps(3, function, {x});
    ASSERT_THAT(a().Synchronize(), IsOk());
    ASSERT_THAT(a().BeginCapture(CaptureMode::kThreadLocal), IsOk());
    ASSERT_THAT(a().Fill(x.word(), 0, 1, 4), IsOk());
    NewStep();
    for (const FunctionId called : {function, Register("new", {}, Thrice)}) {
      Values inputs = {x}, outputs;
      EXPECT_THAT(tree().Run(called, absl::MakeSpan(inputs), b(), &outputs),
                  FailsWith(StatusCode::kFailedPrecondition,
                            "the stream that the tree was called on before captures now"));
    }
    const auto graph = a().EndCapture();
    ASSERT_TRUE(graph.ok()) << graph.status();
    EXPECT_EQ((*graph)->op_count(), 1u);
    ExpectGoesOn();
  }
}

// Nor is a tree in its way that goes meanwhile.
TEST_P(CarelessTest, TheTreeGoesWhileItsStreamIsCaptured) {
  for (const bool exclude : {false, true}) {
    OpenTree({});
    const Tensor x = Given(1);
    CallInSteps(1, Register("twice", {.exclude = exclude}, Twice), {x});
    ASSERT_THAT(a().Synchronize(), IsOk());
    ASSERT_THAT(a().BeginCapture(CaptureMode::kThreadLocal), IsOk());
    ASSERT_THAT(a().Fill(x.word(), 0, 1, 4), IsOk());
    CloseTree();
    EXPECT_THAT(a().EndCapture(), IsOk());
    EXPECT_THAT(device().GiveBackLeftovers(), IsOk()) << "what could not go during the capture";
  }
}

// What is launched after that is captured, and would never run.
TEST_P(CarelessTest, ABodyLeavesItsStreamInACapture) {
  bool leaves = true;
  const FunctionId function = Register("leaves", {}, [&leaves](Launcher& on, Values& inputs) {
    if (leaves) {
      EXPECT_THAT(on.stream().BeginCapture(CaptureMode::kRelaxed), IsOk());
    }
    return Twice(on, inputs);
  });
  for (int call = 0; call < 2; ++call) {
    EXPECT_THAT(Refusal(function, {Given(1)}),
                FailsWith(StatusCode::kFailedPrecondition,
                          "it has begun a capture on its stream and has not ended it"));
    EXPECT_FALSE(a().IsCapturing());
  }
  leaves = false;
  EXPECT_EQ(Read(CallInSteps(1, function, {Given(1)})[0]), Times(PatternOf(1), 2));
  ExpectGoesOn();
}

TEST_P(CarelessTest, APartLeavesItsStreamInACapture) {
  for (const int leaves_in : {0, 1, 2, 3}) {
    OpenTree({});
    int call = 0;
    const FunctionId function = Register("leaves", {}, [&](Launcher& on, Values& inputs) {
      const Tensor x = on.Input(0);
      const Tensor out = on.Empty(x.layout());
      on.Break("part", {In(x), Out(out)}, [&](Launcher& part, absl::Span<const Tensor> tensors) {
        if (call == leaves_in) {
          EXPECT_THAT(part.stream().BeginCapture(CaptureMode::kRelaxed), IsOk());
        }
        const Tensor twice = Sum(part, tensors[0], tensors[0]);
        part.Copy(tensors[1], twice);
      });
      return Values{Sum(on, out, out)};
    });
    for (; call < 5; ++call) {
      if (call == leaves_in) {
        NewStep();
        EXPECT_THAT(Refusal(function, {Given(1)}),
                    FailsWith(StatusCode::kFailedPrecondition,
                              "it has begun a capture on its stream and has not ended it"))
            << "call " << call;
        EXPECT_FALSE(a().IsCapturing());
      } else {
        EXPECT_EQ(Read(CallInSteps(1, function, {Given(1)})[0]), Times(PatternOf(1), 4));
      }
    }
    ExpectGoesOn();
  }
}

TEST_P(CarelessTest, AFillOfAColumn) {
  const FunctionId function = Register("fills", {}, [](Launcher& on, Values&) {
    const Tensor matrix = on.Empty(DType::kF32, {4, 4});
    on.Fill(matrix.View(Layout::Strided(DType::kF32, {4}, {4}), 0), 1);
    return Values{matrix};
  });
  EXPECT_THAT(Refusal(function, {}),
              FailsWith(StatusCode::kInvalidArgument, "has gaps between its elements"));
  ExpectGoesOn();
}

// Each warm-up of a step that never ends would make its path longer. What an eager run returns is
// not the path's: the path is dead then, and the next one may be recorded.
TEST_P(CarelessTest, AStepThatNeverEndsLeavesItsWarmUps) {
  OpenTree({.budget = {.nodes = 64}});
  const FunctionId function = Register("decode", {}, Twice);
  const Tensor x = Given(1);
  Values held = Call(function, {x});
  for (int call = 0; call < 600; ++call) held = Call(function, {x});
  EXPECT_EQ(Read(held[0]), Times(PatternOf(1), 2));
  EXPECT_LE(tree().stats().warm_ups, 300u);
  EXPECT_GE(eager(), 1u);
  EXPECT_LE(graphs(), 100u);
  EXPECT_GE(replays(), 100u);
  EXPECT_GE(reasons(Reason::kLongStep), 1u);
  held.clear();
  ExpectGoesOn();
}

// Foreign code on another thread: refused while a call runs, served between calls, and whoever
// calls the tree is never the one who is refused. A call that begins while foreign code is in the
// pool is seen by the pool's guard alone, which the thread sanitizer takes for a race, as it is.
TEST_P(CarelessTest, ForeignCodeBesideCalls) {
#ifdef ABSL_HAVE_THREAD_SANITIZER
  GTEST_SKIP() << "the program breaks the rule that only the tree's caller allocates beside a call";
#endif
  const FunctionId function = Register("twice", {}, Twice);
  const Tensor x = Given(1);
  std::atomic<bool> stops{false};
  std::atomic<int> refused{0}, wrong{0};
    std::thread other([&] {
    while (!stops) {
      const absl::StatusOr<Address> at = foreign().Allocate(100, b());
      if (at.ok()) {
        wrong += foreign().Free(*at, b()).ok() ? 0 : 1;
      } else {
        ++refused;
        wrong += absl::IsFailedPrecondition(at.status()) ? 0 : 1;
      }
    }
  });
  for (int call = 0; call < 300; ++call) {
    // A new shape now and then: warmed up, recorded and replayed.
    const Values out = CallInSteps(1, function, {x, Value::Integer(call / 4)});
    EXPECT_EQ(Read(out[0]), Times(PatternOf(1), 2));
  }
  stops = true;
  other.join();
  EXPECT_EQ(wrong, 0);
  ExpectGoesOn();
}

}  // namespace
}  // namespace graphtree
