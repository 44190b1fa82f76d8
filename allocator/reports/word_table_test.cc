// Words keep their numbers while they are named, and old ones go when there are too many.
#include "allocator/reports/word_table.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace graphtree {
namespace {

uint32_t Intern(WordTable& words, const std::string& text, const std::vector<uint32_t>& marked) {
  uint32_t id = 0;
  if (words.Find(text, &id)) return id;
  if (words.is_full()) words.Collect(marked);
  return words.Add(text);
}

TEST(WordTableTest, EveryWordHasOneNumberAndTheEmptyOneIsZero) {
  WordTable words;
  EXPECT_EQ(Intern(words, "", {}), 0u);
  const uint32_t a = Intern(words, "a", {}), b = Intern(words, "b", {});
  EXPECT_NE(a, b);
  EXPECT_EQ(Intern(words, "a", {}), a);
  EXPECT_EQ(words[a], "a");
  EXPECT_EQ(words[b], "b");
  EXPECT_EQ(words[0], "");
}

TEST(WordTableTest, AMillionRequestsFillNoTable) {
  WordTable words(100);
  const uint32_t marked = Intern(words, "weights", {});
  const uint32_t first = Intern(words, "request", {});
  uint32_t busy = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    Intern(words, "request " + std::to_string(i), {marked});
    busy = Intern(words, "asked for all the time", {marked});
    ASSERT_LE(words.count(), 100u);
  }
  EXPECT_EQ(words[marked], "weights");
  EXPECT_EQ(words[busy], "asked for all the time");
  EXPECT_EQ(words[first], "(forgotten)") << "and never another word";
  EXPECT_GT(words.forgotten(), 900'000u);
}

TEST(WordTableTest, LongTextsCountByTheirBytes) {
  WordTable words(1000, 10'000);
  for (int i = 0; i < 100; ++i) Intern(words, std::string(1000, 'a') + std::to_string(i), {});
  EXPECT_LE(words.count(), 14u);
}

TEST(WordTableTest, WordsThatAreAllNamedAreAllKept) {
  WordTable words(16);
  std::vector<uint32_t> marked;
  for (int i = 0; i < 1000; ++i) {
    marked.push_back(Intern(words, std::to_string(i), marked));
  }
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(words[marked[static_cast<size_t>(i)]], std::to_string(i));
  }
  EXPECT_EQ(words.forgotten(), 0u);
}

}  // namespace
}  // namespace graphtree
