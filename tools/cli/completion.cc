// Scripts for three shells. bash and zsh share their tables; fish has a list of conditions.
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

// Three functions that both bash and zsh understand: what may follow a verb, its options, and the
// values of "VERB OPTION". Each sets the variable of its name.
std::string Tables(const std::vector<Verb>& verbs) {
  std::string following, switches, values;
  for (const auto& [path, words] : NextWords(verbs)) {
    absl::StrAppend(&following, "    ", Quoted(path), ") following=",
                    Quoted(absl::StrJoin(words, " ")), " ;;\n");
  }
  for (const Verb& verb : verbs) {
    absl::StrAppend(&switches, "    ", Quoted(verb.name), ") switches=",
                    Quoted(absl::StrJoin(OptionNames(verb), " ")), " ;;\n");
    for (const Option& option : verb.options) {
      if (option.choices.empty()) continue;
      absl::StrAppend(&values, "    ", Quoted(absl::StrCat(verb.name, " ", option.name)),
                      ") values=", Quoted(absl::StrJoin(option.choices, " ")), " ;;\n");
    }
  }
  const auto function = [](absl::string_view name, absl::string_view otherwise,
                           absl::string_view cases) {
    return absl::StrCat("_graphtree_", name, "() {\n  ", name, "=", otherwise,
                        "\n  case \"$1\" in\n", cases, "  esac\n}\n");
  };
  return absl::StrCat(function("following", "''", following),
                      function("switches", "'--help'", switches), function("values", "''", values));
}

// Follows the words before the cursor, which are in the array that is named, to their verb.
std::string FollowWords(absl::string_view words) {
  return absl::StrCat("  for word in ", words, R"sh(; do
    [[ $word == -* ]] && continue
    candidate="${verb:+$verb }$word"
    _graphtree_following "$verb"
    [[ " $following " == *" $word "* ]] || break
    verb="$candidate"
  done
  _graphtree_following "$verb"
  _graphtree_switches "$verb"
  _graphtree_values "$verb $previous"
)sh");
}

}  // namespace

std::string BashCompletion(const std::vector<Verb>& verbs) {
  return absl::StrCat(R"sh(# Completion of graphtree for bash.
#   source <(graphtree completion bash)
)sh", Tables(verbs), R"sh(_graphtree() {
  local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}"
  local verb='' following='' switches='' values='' candidate word
)sh", FollowWords("\"${COMP_WORDS[@]:1:COMP_CWORD-1}\""), R"sh(  if [[ -n $values ]]; then
    COMPREPLY=($(compgen -W "$values" -- "$current"))
  elif [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$switches" -- "$current"))
  elif [[ -n $following ]]; then
    COMPREPLY=($(compgen -W "$following" -- "$current"))
  else
    COMPREPLY=($(compgen -f -- "$current"))
  fi
}
complete -o filenames -o bashdefault -F _graphtree graphtree
)sh");
}

// Sourced, it registers itself; found by compinit in a folder of $fpath, it is the function's body.
std::string ZshCompletion(const std::vector<Verb>& verbs) {
  return absl::StrCat(R"sh(#compdef graphtree
# Completion of graphtree for zsh.
#   source <(graphtree completion zsh)
#   graphtree completion zsh > ~/.zfunc/_graphtree      with ~/.zfunc in $fpath before compinit
)sh", Tables(verbs), R"sh(_graphtree() {
  local previous="${words[CURRENT-1]}"
  local verb='' following='' switches='' values='' candidate word
)sh", FollowWords("\"${(@)words[2,CURRENT-1]}\""), R"sh(  if [[ -n $values ]]; then
    compadd -- ${=values}
  elif [[ $PREFIX == -* ]]; then
    compadd -- ${=switches}
  elif [[ -n $following ]]; then
    compadd -- ${=following}
  else
    _files
  fi
}
if [[ $funcstack[1] == _graphtree ]]; then
  _graphtree "$@"
else
  (( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i }
  compdef _graphtree graphtree
fi
)sh");
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
  text += "complete -c graphtree -l help -d 'Say what it does and how it is used.'\n";
  for (const Verb& verb : verbs) {
    const std::string inside = Quoted(absl::StrCat("__graphtree_in \"", verb.name, "\""));
    for (const Option& option : verb.options) {
      absl::StrAppend(&text, "complete -c graphtree -n ", inside, " -l ",
                      Quoted(option.name.substr(2)), " -d ", Quoted(option.help));
      if (!option.short_name.empty()) {
        absl::StrAppend(&text, " -s ", Quoted(option.short_name.substr(1)));
      }
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
