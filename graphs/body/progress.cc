// Keeps the first error, and counts ops.
#include "graphs/body/progress.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace graphtree {

void BodyProgress::Fail(absl::Status status) {
  if (status_.ok()) status_ = std::move(status);
}

void BodyProgress::FailAt(absl::string_view op, absl::Status status) {
  if (!ok()) return;
  failed_op_.assign(op.data(), op.size());
  Fail(std::move(status));
}

void BodyProgress::Passed(absl::string_view op) {
  ++ops_;
  last_op_.assign(op.data(), op.size());
}

std::string BodyProgress::Place() const {
  if (!failed_op_.empty()) {
    return absl::StrCat("at op ", ops_ + 1, " of its body ('", failed_op_, "')");
  }
  return ops_ == 0 ? "before the first op of its body"
                   : absl::StrCat("after op ", ops_, " of its body ('", last_op_, "')");
}

}  // namespace graphtree
