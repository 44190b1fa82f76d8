// The JSON writer: nesting, escapes, numbers that come back, and what it refuses.
#include "device/base/json_writer.h"

#include <limits>

#include "gtest/gtest.h"

namespace graphtree {
namespace {

TEST(JsonWriterTest, NestsAndPlacesCommas) {
  JsonWriter json;
  json.BeginObject().Key("a").BeginArray().Integer(1).BeginObject().EndObject().Null().EndArray();
  EXPECT_FALSE(json.complete());
  json.Key("b").Bool(true).Key("c").BeginObject().Key("d").String("x").EndObject().EndObject();
  EXPECT_TRUE(json.complete());
  EXPECT_EQ(json.text(), R"({"a":[1,{},null],"b":true,"c":{"d":"x"}})");
}

TEST(JsonWriterTest, NumbersAreShortAndComeBack) {
  const double third = 1.0 / 3.0;
  JsonWriter json;
  json.BeginArray().Number(0.5).Number(1e300).Number(third).Number(-0.1).EndArray();
  EXPECT_EQ(json.text(), "[0.5,1e+300,0.33333333333333331,-0.1]");
}

TEST(JsonWriterTest, WhatJsonHasNoNumberForIsNull) {
  JsonWriter json;
  json.BeginArray()
      .Number(std::numeric_limits<double>::quiet_NaN())
      .Number(std::numeric_limits<double>::infinity())
      .Unsigned(std::numeric_limits<uint64_t>::max())
      .Integer(std::numeric_limits<int64_t>::min())
      .EndArray();
  EXPECT_EQ(json.text(), "[null,null,18446744073709551615,-9223372036854775808]");
}

TEST(JsonWriterTest, RawJsonIsTakenAsItIs) {
  JsonWriter json;
  json.BeginArray().Raw("{\"a\":1}").Raw("2").EndArray();
  EXPECT_EQ(json.text(), "[{\"a\":1},2]");
}

TEST(JsonQuotedTest, EscapesWhatMustBeAndKeepsUtf8) {
  EXPECT_EQ(JsonQuoted("a\"b\\c\n\t\r\x01"), R"("a\"b\\c\n\t\r\u0001")");
  EXPECT_EQ(JsonQuoted("\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x8C\xB3"),
            "\"\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x8C\xB3\"");
  EXPECT_EQ(JsonQuoted(absl::string_view("\0", 1)), "\"\\u0000\"");
}

TEST(JsonQuotedTest, BytesThatAreNotUtf8AreReplaced) {
  EXPECT_EQ(JsonQuoted("\xFF"), "\"\\ufffd\"");
  EXPECT_EQ(JsonQuoted("\xC3"), "\"\\ufffd\"");                        // cut short
  EXPECT_EQ(JsonQuoted("\xC0\xAF"), "\"\\ufffd\\ufffd\"");             // longer than needed
  EXPECT_EQ(JsonQuoted("\xED\xA0\x80"), "\"\\ufffd\\ufffd\\ufffd\"");  // half a surrogate pair
  EXPECT_EQ(JsonQuoted("\xF4\x90\x80\x80x"), "\"\\ufffd\\ufffd\\ufffd\\ufffdx\"");
}

TEST(IsUtf8Test, IsFalseWhereAByteWouldBeReplaced) {
  EXPECT_TRUE(IsUtf8(""));
  EXPECT_TRUE(IsUtf8("a\n\xC3\xA9\xE2\x82\xAC\xF0\x9F\x8C\xB3\xEF\xBF\xBD"));
  EXPECT_FALSE(IsUtf8("ab\xFF"));
  EXPECT_FALSE(IsUtf8("ab\xC3"));
  EXPECT_FALSE(IsUtf8("\xED\xB3\xBF.py"));
}

TEST(Utf8OfTest, KeepsWhatJsonCanTellAndReplacesEachOtherByte) {
  const std::string fine = "a\"\n\xC3\xA9\xE2\x82\xAC\xF0\x9F\x8C\xB3";
  EXPECT_EQ(Utf8Of(fine), fine);
  EXPECT_EQ(Utf8Of(""), "");
  EXPECT_EQ(Utf8Of("\xFFx\xED\xA0"), "\xEF\xBF\xBDx\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(JsonWriterDeathTest, WrongNestingIsABug) {
  EXPECT_DEATH(JsonWriter().BeginObject().Integer(1), "a value without a key");
  EXPECT_DEATH(JsonWriter().BeginArray().Key("a"), "no place for the key a");
  EXPECT_DEATH(JsonWriter().BeginArray().EndObject(), "cannot close with }");
  EXPECT_DEATH(JsonWriter().BeginObject().Key("a").EndObject(), "cannot close with }");
  EXPECT_DEATH(JsonWriter().Null().Null(), "a second value");
}

}  // namespace
}  // namespace graphtree
