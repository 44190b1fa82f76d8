// Writing what a verb made to the file that was asked for.
#ifndef GRAPHTREE_TOOLS_MEMORY_OUTPUT_FILE_H_
#define GRAPHTREE_TOOLS_MEMORY_OUTPUT_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tools/cli/verb.h"

namespace graphtree::memory {

// "-" is the console. Unavailable, with the reason of the system, where the file cannot be written.
absl::Status WriteOutput(const std::string& path, absl::string_view text, cli::Console& console);

}  // namespace graphtree::memory

#endif  // GRAPHTREE_TOOLS_MEMORY_OUTPUT_FILE_H_
