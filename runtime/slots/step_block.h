// One step's block, as it is filled: each slot is staged once, from the host, from device memory or
// as a value. Nothing is launched here; the unpack op reads the block later.
//
//   StepBlock block;
//   block.Begin(slots, plan, memory);
//   block.Stage(0, HostRows{tokens.data(), DType::kI64, 5});    // converted to i32 on the way
//   block.Stage(1, DeviceRows{address, DType::kI32, 5});        // read by the unpack op
//   block.Stage(2, 1.0);                                        // every row
//   uint8_t* rows = block.Buffer(3, 5).value();                 // written by the caller, in place
//   block.Finish();                                             // an error if a slot was forgotten
//
// What lies on the host is copied here, so the caller may use its memory again at once. What lies
// on a device is read in the order of the step's stream, and stays until then.
//
// A whole number that the slot's type does not hold, such as a token beyond 2^31 in a slot of i32,
// is an error and not another number, if it comes from the host. The op that reads rows from a
// device cannot fail: there such a number is cut off.
//
// Thread rule: like a container. Cost: no heap unless a call fails.
#ifndef GRAPHTREE_RUNTIME_SLOTS_STEP_BLOCK_H_
#define GRAPHTREE_RUNTIME_SLOTS_STEP_BLOCK_H_

#include <array>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "device/address.h"
#include "graphs/layout.h"
#include "runtime/slots/copy_for_device.h"
#include "runtime/slots/planted_bug.h"
#include "runtime/slots/rows.h"
#include "runtime/slots/slot.h"
#include "runtime/slots/slot_plan.h"
#include "runtime/slots/unpack_table.h"

namespace graphtree {

class StepBlock {
 public:
  // All outlive the step. REQUIRES: `memory` has plan.block_bytes, and starts at a multiple of 16.
  void Begin(absl::Span<const SlotSpec> slots, const ShapePlan& plan, uint8_t* memory);

  // Each is an error, and changes nothing, if the slot is unknown or was staged in this step; if
  // the rows are more than the shape has; if the types do not convert.
  absl::Status Stage(SlotId slot, const HostRows& rows) {
    return StageAsTheyAre(slot, rows) ? absl::OkStatus() : StageOthers(slot, rows);
  }
  absl::Status Stage(SlotId slot, const DeviceRows& rows);
  absl::Status Stage(SlotId slot, double value);

  // After the caller has copied a slot's device rows to `address`: the op reads them there.
  void MoveSource(SlotId slot, Address address) { rows_[slot].source = address; }

  // Stages `rows` rows of the slot's own type that the caller writes to this memory, one after
  // another, before Finish: nothing is copied. A row that the caller leaves out has whatever an
  // earlier step had there. An error, too, if the rows lie along a later axis than the first of
  // more than one.
  absl::StatusOr<uint8_t*> Buffer(SlotId slot, int64_t rows);

  // Every slot that was not staged has padding alone, as its rule says: no row is staged. What
  // slots keep from step to step stays: one that may be left out is. Where the last row is the
  // padding there is none, so that is zeros.
  void StagePadding();

  // Every slot is staged, or may be left out.
  absl::Status Finish();

 private:
  // Stages rows of the slot's own type that lie without a gap; false if these are others, or are an
  // error. Steps stage little and often, so the commonest rows come first, with one branch.
  bool StageAsTheyAre(SlotId slot, const HostRows& rows) {
    if (slot >= slots_.size()) return false;
    const SlotPlace& place = places_[slot];
    const bool is_other = (static_cast<uint8_t>(rows.type) != place.plain_type) |
                          (static_cast<uint64_t>(rows.rows) > place.rows) |
                          (rows.row_stride != 0) | (rows.data == nullptr) |
                          ((staged_ >> slot & 1) != 0);
    if (is_other) return false;
    CopyForDevice(memory_ + place.payload_bytes, static_cast<const uint8_t*>(rows.data),
                  static_cast<uint64_t>(rows.rows) * place.row_bytes, streams_);
    Put(slot, unpack::Kind::kPayload, static_cast<uint32_t>(rows.rows));
    return true;
  }
  // Converts, closes gaps, lays pieces apart; or finds what is wrong.
  absl::Status StageOthers(SlotId slot, const HostRows& rows);
  // OK if `rows` rows of type `type` may be staged; `what` is for errors: "from the host".
  absl::Status Check(SlotId slot, int64_t rows, DType type, int64_t row_stride,
                     int64_t piece_stride, const char* what) const;
  // OK if rows on the device that are laid out so lie within the addresses that there are.
  absl::Status CheckReach(SlotId slot, const DeviceRows& rows, int64_t row_stride,
                          int64_t piece_stride) const;
  std::string NameOf(SlotId slot) const;
  unpack::Staged& Put(SlotId slot, unpack::Kind kind, uint32_t rows) {
    staged_ |= uint32_t{1} << slot;
    const SlotPlace& place = places_[slot];
    unpack::Staged& staged = rows_[slot];
    staged.tail_bits = IsPlanted(RuntimeBug::kForgetsPadValue) ? 0 : place.tail_bits;
    staged.rows = IsPlanted(RuntimeBug::kForgetsPadding) ? place.rows : rows;
    staged.kind = kind;
    return staged;
  }

  bool streams_ = StreamsToDevice();
  absl::Span<const SlotSpec> slots_;
  const ShapePlan* plan_ = nullptr;
  const SlotPlace* places_ = nullptr;  // the plan's
  uint8_t* memory_ = nullptr;
  uint32_t staged_ = 0;  // a bit for each slot
  std::array<unpack::Staged, kMostSlots> rows_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_SLOTS_STEP_BLOCK_H_
