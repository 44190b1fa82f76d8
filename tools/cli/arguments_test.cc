// The parser: every form that it accepts, and a sentence for every mistake.
#include "tools/cli/arguments.h"

#include "absl/status/status.h"
#include "device/base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/cli/verb.h"

namespace graphtree::cli {
namespace {

using ::testing::ElementsAre;

Verb SampleVerb() {
  return {
      .name = "sample",
      .operands = {{.name = "FILE", .help = "the file to read"},
                   {.name = "MORE", .help = "others", .optional = true, .repeats = true}},
      .options =
          {JsonOption(),
           {.name = "--out", .kind = ValueKind::kText, .value_name = "FILE", .short_name = "-o"},
           {.name = "--steps", .kind = ValueKind::kInteger, .value_name = "N"},
           {.name = "--ratio", .kind = ValueKind::kNumber, .value_name = "X"},
           {.name = "--pool", .kind = ValueKind::kBytes, .value_name = "SIZE"},
           {.name = "--format", .kind = ValueKind::kChoice, .choices = {"text", "html"}},
           {.name = "--only", .kind = ValueKind::kText, .value_name = "NAME", .repeats = true}},
  };
}

absl::StatusOr<Arguments> Parse(const std::vector<std::string>& args) {
  return ParseArguments(SampleVerb(), args);
}

void ExpectRefused(const std::vector<std::string>& args, const std::string& sentence) {
  EXPECT_THAT(Parse(args), FailsWith(absl::StatusCode::kInvalidArgument, sentence));
}

TEST(ArgumentsTest, ReadsEveryKindInBothForms) {
  const auto arguments = Parse({"--json", "--out", "a.txt", "in", "--steps=12", "--ratio", "-0.5",
                                "--pool=1.5KiB", "--format", "html"});
  ASSERT_THAT(arguments, IsOk());
  EXPECT_TRUE(arguments->Has("--json"));
  EXPECT_EQ(arguments->Text("--out"), "a.txt");
  EXPECT_EQ(arguments->Integer("--steps", 0), 12);
  EXPECT_EQ(arguments->Number("--ratio", 0), -0.5);
  EXPECT_EQ(arguments->Bytes("--pool", 0), 1536);
  EXPECT_EQ(arguments->Text("--format"), "html");
  EXPECT_THAT(arguments->operands(), ElementsAre("in"));
}

TEST(ArgumentsTest, ShortNameIsTheSameOption) {
  const auto arguments = Parse({"-o", "a.txt", "in"});
  ASSERT_THAT(arguments, IsOk());
  EXPECT_EQ(arguments->Text("--out"), "a.txt");
  ExpectRefused({"-o", "a", "--out", "b", "in"}, "given twice");
  ExpectRefused({"-x", "in"}, "no option -x");
}

TEST(ArgumentsTest, FallbacksStandInForWhatIsNotGiven) {
  const auto arguments = Parse({"in"});
  ASSERT_THAT(arguments, IsOk());
  EXPECT_FALSE(arguments->Has("--json"));
  EXPECT_EQ(arguments->Text("--out", "-"), "-");
  EXPECT_EQ(arguments->Integer("--steps", 7), 7);
  EXPECT_EQ(arguments->Bytes("--pool", 9), 9);
  EXPECT_EQ(arguments->OperandAt(1, "none"), "none");
  EXPECT_TRUE(arguments->Texts("--only").empty());
}

TEST(ArgumentsTest, RepeatedOptionKeepsItsOrder) {
  const auto arguments = Parse({"--only", "b", "in", "--only=a"});
  ASSERT_THAT(arguments, IsOk());
  EXPECT_THAT(arguments->Texts("--only"), ElementsAre("b", "a"));
}

TEST(ArgumentsTest, DoubleDashEndsOptionsAndOneDashIsAnOperand) {
  const auto arguments = Parse({"-", "--", "--json"});
  ASSERT_THAT(arguments, IsOk());
  EXPECT_FALSE(arguments->Has("--json"));
  EXPECT_THAT(arguments->operands(), ElementsAre("-", "--json"));
}

TEST(ArgumentsTest, UnknownOptionNamesTheNearest) {
  ExpectRefused({"in", "--halp"}, "sample has no option --halp; did you mean --help?");
  ExpectRefused({"in", "--jsn"}, "sample has no option --jsn; did you mean --json?");
  ExpectRefused({"in", "--frobnicate"}, "sample has no option --frobnicate");
  ExpectRefused({"in", "-j"}, "sample has no option -j");
}

TEST(ArgumentsTest, ValuesOfTheWrongKindAreRefused) {
  ExpectRefused({"in", "--steps", "ten"}, "--steps takes a whole number, not \"ten\"");
  ExpectRefused({"in", "--steps="}, "--steps takes a whole number, not \"\"");
  ExpectRefused({"in", "--ratio", "nan"}, "--ratio takes a number, not \"nan\"");
  ExpectRefused({"in", "--pool", "8 cows"}, "--pool: \"8 cows\" is not a size");
  ExpectRefused({"in", "--format", "png"}, "--format takes one of text, html, not \"png\"");
}

TEST(ArgumentsTest, MissingAndSurplusWordsAreRefused) {
  ExpectRefused({}, "FILE is missing: the file to read");
  ExpectRefused({"in", "--out"}, "--out needs a value");
  ExpectRefused({"in", "--out", "--json"}, "--out needs a value");
  ExpectRefused({"in", "--json=yes"}, "--json takes no value");
  ExpectRefused({"in", "--out", "a", "--out", "b"}, "--out is given twice");
  Verb one_operand = SampleVerb();
  one_operand.operands.pop_back();
  EXPECT_THAT(ParseArguments(one_operand, {"in", "out"}),
              FailsWith(absl::StatusCode::kInvalidArgument, "what to do with \"out\""));
}

TEST(ArgumentsDeathTest, ReadingWhatTheVerbDidNotDeclareIsABug) {
  const auto arguments = Parse({"in"});
  ASSERT_THAT(arguments, IsOk());
  EXPECT_DEATH(arguments->Has("--colour"), "undeclared");
  EXPECT_DEATH(arguments->Integer("--out", 0), "--out as a kind that it is not");
}

TEST(ParseBytesTest, UnitsArePowersOf1024) {
  EXPECT_EQ(ParseBytes("4096").value(), 4096);
  EXPECT_EQ(ParseBytes("64k").value(), 65536);
  EXPECT_EQ(ParseBytes("8MiB").value(), 8 << 20);
  EXPECT_EQ(ParseBytes("1.5GB").value(), 3ll << 29);
  EXPECT_EQ(ParseBytes("2T").value(), 2ll << 40);
  for (const char* wrong : {"", "MiB", "-1", "1.2.3", "1X", "1KX", "99999999T", "1e3"}) {
    EXPECT_FALSE(ParseBytes(wrong).ok()) << wrong;
  }
}

TEST(NearestTest, ASlipIsFoundAndAnotherWordIsNot) {
  EXPECT_EQ(Nearest("verison", {"version", "devices"}), "version");
  EXPECT_EQ(Nearest("device", {"version", "devices"}), "devices");
  EXPECT_EQ(Nearest("cheese", {"version", "devices"}), "");
  EXPECT_EQ(Nearest("x", {}), "");
}

}  // namespace
}  // namespace graphtree::cli
