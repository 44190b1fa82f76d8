// The demo verb: a short day on the host device, its files, and what it refuses.
#include "tools/verbs/demo.h"

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/cli/registry.h"

namespace graphtree {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

struct Outcome {
  int code;
  std::string out;
  std::string err;
};

Outcome RunDemo(const std::vector<std::string>& args) {
  cli::Registry registry;
  registry.Add(DemoVerb());
  std::istringstream in;
  std::ostringstream out, err;
  const int code = registry.Run(args, {in, out, err});
  return {code, out.str(), err.str()};
}

std::string Content(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(DemoTest, AShortDayOnTheHostHasEqualTokens) {
  const Outcome outcome = RunDemo({"demo", "--device", "host", "--steps", "40"});
  EXPECT_EQ(outcome.code, cli::kFine) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("Tokens: equal in all"));
  EXPECT_THAT(outcome.out, HasSubstr("launches per step"));
  EXPECT_THAT(outcome.out, HasSubstr("decode i32[1] x3"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("DIFFERENT")));
  EXPECT_EQ(outcome.err, "") << "progress is for terminals";
}

TEST(DemoTest, FilesHaveTheSameForMachines) {
  const std::string json = testing::TempDir() + "/demo.json";
  const std::string tree = testing::TempDir() + "/demo.dot";
  const std::string snapshot = testing::TempDir() + "/demo_snapshot.json";
  const Outcome outcome = RunDemo({"demo", "--device=host", "--steps=20", "--rows=2", "--quiet",
                                   "--greedy", "--json", json, "--tree", tree, "--snapshot",
                                   snapshot});
  EXPECT_EQ(outcome.code, cli::kFine) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_THAT(Content(json), HasSubstr(R"("tokens_equal":true)"));
  EXPECT_THAT(Content(json), HasSubstr(R"("launches_per_step":76)"));
  EXPECT_THAT(Content(json), Not(HasSubstr("sampled")));
  EXPECT_THAT(Content(tree), HasSubstr("digraph tree {"));
  EXPECT_THAT(Content(snapshot), HasSubstr("device_traces"));
  EXPECT_THAT(Content(snapshot), HasSubstr(R"("function": "decode", "inputs": "i32[1] x3")"));
}

TEST(DemoTest, ADeviceThatIsNotThereIsBadInput) {
  const Outcome outcome = RunDemo({"demo", "--device", "cuda:99"});
  EXPECT_EQ(outcome.code, cli::kBadInput);
  EXPECT_THAT(outcome.err, StartsWith("graphtree demo: "));
  EXPECT_THAT(outcome.err, HasSubstr("cuda"));
  EXPECT_EQ(RunDemo({"demo", "--device", "tpu"}).code, cli::kBadInput);
  EXPECT_EQ(RunDemo({"demo", "--device", ""}).code, cli::kBadInput);
}

// So that it can be read in any terminal, whatever the day was like.
TEST(DemoTest, NoLineIsWiderThanATerminal) {
  for (const char* steps : {"--steps=1", "--steps=60"}) {
    const Outcome outcome = RunDemo({"demo", "--device=host", steps});
    for (const absl::string_view line : absl::StrSplit(outcome.out, '\n')) {
      EXPECT_LE(line.size(), 80u) << line;
    }
    EXPECT_EQ(outcome.code, cli::kFine) << outcome.err;
  }
  const Outcome refusal = RunDemo({"demo", "--bogus"});
  EXPECT_EQ(refusal.code, cli::kWrongUse);
  for (const absl::string_view line : absl::StrSplit(refusal.err, '\n')) {
    EXPECT_LE(line.size(), 80u) << line;
  }
}

TEST(DemoTest, NumbersOutOfRangeAreWrongUse) {
  const Outcome outcome = RunDemo({"demo", "--rows", "9"});
  EXPECT_EQ(outcome.code, cli::kWrongUse);
  EXPECT_THAT(outcome.err, HasSubstr("--rows 9 is not between 1 and 8"));
  EXPECT_EQ(RunDemo({"demo", "--steps", "0"}).code, cli::kWrongUse);
}

TEST(DemoTest, TwoFilesDoNotMixOnTheConsole) {
  const Outcome outcome = RunDemo({"demo", "--device=host", "--json", "-", "--tree", "-"});
  EXPECT_EQ(outcome.code, cli::kWrongUse);
  EXPECT_EQ(outcome.err, "graphtree demo: --json and --tree cannot both go to the console\n");
  EXPECT_EQ(outcome.out, "");
}

TEST(DemoTest, OneFileDoesNotTakeTwoReports) {
  const std::string path = testing::TempDir() + "/both.json";
  const Outcome outcome =
      RunDemo({"demo", "--device=host", "--steps=2", "--json", path, "--snapshot", path});
  EXPECT_EQ(outcome.code, cli::kWrongUse);
  EXPECT_THAT(outcome.err, HasSubstr("--json and --snapshot cannot both go to " + path));
  EXPECT_EQ(outcome.out, "") << "the day was run";
}

TEST(DemoTest, ASnapshotOfAnUnknownKindIsSaidBeforeTheDayIsRun) {
  const Outcome outcome =
      RunDemo({"demo", "--device=host", "--steps=1000000", "--snapshot", "day.txt"});
  EXPECT_EQ(outcome.code, cli::kWrongUse);
  EXPECT_THAT(outcome.err, HasSubstr("\"day.txt\": a snapshot's file ends in .pickle"));
}

TEST(DemoTest, AFileThatCannotBeWrittenIsSaidBeforeTheDayIsRun) {
  for (const char* option : {"--json", "--tree", "--snapshot"}) {
    const Outcome outcome = RunDemo(
        {"demo", "--device=host", "--steps=2", "--greedy", option, "/nowhere/at/all.json"});
    EXPECT_EQ(outcome.code, cli::kBadInput);
    EXPECT_THAT(outcome.err, HasSubstr("cannot write /nowhere/at/all.json: No such file"));
    EXPECT_EQ(outcome.out, "") << "the day was run";
  }
}

TEST(DemoTest, AScriptReadsTheFiguresFromTheConsoleAndNothingElseIsThere) {
  const Outcome outcome = RunDemo(
      {"demo", "--device=host", "--steps=2", "--greedy", "--quiet", "--json", "-"});
  EXPECT_EQ(outcome.code, cli::kFine) << outcome.err;
  EXPECT_THAT(outcome.out, StartsWith("{"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("Tokens: equal")));
  EXPECT_THAT(outcome.err, HasSubstr("Tokens: equal"));
}

}  // namespace
}  // namespace graphtree
