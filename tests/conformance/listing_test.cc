// What a graph tells about its ops: kinds, kernels, arguments, copies, fills and typed edges.
#include <algorithm>
#include <cstring>

#include "tests/conformance/conformance.h"

namespace graphtree {
namespace {

class ListingTest : public ConformanceTest {
 protected:
  template <typename T>
  static T ParameterOf(const Op& op, size_t index) {
    T value{};
    EXPECT_LT(index, op.parameters.size());
    if (index >= op.parameters.size()) return value;
    const ParamSlot slot = op.parameters[index];
    EXPECT_EQ(slot.bytes, sizeof(T));
    EXPECT_LE(slot.offset + slot.bytes, op.argument_bytes.size());
    std::memcpy(&value, op.argument_bytes.data() + slot.offset, sizeof(T));
    return value;
  }
  static std::vector<OpId> Sources(const Op& op) {
    std::vector<OpId> sources;
    for (const Edge& edge : op.dependencies) sources.push_back(edge.from);
    std::sort(sources.begin(), sources.end());
    return sources;
  }
};
GRAPHTREE_ON_EVERY_DEVICE(ListingTest);

TEST_P(ListingTest, KindsNamesAndIds) {
  const AddressRange words = NewWords(64), copy = NewWords(64);
  const std::unique_ptr<Graph> graph = CaptureOn(a(), [&] {
    EXPECT_THAT(FillPattern(a(), words, 1), IsOk());
    EXPECT_THAT(a().Copy(copy.base, words.base, words.bytes), IsOk());
    EXPECT_THAT(a().Fill(words.base, 3, 2, 10), IsOk());
    EXPECT_THAT(a().CallHost([] {}), IsOk());
  });
  ASSERT_NE(graph, nullptr);
  EXPECT_EQ(&graph->device(), &device());
  ASSERT_EQ(graph->ops().size(), 4u);
  const OpKind kinds[] = {OpKind::kKernel, OpKind::kCopy, OpKind::kFill, OpKind::kHost};
  for (OpId id = 0; id < 4; ++id) {
    const Op& op = graph->ops()[id];
    EXPECT_EQ(op.id, id);
    EXPECT_EQ(op.kind, kinds[id]) << OpKindName(op.kind);
    EXPECT_EQ(op.name, id == 0 ? "fill_pattern" : OpKindName(op.kind));
    EXPECT_EQ(Sources(op), id == 0 ? std::vector<OpId>{} : std::vector<OpId>{id - 1});
  }
}

// What is asked of a graph before its listing, after it, and after it was forgotten is the same.
TEST_P(ListingTest, TheListingIsMadeWhenAskedForAndMayBeForgotten) {
  const AddressRange log = NewLog();
  std::vector<OpToken> tokens;
  const std::unique_ptr<Graph> graph = CaptureOn(a(), [&] {
    for (uint64_t id = 0; id < 20; ++id) {
      EXPECT_THAT(Append(a(), log, id), IsOk());
      ASSERT_OK_AND_ASSIGN(const std::vector<OpToken> last, a().CaptureFrontier());
      tokens.push_back(last.at(0));
    }
  });
  ASSERT_NE(graph, nullptr);
  const std::unique_ptr<Executable> executable = InstantiateOf(*graph);
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(graph->op_count(), 20u);
    for (OpId id = 0; id < 20; ++id) {
      ASSERT_OK_AND_ASSIGN(const OpId found, graph->Find(tokens[id]));
      EXPECT_EQ(found, id) << "round " << round;
    }
    const OpId patched = 3 * round;
    EXPECT_THAT(executable->PatchKernel(patched, AppendKernel(), OneThread(),
                                        AppendArguments(log, 100 + round)),
                IsOk());
    if (round > 0) {
      ASSERT_EQ(graph->ops().size(), 20u);
      for (const Op& op : graph->ops()) EXPECT_EQ(ParameterOf<uint64_t>(op, 1), op.id);
      graph->ForgetOps();
    }
  }
  Replay(*executable);
  std::vector<uint64_t> expected;
  for (uint64_t id = 0; id < 20; ++id) expected.push_back(id);
  for (int round = 0; round < 3; ++round) expected[3 * round] = 100 + round;
  EXPECT_EQ(ReadLog(log), LogOf(expected));
}

TEST_P(ListingTest, AGraphOfNothingHasNoOps) {
  const std::unique_ptr<Graph> graph = CaptureOn(a(), [] {});
  ASSERT_NE(graph, nullptr);
  EXPECT_EQ(graph->op_count(), 0u);
  EXPECT_TRUE(graph->ops().empty());
  EXPECT_THAT(graph->Find(OpToken{12345}), HasError(ErrorCode::kNotFound, "capture"));
}

TEST_P(ListingTest, KernelsShapesAndArguments) {
  const AddressRange x = NewWords(64), y = NewWords(64);
  LaunchShape shape;
  shape.grid = {5, 3, 2};
  shape.block = {32, 2, 1};
  shape.shared_bytes = 1024;
  const std::unique_ptr<Graph> graph = CaptureOn(
      a(), [&] { EXPECT_THAT(a().Launch(AddKernel(), shape, AddArguments(x, y, y)), IsOk()); });
  ASSERT_NE(graph, nullptr);
  ASSERT_EQ(graph->ops().size(), 1u);
  const Op& op = graph->ops()[0];
  EXPECT_EQ(op.name, "add");
  EXPECT_EQ(op.shape.grid, shape.grid);
  EXPECT_EQ(op.shape.block, shape.block);
  EXPECT_EQ(op.shape.shared_bytes, 1024u);
  ASSERT_EQ(op.parameters.size(), 4u);
  EXPECT_EQ(ParameterOf<Address>(op, 0), x.base);
  EXPECT_EQ(ParameterOf<Address>(op, 1), y.base);
  EXPECT_EQ(ParameterOf<Address>(op, 2), y.base);
  EXPECT_EQ(ParameterOf<uint32_t>(op, 3), 64u);
}

TEST_P(ListingTest, ParametersLieAsTheyDoInTheParameterBlock) {
  const AddressRange words = NewWords(512);
  BigTable table;
  for (uint32_t i = 0; i < 512; ++i) table.words[i] = i;
  const std::unique_ptr<Graph> graph = CaptureOn(a(), [&] {
    EXPECT_THAT(Scale(a(), {words.base, 64}, 2.0f), IsOk());
    EXPECT_THAT(Append(a(), words, 0x1122334455667788), IsOk());
    EXPECT_THAT(ReadBigTable(a(), words, table), IsOk());
    EXPECT_THAT(Empty(a()), IsOk());
  });
  ASSERT_NE(graph, nullptr);
  ASSERT_EQ(graph->ops().size(), 4u);
  const Op& scale = graph->ops()[0];
  ASSERT_EQ(scale.parameters.size(), 3u);
  EXPECT_EQ(scale.parameters[1].offset, 8u);
  EXPECT_EQ(scale.parameters[2].offset, 12u);
  EXPECT_EQ(ParameterOf<float>(scale, 1), 2.0f);
  EXPECT_EQ(ParameterOf<uint64_t>(graph->ops()[1], 1), 0x1122334455667788u);
  EXPECT_EQ(ParameterOf<BigTable>(graph->ops()[2], 1).words[511], 511u);
  EXPECT_TRUE(graph->ops()[3].parameters.empty());
}

TEST_P(ListingTest, CopiesAndFills) {
  const AddressRange words = NewWords(64), copy = NewWords(64), host = NewHostWords(64);
  const std::unique_ptr<Graph> graph = CaptureOn(a(), [&] {
    EXPECT_THAT(a().Copy(words.base, host.base, 100), IsOk());
    EXPECT_THAT(a().Copy(copy.base, words.base, 101), IsOk());
    EXPECT_THAT(a().Copy(host.base, copy.base, 102), IsOk());
    EXPECT_THAT(a().Fill(words.base, 0xABCD, 2, 33), IsOk());
    EXPECT_THAT(a().Fill(words.base, 0xEF, 1, 34), IsOk());
    EXPECT_THAT(a().Fill(words.base, 0x12345678, 4, 35), IsOk());
  });
  ASSERT_NE(graph, nullptr);
  const std::vector<Op>& ops = graph->ops();
  ASSERT_EQ(ops.size(), 6u);
  const CopyParams copies[] = {
      {words.base, host.base, 100}, {copy.base, words.base, 101}, {host.base, copy.base, 102}};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(ops[i].copy.target, copies[i].target) << i;
    EXPECT_EQ(ops[i].copy.source, copies[i].source) << i;
    EXPECT_EQ(ops[i].copy.bytes, copies[i].bytes) << i;
  }
  const FillParams fills[] = {
      {words.base, 0xABCD, 2, 33}, {words.base, 0xEF, 1, 34}, {words.base, 0x12345678, 4, 35}};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(ops[3 + i].fill.target, fills[i].target) << i;
    EXPECT_EQ(ops[3 + i].fill.value, fills[i].value) << i;
    EXPECT_EQ(ops[3 + i].fill.width, fills[i].width) << i;
    EXPECT_EQ(ops[3 + i].fill.count, fills[i].count) << i;
  }
}

TEST_P(ListingTest, ForksAndJoinsAreEdges) {
  const std::unique_ptr<Graph> graph = CaptureOn(a(), [&] {
    EXPECT_THAT(Empty(a()), IsOk());  // 0
    EXPECT_THAT(a().Record(event()), IsOk());
    EXPECT_THAT(b().Wait(event()), IsOk());
    EXPECT_THAT(Empty(a()), IsOk());  // 1, after 0
    EXPECT_THAT(Empty(b()), IsOk());  // 2, after 0
    EXPECT_THAT(Empty(b()), IsOk());  // 3, after 2
    EXPECT_THAT(b().Record(other_event()), IsOk());
    EXPECT_THAT(a().Wait(other_event()), IsOk());
    EXPECT_THAT(Empty(a()), IsOk());  // 4, after 1 and 3
  });
  ASSERT_NE(graph, nullptr);
  const std::vector<Op>& ops = graph->ops();
  ASSERT_EQ(ops.size(), 5u);
  EXPECT_EQ(Sources(ops[0]), (std::vector<OpId>{}));
  EXPECT_EQ(Sources(ops[1]), (std::vector<OpId>{0}));
  EXPECT_EQ(Sources(ops[2]), (std::vector<OpId>{0}));
  EXPECT_EQ(Sources(ops[3]), (std::vector<OpId>{2}));
  EXPECT_EQ(Sources(ops[4]), (std::vector<OpId>{1, 3}));
  for (const Op& op : ops) {
    for (const Edge& edge : op.dependencies) EXPECT_EQ(edge.kind, EdgeKind::kFull);
  }
}

TEST_P(ListingTest, ProgrammaticLaunchesAreProgrammaticEdges) {
  LaunchShape shape;
  shape.programmatic = true;
  const std::unique_ptr<Graph> graph = CaptureOn(a(), [&] {
    EXPECT_THAT(Empty(a()), IsOk());
    EXPECT_THAT(a().Launch(EmptyKernel(), shape, {}), IsOk());
    EXPECT_THAT(Empty(a()), IsOk());
  });
  ASSERT_NE(graph, nullptr);
  const std::vector<Op>& ops = graph->ops();
  ASSERT_EQ(ops.size(), 3u);
  ASSERT_EQ(ops[1].dependencies.size(), 1u);
  EXPECT_EQ(ops[1].dependencies[0].from, 0u);
  EXPECT_EQ(ops[1].dependencies[0].kind, EdgeKind::kProgrammatic);
  EXPECT_NE(ops[1].dependencies[0].from_port, 0u);
  ASSERT_EQ(ops[2].dependencies.size(), 1u);
  EXPECT_EQ(ops[2].dependencies[0].kind, EdgeKind::kFull);
  Replay(*InstantiateOf(*graph));
}

TEST_P(ListingTest, AWaitThatNothingFollowsLeavesNoOp) {
  const std::unique_ptr<Graph> graph = CaptureOn(a(), [&] {
    EXPECT_THAT(Empty(a()), IsOk());
    EXPECT_THAT(a().Record(event()), IsOk());
    EXPECT_THAT(a().Wait(event()), IsOk());
  });
  ASSERT_NE(graph, nullptr);
  EXPECT_EQ(graph->ops().size(), 1u);
}

TEST_P(ListingTest, ManyOpsKeepTheOrderOfTheirCapture) {
  const AddressRange log = NewLog();
  const std::unique_ptr<Graph> graph = CaptureOn(a(), [&] {
    for (uint64_t id = 0; id < 500; ++id) EXPECT_THAT(Append(a(), log, id), IsOk());
  });
  ASSERT_NE(graph, nullptr);
  ASSERT_EQ(graph->ops().size(), 500u);
  for (const Op& op : graph->ops()) EXPECT_EQ(ParameterOf<uint64_t>(op, 1), op.id);
}

}  // namespace
}  // namespace graphtree
