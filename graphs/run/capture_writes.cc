// Notes writes and saves bytes while a body is captured.
#include "graphs/run/capture_writes.h"

#include <cstdint>
#include <utility>

#include "allocator/pool.h"
#include "graphs/match/input_roles.h"
#include "graphs/run/planted_bug.h"

namespace graphtree {

CaptureWrites::CaptureWrites(Ground& ground, const Call& call, const Values& originals,
                             Draft& draft)
    : ground_(ground),
      call_(call),
      originals_(originals),
      draft_(draft),
      spoilt_(ground.memory->pool().arena().range_of(Region::kStep),
              ground.memory->pool().arena().range_of(Region::kLasting)),
      undo_(ground.memory.get(), call.stream, ground.TagOf(call.function)) {}

void CaptureWrites::Note(const Tensor& tensor) {
  const AddressRange range = tensor.raw_bytes();
  noted_.push_back(range);
  NoteWrite(range, tensor.storage() == nullptr ? 0 : tensor.storage()->serial);
}

void CaptureWrites::NoteWrite(AddressRange range, uint64_t serial) {
  if (NoteInputs(range, serial)) return;
  if (!ground_.memory->InStepRegion(range)) draft_.node->written_beside.Add(range);
}

// A write to the copy of an input would be lost; a write to the input itself, which the body knows
// from elsewhere, would come after the copy. If no earlier run has shown that write, the recording
// is made again with what this one has shown.
bool CaptureWrites::NoteInputs(AddressRange range, uint64_t serial) {
  bool is_listed = false;
  for (uint32_t i = 0; i < draft_.stand_ins.size(); ++i) {
    const InputRole role = draft_.node->roles[i];
    const AddressRange input = RangeOf(originals_[i]);
    const bool to_stand_in = serial != 0 && draft_.stand_ins[i] == serial;
    const bool mutates = call_.variant->Mutates(i);
    is_listed |= to_stand_in || (mutates && role == InputRole::kStatic && input.Contains(range));
    if (role != InputRole::kCopied || mutates) continue;
    if (to_stand_in || input.Overlaps(range)) draft_.written.push_back(i);
  }
  return is_listed;
}

// A write that the break tells is noted as the body's own.
void CaptureWrites::SaveOfPart(const PartRunner::Write& write) {
  if (!write.is_told) NoteWrite(write.range(), write.serial);
  if (IsPlanted(PlantedBug::kForgetsPartWrites)) return;
  undo_.TrySaveWrites(call_.stream, write.tensor, &spoilt_);
}

// The range as an offset from a patched input, if it lies in one; else as an address.
SpoiltBytes CaptureWrites::SpoiltAt(AddressRange range) const {
  for (const MarkedInput& marked : draft_.marked) {
    if (!marked.mark.raw_bytes().Contains(range)) continue;
    return {{marked.input, range.base - marked.mark.word()}, range.bytes};
  }
  return {{kNobody, range.base}, range.bytes};
}

// What ops were seen to write, and inputs that the function mutates somewhere.
std::vector<AddressRange> CaptureWrites::WritesOfSection() {
  std::vector<AddressRange> writes = std::exchange(noted_, {});
  const Variant& variant = *draft_.node->variant;
  for (size_t input = 0; input < originals_.size(); ++input) {
    if (!variant.mutates_somewhere[input] || !originals_[input].is_tensor()) continue;
    if (draft_.node->roles[input] == InputRole::kCopied) continue;
    writes.push_back(RangeOf(originals_[input]));
  }
  return writes;
}

absl::Status CaptureWrites::SaveOfSection(std::vector<SpoiltBytes>* spoilt) {
  for (const AddressRange write : WritesOfSection()) {
    for (const AddressRange range : spoilt_.Written(write)) {
      spoilt->push_back(SpoiltAt(range));
      if (absl::Status saved = undo_.Save(range); !saved.ok()) {
        draft_.reason = absl::IsResourceExhausted(saved) ? Reason::kOutOfPool : ReasonOf(saved);
        return saved;
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace graphtree
