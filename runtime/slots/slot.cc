// Checks what a program says about its slots.
#include "runtime/slots/slot.h"

#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "runtime/slots/convert_rows.h"

namespace graphtree {
namespace {

// What a slot of one of these types can hold is bounded by fields of the unpack op.
constexpr int64_t kMostRows = int64_t{1} << 31;

bool IsOneRow(const SlotSpec& slot) { return !slot.rows.has_value(); }

std::string Named(const SlotSpec& slot) { return absl::StrCat("slot '", slot.name, "'"); }

absl::Status CheckAxisOf(const SlotSpec& slot) {
  const size_t axes = slot.sizes.size();
  if (IsOneRow(slot)) {
    if (slot.axis == 0) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(Named(slot), " names axis ", slot.axis,
                     " for its rows, and no field of the key says how many rows it has"));
  }
  if (*slot.rows == KeyField::kExtra) {
    return absl::InvalidArgumentError(
        absl::StrCat(Named(slot), " has as many rows as the key's field ", KeyFieldName(*slot.rows),
                     " says, which is no number of anything"));
  }
  if (slot.axis < axes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      Named(slot), " has its rows along axis ", slot.axis, "; it has ",
      axes == 0 ? "no axes"
                : absl::StrCat(axes, axes == 1 ? " axis" : " axes", ", numbered from 0")));
}

absl::Status CheckSizesOf(const SlotSpec& slot) {
  for (int64_t size : slot.sizes) {
    if (size > 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(Named(slot), " has a dimension of ", size, "; all of them are at least 1"));
  }
  const absl::Status possible = CheckSizes(slot.type, slot.sizes);
  if (!possible.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(Named(slot), ": ", possible.message()));
  }
  GRAPHTREE_RETURN_IF_ERROR(CheckAxisOf(slot));
  if (RowElementsOf(slot) >= kMostRows || PiecesOf(slot) >= kMostRows ||
      GreatestRows(slot) >= kMostRows) {
    return absl::InvalidArgumentError(
        absl::StrCat(Named(slot),
                     " is too large; rows, elements of a row, and what lies before "
                     "the rows' axis are each less than 2^31"));
  }
  return absl::OkStatus();
}

// Numbers that are no value of their enum, as a caller in another language may pass them.
absl::Status CheckEnumsOf(const SlotSpec& slot) {
  const auto refused = [&](absl::string_view what, auto number) {
    return absl::InvalidArgumentError(
        absl::StrCat(Named(slot), " has ", what, " ", static_cast<int>(number),
                     ", and there is none with that number"));
  };
  if (slot.type > DType::kF64) return refused("type", slot.type);
  if (slot.pad > PadRule::kFillOnce) return refused("padding rule", slot.pad);
  if (slot.rows > KeyField::kExtra) return refused("rows by field", *slot.rows);
  return absl::OkStatus();
}

absl::Status CheckSlot(const SlotSpec& slot) {
  if (slot.name.empty()) return absl::InvalidArgumentError("a slot has no name");
  GRAPHTREE_RETURN_IF_ERROR(CheckEnumsOf(slot));
  GRAPHTREE_RETURN_IF_ERROR(CheckSizesOf(slot));
  if (slot.extra_rows < 0 || (IsOneRow(slot) && slot.extra_rows != 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat(Named(slot), " has ", slot.extra_rows, " extra rows",
                     IsOneRow(slot) ? ", and no field of the key says how many rows it has"
                                    : "; the number is at least 0"));
  }
  if (slot.extra_rows > GreatestRows(slot)) {
    return absl::InvalidArgumentError(absl::StrCat(Named(slot), " has ", slot.extra_rows,
                                                   " extra rows, and at most ", GreatestRows(slot),
                                                   " rows altogether"));
  }
  if (!CanBe(slot.type, slot.pad_value)) {
    return absl::InvalidArgumentError(absl::StrCat(Named(slot), " is padded with ",
                                                   ExactText(slot.pad_value), ", which ",
                                                   DTypeName(slot.type), " cannot hold"));
  }
  return absl::OkStatus();
}

}  // namespace

const char* PadRuleName(PadRule rule) {
  switch (rule) {
    case PadRule::kZero:
      return "zero";
    case PadRule::kValue:
      return "value";
    case PadRule::kLastRow:
      return "last_row";
    case PadRule::kKeep:
      return "keep";
    case PadRule::kFillOnce:
      return "fill_once";
  }
  return "unknown";
}

absl::Status CheckSlots(absl::Span<const SlotSpec> slots) {
  if (slots.size() > kMostSlots) {
    return absl::InvalidArgumentError(
        absl::StrCat("a program has ", slots.size(), " slots; it may have at most ", kMostSlots));
  }
  absl::flat_hash_set<std::string> names;
  uint64_t before = 0;  // bytes; never so many that one more slot could overflow
  for (const SlotSpec& slot : slots) {
    GRAPHTREE_RETURN_IF_ERROR(CheckSlot(slot));
    if (!names.insert(slot.name).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("two slots of one program are named '", slot.name, "'"));
    }
    const uint64_t bytes = GreatestBytes(slot);
    const uint64_t room = (bytes + kSlotAlignment - 1) / kSlotAlignment * kSlotAlignment;
    if (before + room >= kSlotBytesEnd) {
      return absl::InvalidArgumentError(absl::StrCat(
          Named(slot), " takes ", bytes, " bytes",
          before == 0 ? "" : absl::StrCat(" after the ", before, " of the slots before"),
          "; all slots of a program take less than ", kSlotBytesEnd, " (64 GiB)"));
    }
    before += room;
  }
  return absl::OkStatus();
}

int64_t RowsOf(const SlotSpec& slot, const Key& key) {
  if (IsOneRow(slot)) return GreatestRows(slot);
  return int64_t{NumberOf(key, *slot.rows)} + slot.extra_rows;
}

int64_t PiecesOf(const SlotSpec& slot) {
  int64_t pieces = 1;
  for (uint32_t i = 0; i < slot.axis; ++i) pieces *= slot.sizes[i];
  return pieces;
}

int64_t RowElementsOf(const SlotSpec& slot) {
  int64_t elements = 1;
  for (size_t i = slot.axis + 1; i < slot.sizes.size(); ++i) elements *= slot.sizes[i];
  return elements;
}

uint64_t GreatestBytes(const SlotSpec& slot) {
  return static_cast<uint64_t>(PiecesOf(slot)) * static_cast<uint64_t>(GreatestRows(slot)) *
         static_cast<uint64_t>(RowElementsOf(slot)) * BytesOf(slot.type);
}

absl::Status CheckFits(const SlotSpec& slot, const Key& key) {
  if (!IsOneRow(slot) && IsAny(key, *slot.rows)) {
    return absl::InvalidArgumentError(absl::StrCat(Named(slot), " has as many rows as ",
                                                   KeyFieldName(*slot.rows), " says, and ",
                                                   ToString(key), " says no number"));
  }
  const int64_t rows = RowsOf(slot, key);
  if (rows >= 0 && rows <= GreatestRows(slot)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(Named(slot), " has at most ", GreatestRows(slot),
                                                 " rows, and ", rows, " are wanted for ",
                                                 ToString(key)));
}

uint64_t PadBits(const SlotSpec& slot) {
  return slot.pad == PadRule::kZero ? 0 : BitsOf(slot.type, slot.pad_value);
}

}  // namespace graphtree
