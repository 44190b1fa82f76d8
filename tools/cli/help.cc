// Lays out help text: two columns, wrapped.
#include "tools/cli/help.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tools/cli/wrap.h"

namespace graphtree::cli {
namespace {

constexpr size_t kWidestLeft = 28;

using Rows = std::vector<std::pair<std::string, std::string>>;

// A heading and two columns; the right one starts at the same place in every row.
std::string Section(absl::string_view heading, const Rows& rows) {
  if (rows.empty()) return "";
  size_t left = 0;
  for (const auto& row : rows) {
    if (row.first.size() <= kWidestLeft) left = std::max(left, row.first.size());
  }
  const size_t indent = 2 + left + 2;
  std::string text = absl::StrCat("\n", heading, ":\n");
  for (const auto& [name, what] : rows) {
    absl::StrAppend(&text, "  ", name);
    if (!what.empty()) {
      const bool too_wide = name.size() > left;
      absl::StrAppend(&text, too_wide ? "\n" : "",
                      std::string(too_wide ? indent : indent - 2 - name.size(), ' '),
                      Wrap(what, indent, indent));
    }
    absl::StrAppend(&text, "\n");
  }
  return text;
}

std::string OperandForm(const Operand& operand) {
  const std::string name = absl::StrCat(operand.name, operand.repeats ? "..." : "");
  return operand.optional ? absl::StrCat("[", name, "]") : name;
}

}  // namespace

std::string OptionForm(const Option& option) {
  switch (option.kind) {
    case ValueKind::kFlag:
      return option.name;
    case ValueKind::kChoice:
      return absl::StrCat(option.name, " ", absl::StrJoin(option.choices, "|"));
    default:
      return absl::StrCat(option.name, " ", option.value_name);
  }
}

std::string UsageLine(const Verb& verb) {
  std::string line = absl::StrCat("graphtree ", verb.name);
  for (const Option& option : verb.options) {
    absl::StrAppend(&line, " [", OptionForm(option), "]", option.repeats ? "..." : "");
  }
  for (const Operand& operand : verb.operands) absl::StrAppend(&line, " ", OperandForm(operand));
  return line;
}

std::string RenderUsage(const Verb& verb) {
  return absl::StrCat("Usage: ", Wrap(UsageLine(verb), 7, 9), "\n");
}

std::string RenderHelp(const Verb& verb) {
  std::string text =
      absl::StrCat(RenderUsage(verb), "\n", Wrap(verb.summary, 0, 0), "\n");
  for (absl::string_view paragraph : absl::StrSplit(verb.description, "\n\n", absl::SkipEmpty())) {
    absl::StrAppend(&text, "\n", Wrap(absl::StrJoin(absl::StrSplit(paragraph, '\n'), " "), 0, 0),
                    "\n");
  }
  Rows operands, options, examples;
  for (const Operand& operand : verb.operands) operands.push_back({operand.name, operand.help});
  for (const Option& option : verb.options) {
    const std::string also = option.short_name.empty() ? "" : option.short_name + ", ";
    options.push_back({also + OptionForm(option), option.help});
  }
  options.push_back({"--help", "Show this text."});
  absl::StrAppend(&text, Section("What it reads", operands), Section("Options", options));
  absl::StrAppend(&text, verb.examples.size() == 1 ? "\nExample:\n" : "\nExamples:\n");
  for (const Example& example : verb.examples) {
    absl::StrAppend(&text, "  ", example.command, "\n");
    if (!example.what.empty()) absl::StrAppend(&text, "      ", Wrap(example.what, 6, 6), "\n");
  }
  return text;
}

std::string RenderOverview(const std::vector<const Verb*>& verbs, absl::string_view family) {
  const std::string prefix = absl::StrCat("graphtree", family.empty() ? "" : " ", family);
  Rows rows;
  for (const Verb* verb : verbs) rows.push_back({verb->name, verb->summary});
  std::string text = absl::StrCat("Usage: ", prefix, " VERB [OPTION...] [OPERAND...]\n");
  absl::StrAppend(&text, Section("Verbs", rows));
  absl::StrAppend(&text, "\n",
                  Wrap("`graphtree VERB --help` tells more about one of them and shows an example. "
                       "Exit codes: 0 fine, 1 found something, 2 wrong use, 3 bad input.",
                       0, 0),
                  "\n");
  return text;
}

}  // namespace graphtree::cli
