// Writing what a verb made to the file that was asked for.
//
// A verb that works for a while asks MayWrite first, so that a mistyped folder is told before the
// work and not behind it.
#ifndef GRAPHTREE_TOOLS_CLI_OUTPUT_FILE_H_
#define GRAPHTREE_TOOLS_CLI_OUTPUT_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tools/cli/verb.h"

namespace graphtree::cli {

// Is there any chance that WriteOutput(path, ...) will work? Makes nothing.
absl::Status MayWrite(const std::string& path);

// "-" is the console. Unavailable, with the reason of the system, where the file cannot be written.
absl::Status WriteOutput(const std::string& path, absl::string_view text, Console& console);

}  // namespace graphtree::cli

#endif  // GRAPHTREE_TOOLS_CLI_OUTPUT_FILE_H_
