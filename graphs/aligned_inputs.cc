// Copies there, and back.
#include "graphs/aligned_inputs.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "device/address.h"
#include "device/base/status_macros.h"
#include "graphs/ingest/ingest.h"

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

// All inputs that share bytes with input `first`, or with one that does, as they lie.
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
  const uint64_t alignment = function.alignments[first];
  const uint64_t offset = (*inputs)[first].word() - whole.base;
  GRAPHTREE_ASSIGN_OR_RETURN(Storage * storage,
                             allocator.Allocate(whole.bytes + alignment, stream));
  const Address start = storage->range().base;
  const Tensor keeps = Tensor::Over(storage, (*inputs)[first].layout(), start);
  const Address base = start + (alignment - (start + offset) % alignment) % alignment;
  for (uint32_t i : members) {
    Value& input = (*inputs)[i];
    const Address place = base + (input.word() - whole.base);
    if (place % function.AlignmentOf(i) != 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "inputs ", first, " and ", i, " of '", function.name, "' share bytes, and no copy of ",
          "both is aligned as declared; pass aligned memory"));
    }
    const Tensor clone = Tensor::Over(storage, input.layout(), place);
    GRAPHTREE_RETURN_IF_ERROR(CopyOn(stream, {place, input.word(), input.layout()}));
    clones_.push_back({i, input, clone});
    input = clone;
  }
  return absl::OkStatus();
}

absl::Status AlignedInputs::GiveBack(const std::vector<bool>& written, Stream& stream,
                                     Values* outputs) {
  for (const Clone& clone : clones_) {
    if (!written[clone.input]) continue;
    GRAPHTREE_RETURN_IF_ERROR(CopyOn(stream, {clone.original.word(), clone.clone.word(),
                                              clone.clone.layout()}));
  }
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
  for (Clone& clone : clones_) clone.original = Value();
  return absl::OkStatus();
}

}  // namespace graphtree
