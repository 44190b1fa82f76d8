// Reading a file that was named on the command line.
#ifndef GRAPHTREE_TOOLS_CLI_INPUT_FILE_H_
#define GRAPHTREE_TOOLS_CLI_INPUT_FILE_H_

#include <string>

#include "absl/status/statusor.h"

namespace graphtree::cli {

// The whole file. `kind` says what it is, such as "the trace". NotFound or Unavailable, with the
// reason of the system, where the file cannot be read.
absl::StatusOr<std::string> ReadInput(const char* kind, const std::string& path);

}  // namespace graphtree::cli

#endif  // GRAPHTREE_TOOLS_CLI_INPUT_FILE_H_
