// Keys and rules: their texts, what they cover, and what is refused.
#include "runtime/shapes/key.h"

#include <limits>
#include <set>
#include <string>

#include "device/base/status_matchers.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

using absl::StatusCode;

TEST(KeyTest, TextNamesWhatIsSet) {
  EXPECT_EQ(ToString(Key{}), "empty");
  EXPECT_EQ(ToString(Key{.tokens = 8, .requests = 8}), "tokens=8 requests=8");
  EXPECT_EQ(ToString(Key{.kind = 2, .context = kAny, .any_extra = true}),
            "context=any kind=2 extra=any");
  EXPECT_EQ(ToString(Key{.extra = 7}), "extra=7");
}

TEST(KeyTest, EveryFieldHasItsOwnNameAndMember) {
  std::set<std::string> names;
  Key key;
  for (size_t i = 0; i < kKeyNumberCount; ++i) {
    names.insert(KeyFieldName(static_cast<KeyField>(i)));
    NumberOf(key, static_cast<KeyField>(i)) = static_cast<int32_t>(i) + 1;
  }
  names.insert(KeyFieldName(KeyField::kExtra));
  EXPECT_EQ(names.size(), kKeyFieldCount);
  EXPECT_EQ(ToString(key),
            "tokens=1 requests=2 query_length=3 context=4 adaptors=5 microbatches=6 speculation=7 "
            "kind=8");
}

TEST(KeyTest, RulesBelongToTheFieldsOfTheirNames) {
  const KeyRules rules = {.query_length = {.covers = Covers::kPowerOfTwo},
                          .speculation = {.covers = Covers::kAtMost, .most_extra = 3}};
  EXPECT_EQ(RuleOf(rules, KeyField::kTokens).covers, Covers::kAtMost);
  EXPECT_EQ(RuleOf(rules, KeyField::kRequests).covers, Covers::kAtMost);
  EXPECT_EQ(RuleOf(rules, KeyField::kQueryLength).covers, Covers::kPowerOfTwo);
  EXPECT_EQ(RuleOf(rules, KeyField::kContext).covers, Covers::kAtMost);
  EXPECT_EQ(RuleOf(rules, KeyField::kAdaptors).covers, Covers::kEqual);
  EXPECT_EQ(RuleOf(rules, KeyField::kMicrobatches).covers, Covers::kEqual);
  EXPECT_EQ(RuleOf(rules, KeyField::kSpeculation).most_extra, 3);
  EXPECT_EQ(RuleOf(rules, KeyField::kKind).covers, Covers::kEqual);
}

TEST(KeyTest, CallsAreRoundedUpToPowersOfTwo) {
  const FieldRule power = {.covers = Covers::kPowerOfTwo};
  const FieldRule at_most = {.covers = Covers::kAtMost};
  constexpr int64_t kLast = std::numeric_limits<int32_t>::max();
  EXPECT_EQ(LeastCovering(power, 0), 0);
  EXPECT_EQ(LeastCovering(power, 1), 1);
  EXPECT_EQ(LeastCovering(power, 3), 4);
  EXPECT_EQ(LeastCovering(power, 4), 4);
  EXPECT_EQ(LeastCovering(power, 1 << 30), 1 << 30);
  EXPECT_EQ(LeastCovering(power, kLast), kLast + 1);
  EXPECT_EQ(LeastCovering(at_most, 3), 3);
}

TEST(KeyTest, BothLimitsOfPaddingHold) {
  constexpr int32_t kLast = std::numeric_limits<int32_t>::max();
  EXPECT_EQ(MostCovering({Covers::kAtMost, 2.0}, 9), 18);
  EXPECT_EQ(MostCovering({Covers::kAtMost, 1.5}, 9), 13);
  EXPECT_EQ(MostCovering({Covers::kAtMost, 2.0}, 0), 0);
  EXPECT_EQ(MostCovering({Covers::kAtMost, 1e300}, kLast), int64_t{kLast} + kLast);
  EXPECT_EQ(MostCovering({Covers::kAtMost, FieldRule::kNoRatio, 4}, 9), 13);
  EXPECT_EQ(MostCovering({Covers::kAtMost, 2.0, 4}, 9), 13);
  EXPECT_EQ(MostCovering({Covers::kAtMost, 2.0, 4}, 3), 6);
  EXPECT_GE(MostCovering({Covers::kAtMost}, 0), kLast) << "no limit";
}

TEST(KeyTest, CallsWithOpenOrNegativeFieldsAreRefused) {
  EXPECT_THAT(CheckCall({.tokens = 8}), IsOk());
  EXPECT_THAT(CheckCall({.context = kAny}),
              FailsWith(StatusCode::kInvalidArgument, "call's context is -1, which is any"));
  EXPECT_THAT(CheckCall({.tokens = -8}),
              FailsWith(StatusCode::kInvalidArgument, "call's tokens is -8"));
  EXPECT_THAT(CheckCall({.any_extra = true}),
              FailsWith(StatusCode::kInvalidArgument, "call's extra is any"));
}

TEST(KeyTest, ShapesThatNoCallCouldComeToAreRefused) {
  const KeyRules rules = {.adaptors = {.covers = Covers::kPowerOfTwo}};
  EXPECT_THAT(CheckShapeKey({.tokens = 8, .context = kAny, .any_extra = true}, rules), IsOk());
  EXPECT_THAT(CheckShapeKey({.adaptors = 4}, rules), IsOk());
  EXPECT_THAT(CheckShapeKey({.requests = -2}, rules),
              FailsWith(StatusCode::kInvalidArgument, "shape's requests is -2"));
  EXPECT_THAT(CheckShapeKey({.adaptors = 3}, rules),
              FailsWith(StatusCode::kInvalidArgument, "shape's adaptors is 3; its rule wants"));
  EXPECT_THAT(CheckShapeKey({.extra = 3, .any_extra = true}, rules),
              FailsWith(StatusCode::kInvalidArgument, "extra is 3 and any at once"));
}

TEST(KeyTest, RulesThatMakeNoSenseAreRefused) {
  EXPECT_THAT(CheckRules(KeyRules{}), IsOk());
  EXPECT_THAT(CheckRules({.tokens = {Covers::kAtMost, 2.0, 64}}), IsOk());
  EXPECT_THAT(CheckRules({.tokens = {static_cast<Covers>(9)}}),
              FailsWith(StatusCode::kInvalidArgument, "rule for tokens covers by rule 9"));
  EXPECT_THAT(CheckRules({.tokens = {Covers::kAtMost, 0.5}}),
              FailsWith(StatusCode::kInvalidArgument, "rule for tokens allows a ratio of 0.5"));
  EXPECT_THAT(CheckRules({.context = {Covers::kAtMost, std::numeric_limits<double>::quiet_NaN()}}),
              FailsWith(StatusCode::kInvalidArgument, "rule for context allows a ratio of nan"));
  EXPECT_THAT(CheckRules({.requests = {Covers::kAtMost, FieldRule::kNoRatio, -1}}),
              FailsWith(StatusCode::kInvalidArgument, "rule for requests allows -1 extra"));
  EXPECT_THAT(CheckRules({.kind = {Covers::kEqual, 2.0}}),
              FailsWith(StatusCode::kInvalidArgument, "rule for kind limits padding, but wants"));
}

}  // namespace
}  // namespace graphtree
