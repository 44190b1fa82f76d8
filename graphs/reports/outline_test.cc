// The drawings of given rows. Tests that record trees look at the rows themselves.
#include "graphs/reports/outline.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
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

// One function, recorded for three layers: only the static inputs tell them apart.
TEST(OutlineTest, StaticInputsAreShown) {
  Outline outline = {Row(-1, "layer", 1), Row(0, "layer", 1), Row(1, "layer", 1)};
  outline[0].static_inputs = {"f32[8] at 0x10"};
  outline[1].static_inputs = {"f32[8] at 0x20", "f32[4] at 0x28"};
  outline[2].static_inputs = {"f32[8] at 0x30", "f32[4] at 0x38", "a", "b"};
  EXPECT_EQ(DrawOutline(outline),
            "layer i32[4] | f32[8] at 0x10                                        1 replay       7 "
            "ops\n"
            "`- layer i32[4] | f32[8] at 0x20, f32[4] at 0x28                     1 replay       7 "
            "ops\n"
            "   `- layer i32[4] | f32[8] at 0x30, f32[4] at 0x38 and 2 more       1 replay       7 "
            "ops\n");
  EXPECT_NE(OutlineAsGraphviz(outline).find("label=\"layer\\ni32[4] | f32[8] at 0x10\\n1 replays"),
            std::string::npos)
      << OutlineAsGraphviz(outline);
  EXPECT_NE(OutlineAsJson(outline).find(R"("static_inputs":["f32[8] at 0x20","f32[4] at 0x28"])"),
            std::string::npos);
}

size_t LinesIn(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

// A chain as long as that, with a leaf beside every hundredth node.
Outline Deep(int64_t levels) {
  Outline outline;
  std::vector<int64_t> leaves;
  int64_t parent = -1;
  for (int64_t level = 0; level < levels; ++level) {
    outline.push_back(Row(parent, absl::StrCat("f", level), 1));
    if (level % 100 == 99) leaves.push_back(parent);
    parent = static_cast<int64_t>(outline.size()) - 1;
  }
  for (; !leaves.empty(); leaves.pop_back()) outline.push_back(Row(leaves.back(), "leaf", 1));
  return outline;
}

TEST(OutlineTest, DeepPathsBeginAgainAtTheLeft) {
  const std::string drawn = DrawOutline(Deep(101));
  EXPECT_EQ(LinesIn(drawn), 102u);
  for (const char* line : {"f0 i32[4]  ", "\n`- f1 i32[4]  ", "\n   `- f2 i32[4]  ",
                           "\n(24 levels up) `- f24 i32[4]  ",
                           "\n(24 levels up)    `- f25 i32[4]  ",
                           "\n(96 levels up)          |- f99 i32[4]  ",
                           "\n(96 levels up)          |  `- f100 i32[4]  ",
                           "\n(96 levels up)          `- leaf i32[4]  "}) {
    EXPECT_NE(drawn.find(line), std::string::npos) << line << "\n" << drawn;
  }
}

TEST(OutlineTest, ADrawingIsAsLongAsItsRowsAreMany) {
  const size_t few = DrawOutline(Deep(1'000)).size();
  const size_t many = DrawOutline(Deep(100'000)).size();
  EXPECT_LT(few, 200u * 1'000);
  EXPECT_LT(many, 110 * few);
}

TEST(OutlineTest, LineEndsInNamesBreakNoLine) {
  Outline outline = {Row(-1, "two\nlines", 1), Row(0, "tab\tbed \\", 1)};
  outline[0].breaks = {"host\nwork"};
  EXPECT_EQ(LinesIn(DrawOutline(outline)), 2u) << DrawOutline(outline);
  EXPECT_NE(DrawOutline(outline).find(R"(two\nlines i32[4])"), std::string::npos);
  EXPECT_NE(DrawOutline(outline).find(R"-((host\nwork))-"), std::string::npos);
  const std::string dot = OutlineAsGraphviz(outline);
  EXPECT_NE(dot.find(R"-(two\\nlines\ni32[4]\n1 replays, 7 ops, 2 sections (host\\nwork)"])-"),
            std::string::npos)
      << dot;
  EXPECT_NE(OutlineAsJson(outline).find(R"("function":"two\nlines")"), std::string::npos);
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
                      "\"function\":\"decode\",\"inputs\":\"i32[4]\",\"static_inputs\":[],"
                      "\"replays\":12,"
                      "\"ops\":7,"),
            0u)
      << json;
  EXPECT_NE(json.find("\"parent\":1,\"level\":0,\"function\":\"again\""), std::string::npos)
      << json;
  EXPECT_EQ(OutlineAsJson({}), "{\"nodes\":[]}");
}

}  // namespace
}  // namespace graphtree
