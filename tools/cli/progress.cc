// Back to the beginning of the line, and what is left of the longer text before is erased.
#include "tools/cli/progress.h"

#include <unistd.h>

#include <iostream>

namespace graphtree::cli {

bool IsTerminal(const std::ostream& err) {
  return &err == &std::cerr && isatty(STDERR_FILENO) == 1;
}

void ProgressLine::Show(absl::string_view text) {
  if (!is_terminal_) return;
  is_shown_ = true;
  err_ << "\r" << text << "\033[K" << std::flush;
}

void ProgressLine::Clear() {
  if (is_shown_) err_ << "\r\033[K" << std::flush;
  is_shown_ = false;
}

}  // namespace graphtree::cli
