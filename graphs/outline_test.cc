// The drawings; that the rows are right is seen where trees are recorded.
#include "graphs/outline.h"

#include "gtest/gtest.h"

namespace graphtree {
namespace {

OutlineNode Row(int64_t parent, std::string function, uint64_t replays) {
  OutlineNode row;
  row.parent = parent;
  row.function = std::move(function);
  row.inputs = "i32[4]";
  row.replays = replays;
  row.ops = 7;
  return row;
}

Outline FourNodes() {
  return {Row(-1, "decode", 12), Row(0, "greedy", 1), Row(1, "again", 0), Row(0, "sampled", 3),
          Row(-1, "a \"quoted\" one", 5)};
}

TEST(OutlineTest, BranchesLeadToTheirChildren) {
  EXPECT_EQ(DrawOutline(FourNodes()),
            "decode i32[4]              12 replays      7 ops\n"
            "|- greedy i32[4]            1 replay       7 ops\n"
            "|  `- again i32[4]          0 replays      7 ops\n"
            "`- sampled i32[4]           3 replays      7 ops\n"
            "a \"quoted\" one i32[4]       5 replays      7 ops\n");
  EXPECT_EQ(DrawOutline({}), "");
}

TEST(OutlineTest, GraphvizHasANodeAndAnEdgeForEachRow) {
  const std::string dot = OutlineAsGraphviz(FourNodes());
  EXPECT_NE(dot.find("  n0 [label=\"decode\\ni32[4]\\n12 replays, 7 ops\"];\n  root -> n0;\n"),
            std::string::npos)
      << dot;
  EXPECT_NE(dot.find("n1 -> n2;"), std::string::npos);
  EXPECT_NE(dot.find("a \\\"quoted\\\" one"), std::string::npos);
}

TEST(OutlineTest, JsonHasARowForEachNode) {
  const std::string json = OutlineAsJson(FourNodes());
  EXPECT_EQ(json.find("{\"nodes\":[{\"id\":0,\"parent\":null,\"level\":0,"
                      "\"function\":\"decode\",\"inputs\":\"i32[4]\",\"replays\":12,"
                      "\"ops\":7,"),
            0u)
      << json;
  EXPECT_NE(json.find("\"parent\":1,\"level\":0,\"function\":\"again\""), std::string::npos)
      << json;
  EXPECT_EQ(OutlineAsJson({}), "{\"nodes\":[]}");
}

}  // namespace
}  // namespace graphtree
