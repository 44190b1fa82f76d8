// Makes statuses with more words.
#include "graphs/run/located.h"

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

namespace graphtree {

absl::Status Reworded(const absl::Status& status, absl::string_view text) {
  absl::Status reworded(status.code(), text);
  status.ForEachPayload([&reworded](absl::string_view url, const absl::Cord& payload) {
    reworded.SetPayload(url, payload);
  });
  return reworded;
}

absl::Status Located(const absl::Status& status, absl::string_view where) {
  return status.ok() ? status : Reworded(status, absl::StrCat(where, ": ", status.message()));
}

absl::Status BodyFailure(const Function& function, const Launcher& on) {
  return Located(on.status(), absl::StrCat("'", function.name, "', ", on.progress().Place()));
}

absl::Status AfterUndo(const absl::Status& why, const absl::Status& undone) {
  if (undone.ok()) return why;
  return Located(why, absl::StrCat("what the call had written before it failed could not be taken "
                                   "back (",
                                   undone.message(), ")"));
}

}  // namespace graphtree
