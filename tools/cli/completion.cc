// Scripts for three shells. The one for zsh is bash's, through zsh's own layer for such scripts.
#include "tools/cli/completion.h"

#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace graphtree::cli {
namespace {

// The words that may follow the words so far: "" -> {memory, version}, "memory" -> {stats, ...}.
std::map<std::string, std::set<std::string>> NextWords(const std::vector<Verb>& verbs) {
  std::map<std::string, std::set<std::string>> next;
  next[""].insert("help");
  for (const Verb& verb : verbs) {
    std::string path;
    for (absl::string_view word : absl::StrSplit(verb.name, ' ')) {
      next[path].emplace(word);
      absl::StrAppend(&path, path.empty() ? "" : " ", word);
    }
  }
  return next;
}

std::vector<std::string> OptionNames(const Verb& verb) {
  std::vector<std::string> names;
  for (const Option& option : verb.options) names.push_back(option.name);
  names.push_back("--help");
  return names;
}

// In single quotes for a POSIX shell or fish.
std::string Quoted(absl::string_view text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

}  // namespace

std::string BashCompletion(const std::vector<Verb>& verbs) {
  std::string next, options, values;
  for (const auto& [path, words] : NextWords(verbs)) {
    absl::StrAppend(&next, "    ", Quoted(path), ") words=", Quoted(absl::StrJoin(words, " ")),
                    " ;;\n");
  }
  for (const Verb& verb : verbs) {
    absl::StrAppend(&options, "    ", Quoted(verb.name), ") options=",
                    Quoted(absl::StrJoin(OptionNames(verb), " ")), " ;;\n");
    for (const Option& option : verb.options) {
      if (option.choices.empty()) continue;
      absl::StrAppend(&values, "    ", Quoted(absl::StrCat(verb.name, " ", option.name)),
                      ") values=", Quoted(absl::StrJoin(option.choices, " ")), " ;;\n");
    }
  }
  return absl::StrCat(R"sh(# Completion of graphtree for bash.
#   source <(graphtree completion bash)
_graphtree() {
  local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}"
  local verb='' words='' options='' values='' candidate word
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $word == -* ]] && continue
    candidate="${verb:+$verb }$word"
    _graphtree_next "$verb"
    [[ " $words " == *" $word "* ]] || break
    verb="$candidate"
    words=''
  done
  _graphtree_next "$verb"
  _graphtree_options "$verb"
  _graphtree_values "$verb $previous"
  if [[ -n $values ]]; then
    COMPREPLY=($(compgen -W "$values" -- "$current"))
  elif [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$current"))
  elif [[ -n $words ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  else
    COMPREPLY=($(compgen -f -- "$current"))
  fi
}
_graphtree_next() {
  words=''
  case "$1" in
)sh", next, R"sh(  esac
}
_graphtree_options() {
  options='--help'
  case "$1" in
)sh", options, R"sh(  esac
}
_graphtree_values() {
  values=''
  case "$1" in
)sh", values, R"sh(  esac
}
complete -o filenames -o bashdefault -F _graphtree graphtree
)sh");
}

std::string ZshCompletion(const std::vector<Verb>& verbs) {
  return absl::StrCat("#compdef graphtree\n"
                      "# Completion of graphtree for zsh.\n"
                      "#   source <(graphtree completion zsh)\n"
                      "autoload -U +X compinit && compinit\n"
                      "autoload -U +X bashcompinit && bashcompinit\n",
                      BashCompletion(verbs));
}

std::string FishCompletion(const std::vector<Verb>& verbs) {
  std::string text =
      "# Completion of graphtree for fish.\n"
      "#   graphtree completion fish | source\n"
      "function __graphtree_at\n"
      "  set -l words (commandline -opc | string match -v -- '-*')\n"
      "  test \"$words[2..-1]\" = \"$argv[1]\"\n"
      "end\n"
      "function __graphtree_in\n"
      "  set -l words (commandline -opc | string match -v -- '-*')\n"
      "  string match -q -- \"$argv[1]*\" \"$words[2..-1]\"\n"
      "end\n";
  for (const auto& [path, words] : NextWords(verbs)) {
    absl::StrAppend(&text, "complete -c graphtree -f -n ",
                    Quoted(absl::StrCat("__graphtree_at \"", path, "\"")), " -a ",
                    Quoted(absl::StrJoin(words, " ")), "\n");
  }
  for (const Verb& verb : verbs) {
    const std::string inside = Quoted(absl::StrCat("__graphtree_in \"", verb.name, "\""));
    for (const Option& option : verb.options) {
      absl::StrAppend(&text, "complete -c graphtree -n ", inside, " -l ",
                      Quoted(option.name.substr(2)), " -d ", Quoted(option.help));
      if (!option.choices.empty()) {
        absl::StrAppend(&text, " -x -a ", Quoted(absl::StrJoin(option.choices, " ")));
      } else if (option.kind != ValueKind::kFlag) {
        absl::StrAppend(&text, " -r");
      }
      absl::StrAppend(&text, "\n");
    }
  }
  return text;
}

}  // namespace graphtree::cli
