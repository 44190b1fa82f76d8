// Bodies that put work on another stream than the launcher's: it is not in their recordings, whose
// replays would do nothing.
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "tests/kernels/launches.h"
#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class ElsewhereTest : public TreeTest {
 protected:
  // x + x by a library that goes on using the stream of the call.
  Tensor TwiceElsewhere(Launcher& on, const Value& x) {
    const Tensor out = on.Empty(x.layout());
    const AddressRange from = RangeOf(x);
    if (on.ok()) on.Fail(Add(a(), out.raw_bytes(), from, from));
    return out;
  }
  void BumpElsewhere(Launcher& on, const Value& x) { on.Fail(Increment(a(), RangeOf(x), 1)); }
};
GRAPHTREE_ON_EVERY_DEVICE(ElsewhereTest);

TEST_P(ElsewhereTest, AnOutputThatIsMadeElsewhereIsNotRecorded) {
  const FunctionId function = Register("wrapped", {}, [this](Launcher& on, Values& inputs) {
    return Values{TwiceElsewhere(on, inputs[0])};
  });
  const Tensor x = Given(1);
  for (int step = 0; step < 5; ++step) {
    EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), Times(PatternOf(1), 2)) << "step " << step;
  }
  EXPECT_EQ(graphs(), 0u);
  EXPECT_EQ(eager(), 4u);
  EXPECT_EQ(reasons(Reason::kWorksElsewhere), 4u);
  ASSERT_EQ(warnings().size(), 1u);
  EXPECT_THAT(warnings()[0], HasSubstr("'wrapped' runs eagerly: its recording lacks work that it "
                                       "put on another stream than Launcher::stream(): its output "
                                       "0 is memory that it made, and nothing was captured"));
}

TEST_P(ElsewhereTest, SoIsOneThatIsSaidToBeWritten) {
  const FunctionId function = Register("says", {}, [this](Launcher& on, Values& inputs) {
    const Tensor twice = TwiceElsewhere(on, inputs[0]);
    on.Writes(twice);
    const Tensor out = on.Empty(inputs[0].layout());
    on.Copy(out, Tensor::From(inputs[0]));  // a recording that has an op all the same
    return Values{out};
  });
  const Tensor x = Given(1);
  for (int step = 0; step < 3; ++step) {
    EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), PatternOf(1)) << "step " << step;
  }
  EXPECT_EQ(graphs(), 0u);
  ASSERT_EQ(warnings().size(), 1u);
  EXPECT_THAT(warnings()[0], HasSubstr("it says that opaque work writes to 192 bytes at 0x"));
}

// The work has run on the call's own input: running it once more would do it twice.
TEST_P(ElsewhereTest, AWriteToAnInputMakesTheCallFailOnce) {
  const FunctionId function = Register(
      "bumps", {.static_inputs = {0}, .mutated_inputs = {0}}, [this](Launcher& on, Values& inputs) {
        BumpElsewhere(on, inputs[0]);
        on.Writes(Tensor::From(inputs[0]));
        return Values{};
      });
  const Tensor x = Given(1);
  CallInSteps(1, function, {x});
  NewStep();
  const absl::Status refused = Refusal(function, {x});
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("'bumps' cannot be recorded: it says that opaque work writes to 192 by"));
  for (int step = 0; step < 3; ++step) CallInSteps(1, function, {x});
  EXPECT_EQ(eager(), 3u);
  Words expected = PatternOf(1);
  for (uint32_t& word : expected) word += 5;
  EXPECT_EQ(Read(x), expected) << "each of the five calls did it once";
}

// It may write to the input, and need not in every call.
TEST_P(ElsewhereTest, APromiseNeedNotBeKept) {
  const FunctionId function =
      Register("idle", {.static_inputs = {0}, .mutated_inputs = {0}},
               [](Launcher&, Values&) { return Values{}; });
  CallInSteps(4, function, {Given(1)});
  EXPECT_EQ(replays(), 2u);
}

TEST_P(ElsewhereTest, StrictModeSaysItInEveryCall) {
  OpenTree({.strict = true});
  const FunctionId function = Register("wrapped", {}, [this](Launcher& on, Values& inputs) {
    return Values{TwiceElsewhere(on, inputs[0])};
  });
  const Tensor x = Given(1);
  CallInSteps(1, function, {x});
  for (int step = 0; step < 2; ++step) {
    NewStep();
    EXPECT_THAT(std::string(Refusal(function, {x}).message()),
                HasSubstr("its output 0 is memory that it made"));
  }
}

// Memory that is for the caller to fill.
TEST_P(ElsewhereTest, WhatIsMeantToStayUnwrittenIsRecorded) {
  const FunctionId function =
      Register("buffer", {.unseen_writes = true}, [](Launcher& on, Values& inputs) {
        return Values{on.Empty(inputs[0].layout())};
      });
  CallInSteps(4, function, {Given(1)});
  EXPECT_EQ(graphs(), 1u);
  EXPECT_EQ(replays(), 2u);
  EXPECT_THAT(warnings(), IsEmpty());
}

TEST_P(ElsewhereTest, OpaqueWorkOnTheLaunchersStreamIsRecorded) {
  const FunctionId function = Register("opaque", {}, [](Launcher& on, Values& inputs) {
    const Tensor out = on.Empty(inputs[0].layout());
    const AddressRange from = RangeOf(inputs[0]);
    if (on.ok()) on.Fail(Add(on.stream(), out.raw_bytes(), from, from));
    on.Reads(Tensor::From(inputs[0]));
    on.Writes(out);
    return Values{out};
  });
  const Tensor x = Given(1);
  for (int step = 0; step < 4; ++step) {
    EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), Times(PatternOf(1), 2)) << "step " << step;
  }
  EXPECT_EQ(replays(), 2u);
}

// An op that is told to read and takes what it may write is looked at in the first warm-up.
class SecretWriteTest : public TreeTest {};
GRAPHTREE_ON_EVERY_DEVICE(SecretWriteTest);

TEST_P(SecretWriteTest, IsFoundOutsideOfCheckedMode) {
  const FunctionId function =
      Register("sly", {.moving = Moving::kCopy}, [](Launcher& on, Values& inputs) {
        BumpInSecret(on, inputs[0], 5);
        return Values{Sum(on, inputs[0], inputs[0])};
      });
  const Tensor x = Given(1);
  Words expected = PatternOf(1);
  for (int step = 0; step < 5; ++step) {
    for (uint32_t& word : expected) word += 5;
    EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), Times(expected, 2)) << "step " << step;
    EXPECT_EQ(Read(x), expected) << "step " << step;
  }
  EXPECT_EQ(reasons(Reason::kUndeclaredWrite), 1u);
  EXPECT_THAT(warnings()[0],
              HasSubstr("'sly' writes to an input without declaring it: input 0 changed at bytes 0 "
                        "to 191, which 'increment'"));
}

TEST_P(SecretWriteTest, OfALargeInputIsNotLookedFor) {
  constexpr int64_t kMany = 20000;
  const FunctionId function =
      Register("sly", {.moving = Moving::kCopy}, [](Launcher& on, Values& inputs) {
        BumpInSecret(on, inputs[0], 5);
        return Values{};
      });
  CallInSteps(1, function, {Given(1, kMany)});
  EXPECT_EQ(reasons(Reason::kUndeclaredWrite), 0u);
}

}  // namespace
}  // namespace graphtree
