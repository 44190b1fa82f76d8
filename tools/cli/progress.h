// One line that says how far a long verb has come, written over and over, and gone at the end.
//
//   cli::ProgressLine progress(console.err);
//   progress.Show("eager: 20 steps");
//
// On a terminal only: a file or a pipe that stderr was sent to gets nothing of it, and what is said
// there begins at the beginning of its line.
#ifndef GRAPHTREE_TOOLS_CLI_PROGRESS_H_
#define GRAPHTREE_TOOLS_CLI_PROGRESS_H_

#include <iosfwd>

#include "absl/strings/string_view.h"

namespace graphtree::cli {

// Is it this process's stderr, and a person in front of it?
bool IsTerminal(const std::ostream& err);

class ProgressLine {
 public:
  explicit ProgressLine(std::ostream& err) : ProgressLine(err, IsTerminal(err)) {}
  ProgressLine(std::ostream& err, bool is_terminal) : err_(err), is_terminal_(is_terminal) {}
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine() { Clear(); }

  void Show(absl::string_view text);
  // Before anything else is written.
  void Clear();

 private:
  std::ostream& err_;
  const bool is_terminal_;
  bool is_shown_ = false;
};

}  // namespace graphtree::cli

#endif  // GRAPHTREE_TOOLS_CLI_PROGRESS_H_
