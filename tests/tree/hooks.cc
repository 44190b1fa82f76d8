// What observers are told of ops, phases and identities, and what a function's own hooks may stop,
// on every way of running and recording.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "device/observer.h"
#include "device/op_identity.h"
#include "gmock/gmock.h"
#include "graphs/function_hooks.h"
#include "graphs/scope.h"
#include "tests/tree/breaks_fixture.h"

namespace graphtree {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Holds all that it is told, and that begins and ends are balanced.
class Witness : public Observer {
 public:
  Wishes wishes() const override { return {.ops = true, .phases = true}; }
  void Saw(const GraphEvent& event) override {
    if (event.identity != nullptr) identity = *event.identity;
    if (event.moment == GraphMoment::kReplayBegin) {
      open_launch_ = event.launch;
      lines.push_back(absl::StrCat("replay of ", std::string(event.function), " (",
                                   RunKindName(event.run), ")"));
      EXPECT_NE(event.launch, 0u);
      ASSERT_NE(event.identity, nullptr);
      EXPECT_EQ((*event.identity)->op_count, event.executable->op_count());
    }
    if (event.moment == GraphMoment::kReplayEnd) {
      EXPECT_EQ(event.launch, open_launch_);
      open_launch_ = 0;
    }
  }
  void SawOp(const OpEvent& event) override {
    open_ops += event.begins ? 1 : -1;
    EXPECT_TRUE(open_ops == 0 || open_ops == 1);
    ASSERT_NE(event.identity, nullptr);
    EXPECT_NE(event.launch, 0u);
    if (!event.begins) return;
    lines.push_back(absl::StrCat(std::string(event.op), " (", RunKindName(event.run), ")"));
    scopes.push_back(event.identity->scope);
  }
  void SawPhase(const PhaseEvent& event) override {
    if (event.begins) {
      open_phases.push_back(event.phase);
      phases.push_back(PhaseName(event.phase));
      return;
    }
    ASSERT_FALSE(open_phases.empty());
    EXPECT_EQ(open_phases.back(), event.phase) << "phases are nested";
    open_phases.pop_back();
    if (!event.ok) failed.push_back(PhaseName(event.phase));
  }

  std::shared_ptr<const GraphIdentity> identity;  // the last one
  std::vector<std::string> lines, phases, failed, scopes;
  std::vector<Phase> open_phases;
  int open_ops = 0;

 private:
  uint64_t open_launch_ = 0;
};

std::vector<std::string> NamesIn(const GraphIdentity& identity) {
  std::vector<std::string> names;
  for (const OpIdentity& op : identity.ops) names.push_back(op.name);
  return names;
}

class HooksTest : public BreaksFixture {
 protected:
  void SetUp() override {
    BreaksFixture::SetUp();
    if (!IsSkipped()) tree().observers().Join(&witness_);
  }
  void TearDown() override {
    if (!IsSkipped()) {
      tree().observers().Leave(&witness_);
      EXPECT_EQ(witness_.open_ops, 0);
      EXPECT_TRUE(witness_.open_phases.empty());
    }
    BreaksFixture::TearDown();
  }
  // x + x, by a part that launches.
  Body TwiceInPart() {
    return [](Launcher& on, Values& inputs) {
      const Tensor x = Tensor::From(inputs[0]);
      const Tensor out = Sum(on, x, x);
      if (!on.ok()) return Values{};
      on.Break("bump", {InOut(out)}, [](Launcher& part, absl::Span<const Tensor> tensors) {
        Bump(part, tensors[0], 1);
      });
      Bump(on, out, 10);
      return Values{out};
    };
  }
  Witness witness_;
};
GRAPHTREE_ON_EVERY_DEVICE(HooksTest);

TEST_P(HooksTest, EveryKindOfOpHasItsName) {
  FunctionOptions options;
  options.kept_outputs = {1};
  const FunctionId function = Register("mixed", options, [this](Launcher& on, Values& inputs) {
    const Tensor x = Tensor::From(inputs[0]);
    const Tensor out = Sum(on, x, x);
    const Tensor kept = on.Empty(x.layout());
    if (!on.ok()) return Values{};
    on.Copy(kept, out);
    on.Fill(Slice(kept, 0, 4), 7);
    on.SetEvent(event());
    const Tensor padded = on.Pad(out, {2 * kWords}, PadValue(1));
    Bump(on, padded, 1);
    return Values{padded, kept};
  });
  CallInSteps(3, function, {Given(1)});
  ASSERT_NE(witness_.identity, nullptr);
  const GraphIdentity& is = *witness_.identity;
  EXPECT_TRUE(is.is_complete);
  EXPECT_EQ(is.function, "mixed");
  EXPECT_EQ(is.tree, tree().observers().tree());
  EXPECT_THAT(NamesIn(is), ElementsAre("graphtree: copy inputs", "add", "copy", "fill", "event",
                                       HasSubstr("graphtree: "), "increment"));
  EXPECT_EQ(is.ops[1].bytes_read, 2 * kWords * 4);
  EXPECT_EQ(is.ops[1].bytes_written, kWords * 4);
  EXPECT_EQ(is.ops[1].input_dims, absl::StrCat("[[", kWords, "], [", kWords, "], [", kWords,
                                               "], []]"));
  EXPECT_EQ(is.ops[1].input_types, "[\"int\", \"int\", \"int\", \"Scalar\"]");
  EXPECT_EQ(is.ops[2].kind, OpKind::kCopy);
  EXPECT_EQ(is.ops[3].bytes_written, 16);
  for (size_t i = 0; i < is.ops.size(); ++i) EXPECT_EQ(is.ops[i].op, i);
  // The device's own listing agrees, for ops that have a name there.
  ASSERT_OK_AND_ASSIGN(const std::vector<Op> ops, tree().OpsOf(is.recording));
  ASSERT_EQ(ops.size(), is.ops.size());
  EXPECT_THAT(ops[1].name, HasSubstr("add"));
  EXPECT_EQ(ops[3].kind, OpKind::kFill);
  EXPECT_THAT(ops[6].name, HasSubstr("increment"));
}

// What a body puts on the stream itself is in the graph, and nobody says what it is.
TEST_P(HooksTest, OpaqueWorkTakesNoName) {
  const FunctionId function = Register("opaque", {}, [](Launcher& on, Values& inputs) {
    const Tensor x = Tensor::From(inputs[0]);
    const Tensor out = Sum(on, x, x);
    const Tensor other = on.Empty(x.layout());
    if (!on.ok()) return Values{};
    on.Reads(out);
    on.Writes(other);
    Stream& stream = on.stream();
    on.Fail(Add(stream, other.raw_bytes(), out.raw_bytes(), out.raw_bytes()));
    on.Fail(Add(stream, other.raw_bytes(), other.raw_bytes(), out.raw_bytes()));
    Bump(on, other, 1);
    on.Fail(Add(stream, other.raw_bytes(), other.raw_bytes(), out.raw_bytes()));
    return Values{other};
  });
  const Values out = CallInSteps(3, function, {Given(1)});
  EXPECT_EQ(Read(out[0]), Plus(Times(PatternOf(1), 8), Words(kWords, 1)));
  ASSERT_NE(witness_.identity, nullptr);
  EXPECT_THAT(NamesIn(*witness_.identity),
              ElementsAre("graphtree: copy inputs", "add", kUnknownOp, kUnknownOp, "increment",
                          kUnknownOp));
  EXPECT_FALSE(witness_.identity->is_complete);
}

TEST_P(HooksTest, EachSectionAndEachPartIsTold) {
  const FunctionId function = Register("cut", {}, TwiceInPart());
  CallInSteps(2, function, {Given(1)});
  EXPECT_THAT(witness_.lines,
              ElementsAre("add (warm-up)", "increment (part)", "increment (warm-up)",
                          "add (capture)", "replay of cut (capture)", "increment (part)",
                          "increment (capture)", "replay of cut (capture)"));
  EXPECT_EQ(witness_.identity->section, 1u);
  EXPECT_THAT(NamesIn(*witness_.identity), ElementsAre("increment"));
  witness_.lines.clear();
  witness_.phases.clear();
  const Values out = CallInSteps(1, function, {Given(2)});
  EXPECT_EQ(Read(out[0]), Plus(Times(PatternOf(2), 2), Words(kWords, 11)));
  EXPECT_THAT(witness_.lines, ElementsAre("replay of cut (replay)", "increment (part)",
                                          "replay of cut (replay)"));
  EXPECT_THAT(witness_.phases, ElementsAre("patch", "part"));
}

TEST_P(HooksTest, PhasesOfARunAreTold) {
  const FunctionId function = Register("f", {}, Twice);
  CallInSteps(1, function, {Given(1)});
  EXPECT_THAT(witness_.phases, ElementsAre("match", "warm-up", "restore"));
  witness_.phases.clear();
  CallInSteps(1, function, {Given(1)});
  EXPECT_THAT(witness_.phases, ElementsAre("match", "record", "restore", "patch"));
  witness_.phases.clear();
  const FunctionId eager = Register("eager", {.exclude = true}, Twice);
  CallInSteps(1, eager, {Given(1)});
  EXPECT_THAT(witness_.phases, ElementsAre("match", "eager"));
  EXPECT_TRUE(witness_.failed.empty());
  witness_.phases.clear();
  const FunctionId fails = Register("fails", {.exclude = true}, [](Launcher& on, Values&) {
    on.Fail(absl::UnavailableError("not today"));
    return Values{};
  });
  EXPECT_THAT(Refusal(fails, {}), FailsWith(absl::StatusCode::kUnavailable, "not today"));
  EXPECT_THAT(witness_.failed, ElementsAre("eager"));
}

TEST_P(HooksTest, WhatIsRecordedApartIsNamedAtItsFirstReplay) {
  FunctionOptions options;
  options.recorded_apart = true;
  const FunctionId function = Register("apart", options, Twice);
  CallInSteps(1, function, {Given(1)});
  NewStep();
  ASSERT_THAT(tree().Record(function, {Given(1)}, a()), IsOk());
  witness_.lines.clear();
  witness_.identity = nullptr;
  CallInSteps(1, function, {Given(1)});
  EXPECT_THAT(witness_.lines, ElementsAre("replay of apart (replay)"));
  EXPECT_THAT(NamesIn(*witness_.identity), ElementsAre("graphtree: copy inputs", "add"));
}

// They are made by the first capture, and good for whoever comes later, and longer than the tree.
TEST_P(HooksTest, IdentitiesAreThereForWhoComesLate) {
  const FunctionId function = Register("f", {}, Twice);
  tree().observers().Leave(&witness_);
  CallInSteps(2, function, {Given(1)});
  EXPECT_EQ(witness_.identity, nullptr);
  tree().observers().Join(&witness_);
  CallInSteps(1, function, {Given(1)});
  tree().observers().Leave(&witness_);
  OpenTree({});
  ASSERT_NE(witness_.identity, nullptr);
  EXPECT_EQ(witness_.identity->function, "f");
  EXPECT_EQ(witness_.identity->ops.size(), 2u);
}

TEST_P(HooksTest, ScopesAreTheInnerFirst) {
  const FunctionId function = Register("scoped", {}, [](Launcher& on, Values& inputs) {
    const NamedScope layer(on, "layer 3");
    const Tensor x = Tensor::From(inputs[0]);
    const Tensor out = Sum(on, x, x);
    const NamedScope attention(on, "attention");
    Bump(on, out, 1);
    return Values{out};
  });
  {
    const NamedScope request(tree().scopes(), "decode");
    CallInSteps(2, function, {Given(1)});
  }
  EXPECT_THAT(witness_.scopes,
              ElementsAre("layer 3;decode", "attention;layer 3;decode", "layer 3;decode",
                          "attention;layer 3;decode"));
  EXPECT_EQ(witness_.identity->ops[2].scope, "attention;layer 3;decode");
  CallInSteps(1, function, {Given(1)});
  EXPECT_EQ(witness_.identity->ops[2].scope, "attention;layer 3;decode") << "as it was captured";
}

TEST_P(HooksTest, APartHasTheScopesOfItsBreak) {
  const FunctionId function = Register("cut", {}, [](Launcher& on, Values& inputs) {
    const NamedScope layer(on, "layer");
    const Tensor x = Tensor::From(inputs[0]);
    const Tensor out = Sum(on, x, x);
    if (!on.ok()) return Values{};
    on.Break("bump", {InOut(out)}, [](Launcher& part, absl::Span<const Tensor> tensors) {
      const NamedScope inner(part, "inner");
      Bump(part, tensors[0], 1);
      part.Break("again", {InOut(tensors[0])}, [](Launcher& in, absl::Span<const Tensor> of) {
        Bump(in, of[0], 1);
      });
    });
    return Values{out};
  });
  CallInSteps(3, function, {Given(1)});
  // In the warm-up, the recording and the replay.
  EXPECT_THAT(witness_.scopes,
              ElementsAre("layer", "inner;layer", "inner;layer", "layer", "inner;layer",
                          "inner;layer", "inner;layer", "inner;layer"));
}

// Lists its function's launches, and stops those of one kind of run.
struct Gatekeeper {
  FunctionHooks Hooks() {
    return {.before_launch =
                [this](const LaunchInfo& launch) -> absl::Status {
                  EXPECT_EQ(launch.op == nullptr, launch.graph != nullptr);
                  const std::string what =
                      launch.op == nullptr ? absl::StrCat(launch.graph->ops.size(), " ops")
                                           : launch.op->name;
                  if (stops && launch.run == stopped && (launch.op == nullptr) == stops_graphs) {
                    return absl::ResourceExhaustedError(absl::StrCat("no room for ", what));
                  }
                  asked.push_back(absl::StrCat(what, " (", RunKindName(launch.run), ")"));
                  return absl::OkStatus();
                },
            .after_launch =
                [this](const LaunchInfo&, const absl::Status& launched) {
                  told += launched.ok() ? 1 : 0;
                }};
  }
  bool stops = false;
  RunKind stopped = RunKind::kEager;
  bool stops_graphs = false;
  std::vector<std::string> asked;
  size_t told = 0;
};

TEST_P(HooksTest, AFunctionsHooksAreAskedBeforeEachLaunch) {
  Gatekeeper gate;
  FunctionOptions options;
  options.hooks = gate.Hooks();
  const FunctionId function = Register("cut", options, TwiceInPart());
  CallInSteps(3, function, {Given(1)});
  EXPECT_THAT(gate.asked,
              ElementsAre("add (warm-up)", "increment (part)", "increment (warm-up)",
                          "add (capture)", "2 ops (capture)", "increment (part)",
                          "increment (capture)", "1 ops (capture)", "2 ops (replay)",
                          "increment (part)", "1 ops (replay)"));
  EXPECT_EQ(gate.told, gate.asked.size());
}

// A stopped launch fails its call with the hook's error; the call can be made again.
TEST_P(HooksTest, AHookStopsTheLaunchOfAnyKindOfRun) {
  struct Row {
    int steps_before;
    RunKind run;
    bool graphs;
    bool exclude;
  };
  const Row rows[] = {{0, RunKind::kWarmUp, false, false}, {1, RunKind::kCapture, false, false},
                      {1, RunKind::kCapture, true, false}, {2, RunKind::kReplay, true, false},
                      {0, RunKind::kEager, false, true},   {0, RunKind::kPart, false, false},
                      {1, RunKind::kPart, false, false},   {2, RunKind::kPart, false, false}};
  for (const Row& row : rows) {
    SCOPED_TRACE(testing::Message() << RunKindName(row.run) << " after " << row.steps_before
                                    << (row.graphs ? ", a graph" : ", an op"));
    Gatekeeper gate;
    FunctionOptions options;
    options.exclude = row.exclude;
    options.hooks = gate.Hooks();
    const FunctionId function = Register("f", options, TwiceInPart());
    const Tensor x = Given(1);
    CallInSteps(row.steps_before, function, {x});
    gate.stops = true;
    gate.stopped = row.run;
    gate.stops_graphs = row.graphs;
    NewStep();
    EXPECT_THAT(Refusal(function, {x}),
                FailsWith(absl::StatusCode::kResourceExhausted, "no room for"));
    EXPECT_THAT(Refusal(function, {x}), FailsWith(absl::StatusCode::kResourceExhausted,
                                                  "before_launch stopped the launch"));
    gate.stops = false;
    EXPECT_EQ(Read(x), PatternOf(1));
    for (int step = 0; step < 3; ++step) {
      const Values out = CallInSteps(1, function, {x});
      EXPECT_EQ(Read(out[0]), Plus(Times(PatternOf(1), 2), Words(kWords, 11)));
    }
    ASSERT_THAT(tree().Unregister(function), IsOk());
  }
  EXPECT_TRUE(witness_.open_phases.empty());
}

// Neither an observer nor a hook gets into the tree that tells it.
TEST_P(HooksTest, AHookThatCallsItsTreeGetsAnError) {
  FunctionId function = 0;
  std::vector<std::string> refusals;
  FunctionOptions options;
  options.hooks.before_launch = [&](const LaunchInfo&) {
    refusals.push_back(std::string(Refusal(function, {}).message()));
    return absl::OkStatus();
  };
  function = Register("f", options, Twice);
  CallInSteps(3, function, {Given(1)});
  EXPECT_EQ(refusals.size(), 4u);
  for (const std::string& refusal : refusals) EXPECT_THAT(refusal, HasSubstr("was not run"));
  EXPECT_EQ(tree().stats().calls, 3u);
}

TEST_P(HooksTest, AnEvictedGraphIsToldWithItsNamesWhenItComesBack) {
  tree().observers().Leave(&witness_);
  OpenTree({.budget = {.executables = 1}});
  tree().observers().Join(&witness_);
  const FunctionId first = Register("first", {}, Twice);
  const FunctionId second = Register("second", {}, Thrice);
  CallInSteps(2, first, {Given(1)});
  CallInSteps(2, second, {Given(1)});
  witness_.identity = nullptr;
  CallInSteps(1, first, {Given(1)});
  ASSERT_NE(witness_.identity, nullptr);
  EXPECT_EQ(witness_.identity->function, "first");
  EXPECT_TRUE(witness_.identity->is_complete);
}

}  // namespace
}  // namespace graphtree
