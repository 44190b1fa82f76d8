// One row for each slot.
#include "tools/demo_model/batch_slots.h"

#include <cstdint>
#include <cstring>

#include "graphs/layout.h"
#include "tools/demo_model/kernels/dims.h"

namespace graphtree::demo {

const std::vector<SlotSpec>& BatchSlotSpecs() {
  constexpr KeyField kPerToken = KeyField::kTokens, kPerRequest = KeyField::kRequests;
  static const auto* const specs = new std::vector<SlotSpec>{
      {.name = "ids", .type = DType::kI32, .sizes = {kMostTokens}, .rows = kPerToken},
      {.name = "starts",
       .type = DType::kI32,
       .sizes = {kMostRequests + 1},
       .rows = kPerRequest,
       .extra_rows = 1,
       .pad = PadRule::kLastRow},
      {.name = "lengths", .type = DType::kI32, .sizes = {kMostRequests}, .rows = kPerRequest},
      {.name = "tables",
       .type = DType::kI32,
       .sizes = {kMostRequests, kTableBlocks},
       .rows = kPerRequest},
      {.name = "temperatures", .type = DType::kF32, .sizes = {kMostRequests}, .rows = kPerRequest},
      {.name = "seeds", .type = DType::kI64, .sizes = {kMostRequests}, .rows = kPerRequest},
  };
  return *specs;
}

HostRows RowsOf(const Batch& batch, BatchSlot slot) {
  const int requests = batch.requests();
  switch (slot) {
    case kIds: return {batch.ids.data(), DType::kI64, batch.tokens()};
    case kStarts: return {batch.starts.data(), DType::kI32, requests + 1};
    case kLengths: return {batch.lengths.data(), DType::kI32, requests};
    case kTables: return {batch.tables.data(), DType::kI32, requests};
    case kTemperatures: return {batch.temperatures.data(), DType::kF32, requests};
    case kSeeds: return {batch.seeds.data(), DType::kI64, requests};
    case kBatchSlots: break;
  }
  return {};
}

BatchPiece::BatchPiece() {
  for (int slot = 0; slot < kBatchSlots; ++slot) {
    offsets_[slot] = bytes_;
    const uint64_t bytes = GreatestBytes(BatchSlotSpecs()[slot]);
    bytes_ += (bytes + kSlotAlignment - 1) / kSlotAlignment * kSlotAlignment;
  }
}

BatchTensors BatchPiece::At(Address base, int tokens, int requests) const {
  const Key key = {.tokens = tokens, .requests = requests};
  BatchTensors tensors;
  for (int slot = 0; slot < kBatchSlots; ++slot) {
    const SlotSpec& spec = BatchSlotSpecs()[slot];
    std::vector<int64_t> sizes = spec.sizes;
    sizes[spec.axis] = graphtree::RowsOf(spec, key);
    tensors[slot] = Tensor::Foreign(base + offsets_[slot], Layout::Of(spec.type, sizes));
  }
  return tensors;
}

uint64_t BatchPiece::Write(const Batch& batch, BatchSlot slot, void* piece) const {
  const SlotSpec& spec = BatchSlotSpecs()[slot];
  const HostRows rows = RowsOf(batch, slot);
  const uint64_t elements = rows.rows * RowElementsOf(spec);
  char* const target = static_cast<char*>(piece) + offsets_[slot];
  if (rows.type == spec.type) {
    std::memcpy(target, rows.data, elements * BytesOf(spec.type));
  } else {  // ids, which people keep in 64 bits
    const auto* from = static_cast<const int64_t*>(rows.data);
    auto* to = reinterpret_cast<int32_t*>(target);
    for (uint64_t i = 0; i < elements; ++i) to[i] = static_cast<int32_t>(from[i]);
  }
  return elements * BytesOf(spec.type);
}

}  // namespace graphtree::demo
