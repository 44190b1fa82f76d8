// A program's slots leave and come back, and while they are away it begins no step.
#include <memory>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "device/base/status_macros.h"
#include "graphs/reports/captured_pointers.h"
#include "graphs/tree.h"
#include "runtime/core/program_state.h"
#include "runtime/slots/planted_bug.h"

namespace graphtree {

void ProgramState::SetParkedBy(const std::string& tag, bool is_parked) {
  std::erase(parked_by_, tag);
  if (is_parked) parked_by_.push_back(tag);
  watch_->SetParkedBy(parked_by_);
}

absl::Status ProgramState::CheckAwake() const {
  if (parked_by_.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("'", name(), "' is parked: '", absl::StrJoin(parked_by_, "', '"),
                   "'; wake that first (Runtime::Wake)"));
}

bool ProgramState::Needs(absl::string_view tag) const {
  return options_.tag == tag || absl::c_linear_search(options_.needs, tag);
}

bool ProgramState::PointsInto(AddressRange range) const {
  for (const std::unique_ptr<ShapeState>& shape : shapes_) {
    for (const uint64_t recording : lane_.tree->RecordingsOf(shape->function)) {
      const absl::StatusOr<std::vector<Op>> ops = lane_.tree->OpsOf(recording);
      if (ops.ok() && !PointersInto(range, recording, *ops).found.empty()) return true;
    }
  }
  return false;
}

void ProgramState::TellSlots() {
  watch_->slot_bytes.Set(memory_->mapped_bytes() == 0 ? 0 : arena_.bytes);
  watch_->mapped_slot_bytes.Set(memory_->mapped_bytes());
}

absl::Status ProgramState::ParkSlots(Contents contents) {
  GRAPHTREE_RETURN_IF_ERROR(memory_->Park(contents));
  TellSlots();
  return absl::OkStatus();
}

absl::Status ProgramState::WakeSlots() {
  const bool are_new = memory_->must_fill();
  GRAPHTREE_RETURN_IF_ERROR(memory_->Wake(options_.slots, arena_));
  TellSlots();
  // The cursor lies with the slots.
  if (are_new && !IsPlanted(RuntimeBug::kKeepsParkedCursor)) ring_->ForgetCursor();
  return absl::OkStatus();
}

absl::Status ProgramState::CheckSlots() const {
  const absl::Status right = memory_->Check();
  return right.ok() ? right
                    : absl::Status(right.code(),
                                   absl::StrCat("program '", name(), "': ", right.message()));
}

absl::Status ProgramState::DropSlots() {
  GRAPHTREE_RETURN_IF_ERROR(memory_->DropContents(options_.slots, arena_));
  ring_->ForgetCursor();
  return absl::OkStatus();
}

}  // namespace graphtree
