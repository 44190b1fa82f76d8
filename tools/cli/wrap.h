// Text for people is wrapped at 80 columns, so that it fits any terminal and needs no look at this
// one.
#ifndef GRAPHTREE_TOOLS_CLI_WRAP_H_
#define GRAPHTREE_TOOLS_CLI_WRAP_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace graphtree::cli {

// Breaks a paragraph between words. Its first line begins in column `start`, the others behind
// `indent` blanks.
std::string Wrap(absl::string_view paragraph, size_t start, size_t indent);

}  // namespace graphtree::cli

#endif  // GRAPHTREE_TOOLS_CLI_WRAP_H_
