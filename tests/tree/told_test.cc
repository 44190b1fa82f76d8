// What a call that is not recorded is told of: the function, the input by number and name, the op
// that wrote to it and where that was launched, the option with its value; and the figures by
// function and by edge.
#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "graphs/reports/call_counts.h"
#include "tests/kernels/kernels.h"
#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

using absl::StatusCode;
using testing::AllOf;
using testing::HasSubstr;

class ToldTest : public TreeTest {
 protected:
  // x, cache -> x + x, and cache is bumped.
  static Values BumpsSecond(Launcher& on, Values& inputs) {
    Bump(on, inputs[1], 1);
    return Values{Sum(on, inputs[0], inputs[0])};
  }
  FunctionId RegisterBumps() {
    return Register("bumps", {.moving = Moving::kCopy, .input_names = {"", "cache"}}, BumpsSecond);
  }
  std::string OnlyWarning() {
    EXPECT_EQ(warnings().size(), 1u);
    return warnings().empty() ? "" : warnings().back();
  }
  uint64_t Of(const CallCounts& counts, Reason reason) {
    return counts.reasons[static_cast<size_t>(reason)];
  }
};
GRAPHTREE_ON_EVERY_DEVICE(ToldTest);

TEST_P(ToldTest, AWrittenInputIsNamedWithItsOp) {
  const FunctionId bumps = RegisterBumps();
  const Tensor x = Given(1), cache = Given(2);
  CallInSteps(4, bumps, {x, cache});
  EXPECT_EQ(reasons(Reason::kMutatedInput), 3u);
  EXPECT_THAT(OnlyWarning(),
              AllOf(HasSubstr("'bumps' runs eagerly"),
                    HasSubstr("input 1 ('cache') which '" + std::string(IncrementKernel().name()) +
                              "' writes to"),
                    HasSubstr("Moving::kCopy")));
}

TEST_P(ToldTest, InCheckedModeWithWhereThatWasLaunched) {
  OpenTree({.strict = true, .check = true});
  const FunctionId bumps = RegisterBumps();
  const Tensor x = Given(1), cache = Given(2);
  CallInSteps(1, bumps, {x, cache});
  const std::string error = std::string(Refusal(bumps, {x, cache}).message());
  EXPECT_THAT(error, AllOf(HasSubstr("'bumps' was not recorded"), HasSubstr("input 1 ('cache')"),
                           HasSubstr("was launched at:\n")));
}

TEST_P(ToldTest, ADeclaredWriteHasNoOp) {
  const FunctionId bumps = Register(
      "bumps", {.mutated_inputs = {0}, .moving = Moving::kCopy}, [](Launcher& on, Values& inputs) {
        return Values{Sum(on, inputs[0], inputs[0])};
      });
  CallInSteps(2, bumps, {Given(1)});
  EXPECT_THAT(OnlyWarning(), HasSubstr("input 0 which is declared to be written to"));
}

TEST_P(ToldTest, InputsThatOverlapAreBothNamed) {
  const FunctionId bumps = Register("bumps", {.input_names = {"x", "cache"}}, BumpsSecond);
  const Tensor x = Given(1);
  for (int round = 0; round < 3; ++round) CallInSteps(1, bumps, {x, x});
  EXPECT_EQ(reasons(Reason::kOverlappingInputs), 2u);
  EXPECT_THAT(OnlyWarning(), AllOf(HasSubstr("input 0 ('x') at 0x"),
                                   HasSubstr("and input 1 ('cache') at 0x"),
                                   HasSubstr(std::string(IncrementKernel().name()))));
}

TEST_P(ToldTest, AnInputThatMovesIsNamedWithBothPlaces) {
  const FunctionId function = Register(
      "weighs", {.static_inputs = {0}, .moving = Moving::kEager, .input_names = {"weight"}}, Twice);
  const Tensor first = Given(1), second = Given(2);
  CallInSteps(3, function, {first});
  CallInSteps(2, function, {second});
  EXPECT_EQ(reasons(Reason::kInputMoves), 2u);
  EXPECT_THAT(OnlyWarning(),
              AllOf(HasSubstr("input 0 ('weight') was at 0x"), HasSubstr("Moving::kEager")));
}

TEST_P(ToldTest, ALimitIsToldWithOptionValueAndCause) {
  OpenTree({.budget = {.shapes_of_function = 2}, .shape_warn_limit = 100});
  const FunctionId sized = Register("sized", {}, [](Launcher& on, Values& inputs) {
    return Values{Sum(on, inputs[1], inputs[1])};
  });
  const Tensor x = Given(1);
  for (int64_t size = 0; size < 4; ++size) CallInSteps(2, sized, {Value::Integer(size), x});
  EXPECT_THAT(OnlyWarning(), AllOf(HasSubstr("shapes_of_function is 2"), HasSubstr("in 3 shapes"),
                                   HasSubstr("of its own 2 have a place")));
}

TEST_P(ToldTest, ALimitOfWarmUpsIsToldWithItsValue) {
  OpenTree({.warm_up_limit = 2});
  const FunctionId tunes = Register("tunes", {}, [](Launcher& on, Values& inputs) {
    on.WarmUpAgain("still tuning");
    return Values{Sum(on, inputs[0], inputs[0])};
  });
  CallInSteps(6, tunes, {Given(1)});
  EXPECT_THAT(OnlyWarning(),
              AllOf(HasSubstr("still tuning"), HasSubstr("TreeOptions::warm_up_limit is 2")));
}

TEST_P(ToldTest, APauseIsToldWithWhatFailed) {
  const FunctionId waits = Register("waits", {}, [](Launcher& on, Values& inputs) {
    const Tensor sum = Sum(on, inputs[0], inputs[0]);
    on.Fail(on.stream().Synchronize());
    return Values{sum};
  });
  CallInSteps(8, waits, {Given(1)});
  ASSERT_EQ(warnings().size(), 2u);
  EXPECT_THAT(warnings()[1],
              AllOf(HasSubstr("'waits' runs eagerly"), HasSubstr("3 failures, the last one: "),
                    HasSubstr("TreeBudget::retry_after")));
}

// Record says that runs are what a pause ends with, and then they do.
// A recording that has failed is tried again after some more calls, but at once where Record asks.
TEST_P(ToldTest, RecordWaitsForNoPause) {
  bool waits = true;
  const FunctionId function = Register("waits", {}, [&waits](Launcher& on, Values& inputs) {
    const Tensor sum = Sum(on, inputs[0], inputs[0]);
    if (waits) on.Fail(on.stream().Synchronize());
    return Values{sum};
  });
  const Tensor x = Given(1);
  CallInSteps(1, function, {x});
  NewStep();
  for (int failures = 0; failures < 3; ++failures) {
    EXPECT_THAT(tree().Record(function, {x}, a()).message(),
                HasSubstr(ReasonSentence(Reason::kForbiddenCall)));
  }
  waits = false;
  CallInSteps(1, function, {x});
  EXPECT_EQ(reasons(Reason::kPaused), 1u);
  EXPECT_EQ(graphs(), 0u);
  NewStep();
  EXPECT_THAT(tree().Record(function, {x}, a()), IsOk());
}

TEST_P(ToldTest, ARecordingTooManyIsToldWithWhatDiffers) {
  OpenTree({.rerecord_limit = 1});
  const FunctionId makes = Register("makes", {}, Twice), uses = Register("uses", {}, Twice);
  const Tensor x = Given(1);
  for (int round = 0; round < 12; ++round) {
    NewStep();
    Values held;
    for (int i = 0; i < 3; ++i) held.push_back(Call(makes, {x})[0]);
    if ((round & 1) != 0) held[0] = Value();
    if ((round & 2) != 0) held[1] = Value();
    EXPECT_EQ(Read(Call(uses, {held[2]})[0]), Times(PatternOf(1), 4));
  }
  ASSERT_GT(reasons(Reason::kRerecordLimit), 0u);
  EXPECT_THAT(OnlyWarning(), AllOf(HasSubstr("TreeOptions::rerecord_limit is 1"),
                                   HasSubstr("'uses' runs eagerly")));
}

// A limit is stated with TreeStats, the edges sum up to the functions, and those to all.
TEST_P(ToldTest, FiguresByFunctionAndByEdge) {
  OpenTree({.budget = {.nodes = 3}});
  const FunctionId first = Register("first", {}, Twice), second = Register("second", {}, Thrice);
  const FunctionId never = Register("never", {.exclude = true}, Twice);
  const Tensor x = Given(1);
  for (int round = 0; round < 6; ++round) {
    NewStep();
    Values out = Call(first, {x});
    out = Call(second, std::move(out));
    out = Call(never, {x});
    if (round % 2 == 0) CallInSteps(1, second, {x});
  }
  const std::vector<FunctionStats> functions = tree().function_stats();
  ASSERT_EQ(functions.size(), 3u);
  const TreeStats all = tree().stats();
  CallCounts sum;
  for (const FunctionStats& function : functions) sum.Add(function.counts);
  EXPECT_EQ(sum.replays, all.replays);
  EXPECT_EQ(sum.recordings, all.recordings);
  EXPECT_EQ(sum.warm_ups, all.warm_ups);
  EXPECT_EQ(sum.eager, all.eager);
  EXPECT_EQ(sum.reasons, all.reasons);
  EXPECT_EQ(functions[never].name, "never");
  EXPECT_EQ(functions[never].counts.eager, 6u);
  EXPECT_EQ(Of(functions[never].counts, Reason::kExcluded), 6u);
  EXPECT_EQ(functions[first].counts.replays + functions[first].counts.warm_ups +
                functions[first].counts.recordings,
            6u);
  std::vector<std::string> edges;
  for (const EdgeStats& edge : tree().edge_stats()) edges.push_back(edge.from + ">" + edge.to);
  EXPECT_EQ(edges, (std::vector<std::string>{"first>second", "second>never", ">first",
                                             ">second"}));
  EXPECT_THAT(DrawEdges(tree().edge_stats()),
              HasSubstr("second -> never    6 eager: excluded 6\n"));
}

// What is evicted still counts.
TEST_P(ToldTest, ReplaysOfWhatWasEvictedCount) {
  OpenTree({.budget = {.nodes = 1}});
  const FunctionId one = Register("one", {}, Twice), two = Register("two", {}, Thrice);
  const Tensor x = Given(1);
  for (int round = 0; round < 4; ++round) {
    CallInSteps(5, one, {x});
    CallInSteps(5, two, {x});
  }
  EXPECT_GT(reasons(Reason::kNodeEvicted), 3u);
  const std::vector<FunctionStats> functions = tree().function_stats();
  EXPECT_EQ(functions[0].counts.replays + functions[1].counts.replays, replays());
  EXPECT_EQ(Of(functions[0].counts, Reason::kNodeEvicted) +
                Of(functions[1].counts, Reason::kNodeEvicted),
            reasons(Reason::kNodeEvicted));
}

TEST_P(ToldTest, StaleOutputsAreAdvisedByCause) {
  const FunctionId makes = Register("makes", {}, Twice), uses = Register("uses", {}, Twice);
  const Value made = CallInSteps(1, makes, {Given(1)})[0];
  NewStep();
  EXPECT_THAT(Refusal(uses, {made}),
              FailsWith(StatusCode::kFailedPrecondition, "Begin the step after its last use"));
  NewStep();
  EXPECT_THAT(Refusal(uses, {made}),
              FailsWith(StatusCode::kFailedPrecondition,
                        "keep it (FunctionOptions::kept_outputs of 'makes' with 0)"));
}

}  // namespace
}  // namespace graphtree
