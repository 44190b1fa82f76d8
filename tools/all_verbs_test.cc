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
      ASSERT_TRUE(absl::StartsWith(example.command, absl::StrCat("graphtree ", verb.name)))
          << example.command;
      EXPECT_THAT(cli::ParseArguments(verb, WordsBehindName(verb, example.command)), IsOk())
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
