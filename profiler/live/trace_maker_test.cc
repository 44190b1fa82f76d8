// Events and activities by hand, and the trace that they make.
#include "profiler/live/trace_maker.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "device/graph.h"
#include "device/observer_events.h"
#include "device/op_identity.h"
#include "gtest/gtest.h"
#include "profiler/activity/activity.h"
#include "profiler/live/host_event.h"
#include "profiler/live/light_timer.h"
#include "profiler/trace/records.h"
#include "profiler/trace/store.h"
#include "profiler/trace/tables.h"

namespace graphtree::live {
namespace {

std::shared_ptr<const GraphIdentity> DecodeGraph() {
  auto graph = std::make_shared<GraphIdentity>();
  graph->function = "decode";
  graph->recording = 5;
  graph->op_count = 2;
  OpIdentity norm;
  norm.op = 0;
  norm.kind = OpKind::kKernel;
  norm.name = "norm";
  norm.backend = "triton";
  norm.file = "norm.py";
  norm.scope = "attention;layer 3";
  norm.bytes_read = 64;
  OpIdentity copy;
  copy.op = 1;
  copy.kind = OpKind::kCopy;
  copy.name = "copy";
  graph->ops = {norm, copy};
  return graph;
}

HostEvent LaunchOf(uint64_t launch, uint64_t correlation,
                   std::shared_ptr<const GraphIdentity> graph) {
  HostEvent event;
  event.kind = HostEvent::Kind::kLaunch;
  event.time_ns = 1000;
  event.duration_ns = 20;
  event.thread = 12;
  event.launch = launch;
  event.correlation = correlation;
  event.stream = 77;
  event.recording = 5;
  event.graph = std::move(graph);
  event.function = ShortText("decode");
  return event;
}

HostEvent PhaseOf(Phase phase, bool begins, int64_t time, int64_t thread = 12) {
  HostEvent event;
  event.kind = begins ? HostEvent::Kind::kPhaseBegin : HostEvent::Kind::kPhaseEnd;
  event.phase = phase;
  event.time_ns = time;
  event.thread = thread;
  event.function = ShortText("decode");
  return event;
}

activity::Activity ActivityOf(uint64_t correlation, uint32_t node) {
  activity::Activity activity;
  activity.start_ns = 2000;
  activity.end_ns = 2030;
  activity.correlation = correlation;
  activity.graph = 2;
  activity.graph_node = trace::PackedNode(2, node);
  activity.stream = 3;
  activity.name = "_Z4normPf";
  return activity;
}

class TraceMakerTest : public testing::Test {
 protected:
  absl::string_view Text(trace::TextId id) const { return tables_.text(id); }
  const trace::Identity& IdentityOf(size_t op) const {
    return tables_.identity(store_.ops()[op].identity);
  }

  trace::TraceTables tables_;
  trace::TraceStore store_{1000};
  TraceMaker maker_{tables_, store_};
};

TEST_F(TraceMakerTest, AReplaysOpsHaveTheirNamesAndTheirLaunch) {
  maker_.Take(LaunchOf(81, 7, DecodeGraph()));
  maker_.Take(ActivityOf(7, 0));
  maker_.Take(ActivityOf(7, 1));
  maker_.End();
  ASSERT_EQ(store_.spans().size(), 1u);
  EXPECT_EQ(Text(store_.spans()[0].name), "cudaGraphLaunch decode");
  EXPECT_EQ(store_.spans()[0].correlation, 81u);
  EXPECT_TRUE(store_.spans()[0].is_graph);
  ASSERT_EQ(store_.ops().size(), 2u);
  EXPECT_EQ(store_.ops()[0].correlation, 81u);
  EXPECT_EQ(store_.ops()[0].duration_ns, 30);
  const trace::Identity& norm = IdentityOf(0);
  EXPECT_EQ(Text(norm.name), "norm");
  EXPECT_EQ(Text(norm.function), "decode");
  EXPECT_EQ(Text(norm.backend), "triton");
  EXPECT_EQ(Text(norm.file), "norm.py");
  EXPECT_EQ(Text(norm.scope), "attention;layer 3");
  EXPECT_EQ(norm.tree_node, 5);
  EXPECT_EQ(norm.bytes_read, 64);
  EXPECT_EQ(norm.bytes_written, trace::kUnknown);
  EXPECT_EQ(Text(IdentityOf(1).name), "copy");
  EXPECT_EQ(maker_.counts().joined, 2u);
}

TEST_F(TraceMakerTest, AnOpOfNobodysHasTheDevicesName) {
  maker_.Take(ActivityOf(9, 0));
  maker_.End();
  ASSERT_EQ(store_.ops().size(), 1u);
  EXPECT_EQ(Text(IdentityOf(0).name), "_Z4normPf");
  EXPECT_EQ(IdentityOf(0).function, 0u);
  EXPECT_EQ(maker_.counts().without_launch, 1u);
}

TEST_F(TraceMakerTest, AFailedLaunchIsASpanThatSaysSo) {
  HostEvent failed = LaunchOf(81, 7, DecodeGraph());
  failed.ok = false;
  maker_.Take(std::move(failed));
  ASSERT_EQ(store_.spans().size(), 1u);
  EXPECT_EQ(Text(store_.spans()[0].name), "cudaGraphLaunch decode (failed)");
  activity::Activity of_it = ActivityOf(7, 0);
  EXPECT_FALSE(maker_.KnowsLaunchOf(of_it));
}

TEST_F(TraceMakerTest, PhasesNestByThread) {
  maker_.Take(PhaseOf(Phase::kRecord, true, 100));
  maker_.Take(PhaseOf(Phase::kMatch, true, 105, /*thread=*/13));
  maker_.Take(PhaseOf(Phase::kRestore, true, 110));
  maker_.Take(PhaseOf(Phase::kRestore, false, 120));
  maker_.Take(PhaseOf(Phase::kMatch, false, 125, /*thread=*/13));
  maker_.Take(PhaseOf(Phase::kRecord, false, 200));
  ASSERT_EQ(store_.spans().size(), 3u);
  EXPECT_EQ(store_.spans()[0].kind, trace::SpanKind::kRestore);
  EXPECT_EQ(store_.spans()[0].duration_ns, 10);
  EXPECT_EQ(store_.spans()[1].thread, 13);
  EXPECT_EQ(store_.spans()[2].kind, trace::SpanKind::kRecord);
  EXPECT_EQ(store_.spans()[2].start_ns, 100);
  EXPECT_EQ(store_.spans()[2].duration_ns, 100);
}

TEST_F(TraceMakerTest, AnEndWithoutItsBeginIsLeftOut) {
  maker_.Take(PhaseOf(Phase::kRecord, false, 200));
  EXPECT_TRUE(store_.spans().empty());
  maker_.Take(PhaseOf(Phase::kRecord, true, 300));
  maker_.Take(PhaseOf(Phase::kRestore, true, 310));  // whose end was lost
  maker_.Take(PhaseOf(Phase::kRecord, false, 400));
  ASSERT_EQ(store_.spans().size(), 1u);
  EXPECT_EQ(store_.spans()[0].duration_ns, 100);
}

TEST_F(TraceMakerTest, ATimedLaunchIsOneOpWhicheverComesFirst) {
  HostEvent first = LaunchOf(64, 0, DecodeGraph());
  first.is_timed = true;
  maker_.Take(std::move(first));
  maker_.Take(TimedLaunch{64, 1500, 40});
  maker_.Take(TimedLaunch{128, 2500, 50});
  HostEvent second = LaunchOf(128, 0, nullptr);
  second.is_timed = true;
  maker_.Take(std::move(second));
  ASSERT_EQ(store_.ops().size(), 2u);
  for (size_t op = 0; op < 2; ++op) {
    EXPECT_EQ(store_.ops()[op].kind, trace::OpKind::kWholeGraph);
    EXPECT_EQ(Text(IdentityOf(op).function), "decode");
    EXPECT_EQ(IdentityOf(op).tree_node, 5);
  }
  EXPECT_EQ(store_.ops()[0].correlation, 64u);
  EXPECT_EQ(store_.ops()[1].duration_ns, 50);
}

TEST_F(TraceMakerTest, AnOpThatIsLaunchedAloneSaysWhatItIs) {
  HostEvent event = LaunchOf(3, 0, nullptr);
  event.kind = HostEvent::Kind::kOp;
  event.op = std::make_unique<OpIdentity>(DecodeGraph()->ops[0]);
  maker_.Take(std::move(event));
  ASSERT_EQ(store_.spans().size(), 1u);
  const trace::HostSpan& span = store_.spans()[0];
  EXPECT_EQ(Text(span.name), "cuLaunchKernel norm");
  EXPECT_EQ(Text(tables_.identity(span.identity).file), "norm.py");
  EXPECT_FALSE(span.is_graph);
}

TEST_F(TraceMakerTest, MomentsAreMarksAndCountersLines) {
  HostEvent moment = LaunchOf(0, 0, nullptr);
  moment.kind = HostEvent::Kind::kMoment;
  moment.moment = GraphMoment::kInstantiate;
  maker_.Take(std::move(moment));
  maker_.Count(9, "pool bytes", "live", 4096);
  ASSERT_EQ(store_.marks().size(), 1u);
  EXPECT_EQ(Text(store_.marks()[0].name), "instantiate decode, tree node 5");
  ASSERT_EQ(store_.counters().size(), 1u);
  EXPECT_EQ(Text(store_.counters()[0].series), "live");
  EXPECT_EQ(store_.counters()[0].value, 4096);
}

TEST(ShortTextTest, ALongTextIsCutAndSaysSo) {
  EXPECT_EQ(ShortText("decode").view(), "decode");
  const std::string name(100, 'x');
  const ShortText cut((absl::string_view(name)));
  EXPECT_EQ(cut.view().size(), ShortText::kMost);
  EXPECT_EQ(cut.view().substr(ShortText::kMost - 4), "x...");
  // 59 letters and an "e" with an accent, whose second byte has no room.
  const std::string accent = std::string(59, 'x') + "\xc3\xa9 and more";
  EXPECT_EQ(ShortText(accent).view(), std::string(59, 'x') + "...");
}

}  // namespace
}  // namespace graphtree::live
