// One section for each verb: usage, what it does, operands, options, examples.
#include "tools/cli/man_page.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "tools/cli/help.h"

namespace graphtree::cli {
namespace {

// Text that troff must not take for its own: backslashes, dashes, and a dot or quote at the start.
std::string Plain(absl::string_view text) {
  const std::string escaped =
      absl::StrReplaceAll(text, {{"\\", "\\e"}, {"-", "\\-"}, {"\n", " "}});
  const bool control = !escaped.empty() && (escaped[0] == '.' || escaped[0] == '\'');
  return control ? absl::StrCat("\\&", escaped) : escaped;
}

std::string Item(absl::string_view name, absl::string_view what) {
  return absl::StrCat(".TP\n\\fB", Plain(name), "\\fR\n", Plain(what), "\n");
}

std::string VerbSection(const Verb& verb) {
  std::string text = absl::StrCat(".SS \"", Plain(absl::StrCat("graphtree ", verb.name)), "\"\n",
                                  Plain(verb.summary), "\n.PP\n.B ", Plain(UsageLine(verb)), "\n");
  for (absl::string_view paragraph : absl::StrSplit(verb.description, "\n\n", absl::SkipEmpty())) {
    absl::StrAppend(&text, ".PP\n", Plain(paragraph), "\n");
  }
  for (const Operand& operand : verb.operands) {
    absl::StrAppend(&text, Item(operand.name, operand.help));
  }
  for (const Option& option : verb.options) {
    absl::StrAppend(&text, Item(OptionForm(option), option.help));
  }
  for (const Example& example : verb.examples) {
    absl::StrAppend(&text, ".PP\nExample: ", Plain(example.what), "\n.PP\n.nf\n.RS\n",
                    Plain(example.command), "\n.RE\n.fi\n");
  }
  return text;
}

}  // namespace

std::string ManPage(const std::vector<Verb>& verbs, const std::string& version) {
  std::string text = absl::StrCat(
      ".TH GRAPHTREE 1 \"\" \"graphtree ", version, "\" \"User Commands\"\n.SH NAME\n",
      "graphtree \\- CUDA graphs in a tree, and the memory below them\n.SH SYNOPSIS\n",
      ".B graphtree\n.I VERB\n[\\fIOPTION\\fR...] [\\fIOPERAND\\fR...]\n.SH VERBS\n");
  for (const Verb& verb : verbs) absl::StrAppend(&text, VerbSection(verb));
  absl::StrAppend(&text, ".SH EXIT STATUS\n", Item("0", "Fine: what was asked was done."),
                  Item("1", "Something was found: a leak, a difference, a contradiction."),
                  Item("2", "Wrong use: the command line makes no sense, nothing was done."),
                  Item("3", "Bad input: a file or device that is named cannot be used."));
  return text;
}

}  // namespace graphtree::cli
