// What a tree says of a call that was to be recorded, or replayed, and nothing else.
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "graphs/run/call.h"
#include "graphs/run/decide.h"
#include "graphs/run/tree_core.h"

namespace graphtree {

absl::Status TreeCore::WhyNotRecorded(const Call& call, const Decision& decision) {
  const std::string was_not = absl::StrCat("'", call.function.name, "' was not recorded: ");
  switch (decision.route) {
    case Decision::Route::kWarmUp:
      return absl::FailedPreconditionError(absl::StrCat(
          was_not, "it is not warmed up, or follows a warm-up on this path. Run it first"));
    case Decision::Route::kEager:
      return absl::FailedPreconditionError(
          absl::StrCat(was_not, ReasonSentence(decision.reason)));
    default:
      return absl::OkStatus();  // a recording is there
  }
}

absl::Status TreeCore::NothingReplayed(const Call& call, Reason reason,
                                       const std::string& detail) {
  const std::string text =
      absl::StrCat("'", call.function.name, "' was to be replayed, and would run eagerly: ",
                   ReasonSentence(reason), detail.empty() ? "" : ": ", detail);
  return IsLackOfRoom(reason) ? absl::ResourceExhaustedError(text)
                              : absl::FailedPreconditionError(text);
}

}  // namespace graphtree
