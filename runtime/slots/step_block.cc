// Copies rows into the block's payload, and says in its records what came.
#include "runtime/slots/step_block.h"

#include <bit>
#include <cstring>
#include <limits>

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "device/base/known_enum.h"
#include "device/base/status_macros.h"
#include "runtime/slots/convert_rows.h"
#include "runtime/slots/copy_for_device.h"
#include "runtime/slots/element.h"
#include "runtime/slots/planted_bug.h"

namespace graphtree {
namespace {

std::string RowsInWords(int64_t rows) { return absl::StrCat(rows, rows == 1 ? " row" : " rows"); }

bool IsDenseStride(int64_t stride, int64_t dense) { return stride == 0 || stride == dense; }

}  // namespace

void StepBlock::Begin(absl::Span<const SlotSpec> slots, const ShapePlan& plan, uint8_t* memory) {
  slots_ = slots;
  plan_ = &plan;
  places_ = plan.places.data();
  memory_ = memory;
  staged_ = 0;
}

std::string StepBlock::NameOf(SlotId slot) const {
  return absl::StrCat("slot '", slots_[slot].name, "'");
}

absl::Status StepBlock::Check(SlotId slot, int64_t rows, DType type, int64_t row_stride,
                              int64_t piece_stride, const char* what) const {
  if (slot >= slots_.size()) {
    return absl::InvalidArgumentError(absl::StrCat("slot ", slot, " was staged; the program has ",
                                                   slots_.size(), ", numbered from 0"));
  }
  const SlotSpec& spec = slots_[slot];
  if (spec.fill != nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(
        NameOf(slot), " was staged ", what, "; kernels of its program fill it (SlotSpec::fill)"));
  }
  if ((staged_ >> slot & 1) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(NameOf(slot), " was staged twice in one step; the first time stands"));
  }
  const int64_t room = plan_->slots[slot].rows;
  if (rows < 0 || rows > room) {
    return absl::InvalidArgumentError(absl::StrCat(
        NameOf(slot), " was staged with ", RowsInWords(rows), " ", what, "; this step's shape has ",
        RowsInWords(room), " of it, the slot at most ", GreatestRows(spec)));
  }
  if (!IsKnown(type, DType::kF64)) {
    return absl::InvalidArgumentError(
        absl::StrCat(NameOf(slot), " was staged with ", NotKnown("type", type), " ", what));
  }
  if (!unpack::Converts(static_cast<uint8_t>(type), static_cast<uint8_t>(spec.type))) {
    return absl::InvalidArgumentError(absl::StrCat(NameOf(slot), " of ", DTypeName(spec.type),
                                                   " was staged with ", DTypeName(type), " ", what,
                                                   "; one does not become the other"));
  }
  constexpr int64_t kMost = std::numeric_limits<uint32_t>::max();
  if (row_stride < 0 || row_stride > kMost || piece_stride < 0 || piece_stride > kMost) {
    return absl::InvalidArgumentError(absl::StrCat(NameOf(slot), " was staged with a stride of ",
                                                   row_stride, " between rows and ", piece_stride,
                                                   " between pieces; both are from 0 to ", kMost));
  }
  return absl::OkStatus();
}

absl::Status StepBlock::StageOthers(SlotId slot, const HostRows& rows) {
  GRAPHTREE_RETURN_IF_ERROR(
      Check(slot, rows.rows, rows.type, rows.row_stride, rows.piece_stride, "from the host"));
  const SlotSpec& spec = slots_[slot];
  const unpack::Slot& at = plan_->slots[slot];
  if (rows.data == nullptr && rows.rows > 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        NameOf(slot), " was staged with ", RowsInWords(rows.rows), " from the host at no address"));
  }
  const uint32_t to_size = BytesOf(spec.type);
  const uint64_t from_size = BytesOf(rows.type);
  const int64_t row = at.row_elements;
  const int64_t row_stride = rows.row_stride == 0 ? row : rows.row_stride;
  const int64_t piece_stride = rows.piece_stride == 0 ? row_stride * rows.rows : rows.piece_stride;
  const uint64_t piece_bytes = uint64_t{at.piece_units} * unpack::kUnitBytes;
  uint8_t* const payload = memory_ + uint64_t{at.payload_unit} * unpack::kUnitBytes;
  // Rows without gaps are one run of elements.
  const bool is_dense = IsDenseStride(row_stride, row);
  const int64_t runs = is_dense ? 1 : rows.rows;
  const int64_t run = is_dense ? row * rows.rows : row;
  for (uint32_t piece = 0; piece < at.pieces && rows.rows > 0; ++piece) {
    const uint8_t* from = static_cast<const uint8_t*>(rows.data) + piece * piece_stride * from_size;
    uint8_t* to = payload + piece * piece_bytes;
    for (int64_t i = 0; i < runs; ++i, from += row_stride * from_size, to += run * to_size) {
      const int64_t wrong = ConvertRun(from, rows.type, to, spec.type, run);
      if (wrong == kAllConverted) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          NameOf(slot), " of ", DTypeName(spec.type), " was staged with ",
          WholeAt(from, rows.type, wrong), ", which it cannot hold, in row ",
          (i * run + wrong) / row, at.pieces == 1 ? "" : absl::StrCat(" of piece ", piece)));
    }
  }
  Put(slot, unpack::Kind::kPayload, static_cast<uint32_t>(rows.rows));
  return absl::OkStatus();
}

absl::Status StepBlock::CheckReach(SlotId slot, const DeviceRows& rows, int64_t row_stride,
                                  int64_t piece_stride) const {
  if (rows.rows == 0) return absl::OkStatus();
  const unpack::Slot& at = plan_->slots[slot];
  absl::uint128 elements = at.row_elements;
  elements += absl::uint128(at.pieces - 1) * absl::uint128(piece_stride);
  elements += absl::uint128(rows.rows - 1) * absl::uint128(row_stride);
  const absl::uint128 end = absl::uint128(rows.address) + elements * BytesOf(rows.type);
  if (end <= std::numeric_limits<Address>::max()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(NameOf(slot), " was staged with ", RowsInWords(rows.rows), " of ",
                   DTypeName(rows.type), " at the device address 0x", absl::Hex(rows.address),
                   ", with strides of ", row_stride, " and ", piece_stride,
                   " elements: they end beyond the last address"));
}

absl::Status StepBlock::Stage(SlotId slot, const DeviceRows& rows) {
  GRAPHTREE_RETURN_IF_ERROR(
      Check(slot, rows.rows, rows.type, rows.row_stride, rows.piece_stride, "from the device"));
  const unpack::Slot& at = plan_->slots[slot];
  if (rows.address == 0 && rows.rows > 0) {
    return absl::InvalidArgumentError(absl::StrCat(NameOf(slot), " was staged with ",
                                                   RowsInWords(rows.rows),
                                                   " from the device at no address"));
  }
  if (rows.address % BytesOf(rows.type) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(NameOf(slot), " was staged with ", RowsInWords(rows.rows), " of ",
                     DTypeName(rows.type), " at the device address 0x", absl::Hex(rows.address),
                     ", which is not a multiple of the type's ", BytesOf(rows.type), " bytes"));
  }
  const int64_t row_stride = rows.row_stride == 0 ? at.row_elements : rows.row_stride;
  int64_t piece_stride = rows.piece_stride == 0 ? row_stride * rows.rows : rows.piece_stride;
  if (at.pieces == 1) piece_stride = 0;  // nothing lies behind the only piece, however long that is
  if (piece_stride > std::numeric_limits<uint32_t>::max()) {
    return absl::InvalidArgumentError(
        absl::StrCat(NameOf(slot), " was staged with ", piece_stride,
                     " elements from piece to piece; there may be at most ", uint32_t{0xffffffff}));
  }
  GRAPHTREE_RETURN_IF_ERROR(CheckReach(slot, rows, row_stride, piece_stride));
  unpack::Staged& staged = Put(slot, unpack::Kind::kDevice, static_cast<uint32_t>(rows.rows));
  staged.source = rows.address;
  staged.type = static_cast<uint8_t>(rows.type);
  staged.row_stride = static_cast<uint32_t>(row_stride);
  staged.piece_stride = static_cast<uint32_t>(piece_stride);
  return absl::OkStatus();
}

absl::Status StepBlock::Stage(SlotId slot, double value) {
  if (slot >= slots_.size()) return Check(slot, 0, DType::kI32, 0, 0, "as a value");
  const SlotSpec& spec = slots_[slot];
  GRAPHTREE_RETURN_IF_ERROR(Check(slot, 0, spec.type, 0, 0, "as a value"));
  if (!CanBe(spec.type, value)) {
    return absl::InvalidArgumentError(absl::StrCat(NameOf(slot), " of ", DTypeName(spec.type),
                                                   " was staged with ", ExactText(value),
                                                   ", which it cannot hold"));
  }
  unpack::Staged& staged = Put(slot, unpack::Kind::kValue, plan_->slots[slot].rows);
  staged.source = BitsOf(spec.type, value);
  return absl::OkStatus();
}

absl::StatusOr<uint8_t*> StepBlock::Buffer(SlotId slot, int64_t rows) {
  const DType type = slot < slots_.size() ? slots_[slot].type : DType::kI32;
  GRAPHTREE_RETURN_IF_ERROR(Check(slot, rows, type, 0, 0, "in place"));
  if (plan_->slots[slot].pieces != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        NameOf(slot), " was to be written in place; its rows lie in ", plan_->slots[slot].pieces,
        " pieces along axis ", slots_[slot].axis, ", so they can only be staged from elsewhere"));
  }
  Put(slot, unpack::Kind::kPayload, static_cast<uint32_t>(rows));
  return memory_ + plan_->places[slot].payload_bytes;
}

void StepBlock::StagePadding() {
  for (SlotId slot = 0; slot < slots_.size(); ++slot) {
    if (((staged_ | ~plan_->needed) >> slot & 1) != 0) continue;
    const unpack::Slot& at = plan_->slots[slot];
    const bool is_zero = at.tail == unpack::Tail::kLastRow ||
                         (at.tail == unpack::Tail::kKeep && IsPlanted(RuntimeBug::kZeroesKept));
    Put(slot, unpack::Kind::kValue, is_zero ? at.rows : 0).source = 0;
  }
}

absl::Status StepBlock::Finish() {
  if (const uint32_t missing = plan_->needed & ~staged_; missing != 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        NameOf(static_cast<SlotId>(std::countr_zero(missing))),
        " was not staged, and the program does not say that it may be left out"));
  }
  const uint64_t all = (uint64_t{1} << slots_.size()) - 1;
  for (uint64_t left_out = all & ~uint64_t{staged_}; left_out != 0; left_out &= left_out - 1) {
    if (IsPlanted(RuntimeBug::kForgetsLeftOut)) break;
    rows_[std::countr_zero(left_out)].kind = unpack::Kind::kNothing;
  }
  if (slots_.empty()) return absl::OkStatus();
  std::memcpy(memory_, rows_.data(), slots_.size() * sizeof(unpack::Staged));
  EndCopies();
  return absl::OkStatus();
}

}  // namespace graphtree
