// A small graph that is made by hand, as JSON and as Graphviz.
#include "graphs/reports/graph_export.h"

#include "gtest/gtest.h"

namespace graphtree {
namespace {

std::vector<Op> ThreeOps() {
  std::vector<Op> ops(3);
  ops[0].kind = OpKind::kKernel;
  ops[0].name = "norm<\"f\">";
  ops[0].shape.grid = {4, 2, 1};
  ops[0].shape.block = {128, 1, 1};
  ops[0].argument_bytes = {0x10, 0x20, 0, 0, 0, 0x60, 0, 0, 7, 0, 0, 0};
  ops[0].parameters = {{0, 8}, {8, 4}};
  ops[1].id = 1;
  ops[1].kind = OpKind::kKernel;
  ops[1].name = "next";
  ops[1].dependencies = {{0, EdgeKind::kProgrammatic, 1, 0}};
  ops[2].id = 2;
  ops[2].kind = OpKind::kCopy;
  ops[2].name = "copy";
  ops[2].copy = {0x1000, 0x2000, 96};
  ops[2].dependencies = {{0}, {1}};
  return ops;
}

TEST(GraphExportTest, JsonHasEveryOpWithItsArgumentsAndEdges) {
  EXPECT_EQ(OpsAsJson("decode #3", ThreeOps()),
            "{\"name\":\"decode #3\",\"ops\":["
            "{\"id\":0,\"kind\":\"kernel\",\"name\":\"norm<\\\"f\\\">\",\"grid\":[4,2,1],"
            "\"block\":[128,1,1],\"shared_bytes\":0,"
            "\"parameters\":[\"0x0000600000002010\",\"0x00000007\"],\"dependencies\":[]},"
            "{\"id\":1,\"kind\":\"kernel\",\"name\":\"next\",\"grid\":[1,1,1],\"block\":[1,1,1],"
            "\"shared_bytes\":0,\"parameters\":[],\"dependencies\":["
            "{\"from\":0,\"kind\":\"programmatic\",\"from_port\":1,\"to_port\":0}]},"
            "{\"id\":2,\"kind\":\"copy\",\"name\":\"copy\",\"target\":\"0x1000\","
            "\"source\":\"0x2000\",\"bytes\":96,\"dependencies\":["
            "{\"from\":0,\"kind\":\"full\",\"from_port\":0,\"to_port\":0},"
            "{\"from\":1,\"kind\":\"full\",\"from_port\":0,\"to_port\":0}]}]}");
}

TEST(GraphExportTest, GraphvizDrawsProgrammaticEdgesDashed) {
  EXPECT_EQ(OpsAsGraphviz("decode #3", ThreeOps()),
            "digraph graph_of_ops {\n  label=\"decode #3\";\n"
            "  node [shape=box, fontname=\"monospace\"];\n"
            "  op0 [label=\"0 norm<\\\"f\\\">\\n4x2x1 of 128x1x1\"];\n"
            "  op1 [label=\"1 next\\n1x1x1 of 1x1x1\"];\n"
            "  op0 -> op1 [style=dashed];\n"
            "  op2 [label=\"2 copy\\n96 bytes\"];\n"
            "  op0 -> op2;\n"
            "  op1 -> op2;\n"
            "}\n");
}

TEST(GraphExportTest, LabelsAreUtf8WithoutControlCharacters) {
  std::vector<Op> ops(1);
  ops[0].kind = OpKind::kHost;
  ops[0].name = "call\x01\xff";
  const std::string text = OpsAsGraphviz("graph\x1b\xc3", ops);
  EXPECT_NE(text.find(R"(label="graph\\x1b\\xc3")"), std::string::npos) << text;
  EXPECT_NE(text.find(R"(label="0 call\\x01\\xff")"), std::string::npos) << text;
}

}  // namespace
}  // namespace graphtree
