// Control characters become text; nothing else changes.
#include "device/base/one_line.h"

#include "gtest/gtest.h"

namespace graphtree {
namespace {

TEST(OneLineTest, EscapesControlCharactersAndNothingElse) {
  EXPECT_EQ(OneLine("a\nb\r\tc"), R"(a\nb\r\tc)");
  EXPECT_EQ(OneLine(absl::string_view("\0\x1b[0m\x7f", 6)), R"(\x00\x1b[0m\x7f)");
  EXPECT_EQ(OneLine("plain \"text\" \\ \xC3\xA9"), "plain \"text\" \\ \xC3\xA9");
  EXPECT_EQ(OneLine(""), "");
}

TEST(OneLineTest, EscapesBytesThatAreNoUtf8) {
  EXPECT_EQ(OneLine("a\xff" "b"), R"(a\xffb)");
  EXPECT_EQ(OneLine("\xC3"), R"(\xc3)") << "half a character";
  EXPECT_EQ(OneLine("\xC3\xA9\xA9\xE2\x82\xAC"), "\xC3\xA9" R"(\xa9)" "\xE2\x82\xAC");
  EXPECT_EQ(OneLine("\xF0\x9F\x98\x80\n"), "\xF0\x9F\x98\x80" R"(\n)");
}

}  // namespace
}  // namespace graphtree
