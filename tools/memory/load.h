// Opening a snapshot for a verb: progress on standard error, and what is wrong with the file.
#ifndef GRAPHTREE_TOOLS_MEMORY_LOAD_H_
#define GRAPHTREE_TOOLS_MEMORY_LOAD_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "allocator/snapshot/snapshot.h"
#include "tools/cli/verb.h"

namespace graphtree::memory {

// Files above a few megabytes report progress when standard error is a terminal. The error names
// the file.
absl::StatusOr<std::unique_ptr<snapshot::Snapshot>> Load(const std::string& path,
                                                         cli::Console& console);

// The operand that most verbs have.
cli::Operand SnapshotOperand();

// False, with the reason said, where more than one of the paths is the standard input, which can be
// read once only.
bool StandardInputOnce(const std::vector<std::string>& paths, absl::string_view verb,
                       cli::Console& console);

}  // namespace graphtree::memory

#endif  // GRAPHTREE_TOOLS_MEMORY_LOAD_H_
