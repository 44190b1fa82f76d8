// Finds inputs, and says why there is none.
#include "graphs/body/body_inputs.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"

namespace graphtree {
namespace {

absl::Status IsAnother(size_t index, absl::string_view wanted, const Value& is) {
  return absl::InvalidArgumentError(absl::StrCat("the body takes input ", index, " as ", wanted,
                                                 ", and it is ", Description(is)));
}

}  // namespace

absl::StatusOr<const Value*> BodyInputs::Find(size_t index, absl::string_view wanted) const {
  const auto missing = [&](absl::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat("the body takes input ", index, " as ", wanted, ", and ", why));
  };
  if (inputs_ == nullptr) {
    return missing(is_part_ ? "an eager part has none: pass it to Launcher::Break"
                            : "whoever runs it has given the launcher none");
  }
  if (index >= brought_) {
    return missing(absl::StrCat("the call brought ", brought_, " inputs, counted from 0"));
  }
  if (index >= inputs_->size()) return missing("the body has taken it out of its inputs before");
  if ((*inputs_)[index].is_none()) {
    return missing("there is nothing: the call brought nothing, or the body has dropped it before");
  }
  return &(*inputs_)[index];
}

absl::StatusOr<Tensor> BodyInputs::TensorAt(size_t index) const {
  GRAPHTREE_ASSIGN_OR_RETURN(const Value* const input, Find(index, "a tensor"));
  if (!input->is_tensor()) return IsAnother(index, "a tensor", *input);
  return Tensor::From(*input);
}

absl::StatusOr<int64_t> BodyInputs::IntegerAt(size_t index) const {
  GRAPHTREE_ASSIGN_OR_RETURN(const Value* const input, Find(index, "an integer"));
  if (!input->is_integer()) return IsAnother(index, "an integer", *input);
  return input->integer();
}

}  // namespace graphtree
