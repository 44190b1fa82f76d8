// Keys and rules that travel between the two sides.
#include "runtime/c/keys.h"

#include "device/base/status_matchers.h"
#include "gtest/gtest.h"
#include "runtime/c/graphtree.h"
#include "runtime/shapes/key.h"
#include "runtime/shapes/mode.h"
#include "runtime/shapes/shape_table.h"

namespace graphtree::c {
namespace {

TEST(KeysTest, EveryFieldArrives) {
  const gt_key key = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 0};
  const Key made = KeyOf(key);
  EXPECT_EQ(made, (Key{1, 2, 3, 4, 5, 6, 7, 8, 9, true}));
  EXPECT_EQ(KeyOf(KeyOf(made)), made);
}

TEST(KeysTest, RulesThatSayNothingAreTheDefaults) {
  KeyRules rules;
  EXPECT_THAT(RulesOf(gt_key_rules{}, &rules), IsOk());
  EXPECT_EQ(rules.tokens.covers, Covers::kAtMost);
  EXPECT_EQ(rules.kind.covers, Covers::kEqual);
  EXPECT_FALSE(rules.tokens.is_limited());
}

TEST(KeysTest, RulesThatSaySomething) {
  gt_key_rules given = {};
  given.tokens = {GT_COVERS_AT_MOST, -1, 2.0};
  given.adaptors = {GT_COVERS_POWER_OF_TWO, 0, 0};
  given.context = {GT_COVERS_EQUAL, 7, 0};
  KeyRules rules;
  EXPECT_THAT(RulesOf(given, &rules), IsOk());
  EXPECT_EQ(rules.tokens.most_extra, 0);
  EXPECT_EQ(rules.tokens.most_ratio, 2.0);
  EXPECT_EQ(rules.adaptors.covers, Covers::kPowerOfTwo);
  EXPECT_EQ(rules.context.covers, Covers::kEqual);
  EXPECT_EQ(rules.context.most_extra, 7);
  given.speculation.covers = 4;
  EXPECT_THAT(RulesOf(given, &rules),
              FailsWith(absl::StatusCode::kInvalidArgument, "the rule of speculation covers by 4"));
}

TEST(KeysTest, Modes) {
  EXPECT_THAT(CheckModes(GT_ALLOW_ALL), IsOk());
  EXPECT_THAT(CheckModes(4), FailsWith(absl::StatusCode::kInvalidArgument, "modes 4"));
  EXPECT_TRUE(ModesOf(GT_ALLOW_FULL).Has(Mode::kFull));
  EXPECT_FALSE(ModesOf(GT_ALLOW_FULL).Has(Mode::kSegmented));
}

TEST(KeysTest, Choices) {
  gt_choice made = ChoiceOf({.why = Why::kAboveCeiling, .field = KeyField::kContext});
  EXPECT_EQ(made.field, GT_CONTEXT);
  EXPECT_EQ(made.shape, -1);
  made = ChoiceOf({.why = Why::kCover, .index = 3, .better = 1, .key = {.tokens = 8}});
  EXPECT_EQ(made.why, GT_COVER);
  EXPECT_EQ(made.field, GT_NO_FIELD);
  EXPECT_EQ(made.shape, 3);
  EXPECT_EQ(made.better, 1);
  EXPECT_EQ(made.key.tokens, 8);
}

}  // namespace
}  // namespace graphtree::c
