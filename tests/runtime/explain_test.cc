// Explain: what ran and why, for every reason that a step can have, and beside steps on another
// thread.
#include <atomic>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "runtime/watch_json.h"
#include "tests/runtime/runtime_fixture.h"

namespace graphtree {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ExplainTest : public RuntimeTest {
 protected:
  ExplainedStep LastStep() {
    const Explanation all = runtime().Explain({.steps = 1});
    return all.steps.empty() ? ExplainedStep() : all.steps.back();
  }
  ExplainedProgram Program(const std::string& name) {
    for (ExplainedProgram& program : runtime().Explain().programs) {
      if (program.name == name) return program;
    }
    ADD_FAILURE() << "no program " << name;
    return {};
  }
  std::string Advice(const std::string& name, Why why) {
    for (const ExplainedReason& reason : Program(name).reasons) {
      if (reason.why == why) return reason.advice;
    }
    return "";
  }
};
GRAPHTREE_ON_EVERY_DEVICE(ExplainTest);

TEST_P(ExplainTest, EachStepSaysWhatRanAndWhy) {
  const ProgramId program = AddDouble({8, 16});
  const Why expected[] = {Why::kWarmingUp, Why::kNotRecorded, Why::kHit, Why::kHit};
  const CallRoute routes[] = {CallRoute::kWarmedUp, CallRoute::kRecorded, CallRoute::kReplayed,
                              CallRoute::kReplayed};
  for (int i = 0; i < 4; ++i) {
    StepWith(program, IdsFrom(i, 8));
    const ExplainedStep step = LastStep();
    EXPECT_EQ(step.number, static_cast<uint64_t>(i));
    EXPECT_EQ(step.why, expected[i]) << i;
    EXPECT_EQ(step.route, routes[i]) << i;
    EXPECT_EQ(step.program, "double");
    EXPECT_EQ(step.key.tokens, 8);
    ASSERT_TRUE(step.shape.has_value());
    EXPECT_EQ(step.shape->tokens, 8);
    EXPECT_THAT(step.sentence, HasSubstr(WhySentence(expected[i])));
    if (i < 2) {
      EXPECT_GT(step.ran_ns, 0u) << "what is no replay is timed";
    }
  }
  StepWith(program, IdsFrom(0, 5));
  EXPECT_EQ(LastStep().why, Why::kCover);
  EXPECT_THAT(LastStep().sentence, HasSubstr("tokens=5 in tokens=8"));
}

TEST_P(ExplainTest, SaysWhatWouldMakeStepsReplay) {
  ProgramOptions options = DoubleOptions();
  options.rules.tokens.most_ratio = 2;
  ASSERT_OK_AND_ASSIGN(const ProgramId program, runtime().AddProgram(std::move(options)));
  ASSERT_THAT(runtime().AddShapes(program, {{.tokens = 4}, {.tokens = 32}}), IsOk());
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  EXPECT_EQ(StepWith(program, IdsFrom(0, 40)), Why::kAboveCeiling);
  EXPECT_EQ(StepWith(program, IdsFrom(0, 50)), Why::kAboveCeiling);
  EXPECT_EQ(StepWith(program, IdsFrom(0, 10)), Why::kPadding);
  EXPECT_THAT(Advice("double", Why::kAboveCeiling),
              HasSubstr("tokens up to 50, where the largest shape has 32: add a shape with "
                        "tokens=50"));
  EXPECT_THAT(Advice("double", Why::kPadding),
              AllOf(HasSubstr("tokens=10"), HasSubstr("allow more padding")));
  ASSERT_THAT(runtime().Exclude(program, {.tokens = 4}), IsOk());
  EXPECT_EQ(StepWith(program, IdsFrom(0, 3)), Why::kExcluded);
  EXPECT_THAT(Advice("double", Why::kExcluded), HasSubstr("tokens=4"));
  StepOptions none;
  none.modes = Modes::None();
  EXPECT_EQ(StepWith(program, IdsFrom(0, 32), none), Why::kMode);
  EXPECT_EQ(StepWith(program, IdsFrom(0, 32), {.is_voted_down = true}), Why::kVotedDown);
  EXPECT_EQ(StepWith(program, IdsFrom(0, 32)), Why::kHit);

  // What it advises makes them replay.
  ASSERT_THAT(runtime().AddShapes(program, {{.tokens = 50}}), IsOk());
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  EXPECT_EQ(StepWith(program, IdsFrom(0, 50)), Why::kHit);
  EXPECT_EQ(StepWith(program, IdsFrom(0, 40)), Why::kCover);

  const ExplainedProgram explained = Program("double");
  EXPECT_EQ(explained.steps, 9u);
  EXPECT_EQ(explained.replays, 3u);
  ASSERT_FALSE(explained.reasons.empty());
  EXPECT_EQ(explained.reasons[0].why, Why::kAboveCeiling) << "the most frequent first";
  ASSERT_EQ(explained.shapes.size(), 3u);
  EXPECT_EQ(explained.shapes[0].usable, Why::kExcluded);
  EXPECT_FALSE(explained.shapes[1].why[static_cast<size_t>(Why::kHit)] == 0);
  EXPECT_TRUE(explained.shapes[1].is_recorded);
  EXPECT_THAT(ToString(runtime().Explain()),
              AllOf(HasSubstr("9 steps, 3 replayed (33.3 %)"), HasSubstr("tokens=32"),
                    HasSubstr("not replayed"), HasSubstr("the last steps")));
}

TEST_P(ExplainTest, StaleNotCommittedAndFailed) {
  ASSERT_OK_AND_ASSIGN(const DepId dep, runtime().DeclareDep("weights"));
  bool fails = false;
  ProgramOptions options = DoubleOptions("weighed");
  options.deps = {dep};
  options.body = [&fails](Launcher& on, const ProgramInputs& in) -> Values {
    if (fails) on.Fail(absl::InternalError("the body is out of order"));
    return DoubleBody(on, in);
  };
  ASSERT_OK_AND_ASSIGN(const ProgramId program, runtime().AddProgram(std::move(options)));
  ASSERT_THAT(runtime().AddShapes(program, {{.tokens = 8}}), IsOk());
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  ASSERT_THAT(runtime().Touch(dep), IsOk());
  EXPECT_EQ(StepWith(program, IdsFrom(0, 8)), Why::kStaleDependency);
  EXPECT_EQ(LastStep().why, Why::kStaleDependency);
  EXPECT_EQ(LastStep().route, CallRoute::kRecorded);
  EXPECT_EQ(LastStep().reason, Reason::kWorkspaceMoved);

  fails = true;
  ASSERT_OK_AND_ASSIGN(Step step, runtime().Begin(program, {.tokens = 20}, a()));
  ASSERT_THAT(step.Stage(0, 1.0), IsOk());
  Values outputs;
  EXPECT_THAT(step.Run(&outputs).message(), HasSubstr("out of order"));
  EXPECT_EQ(LastStep().why, Why::kFailed);
  EXPECT_EQ(LastStep().route, CallRoute::kNone);

  fails = false;
  ProgramOptions waits = DoubleOptions("waits");
  waits.needs_commit = true;
  ASSERT_OK_AND_ASSIGN(const ProgramId waiting, runtime().AddProgram(std::move(waits)));
  ASSERT_THAT(runtime().AddShapes(waiting, {{.tokens = 8}}), IsOk());
  ASSERT_THAT(runtime().Record(waiting, a()), IsOk());
  EXPECT_EQ(StepWith(waiting, IdsFrom(0, 8)), Why::kNotCommitted);
  EXPECT_EQ(LastStep().route, CallRoute::kRanEagerly);
  EXPECT_THAT(Advice("waits", Why::kNotCommitted), HasSubstr("tokens=8"));
  EXPECT_EQ(Program("waits").shapes[0].usable, Why::kNotCommitted);
}

TEST_P(ExplainTest, OnlyOneProgramAndSoManySteps) {
  const ProgramId one = AddDouble({8}, "one");
  const ProgramId two = AddDouble({8}, "two");
  for (int i = 0; i < 6; ++i) {
    StepWith(one, IdsFrom(0, 8));
    StepWith(two, IdsFrom(0, 8));
  }
  const Explanation all = runtime().Explain({.program = "two", .steps = 4, .trees = false});
  ASSERT_EQ(all.steps.size(), 4u);
  EXPECT_EQ(all.steps.back().number, 11u);
  for (const ExplainedStep& step : all.steps) EXPECT_EQ(step.program, "two");
  ASSERT_EQ(all.programs.size(), 1u);
  EXPECT_TRUE(all.trees.empty());
  const Explanation trees = runtime().Explain();
  ASSERT_EQ(trees.trees.size(), 1u);
  EXPECT_FALSE(trees.trees[0].edges.empty());
  ASSERT_THAT(runtime().RemoveProgram(two), IsOk());
  EXPECT_TRUE(runtime().Explain({.program = "two"}).programs.empty());
  EXPECT_EQ(runtime().Explain({.program = "two"}).steps.size(), 6u) << "its name stays";
}

// Whether the caller listens or not.
TEST_P(ExplainTest, WarningsAreThereForWhoeverLooksLater) {
  for (const bool has_log : {false, true}) {
    std::vector<std::string> logged;
    RuntimeOptions options;
    if (has_log) {
      options.log = [&](LogLevel, const std::string& text) { logged.push_back(text); };
    }
    options.tree.warn = nullptr;
    CloseRuntime();
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Runtime> other, Runtime::Create(device(), options));
    ProgramOptions waits = DoubleOptions("waits");
    waits.body = [](Launcher& on, const ProgramInputs& in) {
      Values outputs = DoubleBody(on, in);
      on.stream().Synchronize().IgnoreError();  // which no capture allows
      return outputs;
    };
    ASSERT_OK_AND_ASSIGN(const ProgramId program, other->AddProgram(std::move(waits)));
    ASSERT_THAT(other->AddShapes(program, KeysOf({8})), IsOk());
    EXPECT_TRUE(other->Explain().warnings.empty());
    EXPECT_THAT(other->Record(program, a()), Not(IsOk()));
    const Explanation explanation = other->Explain();
    ASSERT_FALSE(explanation.warnings.empty());
    EXPECT_THAT(explanation.warnings[0], HasSubstr("'waits[tokens=8]' runs eagerly"));
    EXPECT_EQ(logged, has_log ? explanation.warnings : std::vector<std::string>());
    EXPECT_THAT(ToString(explanation), HasSubstr("the last warnings:\n  'waits[tokens=8]'"));
    EXPECT_THAT(ExplanationAsJson(explanation), HasSubstr(R"("warnings":["'waits[tokens=8]')"));
    EXPECT_EQ(other->Explain({.program = "waits"}).warnings, explanation.warnings);
    EXPECT_TRUE(other->Explain({.program = "other"}).warnings.empty());
    EXPECT_TRUE(other->Explain({.program = "wait"}).warnings.empty());
  }
}

TEST_P(ExplainTest, TheClockIsTheCallers) {
  int64_t now = 0;
  RuntimeOptions options;
  options.clock_ns = [&now] { return now += 5000; };
  OpenRuntime(std::move(options));
  const ProgramId program = AddDouble({8});
  StepWith(program, IdsFrom(0, 8));
  EXPECT_EQ(LastStep().ran_ns, 5000u);
  EXPECT_EQ(LastStep().at_ns, now);
}

// Counts that Explain gives are those of the steps, whatever steps there were.
TEST_P(ExplainTest, CountsAgreeWithTheSteps) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  const ProgramId programs[] = {AddDouble({4, 8}, "p0"), AddDouble({16}, "p1")};
  std::map<std::string, WhyCounts> counts;
  std::vector<std::pair<std::string, Why>> steps;
  for (int i = 0; i < 300; ++i) {
    const size_t which = random() % 2;
    const std::string name = which == 0 ? "p0" : "p1";
    if (random() % 10 == 0) {
      ASSERT_THAT(runtime().Exclude(programs[0], {.tokens = 8}, random() % 2 == 0), IsOk());
    }
    const Why why = StepWith(programs[which], IdsFrom(i, 1 + random() % 24));
    ++counts[name][static_cast<size_t>(why)];
    steps.emplace_back(name, why);
  }
  const Explanation all = runtime().Explain();
  ASSERT_EQ(all.steps.size(), steps.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    EXPECT_EQ(all.steps[i].program, steps[i].first);
    EXPECT_EQ(all.steps[i].why, steps[i].second);
  }
  for (const ExplainedProgram& program : all.programs) {
    WhyCounts found = {};
    for (const ExplainedReason& reason : program.reasons) {
      found[static_cast<size_t>(reason.why)] = reason.steps;
    }
    for (size_t i = 0; i < kWhyCount; ++i) {
      if (IsReplay(static_cast<Why>(i))) continue;
      EXPECT_EQ(found[i], counts[program.name][i]) << WhyName(static_cast<Why>(i));
    }
    EXPECT_EQ(program.replays, counts[program.name][static_cast<size_t>(Why::kHit)] +
                                   counts[program.name][static_cast<size_t>(Why::kCover)]);
  }
}

TEST_P(ExplainTest, ReadersBesideStepsSeeWholeSteps) {
  if (!GetParam().concurrent) GTEST_SKIP() << "one thread at a time";
  const ProgramId program = AddDouble({8, 32});
  std::atomic<bool> is_over{false};
  std::atomic<uint64_t> reads{0};
  std::thread reader([&] {
    while (!is_over.load()) {
      const Explanation all = runtime().Explain();
      for (const ExplainedStep& step : all.steps) {
        if (step.program == "double" && step.key.tokens <= 40) ++reads;
        EXPECT_FALSE(ToString(step.key).empty());
      }
    }
  });
  for (int i = 0; i < 3000; ++i) {
    StepWith(program, IdsFrom(i, 1 + i % 40));
    if (i % 500 == 100) AddDouble({8}, "more " + std::to_string(i));
  }
  is_over = true;
  reader.join();
  EXPECT_GT(reads, 0u);
  EXPECT_EQ(Program("double").steps, 3000u);
}

}  // namespace
}  // namespace graphtree
