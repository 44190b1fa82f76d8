// Metrics agree with what was done; they are read beside steps; the texts have what the struct has.
#include <atomic>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "profiler/stats/figures.h"
#include "runtime/recording_plan.h"
#include "runtime/watch_json.h"
#include "tests/runtime/runtime_fixture.h"

namespace graphtree {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class MetricsTest : public RuntimeTest {
 protected:
  uint64_t Dispatches(CallRoute route, Why why) {
    return runtime().metrics().lanes.at(0).dispatches[static_cast<size_t>(route)]
                                                     [static_cast<size_t>(why)];
  }
};
GRAPHTREE_ON_EVERY_DEVICE(MetricsTest);

TEST_P(MetricsTest, AreThoseOfTheSteps) {
  const ProgramId program = AddDouble({8, 32});
  EXPECT_EQ(runtime().metrics().ready_ratio(), 0);
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  EXPECT_EQ(runtime().metrics().ready_ratio(), 1);
  for (int i = 0; i < 5; ++i) StepWith(program, IdsFrom(i, 8));
  for (int i = 0; i < 3; ++i) StepWith(program, IdsFrom(i, 20));
  StepWith(program, IdsFrom(0, 60));
  const Metrics metrics = runtime().metrics();
  ASSERT_EQ(metrics.lanes.size(), 1u);
  const LaneMetrics& lane = metrics.lanes[0];
  EXPECT_EQ(lane.steps, 9u);
  EXPECT_EQ(lane.recordings, 2u);
  EXPECT_EQ(lane.padded_tokens, 3u * 12);
  EXPECT_GT(lane.staged_bytes, (5 * 8 + 3 * 20 + 60) * sizeof(int32_t));
  EXPECT_EQ(lane.tree.nodes, 2u);
  EXPECT_GT(lane.pool.mapped_bytes, 0u);
  EXPECT_EQ(Dispatches(CallRoute::kReplayed, Why::kHit), 5u);
  EXPECT_EQ(Dispatches(CallRoute::kReplayed, Why::kCover), 3u);
  EXPECT_EQ(Dispatches(CallRoute::kRanEagerly, Why::kAboveCeiling), 1u);
  ASSERT_EQ(metrics.programs.size(), 1u);
  EXPECT_EQ(metrics.programs[0].counts.replays, 8u);
  EXPECT_EQ(metrics.programs[0].slot_bytes, runtime().stats().slot_bytes);
  EXPECT_EQ(metrics.programs[0].staging_told, runtime().stats().staging_told);
  ASSERT_THAT(runtime().Exclude(program, {.tokens = 8}), IsOk());
  EXPECT_EQ(runtime().metrics().wanted_shapes, 1u);
  EXPECT_EQ(runtime().metrics().ready_shapes, 1u);
}

TEST_P(MetricsTest, OfDependencies) {
  ASSERT_OK_AND_ASSIGN(const DepId workspace,
                       runtime().DeclareWorkspace("workspace", {0x1000, 0x500}));
  ASSERT_OK_AND_ASSIGN(const DepId weights, runtime().DeclareDep("weights"));
  EXPECT_EQ(runtime().metrics().workspace_bytes, 0x500u);
  ASSERT_THAT(runtime().MoveWorkspace(workspace, {0x3000, 0x700}), IsOk());
  ASSERT_THAT(runtime().Touch(weights), IsOk());
  EXPECT_EQ(runtime().metrics().workspace_bytes, 0x700u);
  EXPECT_EQ(runtime().metrics().touches, 2u);
}

TEST_P(MetricsTest, MostUsedShapesAloneHaveSeries) {
  std::vector<int32_t> tokens;
  for (int32_t i = 1; i <= 40; ++i) tokens.push_back(i);
  const ProgramId program = AddDouble(tokens);
  for (int32_t i = 21; i <= 36; ++i) StepWith(program, IdsFrom(0, i));
  const std::string text = MetricsAsPrometheus(runtime().metrics());
  size_t series = 0;
  for (size_t at = 0; (at = text.find("\ngraphtree_shape_steps_total{", at)) != text.npos; ++at) {
    ++series;
  }
  EXPECT_EQ(series, kMostLabelledShapes);
  EXPECT_THAT(text, AllOf(HasSubstr("shape=\"tokens=21\""), HasSubstr("shape=\"tokens=36\""),
                          Not(HasSubstr("shape=\"tokens=20\""))));
}

// Of the profile that ran last, whoever began it.
TEST_P(MetricsTest, TheFiguresOfAProfileAreAmongThem) {
  Metrics metrics = runtime().metrics();
  trace::FigureRow row;
  row.level = trace::FigureLevel::kOp;
  row.function = "decode";
  row.op = "attend";
  row.tree_node = 5;
  row.count = 12;
  row.mean_ns = 2500;
  row.share_of_limit = 0.5;
  metrics.profile = std::make_shared<const std::vector<trace::FigureRow>>(2, row);
  const std::string text = MetricsAsPrometheus(metrics);
  EXPECT_THAT(text, HasSubstr("graphtree_profile_runs{level=\"op\",function=\"decode\",node=\"5\","
                              "op=\"attend\"} 12\n"));
  EXPECT_THAT(text, HasSubstr("graphtree_profile_memory_share{"));
  const size_t first = text.find("graphtree_profile_mean_seconds{");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(text.find("graphtree_profile_mean_seconds{", first + 1), std::string::npos)
      << "one series is there twice";
}

TEST_P(MetricsTest, TextsOfEverything) {
  const ProgramId program = AddDouble({8}, "a \"name\"\nof two lines");
  for (int i = 0; i < 4; ++i) StepWith(program, IdsFrom(i, 8));
  EXPECT_THAT(MetricsAsPrometheus(runtime().metrics()),
              AllOf(HasSubstr("program=\"a \\\"name\\\"\\nof two lines\""),
                    HasSubstr("graphtree_dispatch_total{device=\"0\",lane=\"0\",mode=\"replay\","
                              "reason=\"hit\"} 2\n"),
                    HasSubstr("# TYPE graphtree_dispatch_host_seconds histogram\n")));
  EXPECT_THAT(runtime().DebugJson(),
              AllOf(HasSubstr("\"a \\\"name\\\"\\nof two lines\""), HasSubstr("\"outline\""),
                    HasSubstr("\"ready_ratio\""), HasSubstr("\"sentence\"")));
  const std::string drawing = ExplanationAsGraphviz(runtime().Explain());
  EXPECT_THAT(drawing, AllOf(HasSubstr("a \\\"name\\\"\\\\nof two lines"),
                             HasSubstr("tokens=8\\nrecorded, 4 steps"), HasSubstr("p0 -> p0s0")));
}

TEST_P(MetricsTest, RecordingIsTimed) {
  const ProgramId program = AddDouble({8, 32});
  StepWith(program, IdsFrom(0, 8));
  EXPECT_EQ(runtime().metrics().lanes[0].tree.captures.count(), 0u) << "a warm-up";
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  for (int i = 0; i < 3; ++i) StepWith(program, IdsFrom(i, 8));
  const TreeStats tree = runtime().metrics().lanes[0].tree;
  EXPECT_EQ(tree.captures.count(), 2u);
  EXPECT_GT(tree.captures.total_ns, 0u);
  EXPECT_EQ(tree.instantiations.count(), 2u);
  EXPECT_THAT(MetricsAsPrometheus(runtime().metrics()),
              AllOf(HasSubstr("graphtree_capture_seconds_count{device=\"0\",lane=\"0\"} 2\n"),
                    HasSubstr("graphtree_instantiate_seconds_count{device=\"0\",lane=\"0\"} 2\n"),
                    HasSubstr("graphtree_update_seconds_count{device=\"0\",lane=\"0\"} 0\n")));
}

TEST_P(MetricsTest, ReadBesideSteps) {
  if (!GetParam().concurrent) GTEST_SKIP() << "one thread at a time";
  const ProgramId program = AddDouble({8, 32});
  std::atomic<bool> is_over{false};
  std::atomic<uint64_t> backwards{0};
  std::thread reader([&] {
    uint64_t before = 0;
    while (!is_over.load()) {
      const Metrics metrics = runtime().metrics();
      const uint64_t steps = metrics.lanes.empty() ? 0 : metrics.lanes[0].steps;
      if (steps < before) ++backwards;
      before = steps;
      EXPECT_FALSE(MetricsAsPrometheus(metrics).empty());
      EXPECT_FALSE(runtime().DebugJson({.steps = 10}).empty());
    }
  });
  for (int i = 0; i < 2000; ++i) {
    StepWith(program, IdsFrom(i, 1 + i % 40));
    EXPECT_EQ(LastOutput()[0], 2 * i);
    if (i % 500 == 100) AddDouble({8}, absl::StrCat("more ", i));
  }
  is_over = true;
  reader.join();
  EXPECT_EQ(backwards, 0u);
  EXPECT_EQ(runtime().metrics().lanes[0].steps, 2000u);
}

// What a counter comes to over all of its labels.
uint64_t SumOf(const std::string& text, const std::string& family) {
  uint64_t sum = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!absl::StartsWith(line, family + "{")) continue;
    uint64_t value = 0;
    EXPECT_TRUE(absl::SimpleAtoi(line.substr(line.rfind(' ') + 1), &value)) << line;
    sum += value;
  }
  return sum;
}

// Each try counts, whoever made it: steps, Record, and steps whose recordings wait for a commit.
TEST_P(MetricsTest, ARecordingThatFailsIsCounted) {
  uint64_t tries = 0;
  for (const bool needs_commit : {false, true}) {
    ProgramOptions options = DoubleOptions(needs_commit ? "commits" : "waits");
    options.needs_commit = needs_commit;
    options.body = [&](Launcher& on, const ProgramInputs& in) {
      Values outputs = DoubleBody(on, in);
      tries += !on.stream().Synchronize().ok();  // which no capture allows
      return outputs;
    };
    const ProgramId program = Add(std::move(options), KeysOf({8}));
    for (int i = 0; i < 8; ++i) StepWith(program, IdsFrom(i, 8));
    EXPECT_THAT(runtime().Record(program, a()), Not(IsOk()));
    const std::string text = MetricsAsPrometheus(runtime().metrics());
    EXPECT_GT(tries, 2u);
    EXPECT_EQ(SumOf(text, "graphtree_capture_fail_total"), tries) << needs_commit;
    EXPECT_EQ(SumOf(text, "graphtree_recordings_total"), 0u);
  }
}

// Of every reason for which a plan leaves a shape out, another number.
TEST(MetricsTextTest, APlanNamesEveryReasonForWhichItLeftShapesOut) {
  PlanResult plan;
  for (size_t why = 0; why < kLeftOutCount; ++why) {
    for (size_t i = 0; i <= why; ++i) {
      plan.left_out.push_back({.shape = {}, .why = static_cast<LeftOut>(why)});
    }
  }
  Metrics metrics;
  metrics.plan = std::make_shared<const PlanResult>(std::move(plan));
  const std::string text = MetricsAsPrometheus(metrics);
  for (size_t why = 0; why < kLeftOutCount; ++why) {
    EXPECT_THAT(text, HasSubstr(absl::StrCat("graphtree_plan_left_out_shapes{reason=\"",
                                             LeftOutName(static_cast<LeftOut>(why)), "\"} ",
                                             why + 1, "\n")));
  }
}

// Shadow plans nothing, and says so.
TEST_P(MetricsTest, OfAPlanThatTheModeForbids) {
  const ProgramId program = AddDouble({1, 2, 4, 8});
  ASSERT_THAT(runtime().SetServing({.serving = Serving::kShadow}), IsOk());
  ASSERT_OK_AND_ASSIGN(const RecordingPlan plan, runtime().Plan({}, 0));
  ASSERT_THAT(runtime().RecordPlan(plan, a()), IsOk());
  const std::string text = MetricsAsPrometheus(runtime().metrics());
  EXPECT_THAT(text, HasSubstr("graphtree_plan_left_out_shapes{reason=\"mode\"} 4\n"));
  EXPECT_EQ(StepWith(program, IdsFrom(0, 3)), Why::kShadow);
}

}  // namespace
}  // namespace graphtree
