// From a tree to what `graphtree memory nodes` says about it, through files of every kind.
//
//   prefill 4 KiB --+-- decode 1: 8 KiB of scratch, 1 KiB out
//                   +-- decode 2: 2 KiB of scratch, 512 B out, in memory that decode 1 uses too
#include <cstdio>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "allocator/pool.h"
#include "allocator/pool_types.h"
#include "allocator/snapshot/snapshot.h"
#include "device/base/status_matchers.h"
#include "device/device.h"
#include "device/host/host_device.h"
#include "device/stream.h"
#include "gmock/gmock.h"
#include "graphs/launcher.h"
#include "graphs/layout.h"
#include "graphs/reports/tree_snapshot.h"
#include "graphs/tensor.h"
#include "graphs/tree.h"
#include "graphs/tree_stats.h"
#include "gtest/gtest.h"
#include "tools/cli/registry.h"
#include "tools/memory/verbs.h"
#include "tools/snapshot/analysis/nodes.h"
#include "tools/snapshot/read/read.h"

namespace graphtree::memory {
namespace {

using snapshot::NodeReport;
using snapshot::NodeRow;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

Tensor Filled(Launcher& on, int64_t bytes) {
  const Tensor out = on.Empty(DType::kU8, {bytes});
  if (on.ok()) on.Fill(out, 7);
  return out;
}

Values Prefill(Launcher& on, Values&) { return {Filled(on, 4096)}; }

Values Decode(Launcher& on, Values& inputs) {
  const bool large = inputs[0].integer() == 1;
  const Tensor scratch = Filled(on, large ? 8192 : 2048);
  return {Filled(on, large ? 1024 : 512)};
}

class TreeNodesTest : public testing::Test {
 protected:
  void SetUp() override {
    device_ = *OpenHostDevice();
    stream_ = *device_->NewStream();
    tree_ = *Tree::Create(*device_, {});
    prefill_ = tree_->Register("prefill", {}, Prefill);
    decode_ = tree_->Register("decode", {}, Decode);
  }
  void TearDown() override {
    prompt_.clear();
    tokens_.clear();
    tree_.reset();
    stream_.reset();
    EXPECT_THAT(device_->Close(), IsOk());
  }

  void Step(int64_t kind) {
    prompt_.clear();
    tokens_.clear();
    tree_->BeginStep();
    prompt_ = *tree_->Run(prefill_, {}, *stream_);
    tokens_ = *tree_->Run(decode_, {Value::Integer(kind), prompt_[0]}, *stream_);
  }
  // Both siblings are recorded, and the first was replayed last.
  void RecordBoth() {
    for (int64_t kind : {1, 1, 2, 2, 1}) Step(kind);
    ASSERT_EQ(tree_->stats().recordings, 3u);
  }

  std::string Written(const std::string& ending) {
    const std::string path = absl::StrCat(testing::TempDir(), "/tree_nodes", ending);
    std::remove(path.c_str());
    EXPECT_THAT(WriteTreeSnapshot(*tree_, path), IsOk());
    return path;
  }
  static NodeReport Report(const std::string& path) {
    return snapshot::NodesOf(**snapshot::ReadSnapshot(path));
  }
  static std::string Said(const std::vector<std::string>& args) {
    cli::Registry registry;
    registry.Add(NodesVerb());
    registry.Add(CheckVerb());
    registry.Add(TopVerb());
    std::istringstream in;
    std::ostringstream out, err;
    EXPECT_EQ(registry.Run(args, {in, out, err}), cli::kFine) << out.str() << err.str();
    return out.str();
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Tree> tree_;
  FunctionId prefill_ = 0, decode_ = 0;
  Values prompt_, tokens_;
};

TEST_F(TreeNodesTest, SiblingsShareWhatTheyUseAndHandlesAreCounted) {
  RecordBoth();
  const Values copy = tokens_;
  for (const char* ending : {".json", ".pickle", ".sqlite"}) {
    SCOPED_TRACE(ending);
    const NodeReport report = Report(Written(ending));
    ASSERT_TRUE(report.has_tree);
    ASSERT_EQ(report.nodes.size(), 3u);
    const NodeRow &prefill = report.nodes[0], &large = report.nodes[1], &small = report.nodes[2];
    EXPECT_EQ(prefill.function, "prefill");
    EXPECT_EQ(prefill.bytes, 4096u);
    EXPECT_EQ(prefill.alone, 4096u) << "it is held while the others run";
    EXPECT_EQ(prefill.state, "on the path");
    EXPECT_EQ(large.parent, prefill.id);
    EXPECT_EQ(large.bytes, 8192u + 1024u) << "scratch is used, too";
    EXPECT_EQ(large.shared(), 2048u + 512u);
    EXPECT_EQ(large.state, "ran last");
    EXPECT_EQ(small.parent, prefill.id);
    EXPECT_EQ(small.bytes, 2048u + 512u);
    EXPECT_EQ(small.alone, 0u);
    EXPECT_EQ(small.state, "idle");
    EXPECT_EQ(report.covered, 4096u + 8192u + 1024u);
    ASSERT_EQ(large.outputs.size(), 1u);
    EXPECT_EQ(large.outputs[0].handles, 2u);
    EXPECT_EQ(large.outputs[0].address, tokens_[0].word());
    EXPECT_EQ(large.outputs[0].bytes, 1024u);
    EXPECT_EQ(prefill.outputs[0].handles, 1u);
    EXPECT_FALSE(small.outputs[0].alive);
    EXPECT_EQ(large.live_bytes, 1024u) << "though no book says so behind a replay";
  }
}

TEST_F(TreeNodesTest, TheScreenReadsTheSameFromEveryKindOfFile) {
  RecordBoth();
  const std::string path = Written(".pickle");
  const std::string said = Said({"memory", "nodes", path});
  EXPECT_THAT(said, ContainsRegex("0  +prefill  +4.00 KiB  4.00 KiB +0 B +4.00 KiB .*on the path"));
  EXPECT_THAT(said, ContainsRegex("  1  +decode 1 .*  +9.00 KiB  6.50 KiB  2.50 KiB .*ran last"));
  EXPECT_THAT(said, ContainsRegex("  2  +decode 2 .*  +2.50 KiB +0 B  2.50 KiB"));
  EXPECT_THAT(said, HasSubstr("together use 13.0 KiB, and would use 15.5 KiB"));
  EXPECT_THAT(said, ContainsRegex("1 +0 +0x[0-9a-f]+ +1.00 KiB +1 +the program"));
  EXPECT_THAT(said, Not(HasSubstr("parked")));
  for (const char* ending : {".json", ".sqlite"}) {
    EXPECT_EQ(Said({"memory", "nodes", Written(ending)}), said) << ending;
  }
  EXPECT_THAT(Said({"memory", "check", path}), HasSubstr("Consistent"));
}

// Scratch of a recording is dead when it ends, and what was largest is long gone.
TEST_F(TreeNodesTest, NodesOfThePeakAreFoundThoughTheirBlocksAreGone) {
  RecordBoth();
  for (const char* ending : {".json", ".pickle", ".sqlite"}) {
    const std::string said =
        Said({"memory", "top", Written(ending), "--by", "node", "--at", "peak"});
    EXPECT_THAT(said, ContainsRegex("9.00 KiB .* 2  1\n")) << said;
    EXPECT_THAT(said, ContainsRegex("4.00 KiB .* 1  0\n")) << said;
    EXPECT_THAT(said, HasSubstr("told by function and place")) << said;
    EXPECT_THAT(said, Not(HasSubstr("(no node)"))) << said;
  }
}

// Behind a recording the books are true: the held output is a block, and is counted once.
TEST_F(TreeNodesTest, ABlockSaysItsNodeAndItsNoteSaysWhoHoldsIt) {
  for (int64_t kind : {1, 1}) Step(kind);
  const auto block = tree_->pool().Find(tokens_[0].word());
  ASSERT_THAT(block, IsOk());
  EXPECT_THAT(tree_->pool().Annotate(block->id, "the sampler"), IsOk());
  const std::string path = Written(".pickle");
  const NodeRow large = Report(path).nodes[1];
  EXPECT_EQ(large.live_bytes, 1024u);
  EXPECT_EQ(large.live_blocks, 1u);
  EXPECT_EQ(large.outputs[0].holder, "the sampler");
  EXPECT_THAT(Said({"memory", "nodes", path}), HasSubstr("the sampler"));
  EXPECT_THAT(Said({"memory", "check", path}), HasSubstr("Consistent"));
}

TEST_F(TreeNodesTest, AParkedPoolIsParkedMemoryOfItsNodes) {
  RecordBoth();
  prompt_.clear();
  tokens_.clear();
  tree_->BeginStep();
  ASSERT_THAT(tree_->pool().parking().Park(ParkContents::kDrop), IsOk());
  const std::string path = Written(".sqlite");
  const NodeReport report = Report(path);
  ASSERT_EQ(report.nodes.size(), 3u);
  for (const NodeRow& node : report.nodes) {
    EXPECT_GT(node.bytes, 0u) << node.id;
    EXPECT_EQ(node.parked, node.bytes) << node.id;
    EXPECT_EQ(node.state, "idle");
  }
  const std::string said = Said({"memory", "nodes", path});
  EXPECT_THAT(said, HasSubstr("until the pool wakes"));
  EXPECT_THAT(said, HasSubstr("No output of a node is held."));
  EXPECT_THAT(Said({"memory", "check", path}), HasSubstr("Consistent"));
  ASSERT_THAT(tree_->pool().parking().Wake(), IsOk());
  EXPECT_EQ(Report(Written(".json")).nodes[1].parked, 0u);
}

}  // namespace
}  // namespace graphtree::memory
