// Stacks are added up, folded, and drawn to scale.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/memory/flame_svg.h"
#include "tools/memory/flame_tree.h"

namespace graphtree::memory {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

FlameTree Sample() {
  FlameTree tree("all");
  tree.Add({"a.py:1 main", "train", "forward"}, 3);
  tree.Add({"a.py:1 main", "train", "backward"}, 2);
  tree.Add({"a.py:1 main", "train"}, 1);
  tree.Add({"load<int>"}, 2);
  tree.Add({"a.py:1 main", "train", "forward"}, 2);
  return tree;
}

FlameLook Look() {
  return {.title = "x < y", .value = [](uint64_t value) { return absl::StrCat(value, " B"); }};
}

TEST(FlameTest, ValuesOfCallersAreThoseOfWhatTheyCall) {
  const FlameTree tree = Sample();
  EXPECT_EQ(tree.root().value, 10u);
  EXPECT_EQ(tree.depth(), 3u);
  const FlameTree::Node& main = tree.node(tree.root().children.at("a.py:1 main"));
  EXPECT_EQ(main.value, 8u);
  EXPECT_EQ(main.own, 0u);
  EXPECT_EQ(tree.node(main.children.at("train")).own, 1u);
}

TEST(FlameTest, FoldedLinesAreSortedAndAddUp) {
  EXPECT_EQ(FoldedText(Sample()),
            "a.py:1 main;train 1\na.py:1 main;train;backward 2\na.py:1 main;train;forward 5\n"
            "load<int> 2\n");
}

TEST(FlameTest, SeparatorsInsideFramesAreReplaced) {
  FlameTree tree("all");
  tree.Add({"f;g\nh"}, 1);
  tree.Add({}, 4);
  EXPECT_EQ(FoldedText(tree), "all 4\nf:g h 1\n");
}

TEST(FlameTest, VeryDeepStacksAreNoProblem) {
  FlameTree tree("all");
  tree.Add(std::vector<std::string>(50000, "f"), 1);
  EXPECT_EQ(FoldedText(tree).size(), 2u * 50000 + 2);
  EXPECT_THAT(RenderFlameSvg(tree, Look()), Not(HasSubstr("data-row=\"121\"")));
}

TEST(FlameTest, PictureIsToScale) {
  const std::string svg = RenderFlameSvg(Sample(), Look());
  EXPECT_THAT(svg, HasSubstr("data-x=\"0.000000000\" data-w=\"0.800000000\" data-row=\"1\" "
                             "data-name=\"a.py:1 main\""));
  EXPECT_THAT(svg, HasSubstr("data-x=\"0.800000000\" data-w=\"0.200000000\" data-row=\"1\" "
                             "data-name=\"load&lt;int&gt;\""));
  EXPECT_THAT(svg, HasSubstr("data-x=\"0.200000000\" data-w=\"0.500000000\" data-row=\"3\""));
  EXPECT_THAT(svg, AllOf(HasSubstr("5 B (50.00 %)"), HasSubstr("x &lt; y")));
}

TEST(FlameTest, WhatIsTooThinIsLeftOut) {
  FlameTree tree = Sample();
  tree.Add({"tiny"}, 1);
  FlameLook look = Look();
  look.least_share = 0.15;
  EXPECT_THAT(RenderFlameSvg(tree, look), Not(HasSubstr("tiny")));
}

TEST(FlameTest, NothingHeldIsStillAPicture) {
  EXPECT_THAT(RenderFlameSvg(FlameTree("all"), Look()), HasSubstr("0 B"));
}

TEST(FlameTest, TextsCannotLeaveTheirPlace) {
  FlameTree tree("all");
  tree.Add({"\"><script>\x01"}, 1);
  EXPECT_THAT(RenderFlameSvg(tree, Look()), HasSubstr("data-name=\"&quot;&gt;&lt;script&gt; \""));
}

}  // namespace
}  // namespace graphtree::memory
