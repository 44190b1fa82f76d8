// Adds up sizes.
#include "runtime/slots/slot_plan.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"

namespace graphtree {
namespace {

// Units of a block are counted with 32 bits.
constexpr uint64_t kBlockBytesEnd = (uint64_t{1} << 32) * unpack::kUnitBytes;

constexpr uint64_t RoundUp(uint64_t bytes, uint64_t to) { return (bytes + to - 1) / to * to; }

unpack::Tail TailOf(PadRule rule) {
  switch (rule) {
    case PadRule::kZero:
    case PadRule::kValue:
      return unpack::Tail::kValue;
    case PadRule::kLastRow:
      return unpack::Tail::kLastRow;
    case PadRule::kKeep:
    case PadRule::kFillOnce:
      return unpack::Tail::kKeep;
  }
  return unpack::Tail::kKeep;
}

// The slot with `rows` rows, inside of the greatest one.
const Layout* LayoutOf(const SlotSpec& slot, int64_t rows) {
  std::vector<int64_t> sizes = slot.sizes;
  std::vector<int64_t> strides(sizes.size());
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= sizes[i];
  }
  if (!sizes.empty()) sizes[slot.axis] = rows;
  return Layout::Strided(slot.type, sizes, strides);
}

}  // namespace

ArenaPlan PlanArena(absl::Span<const SlotSpec> slots) {
  ArenaPlan plan;
  for (const SlotSpec& slot : slots) {
    plan.offsets.push_back(plan.bytes);
    plan.bytes += RoundUp(GreatestBytes(slot), kSlotAlignment);
  }
  plan.cursor = plan.bytes;
  if (!slots.empty()) plan.bytes += kSlotAlignment;
  return plan;
}

absl::StatusOr<ShapePlan> PlanShape(absl::Span<const SlotSpec> slots, const ArenaPlan& arena,
                                    const Key& key) {
  ShapePlan plan;
  const uint64_t start = slots.size() * sizeof(unpack::Staged);
  uint64_t at = start;
  for (size_t i = 0; i < slots.size(); ++i) {
    const SlotSpec& spec = slots[i];
    GRAPHTREE_RETURN_IF_ERROR(CheckFits(spec, key));
    const int64_t rows = RowsOf(spec, key);
    unpack::Slot slot;
    slot.target_unit = static_cast<uint32_t>(arena.offsets[i] / unpack::kUnitBytes);
    slot.payload_unit = static_cast<uint32_t>(at / unpack::kUnitBytes);
    slot.rows = static_cast<uint32_t>(rows);
    slot.greatest_rows = static_cast<uint32_t>(GreatestRows(spec));
    slot.row_elements = static_cast<uint32_t>(RowElementsOf(spec));
    slot.pieces = static_cast<uint32_t>(PiecesOf(spec));
    slot.type = static_cast<uint8_t>(spec.type);
    slot.tail = TailOf(spec.pad);
    const uint64_t piece_bytes =
        static_cast<uint64_t>(rows) * slot.row_elements * BytesOf(spec.type);
    slot.piece_units = unpack::UnitsOf(piece_bytes);
    at += uint64_t{slot.piece_units} * slot.pieces * unpack::kUnitBytes;
    plan.slots.push_back(slot);
    const bool is_filled = spec.fill != nullptr;
    if (is_filled) plan.filled |= uint32_t{1} << i;
    if (!is_filled && !spec.may_be_left_out) plan.needed |= uint32_t{1} << i;
    const bool is_plain = !is_filled && slot.pieces == 1;
    plan.places.push_back({uint64_t{slot.payload_unit} * unpack::kUnitBytes,
                           uint64_t{slot.row_elements} * BytesOf(spec.type), PadBits(spec),
                           slot.rows, is_plain ? slot.type : SlotPlace::kNone});
    plan.layouts.push_back(LayoutOf(spec, rows));
  }
  if (at >= kBlockBytesEnd) {
    return absl::InvalidArgumentError(absl::StrCat("a step's block takes ", at, " bytes for ",
                                                   ToString(key), "; it may take less than ",
                                                   kBlockBytesEnd, " (64 GiB)"));
  }
  plan.block_bytes = at;
  plan.block = Layout::Of(DType::kU8, {static_cast<int64_t>(at)});
  const uint64_t units = (at - start) / unpack::kUnitBytes;
  plan.launch_blocks = static_cast<uint32_t>((units + unpack::kThreads - 1) / unpack::kThreads);
  return plan;
}

}  // namespace graphtree
