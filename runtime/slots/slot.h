// A slot is a tensor that the body of a program reads and that the server fills before each step.
// It lies at one address for as long as its program lives, so a graph may point to it.
//
//   {.name = "ids", .type = DType::kI32, .sizes = {256}, .rows = KeyField::kTokens}
//
//   a step of 5 tokens, on a shape of 8          [ 7  3  9  1  4 | 0  0  0 ]  . . . . up to 256
//                                                  staged          padded     not seen by the body
//
// The body sees the slot as large as the shape is: the axis `axis` has so many rows as the shape's
// key says in the field `rows`, plus `extra_rows`. Without such a field a slot has the same size in
// every shape. Rows that were not staged are padded:
//
//   kZero        zeros
//   kValue       `pad_value` in every element
//   kLastRow     what the last staged row has (offsets of requests that are not there); what was
//                there before, if no row was staged
//   kKeep        what was there before
//   kFillOnce    `pad_value`, once, when the slot is made; kept after that
//
// Runtime::Record runs bodies on padding alone. Where a slot says where a body writes, a pad value
// that stands for nowhere keeps the caller's memory as it is.
//
// A slot with `fill` is never staged: kernels of the caller's compute it in every step, from
// nothing but the key or from slots that stand before it. They are recorded, after the data of the
// step came in and before `prepare`.
#ifndef GRAPHTREE_RUNTIME_SLOTS_SLOT_H_
#define GRAPHTREE_RUNTIME_SLOTS_SLOT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "graphs/launcher.h"
#include "graphs/layout.h"
#include "graphs/tensor.h"
#include "runtime/shapes/key.h"

namespace graphtree {

// The number of a slot among its program's, in their order.
using SlotId = uint32_t;

enum class PadRule : uint8_t { kZero, kValue, kLastRow, kKeep, kFillOnce };
// "zero", "value", ...
const char* PadRuleName(PadRule rule);

// Launches the kernels that compute `slot`, which is as large as the padded key says.
using SlotFill = std::function<void(Launcher& on, const Key& key, const Tensor& slot)>;

struct SlotSpec {
  std::string name;
  DType type = DType::kI32;
  // The greatest that any shape has. A slot without sizes is one element.
  std::vector<int64_t> sizes = {};
  std::optional<KeyField> rows = std::nullopt;
  int64_t extra_rows = 0;
  uint32_t axis = 0;
  PadRule pad = PadRule::kZero;
  // Rounded to the slot's type; one of whole numbers must hold it exactly.
  double pad_value = 0;
  // A step that does not stage the slot keeps what an earlier one has staged. False: that is an
  // error.
  bool may_be_left_out = false;
  SlotFill fill = {};
};

// A program may have so many slots.
constexpr size_t kMostSlots = 32;
// Each starts at a multiple of this; kernels of the caller's like wide accesses.
constexpr uint64_t kSlotAlignment = 256;
// All of them together, each rounded up to the alignment, have less than so many bytes.
constexpr uint64_t kSlotBytesEnd = uint64_t{64} << 30;

// OK, or what is wrong, with the slot's name.
absl::Status CheckSlots(absl::Span<const SlotSpec> slots);

// How many rows the slot has where a key is padded to `key`. REQUIRES: CheckFits(slot, key).
int64_t RowsOf(const SlotSpec& slot, const Key& key);
// Of the sizes before the axis, and after it, the product.
int64_t PiecesOf(const SlotSpec& slot);
int64_t RowElementsOf(const SlotSpec& slot);
// The greatest number of rows.
inline int64_t GreatestRows(const SlotSpec& slot) {
  return slot.sizes.empty() ? 1 : slot.sizes[slot.axis];
}

// Of the whole slot, in elements of its type one after another.
uint64_t GreatestBytes(const SlotSpec& slot);

// OK, or that the key wants more rows than the slot has, or says no number of rows because its
// field is any.
absl::Status CheckFits(const SlotSpec& slot, const Key& key);

// The bits of `pad_value` in the slot's type.
uint64_t PadBits(const SlotSpec& slot);

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_SLOTS_SLOT_H_
