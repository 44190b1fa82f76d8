// Looks for slots among the outputs.
#include "runtime/core/slot_outputs.h"

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/core/copy_with_gaps.h"

namespace graphtree {
namespace {

bool LiesIn(AddressRange slots, const Value& output) {
  return output.is_tensor() && Tensor::From(output).raw_bytes().Overlaps(slots);
}

}  // namespace

void CopySlotsAmong(AddressRange slots, bool slots_are_free, Launcher& on, Values* outputs) {
  for (size_t i = 0; i < outputs->size() && on.ok(); ++i) {
    Value& output = (*outputs)[i];
    if (!LiesIn(slots, output)) continue;
    if (slots_are_free) {
      on.Fail(absl::InvalidArgumentError(absl::StrCat(
          "its body returned memory of its slots as output ", i, ", after it had said that the "
          "slots are free (ProgramInputs::SlotsAreFree): the next step may write over it before "
          "the output is copied. Say so later, or leave it to the end of the body")));
      return;
    }
    output = CopyWithGaps(Tensor::From(output), on);
  }
}

}  // namespace graphtree
