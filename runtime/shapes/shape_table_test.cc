// The table against a look at every shape, and rows by hand for what people rely on.
#include "runtime/shapes/shape_table.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device/base/status_matchers.h"
#include "gtest/gtest.h"
#include "runtime/shapes/key.h"
#include "runtime/shapes/mode.h"
#include "runtime/shapes/naive_shapes.h"
#include "runtime/why.h"

namespace graphtree {
namespace {

using absl::StatusCode;

ShapeTable MustMake(const KeyRules& rules, const std::vector<Shape>& shapes) {
  auto table = ShapeTable::Make(rules, shapes);
  EXPECT_THAT(table, IsOk());
  return *std::move(table);
}

// Shapes of so many tokens, all usable; ids are the tokens.
ShapeTable Ladder(std::initializer_list<int32_t> tokens, const KeyRules& rules = {}) {
  std::vector<Shape> shapes;
  for (const int32_t count : tokens) {
    shapes.push_back({.id = static_cast<uint64_t>(count), .key = {.tokens = count}});
  }
  ShapeTable table = MustMake(rules, shapes);
  for (uint32_t i = 0; i < table.size(); ++i) table.SetUsable(i, Why::kHit);
  return table;
}

std::string TextOf(const Choice& choice) {
  return absl::StrCat(WhyName(choice.why), " field ",
                      choice.field ? KeyFieldName(*choice.field) : "none", " index ", choice.index,
                      " better ", choice.better, " key ", ToString(choice.key));
}

void ExpectSame(const NaiveShapes& naive, const ShapeTable& table, const Key& call, Modes allowed,
                WhyCounts* seen) {
  const Choice choice = table.Choose(call, allowed);
  const Choice wanted = naive.Choose(call, allowed);
  ++(*seen)[static_cast<size_t>(wanted.why)];
  ASSERT_EQ(TextOf(choice), TextOf(wanted))
      << "call " << ToString(call) << " modes " << int{allowed.bits()};
  ASSERT_EQ(choice.key, wanted.key);
}

void CompareWithNaive(uint64_t seed, size_t most, WhyCounts* seen) {
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  RandomShapes random(seed);
  random.PickFields();
  const KeyRules rules = random.OneIn(3) ? KeyRules{} : random.Rules();
  std::vector<NaiveShape> shapes = random.Shapes(rules, most);
  std::vector<Shape> bare;
  for (const NaiveShape& one : shapes) bare.push_back(one.shape);
  ShapeTable table = MustMake(rules, bare);
  const NaiveShapes naive(rules, std::move(shapes));
  ASSERT_EQ(table.size(), naive.shapes().size());
  for (uint32_t i = 0; i < table.size(); ++i) {
    ASSERT_EQ(table.shape(i).id, naive.shapes()[i].shape.id) << "the order at " << i;
    ASSERT_EQ(table.IndexOf(table.shape(i).id), i);
    table.SetUsable(i, naive.shapes()[i].usable);
  }
  for (int i = 0; i < 60; ++i) {
    const bool near = table.size() > 0 && random.OneIn(2);
    const Key call =
        near ? random.CallNear(table.shape(random.Below(table.size())).key) : random.Call();
    const auto bits = static_cast<uint8_t>(random.OneIn(2) ? 3 : random.Below(4));
    ExpectSame(naive, table, call, Modes::FromBits(bits), seen);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(ShapeTableTest, ChoosesWhatALookAtEveryShapeChooses) {
  WhyCounts seen = {};
  for (uint64_t seed = 1; seed <= 4000; ++seed) {
    CompareWithNaive(seed, seed % 200 == 0 ? 1500 : seed % 10 == 0 ? 300 : 40, &seen);
    if (HasFatalFailure()) return;
  }
  for (const Why why : {Why::kHit, Why::kCover, Why::kAboveCeiling, Why::kUncovered, Why::kPadding,
                        Why::kMode, Why::kNotRecorded, Why::kExcluded, Why::kFailed}) {
    EXPECT_GT(seen[static_cast<size_t>(why)], 1000u) << WhyName(why) << " hardly ever came up";
  }
}

TEST(ShapeTableTest, TheLeastShapeThatCoversServes) {
  const ShapeTable table = Ladder({32, 8, 16});
  const Choice hit = table.Choose({.tokens = 16}, Modes::All());
  EXPECT_EQ(TextOf(hit), "hit field none index 1 better 4294967295 key tokens=16");
  EXPECT_EQ(table.shape(hit.index).id, 16u);
  EXPECT_EQ(TextOf(table.Choose({.tokens = 9}, Modes::All())),
            "cover field none index 1 better 4294967295 key tokens=16");
  EXPECT_EQ(TextOf(table.Choose({.tokens = 33}, Modes::All())),
            "above_ceiling field tokens index 4294967295 better 4294967295 key tokens=33");
}

TEST(ShapeTableTest, PaddingStopsAtItsLimit) {
  const ShapeTable table = Ladder({8, 64}, {.tokens = {Covers::kAtMost, 2.0}});
  EXPECT_EQ(table.Choose({.tokens = 32}, Modes::All()).key.tokens, 64);
  const Choice choice = table.Choose({.tokens = 31}, Modes::All());
  EXPECT_EQ(choice.why, Why::kPadding);
  EXPECT_EQ(choice.field, KeyField::kTokens);
  EXPECT_EQ(table.Choose({.tokens = 4}, Modes::All()).key.tokens, 8);
  EXPECT_EQ(table.Choose({.tokens = 3}, Modes::All()).why, Why::kPadding);
}

TEST(ShapeTableTest, ALargerShapeServesUntilTheBetterOneIsUsable) {
  ShapeTable table = Ladder({8, 16, 32});
  table.SetUsable(1, Why::kNotCommitted);
  EXPECT_EQ(TextOf(table.Choose({.tokens = 9}, Modes::All())),
            "cover field none index 2 better 1 key tokens=32");
  table.SetUsable(2, Why::kFailed);
  EXPECT_EQ(TextOf(table.Choose({.tokens = 9}, Modes::All())),
            "not_committed field none index 4294967295 better 1 key tokens=9");
  EXPECT_EQ(table.usable(2), Why::kFailed);
  table.SetUsable(1, Why::kHit);
  EXPECT_EQ(TextOf(table.Choose({.tokens = 9}, Modes::All())),
            "cover field none index 1 better 4294967295 key tokens=16");
}

TEST(ShapeTableTest, ShapesOfModesThatAreNotAllowedDoNotServe) {
  ShapeTable table = MustMake({}, {{1, {.tokens = 8}, Mode::kSegmented},
                                   {2, {.tokens = 8}, Mode::kFull},
                                   {3, {.tokens = 16}, Mode::kSegmented}});
  for (uint32_t i = 0; i < 3; ++i) table.SetUsable(i, Why::kHit);
  const auto id_of = [&](const Choice& choice) { return table.shape(choice.index).id; };
  EXPECT_EQ(id_of(table.Choose({.tokens = 8}, Modes::All())), 2u) << "full before segmented";
  EXPECT_EQ(id_of(table.Choose({.tokens = 8}, Modes::Only(Mode::kSegmented))), 1u);
  EXPECT_EQ(table.Choose({.tokens = 9}, Modes::Only(Mode::kFull)).why, Why::kMode);
  EXPECT_EQ(table.Choose({.tokens = 8}, Modes::None()).why, Why::kMode);
}

TEST(ShapeTableTest, AnyKeepsTheValueOfTheCall) {
  ShapeTable table =
      MustMake({}, {{1, {.kind = 2, .tokens = 8, .context = kAny, .any_extra = true}}});
  table.SetUsable(0, Why::kHit);
  const Key call = {.kind = 2, .tokens = 5, .context = 777, .extra = 9};
  const Choice choice = table.Choose(call, Modes::All());
  EXPECT_EQ(choice.why, Why::kCover);
  EXPECT_EQ(choice.key, (Key{.kind = 2, .tokens = 8, .context = 777, .extra = 9}));
  EXPECT_EQ(table.Choose({.kind = 2, .tokens = 8, .context = 1}, Modes::All()).why, Why::kHit);
  EXPECT_FALSE(table.Matters(KeyField::kContext));
  EXPECT_TRUE(table.Matters(KeyField::kKind));
}

TEST(ShapeTableTest, TheFieldThatStandsAgainstEveryShapeIsNamed) {
  ShapeTable table = MustMake({.adaptors = {.covers = Covers::kPowerOfTwo}},
                              {{1, {.kind = 1, .tokens = 8, .context = 4096}},
                               {2, {.kind = 1, .tokens = 64, .context = 1024, .adaptors = 4}}});
  const auto text = [&](const Key& call) {
    const Choice choice = table.Choose(call, Modes::All());
    return absl::StrCat(WhyName(choice.why), " ",
                        choice.field ? KeyFieldName(*choice.field) : "none");
  };
  EXPECT_EQ(text({.kind = 2, .tokens = 4}), "uncovered kind");
  EXPECT_EQ(text({.kind = 1, .tokens = 4, .extra = 1}), "uncovered extra");
  EXPECT_EQ(text({.kind = 1, .tokens = 4, .adaptors = 1}), "uncovered adaptors");
  EXPECT_EQ(text({.kind = 1, .tokens = 4, .adaptors = 5}), "above_ceiling adaptors");
  EXPECT_EQ(text({.kind = 1, .tokens = 65}), "above_ceiling tokens");
  EXPECT_EQ(text({.kind = 1, .tokens = 4, .context = 4097}), "above_ceiling context");
  EXPECT_EQ(text({.kind = 1, .tokens = 64, .context = 1025, .adaptors = 3}),
            "above_ceiling context");
  EXPECT_EQ(text({.kind = 1, .tokens = 4}), "not_recorded none");
  EXPECT_EQ(text({.kind = 1, .tokens = -4}), "uncovered tokens");
  EXPECT_EQ(text({.kind = 1, .context = kAny}), "uncovered context");
  EXPECT_EQ(text({.kind = 1, .any_extra = true}), "uncovered extra");
}

TEST(ShapeTableTest, AnEmptyTableCoversNothing) {
  const ShapeTable table = MustMake({}, {});
  const Choice choice = table.Choose({.tokens = 1}, Modes::All());
  EXPECT_EQ(choice.why, Why::kUncovered);
  EXPECT_EQ(choice.field, std::nullopt);
  EXPECT_EQ(table.Describe({.tokens = 1}, choice).find("uncovered, tokens=1: no shape"), 0u);
}

TEST(ShapeTableTest, TheLargestTableAnswersAlike) {
  std::vector<Shape> shapes;
  for (int32_t i = 0; i < static_cast<int32_t>(ShapeTable::kMostShapes); ++i) {
    shapes.push_back({static_cast<uint64_t>(i), {.tokens = 1, .context = i}});
  }
  ShapeTable table = MustMake({}, shapes);
  table.SetUsable(4095, Why::kHit);
  const Choice choice = table.Choose({.tokens = 1, .context = 7}, Modes::All());
  EXPECT_EQ(choice.index, 4095u);
  EXPECT_EQ(choice.better, 7u);
  shapes.push_back({4096, {.tokens = 2}});
  EXPECT_THAT(ShapeTable::Make({}, shapes),
              FailsWith(StatusCode::kInvalidArgument, "4097 shapes are too many"));
}

TEST(ShapeTableTest, ShapesThatMakeNoSenseAreRefused) {
  const auto refusal = [](const std::vector<Shape>& shapes) {
    return ShapeTable::Make({}, shapes).status();
  };
  EXPECT_THAT(
      refusal({{7, {.tokens = -3}}}),
      FailsWith(StatusCode::kInvalidArgument, "shape 7 (tokens=-3, full): the shape's tok"));
  EXPECT_THAT(refusal({{7, {.tokens = 3}, Mode::kEager}}),
              FailsWith(StatusCode::kInvalidArgument, "shape 7 (tokens=3, eager) has no graph"));
  EXPECT_THAT(refusal({{7, {.tokens = 3}}, {7, {.tokens = 4}}}),
              FailsWith(StatusCode::kInvalidArgument, "have the same id"));
  EXPECT_THAT(refusal({{7, {.tokens = 3}}, {8, {.tokens = 3}}}),
              FailsWith(StatusCode::kInvalidArgument, "shape 7 (tokens=3, full) and shape 8"));
  EXPECT_THAT(ShapeTable::Make({.tokens = {Covers::kAtMost, 0.5}}, {}),
              FailsWith(StatusCode::kInvalidArgument, "rule for tokens"));
}

TEST(ShapeTableDeathTest, AShapeIsSetToWhatAShapeCanBe) {
  ShapeTable table = Ladder({8});
  EXPECT_DEATH(table.SetUsable(1, Why::kHit), "shape 1 of 1");
  EXPECT_DEATH(table.SetUsable(0, Why::kAboveCeiling), "set to above_ceiling");
  EXPECT_DEATH(table.SetUsable(0, Why::kVotedDown), "set to voted_down");
}

TEST(ShapeTableTest, DigestsTellTablesApartAndWhatIsUsable) {
  ShapeTable a = Ladder({8, 16});
  ShapeTable b = MustMake({}, {{70, {.tokens = 16}}, {71, {.tokens = 8}}});
  EXPECT_EQ(a.digest(), b.digest()) << "neither ids nor the order in which shapes come count";
  EXPECT_EQ(a.digest(), 2658777493780380616u) << "ranks on other machines come to the same";
  EXPECT_NE(a.digest(), Ladder({8, 17}).digest());
  EXPECT_NE(a.digest(), Ladder({8, 16}, {.tokens = {Covers::kAtMost, 2.0}}).digest());
  EXPECT_NE(a.usable_digest(), b.usable_digest());
  b.SetUsable(1, Why::kHit);
  b.SetUsable(0, Why::kHit);
  EXPECT_EQ(a.usable_digest(), b.usable_digest());
  b.SetUsable(0, Why::kFailed);
  EXPECT_NE(a.usable_digest(), b.usable_digest());
  b.SetUsable(0, Why::kExcluded);
  b.SetUsable(0, Why::kHit);
  EXPECT_EQ(a.usable_digest(), b.usable_digest());
}

TEST(ShapeTableTest, AChoiceIsDescribedInWords) {
  ShapeTable table = Ladder({8, 16, 512});
  table.SetUsable(1, Why::kFailed);
  const auto text = [&](const Key& call) {
    return table.Describe(call, table.Choose(call, Modes::All()));
  };
  EXPECT_EQ(text({.tokens = 9}),
            "cover, tokens=9 in shape 512 (tokens=512, full): a larger shape serves it, with "
            "padding; shape 16 (tokens=16, full) would cost less, and is failed");
  EXPECT_EQ(text({.tokens = 600}).find("above_ceiling, tokens=600 where the largest is 512: it is"),
            0u);
  EXPECT_EQ(text({.tokens = 8, .extra = 4}).find("uncovered, extra=4: no shape"), 0u);
  table.SetUsable(2, Why::kNoMemory);
  EXPECT_EQ(text({.tokens = 9}).find("failed, shape 16 (tokens=16, full): it failed"), 0u);
}

}  // namespace
}  // namespace graphtree
