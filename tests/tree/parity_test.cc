// Tree::RunCompared: a replay that leaves what its body leaves, and replays that do not, each with
// the op that is to blame. What the replay left stays, whatever the comparison did in between.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "graphs/reports/parity.h"
#include "tests/kernels/kernels.h"
#include "tests/kernels/launches.h"
#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class ParityTest : public TreeTest {
 protected:
  ParityResult Compared(FunctionId function, Values inputs, Values* outputs,
                        const Tolerance& tolerance = {}) {
    ParityResult result;
    NewStep();
    EXPECT_THAT(tree().RunCompared(function, absl::MakeSpan(inputs), a(), outputs, tolerance,
                                   &result),
                IsOk());
    return result;
  }
  // x -> increment(x + x, by): two ops with memory of the tree's, the second in place.
  FunctionId RegisterStep(const uint32_t* by) {
    return Register("step", {}, [by](Launcher& on, Values& inputs) {
      const Tensor doubled = Sum(on, inputs[0], inputs[0]);
      if (!on.ok()) return Values{};
      on.Launch(IncrementKernel(), TestShape(),
                {InOut(doubled), Val(*by), Val(uint32_t{kWords})});
      return Values{Sum(on, doubled, inputs[0])};
    });
  }
  static Words Plus(Words words, uint32_t by) {
    for (uint32_t& word : words) word += by;
    return words;
  }
};
GRAPHTREE_ON_EVERY_DEVICE(ParityTest);

TEST_P(ParityTest, TheSame) {
  uint32_t by = 5;
  const FunctionId step = RegisterStep(&by);
  const Tensor x = Given(1);
  Values out;
  EXPECT_EQ(Compared(step, {x}, &out).parity, Parity::kNotCompared) << "a warm-up";
  EXPECT_EQ(Compared(step, {x}, &out).text, "no recording served the call");
  for (int i = 0; i < 3; ++i) {
    const ParityResult result = Compared(step, {x}, &out);
    EXPECT_EQ(result.parity, Parity::kSame) << result.text;
    EXPECT_EQ(Read(out[0]), Plus(Times(PatternOf(1), 3), 5));
  }
  EXPECT_EQ(replays(), 3u);
  EXPECT_EQ(tree().last_call().route, CallRoute::kReplayed);
  // An input that comes at another address, which the replay is patched to.
  EXPECT_EQ(Compared(step, {Given(2)}, &out).parity, Parity::kSame);
  EXPECT_EQ(Read(out[0]), Plus(Times(PatternOf(2), 3), 5));
}

TEST_P(ParityTest, AValueThatWasRecordedIsNamed) {
  uint32_t by = 5;
  const FunctionId step = RegisterStep(&by);
  const Tensor x = Given(1);
  Values out = CallInSteps(3, step, {x});
  by = 9;
  const ParityResult result = Compared(step, {x}, &out);
  EXPECT_EQ(result.parity, Parity::kDiffers);
  EXPECT_EQ(result.op, IncrementKernel().name());
  EXPECT_THAT(result.text, AllOf(HasSubstr("output 0 of 'step': element 0 is"),
                                 HasSubstr("op 1 ('"), HasSubstr("(5) in the recording, and "),
                                 HasSubstr("(9) now")));
  EXPECT_EQ(Read(out[0]), Plus(Times(PatternOf(1), 3), 5)) << "the replay's";
  const ParityResult allowed = Compared(step, {x}, &out, {.absolute = 4});
  EXPECT_EQ(allowed.parity, Parity::kSame) << allowed.text;
  by = 5;
  EXPECT_EQ(Compared(step, {x}, &out).parity, Parity::kSame);
}

// A body that writes to memory of its caller's: each comparison runs it twice more, and what it
// writes is there once.
TEST_P(ParityTest, WhatTheBodyWritesIsWrittenOnce) {
  uint32_t by = 3;
  const Tensor cache = Given(7);
  const FunctionId count = Register("count", {}, [&](Launcher& on, Values& inputs) {
    on.Launch(IncrementKernel(), TestShape(), {InOut(cache), Val(by), Val(uint32_t{kWords})});
    return Values{Sum(on, cache, inputs[0])};
  });
  const Tensor x = Given(1);
  Words expected = PatternOf(7);
  Values out;
  for (int i = 0; i < 2; ++i) CallInSteps(1, count, {x});
  expected = Plus(expected, 6);
  for (int i = 0; i < 3; ++i) {
    const ParityResult result = Compared(count, {x}, &out);
    EXPECT_EQ(result.parity, Parity::kSame) << result.text;
    expected = Plus(expected, 3);
    EXPECT_EQ(Read(cache), expected);
  }
  by = 4;
  for (int i = 0; i < 2; ++i) {
    const ParityResult result = Compared(count, {x}, &out);
    EXPECT_EQ(result.parity, Parity::kDiffers);
    EXPECT_EQ(result.op, IncrementKernel().name());
    expected = Plus(expected, 3);
    EXPECT_EQ(Read(cache), expected) << "what the replay left stays";
  }
}

// The call before it may still write there, on a stream that nobody has waited for.
TEST_P(ParityTest, WhatTheBodyWritesIsSavedBehindTheCallBefore) {
  const Tensor cache = Given(7);
  const FunctionId count = Register("count", {}, [&](Launcher& on, Values& inputs) {
    on.Launch(IncrementKernel(), TestShape(), {InOut(cache), Val(3u), Val(uint32_t{kWords})});
    return Values{Sum(on, cache, inputs[0])};
  });
  const Tensor x = Given(1);
  Values out;
  for (uint32_t calls = 4; calls < 40; calls += 4) {
    CallInSteps(3, count, {x});
    Values inputs = {x};
    ParityResult result;
    NewStep();
    ASSERT_THAT(tree().RunCompared(count, absl::MakeSpan(inputs), b(), &out, {}, &result), IsOk());
    EXPECT_EQ(result.parity, Parity::kSame) << result.text;
    EXPECT_THAT(b().Synchronize(), IsOk());
    EXPECT_EQ(Read(cache), Plus(PatternOf(7), 3 * calls));
  }
}

TEST_P(ParityTest, MemoryThatMovedUnseenIsNamed) {
  Tensor weights = Given(3);
  const FunctionId add = Register("add", {}, [&](Launcher& on, Values& inputs) {
    const Tensor first = Sum(on, inputs[0], inputs[0]);
    return Values{Sum(on, first, weights)};
  });
  const Tensor x = Given(1);
  Values out = CallInSteps(3, add, {x});
  weights = Given(4);
  const ParityResult result = Compared(add, {x}, &out);
  EXPECT_EQ(result.parity, Parity::kDiffers);
  EXPECT_EQ(result.op, AddKernel().name());
  EXPECT_THAT(result.text, AllOf(HasSubstr("op 1 ("), HasSubstr("is memory at")));
}

// What the recording has left there is read up to where its blocks end, and what is alive stays.
TEST_P(ParityTest, ABodyThatReachesFurtherThanItsRecordingIsNamed) {
  int64_t words = kWords;
  uint32_t by = 1;
  const FunctionId step = Register("step", {}, [&](Launcher& on, Values& inputs) {
    Tensor filled = Filled(on, by, kWords);
    const Tensor sum = Sum(on, inputs[0], filled);
    filled = Tensor();
    Filled(on, 3, words);  // where the first one was
    return Values{sum};
  });
  const Tensor x = Given(1);
  CallInSteps(2, step, {x});
  const Words expected = Read(CallInSteps(1, step, {x})[0]);
  by = 2;
  for (const int64_t now : {kWords, kWords + 1, 4 * kWords, 300 * kWords}) {
    words = now;
    Values out;
    const ParityResult result = Compared(step, {x}, &out);
    EXPECT_EQ(result.parity, Parity::kDiffers);
    EXPECT_NE(result.op, "") << result.text;
    EXPECT_EQ(Read(out[0]), expected);
  }
}

TEST_P(ParityTest, WhatNobodyWritesIsNotCompared) {
  const FunctionId half = Register("half", {}, [](Launcher& on, Values& inputs) {
    const Tensor out = on.Empty(DType::kI32, {2 * kWords});
    if (!on.ok()) return Values{};
    on.Launch(AddKernel(), TestShape(),
              {Out(out), In(on.Input(0)), In(on.Input(0)), Val(uint32_t{kWords})});
    return Values{out};
  });
  const Tensor x = Given(1);
  Values out = CallInSteps(2, half, {x});
  const ParityResult result = Compared(half, {x}, &out);
  EXPECT_EQ(result.parity, Parity::kSame) << result.text;
}

TEST_P(ParityTest, SaysWhyNothingWasCompared) {
  const FunctionId broken = Register("broken", {}, [](Launcher& on, Values& inputs) {
    Tensor out = Sum(on, inputs[0], inputs[0]);
    if (!on.ok()) return Values{};
    on.Break("for the test", {InOut(out)}, [](Launcher&, absl::Span<const Tensor>) {});
    return Values{Sum(on, out, inputs[0])};
  });
  const Tensor x = Given(1);
  Values out = CallInSteps(3, broken, {x});
  const ParityResult result = Compared(broken, {x}, &out);
  EXPECT_EQ(result.parity, Parity::kNotCompared);
  EXPECT_EQ(result.text, "its body breaks");
  EXPECT_EQ(Read(out[0]), Times(PatternOf(1), 3));
}

TEST_P(ParityTest, WhetherACallWouldReplay) {
  uint32_t by = 5;
  const FunctionId step = RegisterStep(&by);
  Values x = {Given(1)};
  const auto would = [&] {
    return tree().WouldReplay(step, absl::MakeSpan(x), a(), /*begins_step=*/true);
  };
  EXPECT_FALSE(would());
  CallInSteps(1, step, x);
  EXPECT_FALSE(would());
  CallInSteps(1, step, x);
  EXPECT_TRUE(would());
  EXPECT_TRUE(would()) << "asking changes nothing";
  CallInSteps(1, step, x);
  EXPECT_EQ(replays(), 1u);
}

// Nothing of the path is held, so a call of Run begins a new one, and replays there.
TEST_P(ParityTest, ACallThatBeginsAPathIsReplayedAndCompared) {
  uint32_t by = 5;
  const FunctionId step = RegisterStep(&by);
  const FunctionId twice = Register("twice", {}, Twice);
  Values x = {Given(1)};
  CallInSteps(3, step, x);
  const Words expected = Plus(Times(PatternOf(1), 3), 5);
  const auto would = [&] {
    return tree().WouldReplay(step, absl::MakeSpan(x), a(), /*begins_step=*/false);
  };
  for (const bool grows : {false, true}) {
    NewStep();
    Call(grows ? twice : step, x);
    for (int i = 0; i < 2; ++i) {
      EXPECT_TRUE(would());
      Values out;
      EXPECT_THAT(tree().RunReplay(step, absl::MakeSpan(x), a(), &out), IsOk());
      EXPECT_EQ(Read(out[0]), expected);
      EXPECT_FALSE(would()) << "the path is held";
      Values other;
      EXPECT_THAT(tree().RunReplay(step, absl::MakeSpan(x), a(), &other),
                  FailsWith(absl::StatusCode::kFailedPrecondition, "was to be replayed"));
      EXPECT_EQ(Read(out[0]), expected);
      out.clear();
      ParityResult result;
      EXPECT_THAT(tree().RunCompared(step, absl::MakeSpan(x), a(), &out, {}, &result), IsOk());
      EXPECT_EQ(result.parity, Parity::kSame) << result.text;
      EXPECT_EQ(Read(out[0]), expected);
    }
  }
}

// A kernel of the host's that is right in every run of the body, and wrong where it is replayed:
// its runs count, and the comparison makes them in this order.
TEST_P(ParityTest, ANumberThatOnlyAReplayGetsWrongIsNamed) {
  if (!device().info().checks_accesses) GTEST_SKIP() << "a kernel with a host body alone";
  static int runs = 0;
  static int wrong = 0;
  const Kernel planted("planted", Params<uint32_t*, const uint32_t*, uint32_t>(),
                       [](const HostCall& call) {
                         auto* const out = call.Get<uint32_t*>(0);
                         const auto* const in = call.Get<const uint32_t*>(1);
                         const bool is_wrong = ++runs == wrong;
                         for (uint32_t i = 0; i < call.Get<uint32_t>(2); ++i) {
                           out[i] = in[i] + (is_wrong && i >= 7 ? 1 : 0);
                         }
                       },
                       {});
  const FunctionId step = Register("step", {}, [&planted](Launcher& on, Values& inputs) {
    const Tensor first = Sum(on, inputs[0], inputs[0]);
    const Tensor second = on.Empty(DType::kI32, {kWords});
    if (!on.ok()) return Values{};
    on.Launch(planted, TestShape(), {Out(second), In(first), Val(uint32_t{kWords})});
    return Values{Sum(on, second, first)};
  });
  const Tensor x = Given(1);
  Values out = CallInSteps(3, step, {x});
  Read(out[0]);
  wrong = runs + 3;  // two runs of the body, then the replay
  const ParityResult result = Compared(step, {x}, &out);
  EXPECT_EQ(result.parity, Parity::kDiffers) << result.text;
  EXPECT_EQ(result.op, "planted") << result.text;
  EXPECT_THAT(result.text, AllOf(HasSubstr("output 0 of 'step': element 7 is"),
                                 HasSubstr("op 1 ('planted'), argument 0: element 7 is")));
  EXPECT_EQ(Compared(step, {x}, &out).parity, Parity::kSame);
}

}  // namespace
}  // namespace graphtree
