// Errors that say where they happened: the same code and payloads, with more words.
#ifndef GRAPHTREE_GRAPHS_RUN_LOCATED_H_
#define GRAPHTREE_GRAPHS_RUN_LOCATED_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graphs/launcher.h"
#include "graphs/match/function.h"

namespace graphtree {

// The same failure in other words.
absl::Status Reworded(const absl::Status& status, absl::string_view text);
// The same failure, with where it happened before it: "'decode': out of memory".
absl::Status Located(const absl::Status& status, absl::string_view where);
// What failed in the function's body, and after which of its ops.
absl::Status BodyFailure(const Function& function, const Launcher& on);
// The failure `why` of a call whose traces were taken back, or could not all be.
absl::Status AfterUndo(const absl::Status& why, const absl::Status& undone);

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_LOCATED_H_
