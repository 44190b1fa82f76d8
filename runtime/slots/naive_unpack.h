// What a step does to the slots, element by element and for tests: nothing of it knows blocks,
// units or threads.
#ifndef GRAPHTREE_RUNTIME_SLOTS_NAIVE_UNPACK_H_
#define GRAPHTREE_RUNTIME_SLOTS_NAIVE_UNPACK_H_

#include <cstdint>
#include <cstring>

#include "graphs/layout.h"
#include "runtime/slots/convert_rows.h"
#include "runtime/slots/element.h"
#include "runtime/slots/slot.h"

namespace graphtree {

// What one step stages for one slot: nothing, a value, or rows that lie somewhere.
struct NaiveStaged {
  enum { kNothing, kValue, kRows } kind = kNothing;
  double value = 0;
  const uint8_t* data = nullptr;
  DType type = DType::kU8;
  int64_t rows = 0;
  int64_t row_stride = 0;    // in elements; never left to a default
  int64_t piece_stride = 0;  // likewise
};

// Brings `staged` into the slot of a shape with `rows` rows. `slot` points to its first byte.
inline void UnpackNaively(const SlotSpec& spec, int64_t rows, const NaiveStaged& staged,
                          uint8_t* slot) {
  if (staged.kind == NaiveStaged::kNothing) return;
  int64_t pieces = 1;
  int64_t columns = 1;
  for (size_t i = 0; i < spec.sizes.size(); ++i) {
    if (i < spec.axis) pieces *= spec.sizes[i];
    if (i > spec.axis) columns *= spec.sizes[i];
  }
  const int64_t greatest = spec.sizes.empty() ? 1 : spec.sizes[spec.axis];
  const uint32_t size = BytesOf(spec.type);
  const auto put = [&](int64_t piece, int64_t row, int64_t column, uint64_t bits) {
    std::memcpy(slot + ((piece * greatest + row) * columns + column) * size, &bits, size);
  };
  const auto came = [&](int64_t piece, int64_t row, int64_t column) {
    const int64_t index = piece * staged.piece_stride + row * staged.row_stride + column;
    uint64_t bits = 0;
    std::memcpy(&bits, staged.data + index * BytesOf(staged.type), BytesOf(staged.type));
    return unpack::Converted(bits, static_cast<uint8_t>(staged.type),
                             static_cast<uint8_t>(spec.type));
  };
  const bool keeps = spec.pad == PadRule::kKeep || spec.pad == PadRule::kFillOnce;
  for (int64_t piece = 0; piece < pieces; ++piece) {
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t column = 0; column < columns; ++column) {
        if (staged.kind == NaiveStaged::kValue) {
          put(piece, row, column, BitsOf(spec.type, staged.value));
        } else if (row < staged.rows) {
          put(piece, row, column, came(piece, row, column));
        } else if (spec.pad == PadRule::kZero) {
          put(piece, row, column, 0);
        } else if (spec.pad == PadRule::kValue) {
          put(piece, row, column, BitsOf(spec.type, spec.pad_value));
        } else if (spec.pad == PadRule::kLastRow && staged.rows > 0) {
          put(piece, row, column, came(piece, staged.rows - 1, column));
        } else if (spec.pad == PadRule::kLastRow || keeps) {
          continue;  // what was there before
        }
      }
    }
  }
}

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_SLOTS_NAIVE_UNPACK_H_
