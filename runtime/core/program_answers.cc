// What callers ask of a program beside steps: votes, and where things lie.
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "graphs/tree.h"
#include "runtime/core/program_state.h"
#include "runtime/shapes/shape_table.h"
#include "runtime/why.h"

namespace graphtree {

absl::StatusOr<Vote> ProgramState::MakeVote(const Key& key, Modes allowed, uint32_t round) const {
  return graphtree::MakeVote(*table_, {fingerprint_, round, key, allowed});
}

absl::StatusOr<Agreement> ProgramState::Agree(const Key& key, Modes allowed, uint32_t round,
                                              absl::Span<const Vote> votes) const {
  GRAPHTREE_ASSIGN_OR_RETURN(
      Agreement agreed, graphtree::Agree(*table_, {fingerprint_, round, key, allowed}, votes));
  if (agreed.outcome == VoteOutcome::kAgreed &&
      !IsReplay(table_->Choose(agreed.key, agreed.modes).why)) {
    // Every rank finds this alike. What they agreed on may be more than slots hold.
    agreed.outcome = VoteOutcome::kNoGraph;
    agreed.key = key;
  }
  return agreed;
}

uint32_t ProgramState::FindShape(const Key& key, Mode mode) const {
  for (uint32_t i = 0; i < table_->size(); ++i) {
    if (table_->shape(i).key == key && table_->shape(i).mode == mode) return i;
  }
  return kNoShape;
}

bool ProgramState::LeavesOut(absl::Span<const SlotId> staged) const {
  for (SlotId slot = 0; slot < options_.slots.size(); ++slot) {
    if (options_.slots[slot].may_be_left_out && !absl::c_linear_search(staged, slot)) return true;
  }
  return false;
}

absl::StatusOr<HostRuns> ProgramState::RunsOf(SlotId slot, const HostRows& rows) const {
  const std::vector<SlotSpec>& slots = options_.slots;
  if (slot >= slots.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "rows of slot ", slot, " of '", name(), "', which has ", slots.size(), " slots"));
  }
  if (rows.rows < 0 || rows.rows > GreatestRows(slots[slot])) {
    return absl::InvalidArgumentError(
        absl::StrCat(rows.rows, " rows of slot '", slots[slot].name, "' of '", name(),
                     "', which has at most ", GreatestRows(slots[slot])));
  }
  if (rows.type > DType::kF64) {
    return absl::InvalidArgumentError(absl::StrCat("rows of slot '", slots[slot].name,
                                                   "' are of type ", static_cast<int>(rows.type),
                                                   ", and there is none with that number"));
  }
  if (rows.row_stride < 0 || rows.piece_stride < 0 || (rows.data == nullptr && rows.rows > 0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        rows.rows, " rows of slot '", slots[slot].name, "' lie with strides of ", rows.row_stride,
        " and ", rows.piece_stride, rows.data == nullptr ? " at no address" : ", of less than 0"));
  }
  const int64_t row = RowElementsOf(slots[slot]);
  const int64_t row_stride = rows.row_stride == 0 ? row : rows.row_stride;
  const int64_t piece_stride = rows.piece_stride == 0 ? row_stride * rows.rows : rows.piece_stride;
  const bool has_gaps = row_stride != row;
  const uint64_t size = BytesOf(rows.type);
  return HostRuns{.data = static_cast<const uint8_t*>(rows.data),
                  .pieces = PiecesOf(slots[slot]),
                  .runs = has_gaps ? rows.rows : 1,
                  .run_bytes = size * row * (has_gaps ? 1 : rows.rows),
                  .piece_step = size * piece_stride,
                  .run_step = size * row_stride};
}

absl::StatusOr<CapturedPointers> ProgramState::Pointers(const Key& key, AddressRange range) const {
  const Tree& tree = *lane_.tree;
  bool is_there = false;
  CapturedPointers pointers;
  for (const std::unique_ptr<ShapeState>& shape : shapes_) {
    if (!(shape->key == key)) continue;
    is_there = true;
    for (const uint64_t recording : tree.RecordingsOf(shape->function)) {
      GRAPHTREE_ASSIGN_OR_RETURN(const std::vector<Op> ops, tree.OpsOf(recording));
      pointers.Add(PointersInto(range, recording, ops));
    }
  }
  if (is_there) return pointers;
  return absl::NotFoundError(
      absl::StrCat("program '", name(), "' has no shape ", ToString(key)));
}

absl::StatusOr<FreeEvents> ProgramState::WhenFree() const {
  if (free_events_.are_told()) return free_events_;
  return absl::FailedPreconditionError(absl::StrCat(
      "program '", name(), "' does not tell when its rows and slots are free; add it with "
      "ProgramOptions::tells_when_free"));
}

absl::StatusOr<Tensor> ProgramState::SlotWhole(SlotId slot) const {
  if (slot >= options_.slots.size()) {
    return absl::InvalidArgumentError(absl::StrCat("program '", name(), "' has no slot ", slot,
                                                   "; it has ", options_.slots.size()));
  }
  const SlotSpec& spec = options_.slots[slot];
  return Tensor::Foreign(memory_->range().base + arena_.offsets[slot],
                         Layout::Of(spec.type, spec.sizes));
}

absl::Status ProgramState::CheckNoneOfItsSlots(SlotId slot, const DeviceRows& rows) const {
  if (rows.rows <= 0 || !memory_->range().Contains(rows.address)) return absl::OkStatus();
  const uint64_t offset = rows.address - memory_->range().base;
  size_t lies_in = 0;
  while (lies_in + 1 < options_.slots.size() && arena_.offsets[lies_in + 1] <= offset) ++lies_in;
  return absl::InvalidArgumentError(absl::StrCat(
      "slot '", options_.slots[slot].name, "' was staged with rows that lie in slot '",
      options_.slots[lies_in].name, "' of the same program, at the device address 0x",
      absl::Hex(rows.address), ": the op that would read them writes the program's slots at the "
      "same time. Copy them first, or leave out a slot that is to stay as it is "
      "(SlotSpec::may_be_left_out)"));
}

}  // namespace graphtree
