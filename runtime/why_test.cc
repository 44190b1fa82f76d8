// Every Why has a name that a script can take, and a sentence that a person can.
#include "runtime/why.h"

#include <cctype>
#include <set>
#include <string>

#include "gtest/gtest.h"

namespace graphtree {
namespace {

TEST(WhyTest, NamesAreDistinctLowerCaseWords) {
  std::set<std::string> names;
  for (size_t i = 0; i < kWhyCount; ++i) {
    const std::string name = WhyName(static_cast<Why>(i));
    EXPECT_FALSE(name.empty());
    for (const char letter : name) EXPECT_TRUE(std::islower(letter) || letter == '_') << name;
    EXPECT_TRUE(names.insert(name).second) << name << " stands twice";
  }
}

TEST(WhyTest, SentencesAreDistinctAndEndWithoutAStop) {
  std::set<std::string> sentences;
  for (size_t i = 0; i < kWhyCount; ++i) {
    const std::string sentence = WhySentence(static_cast<Why>(i));
    ASSERT_GT(sentence.size(), 20u) << sentence;
    EXPECT_TRUE(std::islower(sentence.front())) << sentence;
    EXPECT_NE(sentence.back(), '.') << sentence;
    EXPECT_TRUE(sentences.insert(sentence).second) << sentence;
  }
}

TEST(WhyTest, NamesAreThoseThatScriptsKnow) {
  EXPECT_STREQ(WhyName(Why::kHit), "hit");
  EXPECT_STREQ(WhyName(Why::kAboveCeiling), "above_ceiling");
  EXPECT_STREQ(WhyName(Why::kStaleDependency), "stale_dependency");
  EXPECT_STREQ(WhyName(Why::kWarmingUp), "warming_up");
}

TEST(WhyTest, OnlyHitAndCoverAreReplays) {
  for (size_t i = 0; i < kWhyCount; ++i) {
    EXPECT_EQ(IsReplay(static_cast<Why>(i)), i < 2) << WhyName(static_cast<Why>(i));
  }
}

TEST(WhyTest, ANumberThatIsNoneIsToldAndEndsNothing) {
  EXPECT_STREQ(WhyName(static_cast<Why>(200)), "unknown");
  EXPECT_STREQ(WhySentence(static_cast<Why>(kWhyCount)), "there is no reason with its number");
}

}  // namespace
}  // namespace graphtree
