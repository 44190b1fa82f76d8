// Looks at every word of every op.
#include "graphs/reports/captured_pointers.h"

#include "graphs/inputs/op_words.h"

namespace graphtree {
namespace {

// `place`: of a kernel the first byte among its argument bytes, else the argument's number.
void Locate(const Op& op, int place, CapturedPointer* pointer) {
  if (op.kind != OpKind::kKernel) {
    pointer->argument = place;
    return;
  }
  pointer->byte = static_cast<uint32_t>(place);
  for (size_t i = 0; i < op.parameters.size(); ++i) {
    const ParamSlot& slot = op.parameters[i];
    if (pointer->byte < slot.offset || pointer->byte - slot.offset >= slot.bytes) continue;
    pointer->argument = static_cast<int>(i);
    pointer->byte -= slot.offset;
    return;
  }
}

}  // namespace

CapturedPointers PointersInto(AddressRange range, uint64_t recording, absl::Span<const Op> ops) {
  CapturedPointers pointers;
  for (const Op& op : ops) {
    if (IsBlind(op)) {
      ++pointers.hidden_ops;
      continue;
    }
    VisitWords(op, /*by_bytes=*/true, [&](uint64_t word, int place) {
      if (word < range.base || word - range.base >= range.bytes) return;
      CapturedPointer pointer;
      pointer.recording = recording;
      pointer.op = op.id;
      pointer.name = op.name;
      pointer.address = word;
      Locate(op, place, &pointer);
      pointers.found.push_back(std::move(pointer));
    });
  }
  return pointers;
}

}  // namespace graphtree
