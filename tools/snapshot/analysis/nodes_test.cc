// Bytes by tree node: shared, alone, parked, live, and what happens without a tree.
#include "tools/snapshot/analysis/nodes.h"

#include <string>

#include "gtest/gtest.h"
#include "tools/snapshot/read/snapshot_text.h"

namespace graphtree::snapshot {
namespace {

constexpr char kLive[] = "active_allocated";

TEST(NodesTest, SiblingsShareAndKeepWhatOnlyTheyUse) {
  SnapshotText text;
  text.Segment(0, 4096, "\"parked\": false")
      .Block(1024, kLive, "", "\"node\": 0, \"function\": \"prefill\"")
      .Block(1024, kLive, "", "\"node\": 1, \"function\": \"decode\"")
      .Block(1024, kLive)
      .Block(1024, "inactive");
  text.Segment(8192, 4096, "\"parked\": true").Block(4096, "inactive");
  text.Root(R"("graphtree": {"nodes": [
      {"id": 0, "parent": null, "function": "prefill", "replays": 3, "ranges": [[0, 1024]]},
      {"id": 1, "parent": 0, "function": "decode", "replays": 7,
       "ranges": [[1024, 1024], [1536, 512], [8192, 2048]],
       "outputs": [{"output": 0, "address": 1024, "bytes": 1000, "alive": true, "handles": 2,
                    "holder": "the sampler"}, {"output": 1, "alive": false}]},
      {"id": 2, "parent": 0, "function": "decode", "ranges": [[1024, 512], [9216, 2048]]}]})");
  const auto snapshot = text.Parse();
  const NodeReport report = NodesOf(*snapshot);
  EXPECT_TRUE(report.has_tree);
  ASSERT_EQ(report.nodes.size(), 3u);
  const NodeRow &prefill = report.nodes[0], &first = report.nodes[1], &second = report.nodes[2];
  EXPECT_EQ(prefill.bytes, 1024u);
  EXPECT_EQ(prefill.alone, 1024u);
  EXPECT_EQ(prefill.level, 0u);
  EXPECT_EQ(first.level, 1u);
  EXPECT_EQ(first.bytes, 3072u);   // ranges that overlap count once
  EXPECT_EQ(first.alone, 1536u);   // [1536,2048) and [8192,9216)
  EXPECT_EQ(first.parked, 2048u);
  EXPECT_EQ(first.live_bytes, 1024u);
  EXPECT_EQ(first.replays, 7u);
  EXPECT_EQ(second.bytes, 2560u);
  EXPECT_EQ(second.alone, 1024u);  // [10240,11264)
  EXPECT_EQ(second.parked, 2048u);
  EXPECT_EQ(report.covered, 1024u + 1024u + 3072u);
  EXPECT_EQ(report.live_without_node, 1024u);
  ASSERT_EQ(first.outputs.size(), 2u);
  EXPECT_TRUE(first.outputs[0].alive);
  EXPECT_EQ(first.outputs[0].holder, "the sampler");
  EXPECT_EQ(first.outputs[0].handles, 2u);
  EXPECT_FALSE(first.outputs[1].alive);
}

TEST(NodesTest, WithoutATreeLiveBlocksAreCountedByTheirNode) {
  const auto snapshot = SnapshotText()
                            .Segment(0, 1536)
                            .Block(512, kLive, "", "\"node\": \"a\", \"function\": \"f\"")
                            .Block(512, kLive, "", "\"node\": \"a\"")
                            .Block(512, kLive)
                            .Parse();
  const NodeReport report = NodesOf(*snapshot);
  EXPECT_FALSE(report.has_tree);
  ASSERT_EQ(report.nodes.size(), 1u);
  EXPECT_EQ(report.nodes[0].live_blocks, 2u);
  EXPECT_EQ(report.nodes[0].function, "f");
  EXPECT_EQ(report.live_without_node, 512u);
}

TEST(NodesTest, ParkedRangesAreMoreExactThanSegments) {
  SnapshotText text;
  text.Segment(0, 4096, "\"parked\": true").Block(4096, "inactive");
  text.Root(R"("graphtree": {"parked_ranges": [[2048, 2048]],
                             "nodes": [{"id": 0, "ranges": [[1024, 1536]]}]})");
  EXPECT_EQ(NodesOf(*text.Parse()).nodes[0].parked, 512u);
}

TEST(NodesTest, AnOutputWithoutABlockIsLiveTooAndOneWithABlockOnce) {
  SnapshotText text;
  text.Segment(0, 1024).Block(512, kLive, "", "\"node\": 0").Block(512, "inactive");
  text.Root(R"("graphtree": {"nodes": [{"id": 0, "state": "ran last", "outputs": [
      {"output": 0, "address": 0, "bytes": 500, "alive": true},
      {"output": 1, "address": 512, "bytes": 100, "alive": true},
      {"output": 2, "address": 700, "bytes": 100, "alive": false}]}]})");
  const NodeReport report = NodesOf(*text.Parse());
  EXPECT_EQ(report.nodes[0].live_bytes, 612u);
  EXPECT_EQ(report.nodes[0].state, "ran last");
}

TEST(NodesTest, NonsenseUnderOurKeysIsNoHarm) {
  for (const char* own : {"\"graphtree\": 5", "\"graphtree\": {\"nodes\": 3}",
                          "\"graphtree\": {\"nodes\": [1, {\"ranges\": [[1], 2, [\"a\", 3]]}]}"}) {
    const auto snapshot = SnapshotText().Root(own).Parse();
    EXPECT_EQ(NodesOf(*snapshot).covered, 0u) << own;
  }
}

TEST(NodesTest, ATreeInAnyOrderIsShownDepthFirst) {
  SnapshotText text;
  text.Segment(0, 4096).Block(4096, "inactive");
  text.Root(R"("graphtree": {"nodes": [
      {"id": "leaf", "parent": "b"}, {"id": "a", "parent": null}, {"id": "b", "parent": "a"},
      {"id": "c", "parent": "a"}, {"id": "x", "parent": "y"}, {"id": "y", "parent": "x"},
      {"id": "late", "parent": "b"}, {"id": "orphan", "parent": "gone"}]})");
  const auto snapshot = text.Parse();
  std::string drawn;
  for (const NodeRow& node : NodesOf(*snapshot).nodes) {
    drawn += std::string(node.level, '.') + node.id + " ";
  }
  EXPECT_EQ(drawn, "a .b ..leaf ..late .c orphan x .y ");
}

}  // namespace
}  // namespace graphtree::snapshot
