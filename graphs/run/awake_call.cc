// Keeps memory awake, or says that it is parked.
#include "graphs/run/awake_call.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "allocator/pool.h"

namespace graphtree {

absl::Status AwakeCall::MayBegin(const Function& function, absl::Span<const Value> inputs) {
  Pool& pool = memory_.pool();
  if (!pool.parking().has_parked_or_will()) return absl::OkStatus();
  pool.parking().ParkIfDue();
  if (pool.parking().has_parked()) {
    const char* part = pool.parking().is_parked() ? "" : "a part of ";
    return absl::FailedPreconditionError(absl::StrCat(
        "'", function.name, "' was called while ", part, "the tree's memory is parked. Wake it."));
  }
  // What the park waits for may end in the middle of this call.
  StayAwake(inputs);
  return absl::OkStatus();
}

// Another thread may park memory between the match and the moment from which it stays awake. So the
// inputs are asked once more.
Node* AwakeCall::KeepOthers(Node* hit, const Call& call) {
  StayAwake(call.inputs);
  if (!call.brings_others) return hit;
  const bool is_any_parked = absl::c_any_of(call.inputs, [](const Value& input) {
    return input.storage() != nullptr && input.storage()->owner()->is_parked();
  });
  return is_any_parked ? nullptr : hit;
}

}  // namespace graphtree
