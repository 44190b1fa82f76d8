// What is refused, and with which words; and that the function runs all the same where it can.
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "tests/conformance/native_calls.h"
#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

using absl::StatusCode;

class RefusalsTest : public TreeTest {};
GRAPHTREE_ON_EVERY_DEVICE(RefusalsTest);

TEST_P(RefusalsTest, ASecondThreadInside) {
  absl::Status refusal;
  FunctionId other = 0;
  const FunctionId function = Register("outer", {}, [&](Launcher& on, Values& inputs) {
    std::thread([&] { refusal = Refusal(other, {}); }).join();
    return Twice(on, inputs);
  });
  other = Register("other", {}, [](Launcher&, Values&) { return Values{}; });
  Values out = CallInSteps(1, function, {Given(1)});
  EXPECT_EQ(Read(out[0]), Times(PatternOf(1), 2));
  EXPECT_THAT(refusal, FailsWith(StatusCode::kFailedPrecondition,
                                 "'other' was not run: a second thread entered while 'outer'"));
}

TEST_P(RefusalsTest, ABodyThatCallsItsOwnTree) {
  absl::Status refusal;
  FunctionId function = 0;
  function = Register("recursive", {}, [&](Launcher& on, Values& inputs) {
    refusal = Refusal(function, {});
    return Twice(on, inputs);
  });
  const Tensor x = Given(1);
  for (int step = 0; step < 3; ++step) {
    EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), Times(PatternOf(1), 2));
    EXPECT_THAT(refusal, FailsWith(StatusCode::kFailedPrecondition,
                                   "the body of 'recursive' called its own tree"));
  }
}

// In every state: no step begins, the next call says so, and the one behind it is as if nothing had
// been.
TEST_P(RefusalsTest, AStepThatBeginsInsideACall) {
  bool begin = false;
  const FunctionId function = Register("begins", {}, [&](Launcher& on, Values& inputs) {
    if (begin) NewStep();
    return Twice(on, inputs);
  });
  const Tensor x = Given(1);
  for (int step = 0; step < 2; ++step) {
    begin = true;
    NewStep();
    Values out = Call(function, {x});
    begin = false;
    EXPECT_THAT(Refusal(function, {x}),
                FailsWith(StatusCode::kFailedPrecondition,
                          "BeginStep was called while 'begins' was running, by its own body"));
    EXPECT_EQ(Read(out[0]), Times(PatternOf(1), 2)) << "its step goes on";
  }
  EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), Times(PatternOf(1), 2));
  EXPECT_EQ(graphs(), 1u);
}

TEST_P(RefusalsTest, AStepThatBeginsOnAnotherThreadInsideACall) {
  const FunctionId function = Register("running", {}, [&](Launcher& on, Values& inputs) {
    std::thread([&] { NewStep(); }).join();
    return Twice(on, inputs);
  });
  CallInSteps(1, function, {Given(1)});
  EXPECT_THAT(Refusal(function, {Given(1)}),
              FailsWith(StatusCode::kFailedPrecondition, "'running' was running, on another"));
}

// While it is warmed up, and while it is recorded: the call fails, the tree goes with it, and what
// the caller holds of an earlier call stays.
TEST_P(RefusalsTest, ABodyThatClosesItsOwnTree) {
  for (const int runs : {1, 2}) {
    OpenTree({});
    int left = runs;
    const FunctionId make = Register("make", {}, Twice);
    const FunctionId closes = Register("closes", {}, [&](Launcher& on, Values& inputs) {
      const Tensor sum = Sum(on, inputs[0], inputs[0]);
      if (--left == 0) CloseTree();
      return Values{sum};
    });
    const Tensor x = Given(1);
    for (int run = 1; run < runs; ++run) CallInSteps(1, closes, {x});
    NewStep();
    const Values made = Call(make, {x});
    EXPECT_THAT(Refusal(closes, {x}), FailsWith(StatusCode::kFailedPrecondition,
                                                "the body of 'closes' closed its own tree"));
    EXPECT_EQ(Read(made[0]), Times(PatternOf(1), 2));
  }
}

TEST_P(RefusalsTest, ClosingOnAnotherThreadWaitsForTheCall) {
  std::atomic<bool> is_inside{false};
  std::atomic<bool> is_closed{false};
  const FunctionId slow = Register("slow", {}, [&](Launcher& on, Values& inputs) {
    is_inside = true;
    for (int turn = 0; turn < 10000; ++turn) std::this_thread::yield();
    EXPECT_FALSE(is_closed);
    return Twice(on, inputs);
  });
  const Tensor x = Given(1);
  std::thread closer([&] {
    while (!is_inside) std::this_thread::yield();
    CloseTree();
    is_closed = true;
  });
  Values inputs = {x}, outputs;
  EXPECT_THAT(tree().Run(slow, absl::MakeSpan(inputs), a(), &outputs), IsOk());
  closer.join();
  EXPECT_EQ(Read(outputs[0]), Times(PatternOf(1), 2)) << "outputs outlive the tree";
}

TEST_P(RefusalsTest, AnAlignmentThatIsNoPowerOfTwo) {
  const FunctionId function = Register("odd", {.alignments = {{0, 48}}}, Twice);
  const Tensor x = Given(1);
  for (int call = 0; call < 3; ++call) {
    EXPECT_THAT(Refusal(function, {x}),
                FailsWith(StatusCode::kInvalidArgument,
                          "input 0 of 'odd' is declared aligned to 48 bytes"));
  }
}

TEST_P(RefusalsTest, AnOutputAsInputAfterItsStep) {
  const FunctionId make = Register("make", {}, Twice);
  const FunctionId use = Register("use", {}, Thrice);
  const Tensor x = Given(1);
  for (int step = 0; step < 4; ++step) {
    NewStep();
    Values out = Call(make, {x});
    const Values kept = out;
    EXPECT_EQ(Read(Call(use, {out[0]})[0]), Times(PatternOf(1), 6));
    NewStep();
    const absl::Status refusal = Refusal(use, {kept[0]});
    EXPECT_THAT(refusal, FailsWith(StatusCode::kFailedPrecondition, "input 0 of 'use'"));
    EXPECT_THAT(refusal, FailsWith(StatusCode::kFailedPrecondition, "output 0 of 'make'"));
  }
  EXPECT_GT(replays(), 0u);
}

// A GPU is the same device whoever opened it; a host device's memory is its own.
TEST_P(RefusalsTest, AnInputOfAnotherDevice) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Device> elsewhere, GetParam().open());
  const bool is_the_same = device().info().architecture != "host";
  const FunctionId use = Register("use", {}, Twice);
  const Tensor x = Given(1);
  for (int step = 0; step < 3; ++step) CallInSteps(1, use, {x});
  {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Stream> stream, elsewhere->NewStream());
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Tree> tree, Tree::Create(*elsewhere, {}));
    const FunctionId make = tree->Register("make", {}, [](Launcher& on, Values&) {
      return Values{Filled(on, 3, kWords)};
    });
    ASSERT_OK_AND_ASSIGN(const Values made, tree->Run(make, {}, *stream));
    ASSERT_THAT(stream->Synchronize(), IsOk());
    NewStep();
    const absl::Status status = Refusal(use, {made[0]});
    if (is_the_same) {
      EXPECT_THAT(status, IsOk());
    } else {
      EXPECT_THAT(status, FailsWith(StatusCode::kInvalidArgument,
                                    "input 0 of 'use' lies on another device, "));
    }
    ASSERT_THAT(a().Synchronize(), IsOk());
  }
  EXPECT_THAT(elsewhere->Close(), IsOk());
  EXPECT_EQ(Read(CallInSteps(1, use, {x})[0]), Times(PatternOf(1), 2));
}

// What was held when its step ended stays an error after its tree is gone, for other trees too.
TEST_P(RefusalsTest, AnOverwrittenInputOfADeadTree) {
  const FunctionId use = Register("use", {}, Twice);
  Value old;
  {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Tree> gone, Tree::Create(device(), {}));
    const FunctionId make = gone->Register("make", {}, Twice);
    ASSERT_OK_AND_ASSIGN(const Values made, gone->Run(make, {Given(1)}, a()));
    old = made[0];
    gone->BeginStep();
  }
  EXPECT_THAT(Refusal(use, {old}),
              FailsWith(StatusCode::kFailedPrecondition, "output 0 of 'make'"));
}

TEST_P(RefusalsTest, AFunctionThatIsNotThere) {
  EXPECT_THAT(Refusal(7, {}), FailsWith(StatusCode::kInvalidArgument, "function 7"));
}

// The recording is given up, the function has run, and the warning says why.
TEST_P(RefusalsTest, ABodyThatSynchronisesWhileItIsRecorded) {
  const FunctionId function = Register("waits", {}, [](Launcher& on, Values& inputs) {
    const Tensor sum = Sum(on, inputs[0], inputs[0]);
    on.Fail(on.stream().Synchronize());
    return Values{sum};
  });
  const Tensor x = Given(1);
  for (int step = 0; step < 3; ++step) {
    EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), Times(PatternOf(1), 2));
  }
  EXPECT_EQ(graphs(), 0u);
  EXPECT_EQ(reasons(Reason::kForbiddenCall), 2u);
  ASSERT_EQ(warnings().size(), 1u);
  EXPECT_THAT(warnings()[0], testing::HasSubstr("'waits' runs eagerly: it waits for the device"));
}

TEST_P(RefusalsTest, AForkThatDoesNotJoin) {
  const FunctionId function = Register("forks", {}, [this](Launcher& on, Values& inputs) {
    return Values{TwiceOnSide(on, inputs[0])};
  });
  const Tensor x = Given(1);
  for (int step = 0; step < 3; ++step) {
    Values out = CallInSteps(1, function, {x});
    EXPECT_THAT(b().Synchronize(), IsOk());
    EXPECT_EQ(Read(out[0]), Times(PatternOf(1), 2));
  }
  EXPECT_EQ(graphs(), 0u);
  EXPECT_EQ(reasons(Reason::kUnjoinedFork), 2u);
  ASSERT_EQ(warnings().size(), 1u);
  EXPECT_NE(warnings()[0].find("'forks' runs eagerly: it forked work"), std::string::npos)
      << warnings()[0];
}

TEST_P(RefusalsTest, ASynchronisingBodyIsToldWithTheOpBeforeIt) {
  const FunctionId function = Register("waits", {}, [](Launcher& on, Values& inputs) {
    const Tensor sum = Sum(on, inputs[0], inputs[0]);
    on.Fail(on.stream().Synchronize());
    return Values{sum};
  });
  CallInSteps(2, function, {Given(1)});
  ASSERT_EQ(warnings().size(), 1u);
  EXPECT_NE(warnings()[0].find("after op 1 of its body ('add')"), std::string::npos)
      << warnings()[0];
}

// It waits and keeps the error to itself: the end of the capture tells.
TEST_P(RefusalsTest, ABodyThatHidesThatItSynchronised) {
  const FunctionId function = Register("hides", {}, [](Launcher& on, Values& inputs) {
    const Tensor sum = Sum(on, inputs[0], inputs[0]);
    on.stream().Synchronize().IgnoreError();
    return Values{sum};
  });
  const Tensor x = Given(1);
  for (int step = 0; step < 3; ++step) {
    EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), Times(PatternOf(1), 2));
  }
  EXPECT_EQ(graphs(), 0u);
  EXPECT_EQ(reasons(Reason::kCaptureBroken), 2u);
  ASSERT_EQ(warnings().size(), 1u);
  EXPECT_NE(warnings()[0].find("'hides' runs eagerly: a call that no capture allows"),
            std::string::npos)
      << warnings()[0];
}

// With memory of CUDA's own, as a library does that was never warmed up.
TEST_P(RefusalsTest, ABodyThatAllocatesOutsideOfThePoolWhileItIsRecorded) {
  const std::unique_ptr<NativeCalls> native = GetParam().native_calls(device());
  for (const bool hides : {false, true}) {
    OpenTree({});
    const FunctionId function = Register("mallocs", {}, [&](Launcher& on, Values& inputs) {
      const Tensor sum = Sum(on, inputs[0], inputs[0]);
      const absl::Status allocated = native->Allocate(4096);
      if (!hides) on.Fail(allocated);
      return Values{sum};
    });
    const size_t told = warnings().size();
    const Tensor x = Given(1);
    for (int step = 0; step < 3; ++step) {
      EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), Times(PatternOf(1), 2));
    }
    EXPECT_EQ(graphs(), 0u);
    EXPECT_EQ(reasons(hides ? Reason::kCaptureBroken : Reason::kForbiddenCall), 2u);
    ASSERT_EQ(warnings().size(), told + 1);
    EXPECT_THAT(warnings().back(), testing::HasSubstr("allocat"));
    if (hides) continue;
    EXPECT_THAT(warnings().back(), testing::HasSubstr("outside of the tree's pool"));
    EXPECT_THAT(warnings().back(), testing::HasSubstr("after op 1 of its body ('add')"));
    EXPECT_THAT(warnings().back(), testing::HasSubstr("4096 bytes"));
  }
}

// A static input that no recording can take at any address, because the function writes to it and
// may not be patched: one recording for each address, up to the limit.
TEST_P(RefusalsTest, AStaticInputThatMovesOnEveryCall) {
  constexpr uint64_t kLimit = 3;
  OpenTree({.rerecord_limit = kLimit});
  const FunctionId function = Register(
      "moves", {.static_inputs = {0}, .moving = Moving::kCopy}, [](Launcher& on, Values& inputs) {
        Bump(on, inputs[0], 2);
        return Values{Sum(on, inputs[0], inputs[0])};
      });
  for (uint32_t call = 0; call < 12; ++call) {
    const Tensor buffer = Given(call);
    const Words expected = Plus(PatternOf(call), Words(kWords, 2));
    const Values out = CallInSteps(1, function, {buffer});
    EXPECT_EQ(Read(buffer), expected);
    EXPECT_EQ(Read(out[0]), Times(expected, 2));
  }
  EXPECT_EQ(graphs(), 1 + kLimit);
  EXPECT_EQ(eager(), 12u - 1 - (1 + kLimit)) << "all behind the warm-up and the recordings";
  ASSERT_EQ(warnings().size(), 1u);
  EXPECT_THAT(warnings()[0], testing::HasSubstr("'moves' runs eagerly: it was recorded too often"));
}

// Nobody begins a step and the last output is held: each call lengthens the path.
TEST_P(RefusalsTest, AStepThatNeverEndsIsTold) {
  const FunctionId function = Register("decode", {}, Twice);
  const Tensor x = Given(1);
  Values held;
  for (int call = 0; call < 300; ++call) {
    Values next = Call(function, {x});
    held = std::move(next);
  }
  EXPECT_EQ(Read(held[0]), Times(PatternOf(1), 2));
  EXPECT_EQ(replays(), 0u);
  EXPECT_GT(reasons(Reason::kLongStep), 0u);
  ASSERT_EQ(warnings().size(), 1u);
  EXPECT_THAT(warnings()[0], testing::HasSubstr("'decode' was not replayed in its last 257 calls"));
  EXPECT_THAT(warnings()[0], testing::HasSubstr("BeginStep"));
  EXPECT_EQ(Read(CallInSteps(3, function, {x})[0]), Times(PatternOf(1), 2));
  EXPECT_GT(replays(), 0u);
}

TEST_P(RefusalsTest, ACaptureThatAnotherThreadsLegacyStreamBreaks) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Stream> legacy, device().AdoptStream(nullptr));
  int runs = 0;
  const FunctionId function = Register("broken", {}, [&](Launcher& on, Values& inputs) {
    const Tensor sum = Sum(on, inputs[0], inputs[0]);
    if (runs++ != 1) return Values{sum};
    on.Fail(on.stream().Record(event()));
    std::thread([&] {
      EXPECT_THAT(legacy->Wait(event()), HasError(ErrorCode::kCaptureImplicit, ""));
    }).join();
    return Values{sum};
  });
  const Tensor x = Given(1);
  for (int step = 0; step < 5; ++step) {
    EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), Times(PatternOf(1), 2));
  }
  EXPECT_EQ(reasons(Reason::kCaptureBroken), 1u);
  EXPECT_EQ(eager(), 1u);
  EXPECT_EQ(graphs(), 1u) << "it is tried again, and the second capture is left alone";
  ASSERT_EQ(warnings().size(), 1u);
  EXPECT_NE(warnings()[0].find("'broken' runs eagerly"), std::string::npos) << warnings()[0];
  EXPECT_NE(warnings()[0].find("legacy"), std::string::npos) << warnings()[0];
  EXPECT_NE(warnings()[0].find("after op 1"), std::string::npos) << warnings()[0];
}

TEST_P(RefusalsTest, MoreOutputsThanDeclared) {
  size_t outputs = 1;
  const FunctionId function =
      Register("modest", {.most_outputs = 1}, [&outputs](Launcher& on, Values& inputs) {
        return Values(outputs, Sum(on, inputs[0], inputs[0]));
      });
  const Tensor x = Given(1);
  EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), Times(PatternOf(1), 2));
  outputs = 2;
  NewStep();
  EXPECT_THAT(Refusal(function, {x}),
              FailsWith(StatusCode::kInvalidArgument,
                        "'modest', after op 1 of its body ('add'): it returned 2 outputs and "
                        "declared at most 1"));
  outputs = 1;
  EXPECT_EQ(Read(CallInSteps(3, function, {x})[0]), Times(PatternOf(1), 2));
  EXPECT_GT(replays(), 0u);
}

}  // namespace
}  // namespace graphtree
