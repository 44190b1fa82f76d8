// Asks the storages, and then the graph.
#include "graphs/run/ended_inputs.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "graphs/inputs/pointer_slots.h"

namespace graphtree {

Values InputsOfOthers(const StepMemory& memory, absl::Span<const Value> inputs) {
  Values others;
  for (const Value& input : inputs) {
    if (input.is_tensor()) memory.HoldOfOthers(Tensor::From(input), &others);
  }
  return others;
}

absl::Status CheckEnded(const StepMemory& memory, const Function& function,
                        absl::Span<const Value> inputs, const Graph* graph) {
  for (uint32_t i = 0; graph != nullptr && i < inputs.size(); ++i) {
    const Storage* const storage = inputs[i].storage();
    if (!inputs[i].is_tensor() || storage == nullptr || !memory.IsOthers(*storage)) continue;
    if (!storage->stale()) continue;
    const InputRange range = {i, RangeOf(inputs[i])};
    if (HiddenPointers(graph->ops(), {}, {}, {range}).empty()) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("input ", i, " of '", function.name, "' is used after the part within which "
                     "it ended: ", storage->owner()->WhyStale(*storage)));
  }
  return absl::OkStatus();
}

}  // namespace graphtree
