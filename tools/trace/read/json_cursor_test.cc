// Tokens at the edges of memory, and numbers that must not lose a nanosecond.
#include "tools/trace/read/json_cursor.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace graphtree::trace {
namespace {

// What Skip makes of a text, with a space behind it.
std::string Skipped(const std::string& json) {
  const std::string text = json + " ";
  JsonCursor cursor(text.data(), text.data() + text.size());
  if (cursor.Skip()) return absl::StrCat("ok ", cursor.p() - text.data());
  return cursor.bad() != nullptr ? cursor.bad() : "more";
}

TEST(JsonCursorTest, SkipsEveryKindOfValue) {
  for (const char* json : {"1", "-1.5e-3", "true", "NaN", "\"a\\\"b\\\\\"", "[]", "{}",
                           "[1, [2, {\"a\": [3]}], \"]\"]", "{\"a\": {\"b\": \"}\"}}"}) {
    EXPECT_EQ(Skipped(json), absl::StrCat("ok ", std::string(json).size())) << json;
  }
}

TEST(JsonCursorTest, SaysWhatIsNoJson) {
  EXPECT_EQ(Skipped("[1}"), "a bracket that closes nothing");
  EXPECT_EQ(Skipped("{]"), "a bracket that closes nothing");
  EXPECT_EQ(Skipped("@"), "a value is missing");
  EXPECT_EQ(Skipped("[1,]"), "a value is missing");
  EXPECT_EQ(Skipped("[1 2]"), "a comma or colon is missing");
  EXPECT_EQ(Skipped("{\"a\" 1}"), "a comma or colon is missing");
  EXPECT_EQ(Skipped("{1: 2}"), "a text in quotes is missing");
  EXPECT_EQ(Skipped("{\"a\": }"), "a value is missing");
  for (const char* word : {"nope", "01", "1.", ".5", "1e", "--1", "+1", "1e+", "0x10"}) {
    EXPECT_NE(Skipped(word).substr(0, 2), "ok") << word;
  }
  EXPECT_EQ(Skipped(std::string(500, '1')), "a number that never ends");
  EXPECT_EQ(Skipped(std::string(256, '[') + std::string(256, ']')), "ok 512");
  EXPECT_EQ(Skipped(std::string(257, '[')), "lists and objects nested too deep");
}

TEST(JsonCursorTest, EveryCutAsksForMore) {
  const std::string json = "{\"a\": [1.5, \"t\\\"ext\", {\"b\": null}]}";
  for (size_t size = 0; size < json.size(); ++size) {
    JsonCursor cursor(json.data(), json.data() + size);
    EXPECT_FALSE(cursor.Skip()) << size;
    EXPECT_TRUE(cursor.more()) << size;
    EXPECT_EQ(cursor.bad(), nullptr) << size;
  }
}

TEST(JsonCursorTest, NumbersAreTheSameQuicklyAndSlowly) {
  for (const char* number : {"1", "0", "12.5", "0.5", "-3", "1e5", "123456789012345678901234567890",
                             "1.", ".5", "1.2.3", "01", "[1]", "\"x\"", "null", "x"}) {
    for (const char* behind : {",", "}", " ,", ""}) {
      const std::string text = absl::StrCat(number, behind);
      JsonCursor quick(text.data(), text.data() + text.size());
      JsonCursor slow(text.data(), text.data() + text.size());
      absl::string_view of_quick, of_slow;
      EXPECT_EQ(quick.NumberOrValue(of_quick), slow.Value(of_slow)) << text;
      EXPECT_EQ(of_quick, of_slow) << text;
      EXPECT_EQ(quick.more(), slow.more()) << text;
      EXPECT_EQ(quick.bad() == nullptr, slow.bad() == nullptr) << text;
    }
  }
}

TEST(JsonCursorTest, LongTextsEndWhereTheyEnd) {
  for (size_t size = 0; size < 40; ++size) {
    const std::string text = absl::StrCat("\"", std::string(size, 'x'), "\"tail");
    JsonCursor cursor(text.data(), text.data() + text.size());
    JsonText read;
    ASSERT_TRUE(cursor.Text(read));
    EXPECT_EQ(read.raw.size(), size);
    EXPECT_FALSE(read.is_escaped);
  }
}

TEST(JsonCursorTest, EscapesBecomeWhatTheyMean) {
  EXPECT_EQ(Unescaped("a\\n\\t\\\"\\\\\\/\\b\\f\\r"), "a\n\t\"\\/\b\f\r");
  EXPECT_EQ(Unescaped("\\u0041\\u00e9\\u20ac"), "A\xC3\xA9\xE2\x82\xAC");
  EXPECT_EQ(Unescaped("\\ud83d\\ude00"), "\xF0\x9F\x98\x80");
  EXPECT_EQ(Unescaped("\\ud83d"), "\xEF\xBF\xBD");
  EXPECT_EQ(Unescaped("\\ud83d\\u0041"), "\xEF\xBF\xBD" "A");
  EXPECT_EQ(Unescaped("\\u00"), "\xEF\xBF\xBD" "00");
  EXPECT_EQ(Unescaped("\\"), "\\");
}

TEST(JsonCursorTest, CleanIsWhatEveryReaderTakes) {
  const auto clean = [](absl::string_view raw) {
    std::string text = "kept ";
    AppendClean(raw, text);
    return text.substr(5);
  };
  EXPECT_EQ(clean("\"a\\n\\u00e9\\\\\""), "\"a\\n\\u00e9\\\\\"");
  EXPECT_EQ(clean("\"C:\\dir\\u12\""), "\"C:/dir/u12\"");
  EXPECT_EQ(clean("[1,\n\t2]"), "[1,  2]");
  EXPECT_EQ(clean("\"\xc3\xa9 \xff\""), "\"\xc3\xa9 \xEF\xBF\xBD\"");
}

TEST(JsonCursorTest, TimesKeepTheirNanoseconds) {
  EXPECT_EQ(NanosecondsOf("4849489327888.538"), 4849489327888538);
  EXPECT_EQ(NanosecondsOf("0.001"), 1);
  EXPECT_EQ(NanosecondsOf("-1.5"), -1500);
  EXPECT_EQ(NanosecondsOf("12"), 12000);
  EXPECT_EQ(NanosecondsOf("1.2345678"), 1234);
  EXPECT_EQ(NanosecondsOf("1e3"), 1'000'000);
  EXPECT_EQ(NanosecondsOf("nonsense"), 0);
  EXPECT_EQ(NanosecondsOf("NaN"), 0);
  EXPECT_EQ(NanosecondsOf("1e300"), int64_t{1} << 60);
  EXPECT_EQ(NanosecondsOf("-99999999999999999999"), -(int64_t{1} << 60));
}

TEST(JsonCursorTest, WholeNumbersAreClampedNotWrapped) {
  EXPECT_EQ(UnsignedOf("18446744073709551615"), 18446744073709551615u);
  EXPECT_EQ(IntegerOf("-5"), -5);
  EXPECT_EQ(IntegerOf("7.9"), 7);
  EXPECT_EQ(IntegerOf("1e30"), 9'200'000'000'000'000'000);
  EXPECT_EQ(IntegerOf("nan"), 0);
  EXPECT_EQ(IntegerOf("\"text\""), 0);
}

}  // namespace
}  // namespace graphtree::trace
