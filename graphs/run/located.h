// Adds to an error where it happened: code and payloads stay the same.
#ifndef GRAPHTREE_GRAPHS_RUN_LOCATED_H_
#define GRAPHTREE_GRAPHS_RUN_LOCATED_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graphs/launcher.h"
#include "graphs/match/function.h"

namespace graphtree {

// The same failure with another text.
absl::Status Reworded(const absl::Status& status, absl::string_view text);
// The same failure, its text after that of `where`: "'decode': out of memory".
absl::Status Located(const absl::Status& status, absl::string_view where);
// The failure of the function's body, with the op at or after which it happened.
absl::Status BodyFailure(const Function& function, const Launcher& on);
// The failure `why` of a call whose effects were taken back; if `undone` is an error, it is added.
absl::Status AfterUndo(const absl::Status& why, const absl::Status& undone);

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_LOCATED_H_
