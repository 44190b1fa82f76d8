// Prints a completion script or the manual page.
#include "tools/verbs/shell.h"

#include <ostream>
#include <string>
#include <utility>

#include "device/base/version.h"
#include "tools/cli/arguments.h"
#include "tools/cli/completion.h"
#include "tools/cli/man_page.h"

namespace graphtree {

cli::Verb CompletionVerb(VerbList verbs) {
  return {.name = "completion",
          .summary = "Write a completion script for a shell.",
          .description = "The script knows every verb, every option and the values of options "
                         "that have a fixed choice. Load it in the start file of your shell.",
          .operands = {{.name = "SHELL", .help = "bash, zsh or fish."}},
          .examples = {{"graphtree completion bash > ~/.local/share/bash-completion/completions/"
                        "graphtree",
                        "for every new bash"},
                       {"graphtree completion zsh > ~/.zfunc/_graphtree",
                        "for every new zsh that has ~/.zfunc in its fpath"},
                       {"graphtree completion fish > ~/.config/fish/completions/graphtree.fish",
                        "for every new fish"}},
          .run = [verbs = std::move(verbs)](const cli::Arguments& arguments,
                                            cli::Console& console) -> int {
            const std::string shell = arguments.OperandAt(0);
            if (shell == "bash") {
              console.out << cli::BashCompletion(verbs());
            } else if (shell == "zsh") {
              console.out << cli::ZshCompletion(verbs());
            } else if (shell == "fish") {
              console.out << cli::FishCompletion(verbs());
            } else {
              console.err << "graphtree completion: " << shell
                          << " is not one of bash, zsh and fish\n";
              return cli::kWrongUse;
            }
            return cli::kFine;
          }};
}

cli::Verb ManVerb(VerbList verbs) {
  return {.name = "man",
          .summary = "Write the manual page, made from the same text as --help.",
          .examples = {{"graphtree man > /usr/local/share/man/man1/graphtree.1", "to install it"},
                       {"graphtree man | man -l -", "to read it now"}},
          .run = [verbs = std::move(verbs)](const cli::Arguments&, cli::Console& console) -> int {
            console.out << cli::ManPage(verbs(), kVersion);
            return cli::kFine;
          }};
}

}  // namespace graphtree
