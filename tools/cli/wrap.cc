// Greedy: a word goes to the next line when it would pass the last column.
#include "tools/cli/wrap.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace graphtree::cli {
namespace {

constexpr size_t kColumns = 80;

}  // namespace

std::string Wrap(absl::string_view paragraph, size_t start, size_t indent) {
  std::string text;
  size_t column = start;
  for (absl::string_view word : absl::StrSplit(paragraph, ' ', absl::SkipEmpty())) {
    const bool at_start = column == start && text.empty();
    if (!at_start && column + 1 + word.size() > kColumns) {
      absl::StrAppend(&text, "\n", std::string(indent, ' '));
      column = indent;
    } else if (!at_start) {
      absl::StrAppend(&text, " ");
      ++column;
    }
    absl::StrAppend(&text, word);
    column += word.size();
  }
  return text;
}

}  // namespace graphtree::cli
