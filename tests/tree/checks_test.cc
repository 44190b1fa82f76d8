// Checked mode: what changes an input without saying so is told, and dead memory is never launched.
#include <memory>
#include <string>
#include <utility>

#include "absl/types/span.h"
#include "device/device.h"
#include "gmock/gmock.h"
#include "graphs/random/generator.h"
#include "graphs/random/uniform.h"
#include "tests/kernels/kernels.h"
#include "tests/kernels/launches.h"
#include "tests/tree/fleeting_memory.h"
#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

using absl::StatusCode;

constexpr uint32_t kBy = 5;

Values SecretBody(Launcher& on, Values& inputs) {
  const Tensor twice = Sum(on, inputs[0], inputs[0]);
  BumpInSecret(on, inputs[0], kBy);
  return {twice};
}

class ChecksTest : public TreeTest {
 protected:
  void SetUp() override {
    TreeTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    Open(true, false);
  }
  void TearDown() override {
    CloseTree();
    fleeting_.Close();
    TreeTest::TearDown();
  }
  void Open(bool check, bool strict) {
    TreeOptions options;
    options.check = check;
    options.compare_replays = check;
    options.strict = strict;
    OpenTree(options);
  }
  // A tensor whose memory can be taken away under the tree's hands, and put back.
  Tensor Fleeting(uint32_t seed) {
    fleeting_.Open(memory());
    const Tensor tensor = Tensor::Foreign(fleeting_.base(), WordsLayout(kWords));
    Write(tensor.raw_bytes(), PatternOf(seed));
    return tensor;
  }

  FleetingMemory fleeting_;
};
GRAPHTREE_ON_EVERY_DEVICE(ChecksTest);

TEST_P(ChecksTest, AnUndeclaredWriteIsToldOnceAndCountsFromThenOn) {
  const FunctionId function = Register("sly", {.moving = Moving::kCopy}, SecretBody);
  const Tensor x = Given(1);
  Words expected = PatternOf(1);
  for (int step = 0; step < 4; ++step) {
    NewStep();
    EXPECT_EQ(Read(Call(function, {x})[0]), Times(expected, 2));
    expected = Plus(expected, Words(kWords, kBy));
    EXPECT_EQ(Read(x), expected) << "in step " << step;
  }
  ASSERT_EQ(warnings().size(), 2u);
  EXPECT_NE(warnings()[0].find("'sly' writes to an input without declaring it: input 0"),
            std::string::npos)
      << warnings()[0];
  EXPECT_NE(warnings()[0].find("'increment'"), std::string::npos) << warnings()[0];
  EXPECT_EQ(reasons(Reason::kUndeclaredWrite), 4u) << "counted whenever it is seen";
  EXPECT_EQ(reasons(Reason::kMutatedInput), 3u) << "and never recorded";
  EXPECT_EQ(graphs(), 0u);
}

// The warm-up is given a tensor that dies inside; what is recorded then is given one that does not.
TEST_P(ChecksTest, ASecretWriteToAnInputThatDiesInsideIsSeen) {
  const FunctionId made = Register("made", {}, [](Launcher& on, Values&) {
    return Values{Filled(on, 3, kWords)};
  });
  const FunctionId sly = Register("sly", {.moving = Moving::kCopy}, [](Launcher& on, Values& in) {
    BumpInSecret(on, in[0], kBy);
    in[0] = Value();
    return Values{Filled(on, 4, kWords)};
  });
  Call(sly, Call(made, {}));
  const Tensor x = Given(1);
  CallInSteps(2, sly, {x});
  EXPECT_EQ(Read(x), Plus(PatternOf(1), Words(kWords, 2 * kBy)));
  EXPECT_EQ(graphs(), 0u) << "it is known to write to what it would be given a copy of";
}

TEST_P(ChecksTest, AnInputThatIsWrittenInSecretIsPatched) {
  const FunctionId function = Register("sly", {}, SecretBody);
  for (int step = 0; step < 4; ++step) {
    NewStep();
    const Tensor x = Given(step);
    EXPECT_EQ(Read(Call(function, {x})[0]), Times(PatternOf(step), 2));
    EXPECT_EQ(Read(x), Plus(PatternOf(step), Words(kWords, kBy))) << "in step " << step;
  }
  EXPECT_EQ(warnings().size(), 1u);
  EXPECT_EQ(graphs(), 1u);
  EXPECT_EQ(replays(), 2u);
}

// The body knows it without being given it, and says that it only reads.
TEST_P(ChecksTest, ASecretWriteToMemoryThatIsNoInputIsSeen) {
  const Tensor known = Given(2);
  const FunctionId function = Register("sly", {}, [known](Launcher& on, Values& inputs) {
    const Tensor sum = Sum(on, inputs[0], known);
    BumpInSecret(on, known, kBy);
    return Values{sum};
  });
  const FunctionId honest = Register("honest", {}, [known](Launcher& on, Values& inputs) {
    const Tensor sum = Sum(on, inputs[0], known);
    Bump(on, known, kBy);
    return Values{sum};
  });
  const Tensor x = Given(1);
  CallInSteps(2, honest, {x});
  EXPECT_THAT(warnings(), testing::IsEmpty());
  EXPECT_EQ(reasons(Reason::kUndeclaredWrite), 0u);
  CallInSteps(2, function, {x});
  EXPECT_EQ(reasons(Reason::kUndeclaredWrite), 1u) << "its recording captures, and sees nothing";
  ASSERT_EQ(warnings().size(), 1u);
  EXPECT_THAT(warnings()[0], testing::HasSubstr("which is no input, changed at bytes 0 to"));
  EXPECT_THAT(warnings()[0], testing::HasSubstr("'increment'"));
  EXPECT_EQ(Read(known), Plus(PatternOf(2), Words(kWords, 4 * kBy)));
}

// What the mode is for: without it the recording of a large input writes to its copy. (Of a small
// one the first warm-up sees it, where the kernel's parameters tell.)
TEST_P(ChecksTest, UncheckedTheWriteToALargeInputIsLost) {
  Open(false, false);
  constexpr int64_t kMany = 20000;
  const FunctionId function = Register("sly", {.moving = Moving::kCopy}, SecretBody);
  const Tensor x = Given(1, kMany);
  CallInSteps(3, function, {x});
  EXPECT_EQ(Read(x), Plus(Pattern(1, kMany), Words(kMany, kBy))) << "the warm-up's alone";
}

TEST_P(ChecksTest, OneFunctionCanBeCheckedAlone) {
  Open(false, false);
  const FunctionId checked = Register("checked", {.check = true}, SecretBody);
  const FunctionId other = Register("other", {}, SecretBody);
  constexpr int64_t kMany = 20000;  // more than is looked at outside of the mode
  CallInSteps(1, checked, {Given(1, kMany)});
  CallInSteps(1, other, {Given(1, kMany)});
  ASSERT_EQ(warnings().size(), 1u);
  EXPECT_NE(warnings()[0].find("'checked'"), std::string::npos) << warnings()[0];
}

TEST_P(ChecksTest, AStaticInputThatIsWrittenInSecretIsStillRecorded) {
  const FunctionId function = Register("cache", {.static_inputs = {0}}, SecretBody);
  const Tensor cache = Given(1);
  Words expected = PatternOf(1);
  for (int step = 0; step < 4; ++step) {
    NewStep();
    EXPECT_EQ(Read(Call(function, {cache})[0]), Times(expected, 2));
    expected = Plus(expected, Words(kWords, kBy));
    EXPECT_EQ(Read(cache), expected);
  }
  EXPECT_EQ(graphs(), 1u);
  EXPECT_EQ(replays(), 2u);
  EXPECT_EQ(warnings().size(), 1u);
}

TEST_P(ChecksTest, InStrictModeItIsAnErrorAndNothingIsConsumed) {
  Open(true, true);
  const FunctionId make = Register("make", {}, Twice);
  const FunctionId sly = Register("sly", {}, SecretBody);
  NewStep();
  Values made = Call(make, {Given(1)});
  const absl::Status status = tree().Run(sly, absl::MakeSpan(made), a(), &made);
  EXPECT_THAT(status, FailsWith(StatusCode::kFailedPrecondition, "'sly' writes to an input"));
  EXPECT_THAT(status, FailsWith(StatusCode::kFailedPrecondition, "input 0"));
  EXPECT_THAT(status, FailsWith(StatusCode::kFailedPrecondition, "'increment'"));
  ASSERT_TRUE(made[0].is_tensor());
  EXPECT_EQ(Read(made[0]), Plus(Times(PatternOf(1), 2), Words(kWords, kBy)));
}

TEST_P(ChecksTest, WorkOnTheRawStreamIsSeenToo) {
  const FunctionId function = Register("opaque", {}, [](Launcher& on, Values& inputs) {
    on.Fail(Increment(on.stream(), Tensor::From(inputs[0]).raw_bytes(), kBy));
    return Values{};
  });
  CallInSteps(1, function, {Given(1)});
  ASSERT_EQ(warnings().size(), 1u);
  EXPECT_NE(warnings()[0].find("which no op was given"), std::string::npos) << warnings()[0];
}

TEST_P(ChecksTest, WhatIsDeclaredIsFine) {
  const FunctionId launched = Register("launched", {}, [](Launcher& on, Values& inputs) {
    Bump(on, inputs[0], kBy);
    return Values{};
  });
  const Body raw = [](Launcher& on, Values& inputs) {
    on.Fail(Increment(on.stream(), Tensor::From(inputs[0]).raw_bytes(), kBy));
    return Values{};
  };
  const FunctionId by_option = Register("option", {.mutated_inputs = {0}}, raw);
  const FunctionId by_call = Register("call", {}, [&raw](Launcher& on, Values& inputs) {
    on.Writes(Tensor::From(inputs[0]));
    return raw(on, inputs);
  });
  for (const FunctionId function : {launched, by_option, by_call}) {
    const Tensor x = Given(1);
    CallInSteps(3, function, {x});
    EXPECT_EQ(Read(x), Plus(PatternOf(1), Words(kWords, 3 * kBy)));
  }
  EXPECT_EQ(reasons(Reason::kUndeclaredWrite), 0u);
}

// One half of the input is declared as written, the other is written as well.
TEST_P(ChecksTest, AWriteOutsideOfWhatWasDeclared) {
  constexpr int64_t kHalf = 128;
  const FunctionId function = Register("halves", {}, [](Launcher& on, Values& inputs) {
    Bump(on, Slice(inputs[0], 0, kHalf), kBy);
    BumpInSecret(on, Slice(inputs[0], kHalf, kHalf), kBy);
    return Values{};
  });
  CallInSteps(1, function, {Given(1, 2 * kHalf)});
  ASSERT_EQ(warnings().size(), 1u);
  EXPECT_NE(warnings()[0].find("input 0 changed at bytes 512 to 1023"), std::string::npos)
      << warnings()[0];
}

TEST_P(ChecksTest, ADeadStaticInputIsNamedAndNotLaunched) {
  const FunctionId function = Register("weigh", {.static_inputs = {1}}, AddBoth);
  const Tensor x = Given(1), weight = Fleeting(2);
  CallInSteps(3, function, {x, weight});
  fleeting_.Unmap();
  NewStep();
  EXPECT_THAT(Refusal(function, {x, weight}),
              FailsWith(StatusCode::kFailedPrecondition, "input 1 of 'weigh', a static one"));
  EXPECT_THAT(device().health(), IsOk());
  fleeting_.Map();
  Write(weight.raw_bytes(), PatternOf(3));
  EXPECT_EQ(Read(CallInSteps(1, function, {x, weight})[0]), Plus(PatternOf(1), PatternOf(3)));
  EXPECT_EQ(graphs(), 1u);
}

TEST_P(ChecksTest, DeadMemoryThatTheBodyKeptIsNamedWithItsOp) {
  const Tensor table = Fleeting(2);
  const FunctionId function = Register("look_up", {}, [table](Launcher& on, Values& inputs) {
    return Values{Sum(on, inputs[0], table)};
  });
  const Tensor x = Given(1);
  CallInSteps(3, function, {x});
  fleeting_.Unmap();
  NewStep();
  EXPECT_THAT(Refusal(function, {x}),
              FailsWith(StatusCode::kFailedPrecondition,
                        "'look_up' was not launched: 'add' reads memory outside of the tree"));
  EXPECT_THAT(device().health(), IsOk());
  fleeting_.Map();
}

// Whatever the call would be: a warm-up, a recording or a replay.
TEST_P(ChecksTest, DeadMemoryThatTheBodyKeptIsNeverLaunchedOn) {
  const Tensor table = Fleeting(2), x = Given(1);
  for (int runs = 0; runs < 3; ++runs) {
    const FunctionId function = Register("look_up", {}, [table](Launcher& on, Values& inputs) {
      return Values{Sum(on, inputs[0], table)};
    });
    if (runs > 0) CallInSteps(runs, function, {x});
    fleeting_.Unmap();
    NewStep();
    EXPECT_THAT(Refusal(function, {x}), FailsWith(StatusCode::kFailedPrecondition, "dead"));
    EXPECT_THAT(device().health(), IsOk()) << "after " << runs << " runs";
    fleeting_.Map();
  }
}

// The body reads a host variable, which a replay cannot see change.
TEST_P(ChecksTest, AReplayThatDiffersFromItsBodyIsTold) {
  uint32_t by = 1;
  const FunctionId function = Register("frozen", {}, [&by](Launcher& on, Values& inputs) {
    const Tensor out = Sum(on, inputs[0], inputs[0]);
    Bump(on, out, by);
    return Values{out};
  });
  const Tensor x = Given(1);
  CallInSteps(2, function, {x});
  by = 2;
  CallInSteps(3, function, {x});
  EXPECT_EQ(reasons(Reason::kReplayDiffers), 1u) << "the first replay is compared";
  ASSERT_EQ(warnings().size(), 1u);
  EXPECT_THAT(warnings()[0],
              testing::HasSubstr("a replay of 'frozen' left other bytes than a run of its body on "
                                 "the same inputs: output 0 at bytes 0 to 191. A value that"));
}

TEST_P(ChecksTest, AReplayThatDiffersIsAnErrorIfStrict) {
  Open(true, true);
  uint32_t by = 1;
  const FunctionId function = Register("frozen", {}, [&by](Launcher& on, Values& inputs) {
    const Tensor out = Sum(on, inputs[0], inputs[0]);
    Bump(on, out, by);
    return Values{out};
  });
  const Tensor x = Given(1);
  CallInSteps(2, function, {x});
  by = 2;
  NewStep();
  EXPECT_THAT(Refusal(function, {x}),
              FailsWith(StatusCode::kFailedPrecondition, "a replay of 'frozen' left other bytes"));
}

// Part of the work is on the launcher's stream, so the recording seems whole.
TEST_P(ChecksTest, WorkThatIsPartlyElsewhereIsSeenInTheReplay) {
  const FunctionId function = Register("half", {}, [this](Launcher& on, Values& inputs) {
    const Tensor out = on.Empty(inputs[0].layout());
    const Tensor more = on.Empty(inputs[0].layout());
    const AddressRange x = RangeOf(inputs[0]);
    if (on.ok()) on.Fail(Add(on.stream(), out.raw_bytes(), x, x));
    if (on.ok()) on.Fail(Add(a(), more.raw_bytes(), x, x));
    return Values{out, more};
  });
  NewStep();
  const Tensor x = Given(1), y = Given(2);
  CallInSteps(2, function, {x});
  CallInSteps(1, function, {y});
  EXPECT_EQ(reasons(Reason::kReplayDiffers), 1u);
}

// The body's runs before the replay leave nothing: no random numbers are drawn by them.
TEST_P(ChecksTest, ComparingChangesNothing) {
  const auto generator = std::make_shared<Generator>(7);
  const FunctionId function = Register("draws", {}, [generator](Launcher& on, Values& inputs) {
    const Tensor drawn = on.Empty(DType::kF32, {kWords});
    on.Launch(UniformKernel(), UniformShape(kWords),
              {Out(drawn), Val(uint32_t{kWords}), Val(on.Random(generator, kWords))});
    return Values{Sum(on, inputs[0], inputs[0]), drawn};
  });
  const Tensor x = Given(1);
  for (int step = 0; step < 5; ++step) {
    EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), Times(PatternOf(1), 2)) << "step " << step;
  }
  EXPECT_EQ(generator->offset(), uint64_t{5 * kWords});
  EXPECT_EQ(replays(), 3u);
  EXPECT_EQ(reasons(Reason::kReplayDiffers), 0u);
}

// Bytes that nobody writes are whatever was there.
TEST_P(ChecksTest, BytesThatNobodyWritesAreNotCompared) {
  const FunctionId function = Register("partly", {}, [](Launcher& on, Values& inputs) {
    const Tensor out = on.Empty(WordsLayout(4 * kWords));
    if (on.ok()) on.Copy(Slice(out, 0, kWords), Tensor::From(inputs[0]));
    return Values{out};
  });
  const FunctionId other = Register("other", {}, [](Launcher& on, Values&) {
    return Values{Filled(on, 9, 4 * kWords)};
  });
  const Tensor x = Given(1);
  for (int step = 0; step < 5; ++step) {
    CallInSteps(1, other, {});
    CallInSteps(1, function, {x});
  }
  EXPECT_GT(replays(), 4u);
  EXPECT_EQ(reasons(Reason::kReplayDiffers), 0u);
}

}  // namespace
}  // namespace graphtree
