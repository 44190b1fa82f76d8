// Says in words what a value is.
#include "graphs/tensor.h"

#include "absl/strings/str_cat.h"

namespace graphtree {

absl::Status MayBeUsed(const Storage& storage, uint64_t bytes) {
  if (storage.stale()) return absl::FailedPreconditionError(storage.owner()->WhyStale(storage));
  if (!storage.owner()->is_parked()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("its ", bytes, " bytes lie in memory of a tree that is parked; "
                   "wake that tree's memory first"));
}

std::string Description(const Value& value) {
  if (value.is_none()) return "nothing";
  if (value.is_consumed()) return "a tensor that an earlier call has consumed";
  if (value.is_integer()) return absl::StrCat("the integer ", value.integer());
  if (value.has_version()) return absl::StrCat("an opaque object of version ", value.word());
  if (value.is_opaque()) return "an opaque object";
  return absl::StrCat("a tensor of ", value.layout()->ToString());
}

}  // namespace graphtree
