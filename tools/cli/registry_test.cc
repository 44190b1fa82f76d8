// From a command line to the verb: what runs, what --help shows, what is refused and how.
#include "tools/cli/registry.h"

#include <sstream>

#include "absl/status/status.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/cli/arguments.h"
#include "tools/cli/help.h"
#include "tools/cli/run_verbs.h"
#include "tools/cli/verb.h"

namespace graphtree::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A verb that prints its own name and operands.
Verb EchoVerb(const std::string& name) {
  Verb verb = {.name = name,
               .summary = "Say " + name + ".",
               .operands = {{.name = "WORD", .help = "words", .optional = true, .repeats = true}},
               .options = {JsonOption()},
               .examples = {{"graphtree " + name + " a b", "says a b"}}};
  verb.run = [name](const Arguments& arguments, Console& console) {
    console.out << name << ":" << absl::StrJoin(arguments.operands(), ",");
    return arguments.Has("--json") ? kFoundSomething : kFine;
  };
  return verb;
}

Outcome RunWords(const std::string& line) {
  Registry registry;
  registry.Add(EchoVerb("version"));
  registry.Add({EchoVerb("memory diff"), EchoVerb("memory leaks")});
  return RunVerbs(registry, absl::StrSplit(line, ' ', absl::SkipEmpty()));
}

TEST(RegistryTest, RunsTheVerbWithTheLongestNameAndPassesItsCodeOn) {
  EXPECT_EQ(RunWords("version x y").out, "version:x,y");
  EXPECT_EQ(RunWords("memory diff x").out, "memory diff:x");
  EXPECT_EQ(RunWords("version --json").code, kFoundSomething);
  EXPECT_EQ(RunWords("--version").out, "version:");
}

TEST(RegistryTest, HelpShowsAnExampleInEveryForm) {
  for (const char* line : {"version --help", "help version", "version x -h"}) {
    const Outcome outcome = RunWords(line);
    EXPECT_EQ(outcome.code, kFine) << line;
    EXPECT_THAT(outcome.out, HasSubstr("Usage: graphtree version [--json] [WORD...]")) << line;
    EXPECT_THAT(outcome.out, HasSubstr("Example:\n  graphtree version a b\n")) << line;
  }
}

TEST(RegistryTest, HelpAfterDoubleDashIsAnOperand) {
  EXPECT_EQ(RunWords("version -- --help").out, "version:--help");
}

TEST(RegistryTest, OverviewListsAllAndAFamilyItsOwn) {
  const Outcome all = RunWords("--help");
  EXPECT_EQ(all.code, kFine);
  EXPECT_THAT(all.out, HasSubstr("version"));
  EXPECT_THAT(all.out, HasSubstr("memory leaks"));
  const Outcome family = RunWords("memory --help");
  EXPECT_EQ(family.code, kFine);
  EXPECT_THAT(family.out, HasSubstr("memory leaks"));
  EXPECT_THAT(family.out, Not(HasSubstr("Say version.")));
}

TEST(RegistryTest, NothingAndHalfAFamilyAreWrongUse) {
  EXPECT_EQ(RunWords("").code, kWrongUse);
  const Outcome family = RunWords("memory");
  EXPECT_EQ(family.code, kWrongUse);
  EXPECT_EQ(family.out, "");
  EXPECT_THAT(family.err, HasSubstr("memory diff"));
}

TEST(RegistryTest, UnknownVerbNamesTheNearest) {
  Outcome outcome = RunWords("verzion");
  EXPECT_EQ(outcome.code, kWrongUse);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("no verb \"verzion\"; did you mean \"version\"?"));
  EXPECT_THAT(RunWords("memory dif").err, HasSubstr("did you mean \"memory diff\"?"));
  EXPECT_THAT(RunWords("diff a b").err, HasSubstr("did you mean \"memory diff\"?"));
  EXPECT_THAT(RunWords("help memroy").err, HasSubstr("did you mean \"memory\"?"));
  EXPECT_THAT(RunWords("zebra").err, Not(HasSubstr("did you mean")));
}

TEST(RegistryTest, WrongUseShowsTheUsageLine) {
  const Outcome outcome = RunWords("version --jason");
  EXPECT_EQ(outcome.code, kWrongUse);
  EXPECT_THAT(outcome.err, HasSubstr("graphtree version: version has no option --jason; did you"));
  EXPECT_THAT(outcome.err, HasSubstr("Usage: graphtree version [--json]"));
}

TEST(RegistryDeathTest, AVerbWithoutExampleOrWithATakenNameIsABug) {
  Registry registry;
  Verb verb = EchoVerb("version");
  registry.Add(verb);
  EXPECT_DEATH(registry.Add(verb), "two verbs are called version");
  verb.name = "other";
  verb.examples.clear();
  EXPECT_DEATH(registry.Add(verb), "other needs an example");
}

TEST(BadInputTest, SaysWhichVerbAndWhy) {
  std::istringstream in;
  std::ostringstream out, err;
  Console console{in, out, err};
  EXPECT_EQ(BadInput(console, "version", absl::NotFoundError("no file x")), kBadInput);
  EXPECT_EQ(err.str(), "graphtree version: no file x\n");
}

TEST(HelpTest, NoLineIsWiderThan80Columns) {
  Verb verb = EchoVerb("version");
  verb.description = "First paragraph, which\nis broken in the source.\n\nThen a second one";
  for (int i = 0; i < 40; ++i) verb.description += " with many more words";
  verb.options.push_back({.name = "--a-rather-long-option-name",
                          .kind = ValueKind::kText,
                          .value_name = "SOMETHING",
                          .help = std::string("Words ") + std::string(60, 'x') + " and more."});
  const std::string help = RenderHelp(verb);
  EXPECT_THAT(help, HasSubstr("First paragraph, which is broken in the source.\n\nThen a second"));
  for (absl::string_view line : absl::StrSplit(help, '\n')) EXPECT_LE(line.size(), 80u) << line;
}

}  // namespace
}  // namespace graphtree::cli
