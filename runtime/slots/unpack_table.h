// What the unpack op does: it brings everything that was staged for a step from one block of
// page-locked host memory into the program's slots. It is the first op of a program's graph, and
// finds the step's block by itself (block_cursor.h), so a step patches nothing.
//
//   one block of the ring            the op's own table                the slots, device memory
//   +-------------------+            +----------------------+
//   | Staged, slot 0    |   rows,    | Slot 0: target, rows |   --->   [ids  . . . . | pad pad ]
//   | Staged, slot 1    |   source   | Slot 1: target, rows |   --->   [lens . . | pad         ]
//   +-------------------+            +----------------------+
//   | payload of slot 0 |   what is the same in every          what changes from step to step is in
//   | payload of slot 1 |   step is in the table, which        the block: how many rows came, and
//   +-------------------+   the recording keeps                from where
//
// A slot's rows lie along one of its axes. Before that axis are `pieces`, after it `row_elements`:
//
//   i32[3, 256] along axis 1:   pieces 3, greatest_rows 256, row_elements 1
//   f16[256, 8] along axis 0:   pieces 1, greatest_rows 256, row_elements 8
//
// One thread takes a unit: 16 bytes of a piece's padded rows. The read of the payload does not wait
// for that of the Staged record, so a step pays for one trip over the bus and not for two.
//
// Both bodies are made of this: the CUDA body calls UnpackThread once in every thread, the host
// body once for every block with a single thread that does the whole block's work.
#ifndef GRAPHTREE_RUNTIME_SLOTS_UNPACK_TABLE_H_
#define GRAPHTREE_RUNTIME_SLOTS_UNPACK_TABLE_H_

#include <cstdint>
#include <cstring>

#include "device/base/host_device.h"
#include "runtime/slots/block_cursor.h"
#include "runtime/slots/element.h"

namespace graphtree::unpack {

constexpr uint32_t kThreads = 256;

enum class Kind : uint8_t {
  kNothing,  // the slot keeps what it has
  kPayload,  // from the block, in the slot's own type
  kDevice,   // from device memory, in any type that converts to the slot's
  kValue,    // every row is one value
};

enum class Tail : uint8_t { kKeep, kValue, kLastRow };

// The same in every step.
struct Slot {
  uint32_t target_unit = 0;   // where in the arena, in units
  uint32_t payload_unit = 0;  // where in the block, in units
  uint32_t rows = 0;          // padded
  uint32_t greatest_rows = 0;
  uint32_t row_elements = 0;
  uint32_t pieces = 0;
  uint32_t first_block = 0;  // of the launch's blocks
  uint8_t type = 0;          // Element
  Tail tail = Tail::kKeep;
  uint16_t unused = 0;
};
static_assert(sizeof(Slot) == 32, "the table is an argument of the op");

// Another one in every step.
struct Staged {
  uint64_t source = 0;     // an address of kDevice; the bits of kValue
  uint64_t tail_bits = 0;  // of Tail::kValue
  uint32_t rows = 0;       // that came
  Kind kind = Kind::kNothing;
  uint8_t type = 0;  // of kDevice
  uint16_t unused = 0;
  uint32_t row_stride = 0;    // of kDevice, in elements
  uint32_t piece_stride = 0;  // likewise
};
static_assert(sizeof(Staged) == 32, "read as four words");

template <uint32_t kSlots>
struct Table {
  Ring ring;
  uint32_t count = 0;
  uint32_t unused = 0;
  Slot slots[kSlots];
};

GRAPHTREE_HOST_DEVICE inline uint32_t UnitsOf(uint64_t bytes) {
  return static_cast<uint32_t>((bytes + kUnitBytes - 1) / kUnitBytes);
}
GRAPHTREE_HOST_DEVICE inline uint32_t UnitsOfPiece(const Slot& slot) {
  return UnitsOf(static_cast<uint64_t>(slot.rows) * slot.row_elements * SizeOf(slot.type));
}
GRAPHTREE_HOST_DEVICE inline uint32_t BlocksOf(const Slot& slot) {
  return (UnitsOfPiece(slot) * slot.pieces + kThreads - 1) / kThreads;
}

struct Unit {
  uint64_t words[2];
};

// One access of 16 bytes, where it stands in the program: a payload is asked for before the record
// that says whether there is one. Not a volatile read: those go over the bus thread by thread and
// one behind the other, and take ten times as long as all else in the op.
GRAPHTREE_HOST_DEVICE inline Unit ReadUnit(const uint8_t* at) {
  Unit unit;
#ifdef __CUDA_ARCH__
  asm volatile("ld.global.v2.u64 {%0, %1}, [%2];"
               : "=l"(unit.words[0]), "=l"(unit.words[1])
               : "l"(at));
#else
  memcpy(&unit, at, sizeof(unit));
#endif
  return unit;
}

GRAPHTREE_HOST_DEVICE inline Staged ReadStaged(const uint8_t* block, uint32_t index) {
  const uint8_t* const at = block + index * sizeof(Staged);
  const Unit halves[2] = {ReadUnit(at), ReadUnit(at + sizeof(Unit))};
  Staged staged;
  memcpy(&staged, halves, sizeof(staged));
  return staged;
}

GRAPHTREE_HOST_DEVICE inline uint64_t ElementOf(const Unit& unit, uint32_t index, uint32_t size) {
  const uint32_t bit = index * size * 8;
  const uint64_t word = unit.words[bit / 64] >> (bit % 64);
  return size == 8 ? word : word & ((uint64_t{1} << (size * 8)) - 1);
}

// The element (row, column) of a piece that comes from device memory.
GRAPHTREE_HOST_DEVICE inline uint64_t FromDevice(const Slot& slot, const Staged& staged,
                                                 uint32_t piece, uint32_t row, uint32_t column) {
  const uint64_t index = static_cast<uint64_t>(piece) * staged.piece_stride +
                         static_cast<uint64_t>(row) * staged.row_stride + column;
  const uint32_t size = SizeOf(staged.type);
  const uint8_t* const at = reinterpret_cast<const uint8_t*>(staged.source) + index * size;
  return Converted(ReadElement(at, size), staged.type, slot.type);
}

// The element of the last row that came, in the column of the one to be padded.
GRAPHTREE_HOST_DEVICE inline uint64_t FromLastRow(const Slot& slot, const Staged& staged,
                                                  const uint8_t* payload, uint32_t piece,
                                                  uint32_t column) {
  if (staged.kind == Kind::kValue) return staged.source;
  if (staged.kind == Kind::kDevice) {
    return FromDevice(slot, staged, piece, staged.rows - 1, column);
  }
  const uint32_t size = SizeOf(slot.type);
  const uint64_t index = static_cast<uint64_t>(staged.rows - 1) * slot.row_elements + column;
  return ReadElement(payload + index * size, size);
}

GRAPHTREE_HOST_DEVICE inline void UnpackUnit(const Slot& slot, uint32_t index, uint32_t unit,
                                             const uint8_t* block, uint8_t* arena) {
  const uint32_t piece_units = UnitsOfPiece(slot);
  const uint32_t piece = unit / piece_units;
  const uint32_t at = unit % piece_units;
  const uint8_t* const payload =
      block + (static_cast<uint64_t>(slot.payload_unit) + piece * piece_units) * kUnitBytes;
  const Staged staged = ReadStaged(block, index);
  const Unit read = ReadUnit(payload + static_cast<uint64_t>(at) * kUnitBytes);
  if (staged.kind == Kind::kNothing) return;

  const uint32_t size = SizeOf(slot.type);
  const uint32_t in_unit = kUnitBytes / size;
  const uint64_t piece_elements = static_cast<uint64_t>(slot.greatest_rows) * slot.row_elements;
  const uint64_t came = static_cast<uint64_t>(staged.rows) * slot.row_elements;
  const uint64_t padded = static_cast<uint64_t>(slot.rows) * slot.row_elements;
  const uint64_t first = static_cast<uint64_t>(at) * in_unit;
  uint8_t* const target = arena + static_cast<uint64_t>(slot.target_unit) * kUnitBytes +
                          (piece * piece_elements + first) * size;
  const bool is_whole = first + in_unit <= came;
  if (is_whole && staged.kind == Kind::kPayload &&
      reinterpret_cast<uint64_t>(target) % kUnitBytes == 0) {
    uint64_t* const words = reinterpret_cast<uint64_t*>(target);
    words[0] = read.words[0];
    words[1] = read.words[1];
    return;
  }
  for (uint32_t i = 0; i < in_unit && first + i < padded; ++i) {
    const uint64_t element = first + i;
    const uint32_t row = static_cast<uint32_t>(element / slot.row_elements);
    const uint32_t column = static_cast<uint32_t>(element % slot.row_elements);
    uint64_t bits;
    if (element < came) {
      bits = staged.kind == Kind::kPayload  ? ElementOf(read, i, size)
             : staged.kind == Kind::kDevice ? FromDevice(slot, staged, piece, row, column)
                                            : staged.source;
    } else if (slot.tail == Tail::kKeep || (slot.tail == Tail::kLastRow && staged.rows == 0)) {
      return;
    } else {
      bits = slot.tail == Tail::kValue ? staged.tail_bits
                                       : FromLastRow(slot, staged, payload, piece, column);
    }
    WriteElement(target + i * size, bits, size);
  }
}

// What one thread of `threads` does for a block of the launch.
GRAPHTREE_HOST_DEVICE inline void UnpackThread(const Slot* slots, uint32_t count,
                                               const uint8_t* block, uint8_t* arena,
                                               uint32_t launch_block, uint32_t thread,
                                               uint32_t threads) {
  uint32_t index = 0;
  while (index + 1 < count && slots[index + 1].first_block <= launch_block) ++index;
  const Slot& slot = slots[index];
  const uint32_t first = (launch_block - slot.first_block) * kThreads;
  const uint32_t units = UnitsOfPiece(slot) * slot.pieces;
  for (uint32_t i = thread; i < kThreads && first + i < units; i += threads) {
    UnpackUnit(slot, index, first + i, block, arena);
  }
}

}  // namespace graphtree::unpack

#endif  // GRAPHTREE_RUNTIME_SLOTS_UNPACK_TABLE_H_
