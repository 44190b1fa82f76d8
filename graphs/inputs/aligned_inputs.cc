// Copies inputs into aligned clones, and back.
#include "graphs/inputs/aligned_inputs.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "device/address.h"
#include "device/base/status_macros.h"
#include "graphs/inputs/ingest/ingest.h"

namespace graphtree {
namespace {

absl::Status CopyOn(Stream& stream, const IngestCopy& copy) {
  for (const IngestPlan& plan : IngestPlan::For({&copy, 1}, {})) {
    const Argument table = plan.Table();
    GRAPHTREE_RETURN_IF_ERROR(
        stream.Launch(plan.kernel(), plan.shape(), absl::MakeSpan(&table, 1)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status AlignedInputs::Replace(const Function& function, BodyAllocator& allocator,
                                    Stream& stream, Values* inputs) {
  for (uint32_t i = 0; i < function.alignments.size() && i < inputs->size(); ++i) {
    const Value& input = (*inputs)[i];
    if (!input.is_tensor() || input.word() % function.alignments[i] == 0) continue;
    if (input.layout()->elements() == 0) continue;
    GRAPHTREE_RETURN_IF_ERROR(CloneWithNeighbours(function, i, allocator, stream, inputs));
  }
  return absl::OkStatus();
}

// Clones all inputs that share bytes with input `first`, or with another one of these, into one
// piece of memory in which they lie as in the original.
absl::Status AlignedInputs::CloneWithNeighbours(const Function& function, uint32_t first,
                                                BodyAllocator& allocator, Stream& stream,
                                                Values* inputs) {
  AddressRange whole = RangeOf((*inputs)[first]);
  std::vector<uint32_t> members;
  for (size_t before = 0; members.empty() || members.size() > before;) {
    before = members.size();
    members.clear();
    for (uint32_t i = 0; i < inputs->size(); ++i) {
      const AddressRange range = RangeOf((*inputs)[i]);
      if (!range.Overlaps(whole)) continue;
      members.push_back(i);
      const Address end = std::max(whole.end(), range.end());
      whole.base = std::min(whole.base, range.base);
      whole.bytes = end - whole.base;
    }
  }
  // Alignments are powers of two: if the others do not lie well where the most aligned one does,
  // they cannot anywhere.
  const uint32_t most = *std::max_element(
      members.begin(), members.end(),
      [&](uint32_t a, uint32_t b) { return function.AlignmentOf(a) < function.AlignmentOf(b); });
  const uint64_t alignment = function.AlignmentOf(most);
  for (uint32_t i : members) {
    const uint64_t behind = (*inputs)[i].word() - (*inputs)[most].word();
    if (behind % function.AlignmentOf(i) == 0) continue;
    return CloneApart(function, members, allocator, stream, inputs);
  }
  const uint64_t offset = (*inputs)[most].word() - whole.base;
  GRAPHTREE_ASSIGN_OR_RETURN(Storage * storage,
                             allocator.Allocate(whole.bytes + alignment, stream));
  const Address start = storage->range().base;
  const Tensor keeps = Tensor::Over(storage, (*inputs)[first].layout(), start);
  const Address base = start + (alignment - (start + offset) % alignment) % alignment;
  for (uint32_t i : members) {
    const Address place = base + ((*inputs)[i].word() - whole.base);
    GRAPHTREE_RETURN_IF_ERROR(MakeClone(i, storage, place, false, stream, inputs));
  }
  return absl::OkStatus();
}

absl::Status AlignedInputs::CloneApart(const Function& function,
                                       const std::vector<uint32_t>& members,
                                       BodyAllocator& allocator, Stream& stream, Values* inputs) {
  for (uint32_t i : members) {
    const AddressRange range = RangeOf((*inputs)[i]);
    const uint64_t alignment = function.AlignmentOf(i);
    GRAPHTREE_ASSIGN_OR_RETURN(Storage * storage,
                               allocator.Allocate(range.bytes + alignment, stream));
    const Address start = storage->range().base;
    const Tensor keeps = Tensor::Over(storage, (*inputs)[i].layout(), start);
    const Address place = start + (alignment - start % alignment) % alignment;
    GRAPHTREE_RETURN_IF_ERROR(MakeClone(i, storage, place, true, stream, inputs));
  }
  return absl::OkStatus();
}

absl::Status AlignedInputs::MakeClone(uint32_t i, Storage* storage, Address place, bool apart,
                                      Stream& stream, Values* inputs) {
  Value& input = (*inputs)[i];
  const Tensor clone = Tensor::Over(storage, input.layout(), place);
  GRAPHTREE_RETURN_IF_ERROR(CopyOn(stream, {place, input.word(), input.layout()}));
  clones_.push_back({i, input, clone, apart});
  input = clone;
  return absl::OkStatus();
}

absl::Status AlignedInputs::CheckApart(const Function& function,
                                       const std::vector<bool>& written) const {
  for (const Clone& clone : clones_) {
    if (!clone.apart || !written[clone.input]) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "it writes to input ", clone.input, " of '", function.name,
        "', which shares bytes with "
        "another input, and no copy of both is aligned as declared; pass aligned memory"));
  }
  return absl::OkStatus();
}

std::vector<ClonedInput> AlignedInputs::Cloned() const {
  std::vector<ClonedInput> cloned;
  for (const Clone& clone : clones_) {
    cloned.push_back({clone.input, RangeOf(clone.original), clone.clone.raw_bytes()});
  }
  return cloned;
}

std::vector<bool> AlignedInputs::IsCopied(size_t inputs) const {
  std::vector<bool> copied(inputs, false);
  for (const Clone& clone : clones_) copied[clone.input] = true;
  return copied;
}

void AlignedInputs::Redirect(Values* outputs) const {
  for (Value& output : *outputs) {
    const Clone* source = nullptr;
    for (const Clone& clone : clones_) {
      if (output.storage() != clone.clone.storage()) continue;
      if (source == nullptr || RangeOf(clone.clone).Contains(RangeOf(output))) source = &clone;
    }
    if (source == nullptr) continue;
    output = Tensor::Over(source->original.storage(), output.layout(),
                          source->original.word() + (output.word() - source->clone.word()));
  }
}

absl::Status AlignedInputs::CopyBack(const std::vector<bool>& written, const SaveBytes& save,
                                     Stream& stream) {
  std::vector<const Clone*> back;
  for (const Clone& clone : clones_) {
    if (written[clone.input]) back.push_back(&clone);
  }
  for (size_t i = 0; i + 1 < back.size(); ++i) save(RangeOf(back[i]->original));
  for (const Clone* clone : back) {
    const absl::Status copied =
        CopyOn(stream, {clone->original.word(), clone->clone.word(), clone->clone.layout()});
    if (copied.ok()) continue;
    return absl::Status(copied.code(),
                        absl::StrCat("copying what it wrote back to input ", clone->input,
                                     ", which is less aligned than declared: ", copied.message()));
  }
  return absl::OkStatus();
}

void AlignedInputs::LetGo() {
  for (Clone& clone : clones_) clone.original = Value();
}

}  // namespace graphtree
