// The demo verb: a short day on the host device, its files, and what it refuses.
#include "tools/verbs/demo.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/door/test_client.h"
#include "tools/cli/registry.h"
#include "tools/cli/run_verbs.h"

namespace graphtree {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using cli::Outcome;

Outcome RunDemo(const std::vector<std::string>& args) {
  cli::Registry registry;
  registry.Add(DemoVerb());
  return cli::RunVerbs(registry, args);
}

std::string Content(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// How many steps the runtime replayed, of how many: "graphtree replayed 31 of 48 steps".
std::pair<int, int> Replayed(const std::string& text) {
  const size_t at = text.find("graphtree replayed ");
  const std::vector<std::string> words =
      absl::StrSplit(at == std::string::npos ? "" : text.substr(at), absl::ByAnyChar(" \n"));
  int replayed = -1, steps = -1;
  if (words.size() < 5) return {-1, -1};
  EXPECT_TRUE(absl::SimpleAtoi(words[2], &replayed)) << words[2];
  EXPECT_TRUE(absl::SimpleAtoi(words[4], &steps)) << words[4];
  return {replayed, steps};
}

// So that it can be read in any terminal, whatever the day was like.
void ExpectFitsATerminal(const std::string& text) {
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    EXPECT_LE(line.size(), 80u) << line;
  }
}

TEST(DemoTest, AShortDayOnTheHostHasEqualTokens) {
  const Outcome outcome = RunDemo({"demo", "--device", "host", "--steps", "60"});
  EXPECT_EQ(outcome.code, cli::kFine) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr(", equal in all three ways"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("DIFFERENT")));
  for (const char* row : {"tokens a second", "host time a step", "whole time a step",
                          "first token, cold", "memory of graphs"}) {
    EXPECT_THAT(outcome.out, HasSubstr(row));
  }
  const auto [replayed, steps] = Replayed(outcome.out);
  EXPECT_GT(steps, 20);
  EXPECT_GT(replayed, steps / 3) << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr("warming_up: "));
  EXPECT_THAT(outcome.out, HasSubstr("not_recorded: "));
  EXPECT_THAT(outcome.out, HasSubstr("had their graphs in the end"));
  EXPECT_THAT(outcome.out, HasSubstr("graphtree told that all would"));
  EXPECT_EQ(outcome.err, "") << "progress is for terminals";
  ExpectFitsATerminal(outcome.out);
}

TEST(DemoTest, RecordedAheadNearlyEveryStepIsAReplay) {
  const Outcome outcome =
      RunDemo({"demo", "--device=host", "--steps=30", "--record-ahead", "--seed=4"});
  EXPECT_EQ(outcome.code, cli::kFine) << outcome.err;
  const auto [replayed, steps] = Replayed(outcome.out);
  EXPECT_GT(replayed, 0);
  EXPECT_GE(replayed, steps - 3) << outcome.out;
  EXPECT_THAT(outcome.out, Not(HasSubstr("warming_up: ")));
  EXPECT_THAT(outcome.out, HasSubstr("graphtree told that all would"));
}

TEST(DemoTest, RecordedBetweenStepsNoStepRecords) {
  const std::string json = testing::TempDir() + "/idle.json";
  const Outcome outcome =
      RunDemo({"demo", "--device=host", "--steps=60", "--record-idle", "--json", json});
  EXPECT_EQ(outcome.code, cli::kFine) << outcome.err;
  EXPECT_THAT(outcome.out, Not(HasSubstr("warming_up: ")));
  EXPECT_THAT(outcome.out, HasSubstr("not_recorded: "));
  EXPECT_THAT(outcome.out, HasSubstr("had their graphs in the end"));
  EXPECT_THAT(outcome.out, HasSubstr("the device has given"));
  ExpectFitsATerminal(outcome.out);
  const auto [replayed, steps] = Replayed(outcome.out);
  EXPECT_GT(replayed, steps / 3) << outcome.out;
  EXPECT_THAT(Content(json), HasSubstr(R"("ready_ratio":[)"));
  EXPECT_EQ(RunDemo({"demo", "--record-idle", "--record-ahead"}).code, cli::kWrongUse);
}

TEST(DemoTest, ModesAndTheirFindings) {
  const Outcome shadow = RunDemo({"demo", "--device=host", "--steps=30", "--mode=shadow"});
  EXPECT_EQ(shadow.code, cli::kFine) << shadow.err;
  EXPECT_EQ(Replayed(shadow.out).first, 0);
  EXPECT_THAT(shadow.out, HasSubstr("in mode shadow: every step ran eagerly"));
  EXPECT_THAT(shadow.out, HasSubstr("What replaying would bring:\n    decode: graphs would have"));
  ExpectFitsATerminal(shadow.out);
  const Outcome parity =
      RunDemo({"demo", "--device=host", "--steps=60", "--parity=3", "--mode=replay"});
  EXPECT_EQ(parity.code, cli::kFine) << parity.err;
  EXPECT_THAT(parity.out, HasSubstr("compared with runs of their bodies, 0"));
  ExpectFitsATerminal(parity.out);
  const Outcome off = RunDemo({"demo", "--device=host", "--steps=20", "--mode=off"});
  EXPECT_EQ(off.code, cli::kFine) << off.err;
  EXPECT_THAT(off.out, HasSubstr("off: "));
}

TEST(DemoTest, ModesThatMakeNoSense) {
  EXPECT_THAT(RunDemo({"demo", "--mode=strict"}).err, HasSubstr("give both"));
  EXPECT_THAT(RunDemo({"demo", "--mode=off", "--parity=5"}).err, HasSubstr("nothing is replayed"));
  EXPECT_THAT(RunDemo({"demo", "--parity=0"}).err, HasSubstr("--parity 0 is not between 1 and"));
  EXPECT_EQ(RunDemo({"demo", "--mode=fast"}).code, cli::kWrongUse);
}

// The value and where it comes from: "off option".
std::string SettingIn(const std::string& text, const std::string& name) {
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (words.size() > 2 && words[0] == name) return words[1] + " " + words[2];
  }
  return "not there";
}

class DemoEnvironmentTest : public ::testing::Test {
 protected:
  ~DemoEnvironmentTest() override {
    for (const std::string& name : set_) unsetenv(name.c_str());
  }
  void Set(const std::string& name, const char* value) {
    ASSERT_EQ(setenv(name.c_str(), value, 1), 0);
    set_.push_back(name);
  }

 private:
  std::vector<std::string> set_;
};

TEST_F(DemoEnvironmentTest, SetsWhatNoOptionDoes) {
  Set("GRAPHTREE_MODE", "shadow");
  Set("GRAPHTREE_POOL_BYTES", "64M");
  const Outcome shown = RunDemo({"demo", "--settings"});
  EXPECT_EQ(shown.code, cli::kFine) << shown.err;
  EXPECT_EQ(SettingIn(shown.out, "GRAPHTREE_MODE"), "shadow environment");
  EXPECT_EQ(SettingIn(shown.out, "GRAPHTREE_POOL_BYTES"), "67108864 environment");
  EXPECT_EQ(SettingIn(shown.out, "GRAPHTREE_MOST_EXECUTABLE_BYTES"), "3145728 program");
  EXPECT_EQ(SettingIn(shown.out, "GRAPHTREE_CHECK"), "off default");
  const Outcome over = RunDemo({"demo", "--settings", "--mode=off", "--budget=1M"});
  EXPECT_EQ(SettingIn(over.out, "GRAPHTREE_MODE"), "off program");
  EXPECT_EQ(SettingIn(over.out, "GRAPHTREE_MOST_EXECUTABLE_BYTES"), "1048576 program");
  const Outcome day = RunDemo({"demo", "--device=host", "--steps=6"});
  EXPECT_EQ(day.code, cli::kFine) << day.err;
  EXPECT_THAT(day.out, HasSubstr("in mode shadow: every step ran eagerly"));
}

TEST_F(DemoEnvironmentTest, WhatMakesNoSenseIsToldBeforeTheDay) {
  Set("GRAPHTREE_MODES", "shadow");
  const Outcome unknown = RunDemo({"demo", "--device=host"});
  EXPECT_EQ(unknown.code, cli::kWrongUse);
  EXPECT_THAT(unknown.err, HasSubstr("the nearest is GRAPHTREE_MODE"));
  unsetenv("GRAPHTREE_MODES");
  Set("GRAPHTREE_MOST_EXECUTABLE_BYTES", "10K");
  EXPECT_THAT(RunDemo({"demo", "--device=host"}).err,
              HasSubstr("GRAPHTREE_MOST_EXECUTABLE_BYTES 10240 holds no graph"));
}

class DemoDoorTest : public ::testing::Test {
 protected:
  ~DemoDoorTest() override { EXPECT_EQ(rmdir(folder_.c_str()), 0) << "the socket is there"; }
  const std::string folder_ = NewFolder();
  const std::string door_ = folder_ + "/door";
};

TEST_F(DemoDoorTest, IsOpenWhileGraphtreeServes) {
  std::atomic<bool> is_over{false};
  std::string seen;
  std::thread reader([&] {
    while (!is_over && seen.empty()) seen = BodyOf(Get(door_, "/debug/explain"));
  });
  const Outcome outcome = RunDemo({"demo", "--device=host", "--steps=100", "--door", door_});
  is_over = true;
  reader.join();
  EXPECT_EQ(outcome.code, cli::kFine) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("tools may look in at " + door_));
  EXPECT_FALSE(seen.empty());
}

TEST_F(DemoDoorTest, AServerStaysUntilItIsInterrupted) {
  Outcome outcome;
  std::thread server([&] {
    outcome = RunDemo({"demo", "--device=host", "--steps=20", "--serve", "--record-idle", "--door",
                       door_});
  });
  // Until it has served more than the first day.
  int days = 0;
  std::string page;
  while (days < 3) {
    page = BodyOf(Get(door_, "/metrics"));
    std::string steps = "\ngraphtree_program_steps_total{program=\"decode\"";
    const size_t at = page.find(steps);
    const size_t value = at == page.npos ? at : page.find("} ", at);
    int count = 0;
    if (value == page.npos) continue;
    const absl::string_view line = absl::string_view(page).substr(value + 2);
    EXPECT_TRUE(absl::SimpleAtoi(line.substr(0, line.find('\n')), &count));
    days = count / 20;
  }
  kill(getpid(), SIGTERM);
  server.join();
  EXPECT_EQ(outcome.code, cli::kFine) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("graphtree top " + door_));
  EXPECT_THAT(outcome.out, HasSubstr(" days.\ndecode, device 0 lane 0: "));
}

TEST_F(DemoDoorTest, WhatAServerRefuses) {
  const Outcome json = RunDemo({"demo", "--device=host", "--serve", "--json", "-"});
  EXPECT_EQ(json.code, cli::kWrongUse);
  EXPECT_THAT(json.err, HasSubstr("--json is for a day that ends"));
  const Outcome far = RunDemo({"demo", "--device=host", "--serve", "--door", "/nowhere/door"});
  EXPECT_EQ(far.code, cli::kBadInput);
  EXPECT_THAT(far.err, HasSubstr("/nowhere: No such file"));
  const Outcome day = RunDemo({"demo", "--device=host", "--steps=2", "--door", "/nowhere/door"});
  EXPECT_EQ(day.code, cli::kBadInput);
  EXPECT_THAT(day.err, HasSubstr("/nowhere: No such file"));
  EXPECT_EQ(day.out, "") << "the day was run";
}

TEST(DemoTest, FilesHaveTheSameForMachines) {
  const std::string json = testing::TempDir() + "/demo.json";
  const std::string tree = testing::TempDir() + "/demo.dot";
  const std::string snapshot = testing::TempDir() + "/demo_snapshot.json";
  const Outcome outcome = RunDemo({"demo", "--device=host", "--steps=30", "--batch=2", "--quiet",
                                   "--greedy", "--json", json, "--tree", tree, "--snapshot",
                                   snapshot});
  EXPECT_EQ(outcome.code, cli::kFine) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_THAT(Content(json), HasSubstr(R"("tokens_equal":true)"));
  EXPECT_THAT(Content(json), HasSubstr(R"("sampled_requests":0)"));
  EXPECT_THAT(Content(json), HasSubstr(R"("eager":{"tokens_per_second":)"));
  EXPECT_THAT(Content(json), HasSubstr(R"("why":"warming_up")"));
  EXPECT_THAT(Content(tree), HasSubstr("digraph tree {"));
  EXPECT_THAT(Content(snapshot), HasSubstr("device_traces"));
  EXPECT_THAT(Content(snapshot), HasSubstr(R"("function": "decode[)"));
}

TEST(DemoTest, ATraceThatWasSavedIsServedAgain) {
  const std::string trace = testing::TempDir() + "/trace.txt";
  const std::string first = testing::TempDir() + "/first.json";
  EXPECT_EQ(RunDemo({"demo", "--device=host", "--steps=12", "--seed=5", "--save-trace", trace,
                     "--json", first})
                .code,
            cli::kFine);
  EXPECT_THAT(Content(trace), StartsWith("# step  prompt  output  temperature  seed\n"));
  const std::string again = testing::TempDir() + "/again.json";
  const Outcome outcome =
      RunDemo({"demo", "--device=host", "--trace", trace, "--json", again});
  EXPECT_EQ(outcome.code, cli::kFine) << outcome.err;
  const std::string content = Content(again);
  EXPECT_THAT(content, HasSubstr(R"("tokens_equal":true)"));
  const size_t begin = content.find(R"("day":{)");
  ASSERT_NE(begin, std::string::npos);
  const std::string day = content.substr(begin, content.find('}', begin) - begin);
  EXPECT_THAT(Content(first), HasSubstr(day));
}

TEST(DemoTest, ATraceThatIsNoneIsBadInput) {
  const std::string trace = testing::TempDir() + "/bad_trace.txt";
  std::ofstream(trace) << "0 10 5 greedy 1\n1 10 5 now and then 2\n";
  const Outcome outcome = RunDemo({"demo", "--device=host", "--trace", trace});
  EXPECT_EQ(outcome.code, cli::kBadInput);
  EXPECT_THAT(outcome.err, HasSubstr("bad_trace.txt: line 2: 7 words where 5 belong"));
  const Outcome missing = RunDemo({"demo", "--device=host", "--trace", "/nowhere/trace.txt"});
  EXPECT_EQ(missing.code, cli::kBadInput);
  EXPECT_THAT(missing.err, HasSubstr("cannot read the trace /nowhere/trace.txt"));
  const Outcome folder = RunDemo({"demo", "--device=host", "--trace", testing::TempDir()});
  EXPECT_EQ(folder.code, cli::kBadInput);
  EXPECT_THAT(folder.err, HasSubstr("cannot read the trace " + testing::TempDir()));
  const Outcome both = RunDemo({"demo", "--trace", trace, "--steps", "5"});
  EXPECT_EQ(both.code, cli::kWrongUse);
  EXPECT_THAT(both.err, HasSubstr("--steps is for the built-in trace"));
}

TEST(DemoTest, ADeviceThatIsNotThereIsBadInput) {
  const Outcome outcome = RunDemo({"demo", "--device", "cuda:99"});
  EXPECT_EQ(outcome.code, cli::kBadInput);
  EXPECT_THAT(outcome.err, StartsWith("graphtree demo: "));
  EXPECT_THAT(outcome.err, HasSubstr("cuda"));
  EXPECT_EQ(RunDemo({"demo", "--device", "tpu"}).code, cli::kBadInput);
  EXPECT_EQ(RunDemo({"demo", "--device", ""}).code, cli::kBadInput);
}

TEST(DemoTest, ADayOfOneStepAndARefusalFitATerminal) {
  const Outcome outcome = RunDemo({"demo", "--device=host", "--steps=1"});
  EXPECT_EQ(outcome.code, cli::kFine) << outcome.err;
  ExpectFitsATerminal(outcome.out);
  const Outcome refusal = RunDemo({"demo", "--bogus"});
  EXPECT_EQ(refusal.code, cli::kWrongUse);
  ExpectFitsATerminal(refusal.err);
}

TEST(DemoTest, NumbersOutOfRangeAreWrongUse) {
  const Outcome outcome = RunDemo({"demo", "--batch", "17"});
  EXPECT_EQ(outcome.code, cli::kWrongUse);
  EXPECT_THAT(outcome.err, HasSubstr("--batch 17 is not between 1 and 16"));
  const Outcome budget = RunDemo({"demo", "--budget", "100K"});
  EXPECT_EQ(budget.code, cli::kWrongUse);
  EXPECT_THAT(budget.err, HasSubstr("--budget 102400 holds no graph; one takes "));
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
  for (const char* option : {"--json", "--tree", "--snapshot", "--save-trace", "--profile"}) {
    const Outcome outcome = RunDemo(
        {"demo", "--device=host", "--steps=2", "--greedy", option, "/nowhere/at/all.json"});
    EXPECT_EQ(outcome.code, cli::kBadInput);
    EXPECT_THAT(outcome.err, HasSubstr("cannot write /nowhere/at/all.json: No such file"));
    EXPECT_EQ(outcome.out, "") << "the day was run";
  }
}

TEST(DemoTest, AProfileOfTheDayIsWrittenInEachMode) {
  for (const std::string mode : {"host", "light", "full"}) {
    const std::string path = testing::TempDir() + "/profile_" + mode + ".json";
    const Outcome outcome = RunDemo({"demo", "--device=host", "--steps=8", "--greedy", "--quiet",
                                     "--profile", path, "--profile-mode", mode});
    EXPECT_EQ(outcome.code, cli::kFine) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("profile   " + mode + ": "));
    EXPECT_THAT(outcome.out, HasSubstr("graphtree profile show " + path));
    EXPECT_THAT(outcome.out, Not(HasSubstr("fit no launch")));
    EXPECT_THAT(outcome.out, Not(HasSubstr("dropped")));
    const std::string trace = Content(path);
    EXPECT_THAT(trace, StartsWith("{"));
    EXPECT_THAT(trace, HasSubstr("pool bytes"));
    EXPECT_EQ(trace.find("\"cat\":\"kernel\"") != std::string::npos, mode == "full");
  }
}

TEST(DemoTest, AProfileThatCannotBeIsWrongUse) {
  EXPECT_THAT(RunDemo({"demo", "--device=host", "--profile", "day.txt"}).err,
              HasSubstr("ends in .json"));
  EXPECT_THAT(RunDemo({"demo", "--device=host", "--profile-mode", "light"}).err,
              HasSubstr("--profile FILE is not there"));
  EXPECT_THAT(RunDemo({"demo", "--device=host", "--serve", "--profile", "day.json"}).err,
              HasSubstr("--profile is for a day that ends"));
}

TEST(DemoTest, AScriptReadsTheFiguresFromTheConsoleAndNothingElseIsThere) {
  const Outcome outcome = RunDemo(
      {"demo", "--device=host", "--steps=2", "--greedy", "--quiet", "--json", "-"});
  EXPECT_EQ(outcome.code, cli::kFine) << outcome.err;
  EXPECT_THAT(outcome.out, StartsWith("{"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("Tokens: ")));
  EXPECT_THAT(outcome.err, HasSubstr("Tokens: "));
}

}  // namespace
}  // namespace graphtree
