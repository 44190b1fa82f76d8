// A tree within its budgets: what is worth the least goes, everything comes back, and what there is
// no room for runs eagerly with a reason.
#include <cstdint>
#include <string>
#include <vector>

#include "graphs/budget.h"
#include "graphs/reports/outline.h"
#include "tests/kernels/kernels.h"
#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

using absl::StatusCode;

class BudgetsTest : public TreeTest {
 protected:
  void OpenWith(TreeBudget budget, bool strict = false) {
    OpenTree({.budget = budget, .strict = strict});
    x_ = Given(1);
  }
  // `count` functions of one op each: x -> x + x.
  std::vector<FunctionId> Functions(int count) {
    std::vector<FunctionId> functions;
    for (int i = 0; i < count; ++i) {
      functions.push_back(Register("f" + std::to_string(i), {}, Twice));
    }
    return functions;
  }
  void CallAlone(FunctionId function) {
    NewStep();
    EXPECT_EQ(Read(Call(function, {x_})[0]), Times(PatternOf(1), 2));
  }
  void CallSized(FunctionId function, int64_t size) {
    NewStep();
    EXPECT_EQ(Read(Call(function, {Value::Integer(size), x_})[0]), Times(PatternOf(1), 2));
  }
  FunctionId RegisterSized() {
    return Register("sized", {}, [](Launcher& on, Values& inputs) {
      return Values{Sum(on, inputs[1], inputs[1])};
    });
  }
  TreeStats stats() { return tree().stats(); }

  Tensor x_;
};
GRAPHTREE_ON_EVERY_DEVICE(BudgetsTest);

TEST_P(BudgetsTest, EvictedExecutablesComeBackWithoutARecording) {
  OpenWith({.executables = 2});
  const std::vector<FunctionId> functions = Functions(4);
  for (int round = 0; round < 6; ++round) {
    for (FunctionId function : functions) {
      CallAlone(function);
      EXPECT_LE(stats().executables, 2u);
    }
  }
  EXPECT_EQ(graphs(), 4u);
  EXPECT_EQ(stats().nodes, 4u);
  EXPECT_EQ(eager(), 0u);
  EXPECT_EQ(replays(), 4u * 4);
  EXPECT_GE(stats().instantiated_again, 8u);
  EXPECT_EQ(reasons(Reason::kExecutableEvicted), stats().instantiated_again + 2);
}

// Recordings of one topology share executables: where one is evicted for another, it becomes that
// one's. Ops that run other kernels there do not hinder that, other numbers of ops do.
TEST_P(BudgetsTest, AnEvictedExecutableBecomesTheNextOnes) {
  OpenWith({.executables = 1});
  const FunctionId doubles = Register("doubles", {}, Twice);
  const FunctionId adds = Register("adds", {}, AddBoth);
  const FunctionId counts = Register("counts", {}, [](Launcher& on, Values& inputs) {
    const Tensor sum = Sum(on, inputs[0], inputs[0]);
    return Values{Sum(on, sum, inputs[0])};
  });
  for (uint32_t round = 0; round < 8; ++round) {
    const Tensor x = Given(10 + round), y = Given(50 + round);
    NewStep();
    EXPECT_EQ(Read(Call(doubles, {x})[0]), Times(PatternOf(10 + round), 2));
    NewStep();
    EXPECT_EQ(Read(Call(adds, {x, y})[0]), Plus(PatternOf(10 + round), PatternOf(50 + round)));
    if (round == 6) {
      EXPECT_EQ(stats().instantiations.count(), 1u) << "the first one of all";
      EXPECT_EQ(stats().updates.count(), 1u + 2 * 5);
    }
    if (round < 6) continue;
    NewStep();
    EXPECT_EQ(Read(Call(counts, {x})[0]), Times(PatternOf(10 + round), 3)) << "another topology";
    EXPECT_LE(stats().executables, 1u);
  }
  EXPECT_GT(stats().instantiations.count(), 1u);
}

// What was evicted may still run, on another stream than the next call's.
TEST_P(BudgetsTest, AnExecutableThatIsUnderWayBecomesTheNextOnes) {
  OpenWith({.executables = 1});
  std::vector<FunctionId> functions;
  for (const char* name : {"first", "second", "third"}) {
    functions.push_back(Register(name, {.kept_outputs = {0}}, Twice));
  }
  for (uint32_t round = 0; round < 12; ++round) {
    const Tensor x = Given(round);
    std::vector<Values> held;
    for (size_t f = 0; f < functions.size(); ++f) {
      NewStep();
      Values inputs = {x}, outputs;
      Stream& on = (round + f) % 2 == 0 ? a() : b();
      ASSERT_THAT(tree().Run(functions[f], absl::MakeSpan(inputs), on, &outputs), IsOk());
      held.push_back(std::move(outputs));
    }
    ASSERT_THAT(a().Synchronize(), IsOk());
    ASSERT_THAT(b().Synchronize(), IsOk());
    for (const Values& outputs : held) EXPECT_EQ(Read(outputs[0]), Times(PatternOf(round), 2));
  }
  EXPECT_GT(stats().updates.count(), 20u);
}

// What comes back reads what the call brings, not what was captured or patched last.
TEST_P(BudgetsTest, AnExecutableThatComesBackCopiesTheCallsInputs) {
  OpenWith({.executables = 1});
  const FunctionId sum = Register("sum", {}, AddBoth), other = Register("other", {}, Twice);
  const Tensor first = Given(2), second = Given(3);
  for (int round = 0; round < 6; ++round) {
    const bool swapped = round % 4 >= 2;
    NewStep();
    Values out = Call(sum, swapped ? Values{second, x_} : Values{x_, first});
    EXPECT_EQ(Read(out[0]), Plus(PatternOf(1), PatternOf(swapped ? 3 : 2))) << "round " << round;
    CallAlone(other);
  }
  EXPECT_EQ(graphs(), 2u);
  EXPECT_GT(stats().instantiated_again, 3u);
}

// Nor does it write outputs to where another launch put them.
TEST_P(BudgetsTest, AnExecutableThatComesBackPlacesKeptOutputsAnew) {
  OpenWith({.executables = 1});
  const FunctionId keeps = Register("keeps", {.kept_outputs = {0}}, Twice);
  const FunctionId other = Register("other", {}, Twice);
  std::vector<Value> kept;
  for (uint32_t round = 0; round < 5; ++round) {
    NewStep();
    kept.push_back(Call(keeps, {Given(10 + round)})[0]);
    CallAlone(other);
  }
  for (uint32_t round = 0; round < 5; ++round) {
    EXPECT_EQ(Read(kept[round]), Times(PatternOf(10 + round), 2)) << "round " << round;
  }
  EXPECT_GT(stats().instantiated_again, 3u);
}

// It writes to an input that comes at any address, and once gave the address where nobody could see
// it: eager, until it is looked again.
TEST_P(BudgetsTest, AHiddenAddressIsNoVerdictForEver) {
  OpenWith({.retry_after = 8});
  bool hides = true;
  const FunctionId function = Register("hides", {}, [&hides](Launcher& on, Values& inputs) {
    const Tensor x = Tensor::From(inputs[0]);
    const Address address = x.word();
    const uint32_t count = kWords;
    on.Launch(IncrementKernel(), TestShape(), {InOut(x), Val(uint32_t{1}), Val(count)});
    if (hides) {
      on.Launch(IncrementKernel(), TestShape(), {Val(address), Val(uint32_t{0}), Val(count)});
    }
    return Values{};
  });
  uint32_t written = 0;
  const Tensor buffers[] = {Given(3), Given(4)};
  const auto run = [&](int calls) {
    for (int call = 0; call < calls; ++call) {
      CallInSteps(1, function, {buffers[call % 2]});
      ++written;
    }
  };
  run(20);
  EXPECT_EQ(graphs(), 0u);
  EXPECT_GT(reasons(Reason::kMutatedInput), 10u);
  hides = false;
  run(20);
  EXPECT_EQ(graphs(), 1u);
  EXPECT_GT(replays(), 8u);
  EXPECT_EQ(Read(buffers[0]), Plus(PatternOf(3), Words(kWords, written / 2)));
  EXPECT_EQ(Read(buffers[1]), Plus(PatternOf(4), Words(kWords, written / 2)));
}

TEST_P(BudgetsTest, BytesBoundExecutables) {
  OpenWith({.executable_bytes = 300 << 10});
  const std::vector<FunctionId> functions = Functions(5);
  for (int round = 0; round < 5; ++round) {
    for (FunctionId function : functions) {
      CallAlone(function);
      EXPECT_LE(stats().executable_bytes, 300u << 10);
    }
  }
  EXPECT_EQ(graphs(), 5u);
  EXPECT_GT(reasons(Reason::kBytesEvicted), 0u);
  EXPECT_EQ(reasons(Reason::kExecutableEvicted), 0u);
}

TEST_P(BudgetsTest, TheOneThatIsUsedMostStays) {
  OpenWith({.executables = 2});
  const std::vector<FunctionId> functions = Functions(3);
  for (int round = 0; round < 30; ++round) {
    CallAlone(functions[0]);
    CallAlone(functions[0]);
    CallAlone(functions[1 + round % 2]);
  }
  const uint64_t again = stats().instantiated_again;
  EXPECT_LE(again, 30u) << "never the first function's";
  const Outline outline = tree().outline();
  ASSERT_EQ(outline.size(), 3u);
  EXPECT_EQ(outline[0].function, "f0");
  EXPECT_GT(outline[0].executable_bytes, 0u);
}

TEST_P(BudgetsTest, NodesAreRecordedAgain) {
  OpenWith({.nodes = 3});
  const std::vector<FunctionId> functions = Functions(5);
  for (int round = 0; round < 6; ++round) {
    for (FunctionId function : functions) {
      CallAlone(function);
      EXPECT_LE(stats().nodes, 3u);
      EXPECT_LE(stats().executables, 3u);
    }
  }
  EXPECT_GT(graphs(), 5u);
  EXPECT_EQ(reasons(Reason::kNodeEvicted), graphs() - 3);
  EXPECT_EQ(eager(), 0u);
}

// Of a deep path the leaves go first, and a path that is in force stays whole.
TEST_P(BudgetsTest, APathInForceIsNotTouched) {
  OpenWith({.nodes = 4});
  const std::vector<FunctionId> chain = Functions(3);
  const FunctionId one = Register("one", {}, Twice), two = Register("two", {}, Twice);
  for (int round = 0; round < 6; ++round) {
    NewStep();
    Values out = {x_};
    for (FunctionId function : chain) out = Call(function, std::move(out));
    EXPECT_EQ(Read(out[0]), Times(PatternOf(1), 8));
    // A fork behind the first of the chain, so that others push out what is not in force.
    NewStep();
    Values made = Call(chain[0], {x_});
    Values forked = Call(round % 2 == 0 ? one : two, {made[0]});
    EXPECT_EQ(Read(forked[0]), Times(PatternOf(1), 4));
    EXPECT_EQ(Read(made[0]), Times(PatternOf(1), 2));
    EXPECT_LE(stats().nodes, 4u);
  }
  EXPECT_GT(reasons(Reason::kNodeEvicted), 0u);
  EXPECT_EQ(reasons(Reason::kOverBudget), 0u);
}

// Another output is alive every time in front of the second function, and each needs a recording.
TEST_P(BudgetsTest, SiblingsAreBounded) {
  OpenWith({.siblings = 2});
  const FunctionId many = Register("many", {}, [](Launcher& on, Values& inputs) {
    Values out;
    for (int i = 0; i < 5; ++i) out.push_back(Sum(on, inputs[0], inputs[0]));
    return out;
  });
  const FunctionId second = Register("second", {}, Thrice), third = Register("third", {}, Twice);
  for (int round = 0; round < 5; ++round) {
    for (int kept = 0; kept < 5; ++kept) {
      NewStep();
      Values out = Call(many, {x_});
      const Value held = out[kept];
      out.clear();
      Values made = Call(second, {x_});
      EXPECT_EQ(Read(Call(third, {made[0]})[0]), Times(PatternOf(1), 6)) << "and those below go";
      EXPECT_EQ(Read(held), Times(PatternOf(1), 2));
      EXPECT_LE(stats().nodes, 5u);
    }
  }
  EXPECT_GT(reasons(Reason::kSiblingEvicted), 10u);
}

TEST_P(BudgetsTest, APathThatIsLongerThanTheBudgetEndsEagerly) {
  OpenWith({.nodes = 2});
  const std::vector<FunctionId> chain = Functions(4);
  for (int round = 0; round < 6; ++round) {
    NewStep();
    Values out = {x_};
    for (FunctionId function : chain) out = Call(function, std::move(out));
    EXPECT_EQ(Read(out[0]), Times(PatternOf(1), 16));
  }
  EXPECT_EQ(stats().nodes, 2u);
  EXPECT_GT(reasons(Reason::kOverBudget), 0u);
  ASSERT_FALSE(warnings().empty());
  EXPECT_NE(warnings()[0].find("TreeBudget::nodes"), std::string::npos) << warnings()[0];
}

TEST_P(BudgetsTest, ABudgetBelowOneFunctionsNeedIsTold) {
  OpenWith({.executable_bytes = 1000});
  const FunctionId function = Functions(1)[0];
  for (int round = 0; round < 8; ++round) CallAlone(function);
  EXPECT_EQ(graphs(), 0u);
  EXPECT_GE(reasons(Reason::kOverBudget), 3u);
  EXPECT_GE(reasons(Reason::kPaused), 3u) << "it is not captured in vain at every call";
  ASSERT_FALSE(warnings().empty());
  for (const char* part : {"'f0' runs eagerly", "no room", "1000 bytes", "executable_bytes"}) {
    EXPECT_NE(warnings()[0].find(part), std::string::npos) << warnings()[0];
  }

  OpenWith({.executable_bytes = 1000}, /*strict=*/true);
  const FunctionId strict = Functions(1)[0];
  CallAlone(strict);
  EXPECT_THAT(Refusal(strict, {x_}),
              FailsWith(StatusCode::kFailedPrecondition, "TreeBudget::executable_bytes"));
}

TEST_P(BudgetsTest, ABudgetOfNothingIsRefused) {
  for (const TreeBudget& budget :
       {TreeBudget{.nodes = 0}, TreeBudget{.executables = 0}, TreeBudget{.executable_bytes = 0},
        TreeBudget{.siblings = 0}, TreeBudget{.shapes_of_function = 0}, TreeBudget{.shapes = 0},
        TreeBudget{.half_life = 0}, TreeBudget{.retry_after = 0}}) {
    TreeOptions options;
    options.budget = budget;
    EXPECT_THAT(Tree::Create(device(), options).status(),
                FailsWith(StatusCode::kInvalidArgument, "with a budget of 0"));
  }
}

// A shape that comes once runs eagerly; one that is used more than another takes its place.
TEST_P(BudgetsTest, TheShapesThatAreUsedMostHaveThePlaces) {
  OpenWith({.shapes_of_function = 2, .half_life = 16});
  const FunctionId function = RegisterSized();
  for (int round = 0; round < 6; ++round) {
    CallSized(function, 1);
    CallSized(function, 2);
  }
  EXPECT_EQ(graphs(), 2u);
  CallSized(function, 3);
  EXPECT_EQ(reasons(Reason::kShapeLimit), 1u);
  EXPECT_EQ(eager(), 1u);
  EXPECT_EQ(stats().shapes, 2u);
  CallSized(function, 1);
  EXPECT_EQ(graphs(), 2u) << "a newcomer pushes out nobody who is used more";
  for (int round = 0; round < 20; ++round) {
    CallSized(function, 3);
    CallSized(function, 1);
  }
  EXPECT_EQ(graphs(), 3u);
  EXPECT_EQ(reasons(Reason::kShapeEvicted), 1u) << "the second size went";
  EXPECT_EQ(stats().shapes, 2u);
  EXPECT_EQ(stats().nodes, 2u);
  const uint64_t eager_before = eager();
  CallSized(function, 3);
  CallSized(function, 1);
  EXPECT_EQ(eager(), eager_before);
  ASSERT_GE(warnings().size(), 1u);
  EXPECT_NE(warnings()[0].find("shapes_of_function"), std::string::npos) << warnings()[0];
}

TEST_P(BudgetsTest, TheShapesOfATreeAreBoundedOverItsFunctions) {
  OpenWith({.shapes = 3, .half_life = 8});
  const std::vector<FunctionId> functions = Functions(5);
  for (int round = 0; round < 10; ++round) {
    for (FunctionId function : functions) {
      for (int call = 0; call < 12; ++call) CallAlone(function);
      EXPECT_LE(stats().shapes, 3u);
      EXPECT_LE(stats().nodes, 3u);
    }
  }
  EXPECT_GT(reasons(Reason::kShapeEvicted), 5u);
  EXPECT_GT(replays(), 300u) << "most calls of a run of equal ones are replays";
}

// Shapes that come once take no place from those that come often.
TEST_P(BudgetsTest, ShapesThatComeOnceRunEagerly) {
  OpenWith({.shapes_of_function = 2});
  const FunctionId function = RegisterSized();
  for (int64_t size = 10; size < 200; ++size) {
    for (int64_t hot : {0, 1, 0, 1}) CallSized(function, hot);
    CallSized(function, size);
  }
  EXPECT_EQ(graphs(), 2u);
  EXPECT_EQ(stats().shapes, 2u);
  EXPECT_EQ(reasons(Reason::kShapeLimit), 190u);
  EXPECT_EQ(reasons(Reason::kShapeEvicted), 0u);
}

TEST_P(BudgetsTest, ARecordingThatFailsIsTriedAgainLessAndLessOften) {
  OpenWith({.retry_after = 8});
  bool waits = true;
  uint64_t runs = 0;
  const FunctionId function = Register("waits", {}, [&](Launcher& on, Values& inputs) {
    ++runs;
    const Tensor sum = Sum(on, inputs[0], inputs[0]);
    if (waits) on.Fail(on.stream().Synchronize());
    return Values{sum};
  });
  for (int call = 0; call < 64; ++call) CallAlone(function);
  EXPECT_GT(reasons(Reason::kPaused), 40u);
  EXPECT_EQ(reasons(Reason::kPaused) + reasons(Reason::kForbiddenCall), 63u);
  EXPECT_EQ(runs, 64 + reasons(Reason::kForbiddenCall));
  waits = false;
  for (int call = 0; call < 10; ++call) CallAlone(function);
  EXPECT_EQ(graphs(), 1u) << "no verdict is for ever";
  EXPECT_GT(replays(), 0u);
}

TEST_P(BudgetsTest, WhatWasRecordedTooOftenIsTriedAgain) {
  OpenTree({.rerecord_limit = 2, .budget = {.retry_after = 10}});
  const FunctionId many = Register("many", {}, Twice);
  const FunctionId second = Register("second", {}, Twice);
  x_ = Given(1);
  uint64_t recorded_by_then = 0;  // when it was refused first
  // What is alive in front of the second one differs every time.
  for (int round = 0; round < 400; ++round) {
    NewStep();
    std::vector<Values> held;
    for (int i = 0; i < 1 + round % 5; ++i) held.push_back(Call(many, {x_}));
    Values last = std::move(held.back());
    held.pop_back();
    for (uint32_t i = 0; i < held.size(); ++i) {
      if ((round >> i & 1) != 0) held[i].clear();
    }
    EXPECT_EQ(Read(Call(second, {last[0]})[0]), Times(PatternOf(1), 4));
    if (recorded_by_then == 0 && reasons(Reason::kRerecordLimit) > 0) recorded_by_then = graphs();
  }
  EXPECT_GT(recorded_by_then, 0u) << "it was refused";
  EXPECT_GT(graphs(), recorded_by_then) << "and not for ever";
  EXPECT_LE(stats().nodes, 200u);
}

// Launches in flight of what is evicted run to their end.
TEST_P(BudgetsTest, WhatIsInFlightRunsToItsEnd) {
  OpenWith({.nodes = 2, .executables = 1});
  const std::vector<FunctionId> functions = Functions(4);
  for (FunctionId function : functions) CallAlone(function);
  for (int round = 0; round < 5; ++round) {
    for (FunctionId function : functions) {
      NewStep();
      Values out = Call(function, {x_});
      EXPECT_THAT(Delay(a(), 2000), IsOk());
      Values again = Call(function, {out[0]});
      EXPECT_EQ(Read(again[0]), Times(PatternOf(1), 4));
    }
  }
  EXPECT_GT(reasons(Reason::kNodeEvicted), 10u);
}

}  // namespace
}  // namespace graphtree
