// Finds the verb, answers --help, refuses what no verb is called.
#include "tools/cli/registry.h"

#include <algorithm>
#include <ostream>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "device/base/check.h"
#include "tools/cli/arguments.h"
#include "tools/cli/help.h"

namespace graphtree::cli {
namespace {

bool IsHelp(absl::string_view word) { return word == "--help" || word == "-h"; }

// Help may be asked for anywhere before "--".
bool AsksForHelp(const std::vector<std::string>& args) {
  const auto end = std::find(args.begin(), args.end(), "--");
  return std::any_of(args.begin(), end, IsHelp);
}

void CheckComplete(const Verb& verb) {
  GRAPHTREE_CHECK(!verb.name.empty() && !verb.summary.empty() && verb.run) << verb.name;
  GRAPHTREE_CHECK(!verb.examples.empty()) << verb.name << " needs an example";
  for (const Option& option : verb.options) {
    GRAPHTREE_CHECK(absl::StartsWith(option.name, "--") && !option.help.empty())
        << verb.name << " " << option.name;
    GRAPHTREE_CHECK((option.kind == ValueKind::kChoice) == !option.choices.empty())
        << verb.name << " " << option.name;
    const bool named = option.kind == ValueKind::kFlag || option.kind == ValueKind::kChoice;
    GRAPHTREE_CHECK(named == option.value_name.empty()) << verb.name << " " << option.name;
  }
  bool last = false;
  bool optional = false;
  for (const Operand& operand : verb.operands) {
    GRAPHTREE_CHECK(!last && (operand.optional || !optional)) << verb.name << " " << operand.name;
    last = operand.repeats;
    optional = operand.optional;
  }
}

}  // namespace

void Registry::Add(Verb verb) {
  CheckComplete(verb);
  for (const Verb& other : verbs_) {
    GRAPHTREE_CHECK(other.name != verb.name) << "two verbs are called " << verb.name;
  }
  verbs_.push_back(std::move(verb));
}

void Registry::Add(std::vector<Verb> family) {
  for (Verb& verb : family) Add(std::move(verb));
}

const Verb* Registry::Find(const std::vector<std::string>& args, size_t* words) const {
  const Verb* best = nullptr;
  *words = 0;
  for (const Verb& verb : verbs_) {
    const std::vector<std::string> name = absl::StrSplit(verb.name, ' ');
    if (name.size() <= *words || name.size() > args.size()) continue;
    if (!std::equal(name.begin(), name.end(), args.begin())) continue;
    best = &verb;
    *words = name.size();
  }
  return best;
}

std::vector<const Verb*> Registry::Family(absl::string_view first_word) const {
  std::vector<const Verb*> family;
  for (const Verb& verb : verbs_) {
    if (first_word.empty() || absl::StartsWith(verb.name, absl::StrCat(first_word, " "))) {
      family.push_back(&verb);
    }
  }
  return family;
}

int Registry::ShowHelp(const std::vector<std::string>& args, Console& console) const {
  size_t words;
  if (const Verb* verb = Find(args, &words)) {
    console.out << RenderHelp(*verb);
    return kFine;
  }
  if (args.empty()) {
    console.out << RenderOverview(Family(""), "");
    return kFine;
  }
  const std::vector<const Verb*> family = Family(args[0]);
  if (family.empty() || args.size() > 1) return RefuseUnknown(args, console);
  console.out << RenderOverview(family, args[0]);
  return kFine;
}

int Registry::RefuseUnknown(const std::vector<std::string>& args, Console& console) const {
  std::vector<std::string> names;
  for (const Verb& verb : verbs_) {
    names.push_back(verb.name);
    const std::string first = verb.name.substr(0, verb.name.find(' '));
    if (names.back() != first) names.push_back(first);
  }
  const auto without_family = std::find_if(verbs_.begin(), verbs_.end(), [&](const Verb& verb) {
    return absl::EndsWith(verb.name, absl::StrCat(" ", args[0]));
  });
  const bool in_family = !Family(args[0]).empty();
  if (in_family && args.size() == 1) {
    console.err << RenderOverview(Family(args[0]), args[0]);
    return kWrongUse;
  }
  const std::string wanted = in_family ? absl::StrCat(args[0], " ", args[1]) : args[0];
  const std::string nearest =
      without_family != verbs_.end() ? without_family->name : Nearest(wanted, names);
  console.err << "graphtree: there is no verb \"" << wanted << "\""
              << (nearest.empty() ? "" : absl::StrCat("; did you mean \"", nearest, "\"?"))
              << "\n`graphtree --help` lists all of them.\n";
  return kWrongUse;
}

// What could not be written was not told: a full disk behind `graphtree devices > FILE`.
int Registry::Run(const std::vector<std::string>& args, Console console) const {
  const int code = Dispatch(args, console);
  console.out.flush();
  if (console.out) return code;
  console.err << "graphtree: the output could not be written whole\n";
  return kBadInput;
}

int Registry::Dispatch(const std::vector<std::string>& args, Console& console) const {
  if (args.empty()) {
    console.err << RenderOverview(Family(""), "");
    return kWrongUse;
  }
  if (args[0] == "--version") {
    std::vector<std::string> as_verb = args;
    as_verb[0] = "version";
    return Dispatch(as_verb, console);
  }
  if (AsksForHelp(args) || args[0] == "help") {
    std::vector<std::string> topic(args.begin() + (args[0] == "help" ? 1 : 0), args.end());
    topic.erase(std::find_if(topic.begin(), topic.end(), IsHelp), topic.end());
    return ShowHelp(topic, console);
  }
  size_t words;
  const Verb* verb = Find(args, &words);
  if (verb == nullptr) return RefuseUnknown(args, console);
  const absl::StatusOr<Arguments> arguments =
      ParseArguments(*verb, {args.begin() + static_cast<ptrdiff_t>(words), args.end()});
  if (!arguments.ok()) {
    console.err << "graphtree " << verb->name << ": " << arguments.status().message()
                << "\n" << RenderUsage(*verb) << "`graphtree " << verb->name
                << " --help` tells more.\n";
    return kWrongUse;
  }
  return verb->run(*arguments, console);
}

int BadInput(Console& console, absl::string_view verb, const absl::Status& status) {
  console.err << "graphtree " << verb << ": " << status.message() << "\n";
  return kBadInput;
}

}  // namespace graphtree::cli
