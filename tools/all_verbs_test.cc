// What holds for every verb: its help shows an example of itself that its own parser accepts.
#include "tools/all_verbs.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "device/base/status_matchers.h"
#include "gtest/gtest.h"
#include "tools/cli/arguments.h"
#include "tools/cli/registry.h"
#include "tools/cli/verb.h"

namespace graphtree {
namespace {

// The example without the variables that it sets: "GRAPHTREE_MODE=shadow graphtree demo".
std::string WithoutVariables(const std::string& command) {
  const size_t begin = command.find("graphtree ");
  return begin == std::string::npos ? command : command.substr(begin);
}

// The words of an example behind the verb's name, up to where the shell takes over.
std::vector<std::string> WordsBehindName(const cli::Verb& verb, const std::string& command) {
  const std::string prefix = absl::StrCat("graphtree ", verb.name);
  std::vector<std::string> words;
  for (absl::string_view word :
       absl::StrSplit(command.substr(prefix.size()), ' ', absl::SkipEmpty())) {
    if (word == "|" || word == ">" || word == "&&") break;
    words.emplace_back(word);
  }
  return words;
}

TEST(AllVerbsTest, EveryExampleIsAcceptedByItsVerb) {
  const cli::Registry registry = AllVerbs();
  ASSERT_FALSE(registry.verbs().empty());
  for (const cli::Verb& verb : registry.verbs()) {
    for (const cli::Example& example : verb.examples) {
      const std::string command = WithoutVariables(example.command);
      ASSERT_TRUE(absl::StartsWith(command, absl::StrCat("graphtree ", verb.name)))
          << example.command;
      EXPECT_THAT(cli::ParseArguments(verb, WordsBehindName(verb, command)), IsOk())
          << example.command;
    }
  }
}

TEST(AllVerbsTest, SummariesAreOneSentenceThatFitsALine) {
  const cli::Registry registry = AllVerbs();
  for (const cli::Verb& verb : registry.verbs()) {
    EXPECT_EQ(verb.summary.back(), '.') << verb.name;
    EXPECT_LE(verb.summary.size(), 100u) << verb.name;
  }
}

}  // namespace
}  // namespace graphtree
