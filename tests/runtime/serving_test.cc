// Modes of serving: off and shadow change nothing, strict lets nothing run eagerly, parity finds
// what a replay gets wrong, and modes change between steps alone.
#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/kernels/kernels.h"
#include "tests/kernels/launches.h"
#include "tests/runtime/runtime_fixture.h"

namespace graphtree {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr Serving kAllModes[] = {Serving::kOff, Serving::kShadow, Serving::kReplay,
                                 Serving::kStrict};

class ServingTest : public RuntimeTest {
 protected:
  absl::Status TryStep(ProgramId program, const Ids& ids, StepOptions options = {}) {
    const Key key = {.tokens = static_cast<int32_t>(ids.size())};
    absl::StatusOr<Step> step = runtime().Begin(program, key, a(), options);
    if (!step.ok()) return step.status();
    EXPECT_THAT(step->Stage(0, HostRows{ids.data(), DType::kI32, key.tokens}), IsOk());
    Values outputs;
    return step->Run(&outputs);
  }
  ExplainedProgram Program(const std::string& name) {
    for (ExplainedProgram& program : runtime().Explain().programs) {
      if (program.name == name) return program;
    }
    return {};
  }
  LaneMetrics Lane() { return runtime().metrics().lanes.at(0); }
  // `by` is added to twice the ids: what a body computes on the host.
  ProgramId AddPlus(const int32_t* by) {
    ProgramOptions options = DoubleOptions("plus");
    options.body = [by](Launcher& on, const ProgramInputs& in) -> Values {
      const Values doubled = DoubleBody(on, in);
      if (doubled.empty() || !on.ok()) return {};
      const Tensor out = Tensor::From(doubled[0]);
      on.Launch(IncrementKernel(), TestShape(),
                {InOut(out), Val(static_cast<uint32_t>(*by)),
                 Val(static_cast<uint32_t>(in.key().tokens))});
      return {out};
    };
    const absl::StatusOr<ProgramId> program = runtime().AddProgram(std::move(options));
    EXPECT_THAT(program, IsOk());
    EXPECT_THAT(runtime().AddShapes(*program, {{.tokens = 8}}), IsOk());
    return *program;
  }
};
GRAPHTREE_ON_EVERY_DEVICE(ServingTest);

TEST_P(ServingTest, OffRunsEagerlyAndRecordsNothing) {
  const ProgramId program = AddDouble({8});
  ASSERT_THAT(runtime().SetServing({.serving = Serving::kOff}), IsOk());
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  EXPECT_THAT(warnings(), ElementsAre(AllOf(HasSubstr("mode is off"), HasSubstr("'double'"))));
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(StepWith(program, IdsFrom(i, 5)), Why::kOff);
    EXPECT_EQ(LastOutput(), Doubled(IdsFrom(i, 5), 5)) << "without padding, as eager runs are";
  }
  EXPECT_THAT(LastDescription(), HasSubstr("switched off"));
  EXPECT_EQ(runtime().stats().recordings, 0u);
  EXPECT_EQ(runtime().tree()->stats().nodes, 0u);
  ASSERT_OK_AND_ASSIGN(const Choice choice, runtime().Choose(program, {.tokens = 8}));
  EXPECT_EQ(choice.why, Why::kOff);
  ASSERT_THAT(runtime().SetServing({}), IsOk());
  EXPECT_EQ(StepWith(program, IdsFrom(0, 8)), Why::kWarmingUp);
}

// Record, a plan and idle slots, all alike: only modes in which graphs serve have them made.
TEST_P(ServingTest, EveryWayToRecordRespectsEveryMode) {
  for (const Serving serving : kAllModes) {
    OpenRuntime({});
    const ProgramId program = AddDouble({8, 16, 32});
    ASSERT_OK_AND_ASSIGN(const RecordingPlan plan, runtime().Plan({{program, {.tokens = 16}}}, 0));
    ASSERT_THAT(runtime().SetServing({.serving = serving}), IsOk());
    const bool records = ServesGraphs(serving);
    const std::string mode = ServingName(serving);
    int told = 0;
    ASSERT_OK_AND_ASSIGN(const PlanResult result,
                         runtime().RecordPlan(plan, a(), [&](const PlanResult&) { ++told; }));
    EXPECT_EQ(told, 1) << mode;
    EXPECT_EQ(result.recorded, records ? 1u : 0u) << mode;
    ASSERT_EQ(result.left_out.size(), records ? 0u : 1u) << mode;
    if (!records) {
      EXPECT_STREQ(LeftOutName(result.left_out[0].why), "mode");
      EXPECT_EQ(result.left_out[0].shape.key.tokens, 16);
      EXPECT_THAT(result.left_out[0].words, HasSubstr("mode is " + mode));
    }
    ASSERT_NE(runtime().last_plan(), nullptr);
    ASSERT_OK_AND_ASSIGN(ProgressReport report, runtime().Progress(a()));
    EXPECT_EQ(report.runs, records ? 1u : 0u) << mode;
    EXPECT_EQ(report.is_done, !records) << mode << ": nobody waits for what nobody records";
    EXPECT_EQ(report.readiness.shapes, 3u);
    EXPECT_EQ(report.readiness.ready, records ? 1u : 0u) << mode;
    ASSERT_THAT(runtime().Record(program, a()), IsOk());
    EXPECT_EQ(runtime().tree()->stats().nodes, records ? 3u : 0u) << mode;
    EXPECT_EQ(runtime().readiness().ready, records ? 3u : 0u) << mode;
    if (records) {
      EXPECT_TRUE(warnings().empty());
    } else {
      EXPECT_THAT(warnings(),
                  ElementsAre(HasSubstr("nothing is recorded, as the mode is " + mode)));
    }
    // What is no use in any mode is an error in all of them.
    EXPECT_FALSE(runtime().RecordPlan({}, a()).ok()) << mode;
    ASSERT_THAT(a().BeginCapture(CaptureMode::kThreadLocal), IsOk());
    EXPECT_FALSE(runtime().RecordPlan(plan, a()).ok()) << mode;
    EXPECT_FALSE(runtime().Progress(a()).ok()) << mode;
    EXPECT_FALSE(runtime().Record(program, a()).ok()) << mode;
    ASSERT_THAT(a().EndCapture().status(), IsOk());
  }
}

// The mode changes between steps, plans and runs in idle slots: each goes by the mode of its own.
TEST_P(ServingTest, ModesMayChangeWhileGraphsAreRecordedInEveryWay) {
  for (uint32_t seed = 1; seed <= 6; ++seed) {
    std::mt19937 random(seed);
    OpenRuntime({.records_while_serving = seed % 2 == 0});
    const ProgramId program = AddDouble({4, 8, 16, 32});
    for (int turn = 0; turn < 40; ++turn) {
      const Serving serving = kAllModes[random() % 4];
      ASSERT_THAT(runtime().SetServing({.serving = serving}), IsOk());
      const uint64_t before = runtime().stats().recordings;
      const uint64_t runs = runtime().tree()->stats().warm_ups;
      const int32_t tokens = 1 + static_cast<int32_t>(random() % 32);
      switch (random() % 4) {
        case 0: {
          ASSERT_OK_AND_ASSIGN(const RecordingPlan plan,
                               runtime().Plan({{program, {.tokens = 4 << (random() % 4)}}}, 0));
          ASSERT_THAT(runtime().RecordPlan(plan, a()).status(), IsOk());
          break;
        }
        case 1:
          ASSERT_THAT(runtime().Progress(a(), {.ends_steps = true}).status(), IsOk());
          break;
        default: {
          const Ids ids = IdsFrom(turn, tokens);
          const absl::Status ran = TryStep(program, ids);
          EXPECT_TRUE(ran.ok() || serving == Serving::kStrict) << ran << ", seed " << seed;
        }
      }
      if (ServesGraphs(serving)) continue;
      EXPECT_EQ(runtime().stats().recordings, before) << ServingName(serving) << ", seed " << seed;
      EXPECT_EQ(runtime().tree()->stats().warm_ups, runs) << ServingName(serving);
    }
    ASSERT_THAT(runtime().SetServing({}), IsOk());
    for (int call = 0; call < 20; ++call) {
      ASSERT_OK_AND_ASSIGN(const ProgressReport report,
                           runtime().Progress(a(), {.ends_steps = true}));
      if (report.is_done) break;
    }
    ASSERT_THAT(runtime().SetServing({.serving = Serving::kStrict}), IsOk());
    for (const int32_t tokens : {4, 8, 16, 32}) {
      EXPECT_EQ(StepWith(program, IdsFrom(1, tokens)), Why::kHit) << tokens << ", seed " << seed;
      EXPECT_EQ(LastOutput(), Doubled(IdsFrom(1, tokens), tokens));
    }
  }
}

TEST_P(ServingTest, RecordingsStayWhileTheModeIsAnother) {
  const ProgramId program = AddDouble({8});
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  for (const Serving serving : {Serving::kOff, Serving::kShadow, Serving::kStrict}) {
    ASSERT_THAT(runtime().SetServing({.serving = serving}), IsOk());
    StepWith(program, IdsFrom(0, 8));
    ASSERT_THAT(runtime().SetServing({}), IsOk());
    EXPECT_EQ(StepWith(program, IdsFrom(0, 8)), Why::kHit) << ServingName(serving);
  }
}

TEST_P(ServingTest, ShadowTellsWhatReplayingWouldBring) {
  ASSERT_THAT(runtime().SetServing({.serving = Serving::kShadow}), IsOk());
  const ProgramId program = AddDouble({8, 32});
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(StepWith(program, IdsFrom(i, 5)), Why::kShadow);
    EXPECT_EQ(LastOutput(), Doubled(IdsFrom(i, 5), 5));
  }
  for (int i = 0; i < 3; ++i) StepWith(program, IdsFrom(i, 20));
  StepWith(program, IdsFrom(0, 60));
  EXPECT_EQ(runtime().tree()->stats().nodes, 0u);
  EXPECT_EQ(runtime().stats().recordings, 0u);
  const ExplainedProgram explained = Program("double");
  ASSERT_EQ(explained.shapes.size(), 2u);
  EXPECT_EQ(explained.shapes[0].shadow.steps, 6u);
  EXPECT_EQ(explained.shapes[1].shadow.steps, 3u);
  const ShadowEstimate& shadow = explained.shapes[0].shadow;
  EXPECT_EQ(shadow.ops, 2u) << "unpack and add";
  EXPECT_EQ(shadow.pool_bytes, 5 * sizeof(int32_t));
  EXPECT_GT(shadow.eager_us, 0);
  EXPECT_GT(shadow.replay_us, 0);
  EXPECT_GT(shadow.executable_bytes, 0u);
  EXPECT_THAT(ToString(runtime().Explain()), HasSubstr("tokens=8 would have served 6 steps"));

  // What shadow says of memory is what replaying then takes.
  ASSERT_THAT(runtime().SetServing({}), IsOk());
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  EXPECT_EQ(runtime().tree()->stats().executable_bytes,
            explained.shapes[0].shadow.executable_bytes +
                explained.shapes[1].shadow.executable_bytes);
}

TEST_P(ServingTest, StrictTurnsEveryReasonIntoAnErrorThatSaysIt) {
  ASSERT_OK_AND_ASSIGN(const DepId dep, runtime().DeclareDep("weights"));
  ProgramOptions options = DoubleOptions();
  options.deps = {dep};
  options.rules.tokens.most_ratio = 2;
  ASSERT_OK_AND_ASSIGN(const ProgramId program, runtime().AddProgram(std::move(options)));
  ASSERT_THAT(runtime().AddShapes(program, {{.tokens = 4}, {.tokens = 8}, {.tokens = 32}}), IsOk());
  ASSERT_THAT(runtime().Exclude(program, {.tokens = 4}), IsOk());
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  ASSERT_THAT(runtime().AddShapes(program, {{.tokens = 48}}), IsOk());
  ASSERT_THAT(runtime().SetServing({.serving = Serving::kStrict}), IsOk());
  EXPECT_THAT(TryStep(program, IdsFrom(0, 8)), IsOk());
  const auto refused = [&](size_t tokens, Why why, StepOptions options = {}) {
    const uint64_t steps = runtime().stats().steps;
    const uint64_t before = Lane().refused[static_cast<size_t>(why)];
    const absl::Status status = TryStep(program, IdsFrom(0, tokens), options);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(status.message(), AllOf(HasSubstr("strict"), HasSubstr(WhyName(why)),
                                        HasSubstr(WhySentence(why)), HasSubstr("'double'"),
                                        HasSubstr(absl::StrCat("tokens=", tokens))));
    EXPECT_EQ(runtime().stats().steps, steps) << "nothing has run";
    EXPECT_EQ(Lane().refused[static_cast<size_t>(why)], before + 1);
    EXPECT_EQ(runtime().Explain().steps.back().why, why);
  };
  refused(60, Why::kAboveCeiling);
  refused(12, Why::kPadding);
  refused(3, Why::kExcluded);
  refused(40, Why::kNotRecorded);
  StepOptions none;
  none.modes = Modes::None();
  refused(8, Why::kMode, none);
  refused(8, Why::kVotedDown, {.is_voted_down = true});
  ASSERT_THAT(runtime().Touch(dep), IsOk());
  refused(8, Why::kStaleDependency);
  EXPECT_EQ(runtime().tree()->stats().eager, 0u);
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  EXPECT_EQ(StepWith(program, IdsFrom(3, 8)), Why::kHit);
  EXPECT_EQ(LastOutput(), Doubled(IdsFrom(3, 8), 8));
}

TEST_P(ServingTest, StrictRefusesWhatWasEvicted) {
  RuntimeOptions options;
  options.tree.budget.nodes = 1;
  OpenRuntime(std::move(options));
  const ProgramId program = AddDouble({8, 32});
  for (int i = 0; i < 2; ++i) StepWith(program, IdsFrom(0, 8));
  for (int i = 0; i < 2; ++i) StepWith(program, IdsFrom(0, 32));
  ASSERT_THAT(runtime().SetServing({.serving = Serving::kStrict}), IsOk());
  const absl::Status status = TryStep(program, IdsFrom(0, 8));
  EXPECT_THAT(status.message(), AllOf(HasSubstr("strict"), HasSubstr("evicted")));
  EXPECT_THAT(TryStep(program, IdsFrom(0, 32)), IsOk());
}

TEST_P(ServingTest, AChangeInsideOfAStepIsRefused) {
  const ProgramId program = AddDouble({8});
  ASSERT_OK_AND_ASSIGN(Step step, runtime().Begin(program, {.tokens = 8}, a()));
  const absl::Status status = runtime().SetServing({.serving = Serving::kOff});
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("the mode was changed to off"),
                                      HasSubstr("'double' is under way")));
  EXPECT_EQ(runtime().serving().serving, Serving::kReplay);
  step.Cancel();
  EXPECT_THAT(runtime().SetServing({.serving = Serving::kOff}), IsOk());
  EXPECT_EQ(runtime().serving().serving, Serving::kOff);

  // Nor by a body.
  absl::Status inside;
  ProgramOptions options = DoubleOptions("changes");
  options.body = [&](Launcher& on, const ProgramInputs& in) -> Values {
    inside = runtime().SetServing({});
    return DoubleBody(on, in);
  };
  ASSERT_OK_AND_ASSIGN(const ProgramId changes, runtime().AddProgram(std::move(options)));
  StepWith(changes, IdsFrom(0, 8));
  EXPECT_THAT(inside.message(), HasSubstr("under way"));
}

TEST_P(ServingTest, ModesThatMakeNoSenseAreRefused) {
  EXPECT_THAT(runtime().SetServing({.serving = Serving::kOff, .parity_every = 3}).message(),
              HasSubstr("nothing is replayed"));
  EXPECT_THAT(runtime().SetServing({.tolerance = {.absolute = -1}}).message(),
              HasSubstr("tolerance of -1"));
  EXPECT_THAT(ServingFrom("fast").status().message(),
              AllOf(HasSubstr("\"fast\""), HasSubstr("off, shadow, replay and strict")));
  for (const Serving serving : kAllModes) {
    ASSERT_OK_AND_ASSIGN(const Serving same, ServingFrom(ServingName(serving)));
    EXPECT_EQ(same, serving);
  }
  RuntimeOptions options;
  options.serving = {.serving = Serving::kShadow, .parity_every = 1};
  EXPECT_FALSE(Runtime::Create(device(), options).ok());
}

TEST_P(ServingTest, ParityFindsAValueThatWasRecorded) {
  int32_t by = 5;
  const ProgramId program = AddPlus(&by);
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  ASSERT_THAT(runtime().SetServing({.parity_every = 2}), IsOk());
  for (int i = 0; i < 6; ++i) EXPECT_EQ(StepWith(program, IdsFrom(i, 7)), Why::kCover);
  EXPECT_EQ(Lane().parity_same, 3u);
  EXPECT_EQ(Lane().parity_differs, 0u) << Program("plus").shapes[0].parity.last_text;
  by = 6;
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(StepWith(program, IdsFrom(i, 8)), Why::kHit);
    EXPECT_EQ(LastOutput()[0], 2 * i + 5) << "the replay's";
  }
  EXPECT_EQ(Lane().parity_differs, 3u);
  EXPECT_THAT(warnings(),
              ElementsAre(AllOf(HasSubstr("'plus' (tokens=8)"),
                                HasSubstr(absl::StrCat("('", IncrementKernel().name(), "')")),
                                HasSubstr("(5) in the recording, and "))))
      << "once";
  const ExplainedParity parity = Program("plus").shapes[0].parity;
  EXPECT_EQ(parity.same, 3u);
  EXPECT_EQ(parity.differs, 3u);
  EXPECT_EQ(parity.last_op, IncrementKernel().name());
  ASSERT_THAT(runtime().SetServing({.parity_every = 1, .tolerance = {.absolute = 1}}), IsOk());
  StepWith(program, IdsFrom(0, 8));
  EXPECT_EQ(Lane().parity_same, 4u) << "within the tolerance";
}

TEST_P(ServingTest, ParityNamesAPlantedWrongKernel) {
  bool is_wrong = true;
  ProgramOptions options = DoubleOptions("planted");
  options.body = [&](Launcher& on, const ProgramInputs& in) -> Values {
    const Tensor doubled = on.Empty(DType::kI32, {in.key().tokens});
    const Tensor out = on.Empty(DType::kI32, {in.key().tokens});
    if (!on.ok()) return {};
    const auto count = static_cast<uint32_t>(in.key().tokens);
    const Tensor& ids = in.slot(0);
    if (is_wrong) {
      on.Launch(FillPatternKernel(), TestShape(), {Out(doubled), Val(uint32_t{1}), Val(count)});
    } else {
      on.Launch(AddKernel(), TestShape(), {Out(doubled), In(ids), In(ids), Val(count)});
    }
    on.Launch(AddKernel(), TestShape(), {Out(out), In(doubled), In(ids), Val(count)});
    return {out};
  };
  ASSERT_OK_AND_ASSIGN(const ProgramId program, runtime().AddProgram(std::move(options)));
  ASSERT_THAT(runtime().AddShapes(program, {{.tokens = 8}}), IsOk());
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  is_wrong = false;
  ASSERT_THAT(runtime().SetServing({.parity_every = 1}), IsOk());
  StepWith(program, IdsFrom(1, 8));
  const ExplainedParity parity = Program("planted").shapes[0].parity;
  EXPECT_EQ(parity.differs, 1u);
  EXPECT_EQ(parity.last_op, AddKernel().name());
  const std::string name = FillPatternKernel().name();
  EXPECT_THAT(parity.last_text,
              AllOf(HasSubstr("output 0"), HasSubstr("has '" + name + "' in its place")));
}

TEST_P(ServingTest, ParitySaysWhatCannotBeCompared) {
  ProgramOptions options = DoubleOptions("broken");
  options.body = [](Launcher& on, const ProgramInputs& in) -> Values {
    Values doubled = DoubleBody(on, in);
    if (doubled.empty() || !on.ok()) return {};
    on.Break("for the test", {InOut(Tensor::From(doubled[0]))},
             [](Launcher&, absl::Span<const Tensor>) {});
    const Tensor out = on.Empty(DType::kI32, {in.key().tokens});
    if (!on.ok()) return {};
    on.Copy(out, Tensor::From(doubled[0]));
    return {out};
  };
  ASSERT_OK_AND_ASSIGN(const ProgramId program, runtime().AddProgram(std::move(options)));
  ASSERT_THAT(runtime().AddShapes(program, {{.tokens = 8}}, Mode::kSegmented), IsOk());
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  ASSERT_THAT(runtime().SetServing({.parity_every = 1}), IsOk());
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(StepWith(program, IdsFrom(i, 8)), Why::kHit);
    EXPECT_EQ(LastOutput(), Doubled(IdsFrom(i, 8), 8));
  }
  EXPECT_EQ(Lane().parity_skipped, 3u);
  EXPECT_THAT(warnings(), ElementsAre(HasSubstr("recorded in 2 sections"),
                                      HasSubstr("its body breaks")));
}

// The bytes are those of eager runs, in any mode, whenever it changes; parity finds nothing.
TEST_P(ServingTest, AnyModeAtAnyStepGivesTheSameBytes) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  const ProgramId program = AddDouble({4, 16, 40});
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  for (int i = 0; i < 200; ++i) {
    if (random() % 4 == 0) {
      ServingMode mode{.serving = kAllModes[random() % 4]};
      if (ServesGraphs(mode.serving)) mode.parity_every = static_cast<uint32_t>(random() % 3);
      ASSERT_THAT(runtime().SetServing(mode), IsOk());
    }
    const Ids ids = IdsFrom(i, 1 + random() % 40);
    StepWith(program, ids);
    Ids output = LastOutput();
    ASSERT_GE(output.size(), ids.size());
    for (size_t j = ids.size(); j < output.size(); ++j) EXPECT_EQ(output[j], 0) << "padding";
    output.resize(ids.size());
    EXPECT_EQ(output, Doubled(ids, ids.size()));
  }
  EXPECT_EQ(Lane().parity_differs, 0u);
  EXPECT_THAT(warnings(), testing::IsEmpty());
}

TEST_P(ServingTest, SettingsSayWhereTheyCameFrom) {
  RuntimeOptions program;
  program.tree.pool_bytes = 16 << 20;
  const Environment environment = {{"GRAPHTREE_MODE", "shadow"}};
  ASSERT_OK_AND_ASSIGN(RuntimeOptions options, WithEnvironment(program, environment));
  OpenRuntime(std::move(options));
  const auto find = [this](const std::string& name) {
    for (const Setting& setting : runtime().Settings()) {
      if (setting.name == name) return setting;
    }
    return Setting();
  };
  EXPECT_EQ(runtime().serving().serving, Serving::kShadow);
  EXPECT_EQ(find("GRAPHTREE_MODE").from, SettingFrom::kEnvironment);
  EXPECT_EQ(find("GRAPHTREE_LANE_POOL_BYTES").from, SettingFrom::kProgram);
  EXPECT_EQ(find("GRAPHTREE_MOST_GRAPHS").from, SettingFrom::kDefault);
  ASSERT_THAT(runtime().SetServing({.serving = Serving::kOff}), IsOk());
  EXPECT_EQ(find("GRAPHTREE_MODE").from, SettingFrom::kSetServing);
  EXPECT_EQ(find("GRAPHTREE_MODE").value, "off");
}

TEST_P(ServingTest, ALogIsToldInsteadOfWarn) {
  std::vector<std::string> told;
  RuntimeOptions options;
  options.log = [&told](LogLevel level, const std::string& text) {
    EXPECT_EQ(level, LogLevel::kWarning);
    told.push_back(text);
  };
  options.tree.pool_bytes = 16 << 20;
  options.serving.serving = Serving::kOff;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Runtime> logged, Runtime::Create(device(), options));
  ASSERT_OK_AND_ASSIGN(const ProgramId program, logged->AddProgram(DoubleOptions()));
  ASSERT_THAT(logged->Record(program, a()), IsOk());
  EXPECT_THAT(told, ElementsAre(HasSubstr("mode is off")));
}

}  // namespace
}  // namespace graphtree
