// Groups, comparisons, checks, frames and totals on small snapshots made for them.
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tools/snapshot/analysis/check.h"
#include "tools/snapshot/analysis/compare.h"
#include "tools/snapshot/analysis/frames.h"
#include "tools/snapshot/analysis/holdings.h"
#include "tools/snapshot/analysis/stats.h"
#include "tools/snapshot/analysis/tag_field.h"
#include "tools/snapshot/analysis/top.h"
#include "tools/snapshot/read/snapshot_text.h"

namespace graphtree::snapshot {
namespace {

constexpr char kLive[] = "active_allocated";

std::vector<Holding> HeldIn(const Snapshot& snapshot) {
  return HoldingsAtEnd(snapshot, snapshot.gpu, BuildHistories(snapshot, snapshot.gpu));
}

TEST(StatsTest, FragmentationIsZeroForOneHoleAndHighForMany) {
  const auto one =
      SnapshotText().Segment(0, 4096).Block(1024, kLive).Block(3072, "inactive").Parse();
  const Fragmentation whole = FragmentationOf(StatsOf(*one, one->gpu).all);
  EXPECT_EQ(whole.largest_hole, 0);
  EXPECT_EQ(whole.squares, 0);
  EXPECT_EQ(whole.stranded, 0.75);
  SnapshotText text;
  text.Segment(0, 4096);
  for (int i = 0; i < 4; ++i) text.Block(512, kLive).Block(512, "inactive");
  const auto many = text.Parse();
  const Fragmentation scattered = FragmentationOf(StatsOf(*many, many->gpu).all);
  EXPECT_EQ(scattered.largest_hole, 0.75);
  EXPECT_EQ(scattered.squares, 0.75);
}

TEST(StatsTest, PendingIsActiveAndNotAllocatedInBothSpellings) {
  const auto snapshot = SnapshotText()
                            .Segment(0, 3072)
                            .Block(1024, kLive)
                            .Block(1024, "active_pending_free")
                            .Block(1024, "active_awaiting_free")
                            .Parse();
  const Totals totals = StatsOf(*snapshot, snapshot->gpu).all;
  EXPECT_EQ(totals.allocated, 1024u);
  EXPECT_EQ(totals.active, 3072u);
  EXPECT_EQ(totals.free(), 0u);
}

TEST(TopTest, GroupsAddUpAndAreSorted) {
  SnapshotText text;
  text.Segment(0, 8192).Block(512, kLive, "a.py").Block(2048, kLive, "b.py");
  text.Block(1024, kLive, "a.py").Block(512, "inactive").Block(4096, kLive);
  const auto snapshot = text.Parse();
  const auto holders = GroupHoldings(*snapshot, HeldIn(*snapshot), {});
  ASSERT_EQ(holders.size(), 3u);
  EXPECT_EQ(holders[0].key, "(no stack was recorded)");
  EXPECT_EQ(holders[1].key, "b.py:1 f");
  EXPECT_EQ(holders[2].bytes, 1536u);
  EXPECT_EQ(holders[2].blocks, 2u);
  const auto lines = GroupHoldings(*snapshot, HeldIn(*snapshot), {.by = GroupBy::kLine});
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[2].blocks, 2u);
  const auto sizes = GroupHoldings(*snapshot, HeldIn(*snapshot), {.by = GroupBy::kSize});
  EXPECT_EQ(sizes.front().key, "<= 4096");
}

TEST(TopTest, NodesComeFromBlocksOfOurOwn) {
  const auto snapshot = SnapshotText()
                            .Segment(0, 1024)
                            .Block(512, kLive, "", "\"node\": 3")
                            .Block(512, kLive, "", "\"node\": \"root\"")
                            .Parse();
  const auto holders = GroupHoldings(*snapshot, HeldIn(*snapshot), {.by = GroupBy::kNode});
  ASSERT_EQ(holders.size(), 2u);
  EXPECT_EQ(holders[0].key, "3");
  EXPECT_EQ(holders[1].key, "root");
}

// Freed since: the history has the function for a frame, and the nodes' recordings say where.
TEST(TopTest, NodesOfBlocksThatAreGoneAreToldByFunctionAndPlace) {
  SnapshotText text;
  text.Segment(0, 8192).Block(512, kLive, "", "\"node\": 1").Block(7680, "inactive");
  text.Function("decode").Entry("alloc", 0, 512, "-");
  const std::vector<std::pair<uint64_t, const char*>> gone = {
      {1024, "decode"},   // one recording of it lies there
      {2048, "decode"},   // two do
      {4096, "decode"},   // none does
      {4608, "prefill"},  // nor one of that name
      {1536, "eager"},
      {3584, "prefill"}};
  for (const auto& [address, function] : gone) {
    text.Function(function).Entry("alloc", address, 512, "-");
  }
  text.Entry("alloc", 7168, 512);
  for (const auto& [address, function] : gone) text.Entry("free_completed", address, 512);
  text.Entry("free_completed", 7168, 512);
  text.Root(R"("graphtree": {"nodes": [
      {"id": 0, "function": "prefill", "ranges": [[3584, 512], [4608, 511]]},
      {"id": 1, "function": "decode", "ranges": [[0, 512], [1024, 1536]]},
      {"id": 2, "function": "decode", "ranges": [[2048, 512]]}]})");
  const auto snapshot = text.Parse();
  const auto histories = BuildHistories(*snapshot, snapshot->gpu);
  const auto held =
      HoldingsAfter(*snapshot, histories.front(), histories.front().allocated_peak.event);
  std::map<std::string, std::pair<uint64_t, uint64_t>> found;
  for (const Holder& holder : GroupHoldings(*snapshot, held, {.by = GroupBy::kNode})) {
    found[holder.key] = {holder.blocks, holder.by_place};
  }
  const std::map<std::string, std::pair<uint64_t, uint64_t>> expected = {
      {"0", {1, 1}}, {"1", {2, 1}}, {"one of 1, 2", {1, 1}}, {"(no node)", {4, 0}}};
  EXPECT_EQ(found, expected);
}

TEST(TagFieldTest, FieldsOfJsonTags) {
  EXPECT_EQ(TagField(R"({"phase":"warmup","n":[1,2]})", "phase"), "warmup");
  EXPECT_EQ(TagField(R"({"phase":"warmup","n":[1,2]})", "n"), "[1, 2]");
  EXPECT_EQ(TagField(R"({"phase":"warmup"})", "other"), std::nullopt);
  EXPECT_EQ(TagField("{not json", "other"), std::nullopt);
  EXPECT_EQ(TagField("plain", "plain"), std::nullopt);
}

TEST(CompareTest, ThreeOfFiveAreKeptAndTwoAreNew) {
  SnapshotText before, after;
  before.Segment(0, 1 << 20);
  after.Segment(1 << 20, 1 << 20);
  for (int i = 0; i < 3; ++i) before.Block(512, kLive, "grows.py");
  before.Block(1024, kLive, "gone.py");
  for (int i = 0; i < 5; ++i) after.Block(512, kLive, "grows.py");
  after.Block(512, kLive, "new.py");
  const auto a = before.Parse(), b = after.Parse();
  const auto held_a = HeldIn(*a), held_b = HeldIn(*b);
  const auto differences = Difference({a.get(), &held_a}, {b.get(), &held_b});
  ASSERT_EQ(differences.size(), 3u);
  EXPECT_EQ(differences[0].growth(), -1024);
  EXPECT_EQ(differences[0].gone.count, 1u);
  EXPECT_EQ(differences[1].key, "grows.py:1 f");
  EXPECT_EQ(differences[1].added.count, 2u);
  EXPECT_EQ(differences[1].kept.count, 3u);
  EXPECT_EQ(differences[2].added.bytes, 512u);
}

TEST(CompareTest, ALeakGrowsInEveryInterval) {
  std::vector<std::unique_ptr<Snapshot>> files;
  const int always[] = {1, 2, 4}, once[] = {1, 3, 3}, up_and_down[] = {1, 5, 4};
  for (int i = 0; i < 3; ++i) {
    SnapshotText text;
    text.Segment(0, 1 << 20);
    for (int n = 0; n < always[i]; ++n) text.Block(512, kLive, "leak.py");
    for (int n = 0; n < once[i]; ++n) text.Block(512, kLive, "cache.py");
    for (int n = 0; n < up_and_down[i]; ++n) text.Block(512, kLive, "tide.py");
    files.push_back(text.Parse());
  }
  std::vector<std::vector<Holding>> held;
  for (const auto& file : files) held.push_back(HeldIn(*file));
  std::vector<Moment> moments;
  for (size_t i = 0; i < files.size(); ++i) moments.push_back({files[i].get(), &held[i]});
  const auto leaks = FindLeaks(moments, 1);
  ASSERT_EQ(leaks.size(), 1u);
  EXPECT_EQ(leaks[0].key, "leak.py:1 f");
  EXPECT_EQ(leaks[0].bytes, 3 * 512);
  ASSERT_EQ(leaks[0].intervals.size(), 2u);
  EXPECT_EQ(leaks[0].intervals[1].count, 2);
  EXPECT_TRUE(FindLeaks(moments, 3 * 512 + 1).empty());
}

std::string WrongIn(SnapshotText& text) {
  const auto snapshot = text.Parse();
  std::string all;
  for (const Finding& finding : Check(*snapshot).findings) {
    if (finding.kind == Finding::kWrong) {
      absl::StrAppend(&all, finding.where, ": ", finding.what, "\n");
    }
  }
  return all;
}

TEST(CheckTest, ContradictionsAreFoundWhereTheyAre) {
  const std::pair<SnapshotText, std::string> cases[] = {
      {SnapshotText().Segment(0, 1024).Block(512, kLive), "segments[0]: its blocks end before"},
      {SnapshotText().Segment(0, 512).Block(1024, kLive), "segments[0]: its blocks end behind"},
      {SnapshotText().Segment(0, 512, "\"allocated_size\":7").Block(512, kLive),
       "allocated_size is 7, but its blocks add up to 512"},
      {SnapshotText().Segment(0, 1024).Block(1024, kLive).Segment(512, 512).Block(512, kLive),
       "overlap by 512 bytes"},
      {SnapshotText().Segment(0, 512).Block(512, "inactive").Entry("segment_alloc", 0, 512)
           .Entry("alloc", 0, 512),
       "device_traces[0][1]: 512 bytes at 0x0 were allocated and never freed"},
      {SnapshotText().Segment(0, 512).Block(512, kLive).Entry("segment_alloc", 0, 512)
           .Entry("alloc", 0, 256),
       "allocated 256 bytes at 0x0, but its block was requested with 512"},
      {SnapshotText().Entry("segment_alloc", 4096, 512), "is not among the segments"},
      {SnapshotText().Segment(0, 512, "\"segment_pool_id\":[0,0]").Block(512, kLive)
           .Entry("alloc", 0, 512, "", "\"pool_id\":[4,0]"),
       "another pool"}};
  for (auto [text, expected] : cases) {
    EXPECT_NE(WrongIn(text).find(expected), std::string::npos) << expected << "\n" << WrongIn(text);
  }
}

TEST(CheckTest, WhatARingExplainsIsNotWrong) {
  SnapshotText text;
  text.Segment(0, 1024).Block(512, kLive, "old").Block(512, "inactive");
  text.Entry("free_requested", 512, 512).Entry("free_completed", 512, 512);
  text.Entry("teleport", 1, 2);
  const auto snapshot = text.Parse();
  const CheckResult result = Check(*snapshot);
  EXPECT_EQ(result.wrong, 0u);
  EXPECT_GT(result.incomplete, 0u);
  EXPECT_EQ(result.unknown, 1u);
}

TEST(CheckTest, WhatCameAndWentByARestoreIsNoContradiction) {
  SnapshotText text;
  text.Segment(0, 2048).Block(1024, kLive).Block(1024, "inactive");
  text.Entry("segment_map", 0, 2048).Entry("alloc", 0, 1024);
  text.Entry("free_requested", 0, 1024).Entry("free_completed", 0, 1024);
  text.Entry("alloc", 0, 512).Entry("alloc", 512, 512);
  text.Entry("checkpoint_restore", 0, 1024, "",
             "\"gone\":[[0,512],[512,512]],\"back\":[[0,1024]]");
  text.Entry("annotate", 0, 1024).Entry("alloc", 1024, 512).Entry("free_requested", 1024, 512);
  text.Entry("free_completed", 1024, 512).Entry("park", 0, 0).Entry("wake", 0, 0);
  const CheckResult result = Check(*text.Parse());
  for (const Finding& finding : result.findings) ADD_FAILURE() << finding.what;
  EXPECT_EQ(result.wrong + result.incomplete + result.unknown, 0u);
}

TEST(CheckTest, WhatARestoreCannotExplainIsFound) {
  const std::pair<SnapshotText, std::string> cases[] = {
      {SnapshotText().Segment(0, 1024).Block(1024, "inactive").Entry("segment_map", 0, 1024)
           .Entry("checkpoint_restore", 0, 0).Entry("alloc", 512, 512),
       "device_traces[0][2]: 512 bytes at 0x200 were allocated and never freed"},
      {SnapshotText().Segment(0, 512).Block(512, kLive)
           .Entry("checkpoint_restore", 0, 0, "", "\"back\":[[0,256]]"),
       "allocated 256 bytes at 0x0, but its block was requested with 512"},
      {SnapshotText().Segment(0, 512).Block(512, "inactive").Entry("alloc", 0, 512)
           .Entry("checkpoint_restore", 0, 0, "", "\"gone\":[[512,512]],\"back\":7"),
       "512 bytes at 0x0 were allocated and never freed"},
      {SnapshotText().Segment(0, 1024).Block(1024, "inactive").Entry("segment_map", 0, 4096)
           .Entry("segment_unmap", 2048, 2048),
       "a segment of 2048 bytes at 0x0 came and never went"}};
  for (auto [text, expected] : cases) {
    EXPECT_NE(WrongIn(text).find(expected), std::string::npos) << expected << "\n" << WrongIn(text);
  }
}

TEST(CheckTest, PartOfWhatCameMayGo) {
  SnapshotText text;
  text.Segment(2048, 1024).Block(1024, "inactive").Segment(8192, 512).Block(512, "inactive");
  text.Entry("segment_map", 0, 4096).Entry("segment_unmap", 0, 2048);
  text.Entry("segment_unmap", 3072, 1024).Entry("segment_map", 8192, 512);
  const CheckResult result = Check(*text.Parse());
  for (const Finding& finding : result.findings) ADD_FAILURE() << finding.what;
}

std::unique_ptr<Snapshot> WithStack(const std::string& frames) {
  auto parsed = ParseSnapshot(absl::StrCat(
      R"({"segments":[{"total_size":512,"blocks":[
           {"size":512,"state":"active_allocated","frames":[)",
      frames, "]}]}]}"));
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return *std::move(parsed);
}

TEST(FramesTest, TheCulpritIsTheUsersLine) {
  const auto snapshot = WithStack(R"json(
      {"name":"torch::unwind::unwind()","filename":"??","line":0},
      {"name":"at::_ops::mm::call(at::Tensor const&)","filename":"??","line":0},
      {"name":"forward","filename":"site-packages/torch/nn/linear.py","line":134},
      {"name":"_PyEval_EvalFrameDefault","filename":"??","line":0},
      {"name":"step","filename":"train.py","line":12},
      {"name":"main","filename":"train.py","line":90})json");
  const StackId stack = snapshot->blocks[0].stack;
  EXPECT_EQ(FrameText(*snapshot, Culprit(*snapshot, stack)), "train.py:12 step");
  EXPECT_EQ(Operation(*snapshot, stack), "aten::mm");
  EXPECT_EQ(VisibleFrames(*snapshot, stack).size(), 4u);
}

TEST(FramesTest, SharedObjectsAreModuleAndOffset) {
  const auto snapshot = WithStack(
      R"json({"name":"??","filename":"/lib/libtorch_cuda.so","line":4660},
         {"name":"at::native::(anonymous namespace)::f(int)","filename":"libx.so.12",
          "line":16})json");
  const auto frames = snapshot->stacks[snapshot->blocks[0].stack];
  EXPECT_EQ(FrameText(*snapshot, frames[0]), "/lib/libtorch_cuda.so+0x1234 ??");
  EXPECT_EQ(ShortFrameText(*snapshot, frames[1]),
            "libx.so.12+0x10 at::native::(anonymous namespace)::f");
}

TEST(FramesTest, WhereAllIsNoiseAllIsShown) {
  const auto snapshot = WithStack(R"json({"name":"_start","filename":"??","line":0})json");
  EXPECT_EQ(VisibleFrames(*snapshot, snapshot->blocks[0].stack).size(), 1u);
  EXPECT_EQ(Culprit(*snapshot, 0), kNoId);
}

}  // namespace
}  // namespace graphtree::snapshot
