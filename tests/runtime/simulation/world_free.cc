// What the server does as soon as a step's free events say that it may: another stream waits for
// the event, and for nothing else, and writes. Where the event comes too early a reader sees that.
//
//   step's stream   ... unpack | body reads slots | ...
//   side stream                 ^ rows: the rows      ^ slots: slots that the next step leaves out
#include "device/base/status_macros.h"
#include "tests/runtime/simulation/world.h"

namespace graphtree::runtime_simulation {

absl::Status World::AfterStep(Open& open) {
  Program& program = *open.program;
  if (!program.model->spec().tells_when_free) return absl::OkStatus();
  if (open.spec->rewrites) GRAPHTREE_RETURN_IF_ERROR(RewriteRows(program, open.spec->program));
  return FillSlots(program, open.spec->fills);
}

absl::Status World::FillSlots(Program& program, uint32_t slots) {
  const ProgramSpec& spec = program.model->spec();
  for (SlotId slot = 0; slot < spec.slots.size(); ++slot) {
    if ((slots >> slot & 1) == 0 || !spec.slots[slot].may_be_left_out) continue;
    GRAPHTREE_ASSIGN_OR_RETURN(const Tensor whole, runtime_->SlotWhole(program.id, slot));
    Bytes& bytes = program.model->slots()[slot];
    if (whole.shape().extent_bytes() != bytes.size()) {
      return absl::InternalError("a whole slot has another size");
    }
    const auto byte =
        static_cast<uint8_t>(spec.slots[slot].type == DType::kBool ? steps_ % 2 : steps_);
    GRAPHTREE_RETURN_IF_ERROR(side_->Wait(*program.events.slots));
    GRAPHTREE_RETURN_IF_ERROR(side_->Fill(whole.word(), byte, 1, bytes.size()));
    GRAPHTREE_RETURN_IF_ERROR(side_->Record(*side_done_));
    is_side_busy_ = true;
    bytes.assign(bytes.size(), byte);
    Count("slots filled behind their event");
  }
  return absl::OkStatus();
}

void World::NoteReads(uint32_t number) {
  for (std::map<uint32_t, bool>& readers : readers_) {
    const auto reader = readers.find(number);
    if (reader != readers.end()) reader->second = true;
  }
}

// Those that nobody else may be reading.
absl::Status World::RewriteRows(Program& program, uint32_t number) {
  for (uint32_t i = 0; i < kSources; ++i) {
    if (readers_[i].size() != 1 || readers_[i].count(number) == 0) continue;
    const auto byte = static_cast<uint8_t>(steps_ * 3);
    GRAPHTREE_RETURN_IF_ERROR(side_->Wait(*program.events.rows));
    GRAPHTREE_RETURN_IF_ERROR(side_->Fill(memory_.source(i), byte, 1, kSourceBytes));
    GRAPHTREE_RETURN_IF_ERROR(side_->Record(*side_done_));
    is_side_busy_ = true;
    sources_[i].assign(kSourceBytes, byte);
    Count("rows rewritten behind their event");
  }
  return absl::OkStatus();
}

absl::Status World::GoBehindSide(uint32_t stream) {
  return is_side_busy_ ? streams_[stream]->Wait(*side_done_) : absl::OkStatus();
}

absl::Status World::EndSide() {
  is_side_busy_ = false;
  return side_->Synchronize();
}

}  // namespace graphtree::runtime_simulation
