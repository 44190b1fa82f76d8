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
// One thread takes a unit: 16 bytes of a piece's padded rows. Units are numbered as they lie in the
// block, slot after slot, so one block of threads takes many small slots, and a thread reads its
// payload before it knows the slot. Nor does that read wait for the Staged record's, so a step pays
// for one trip over the bus and not for two. A unit is put together in registers and written at
// once; nothing is divided on the way of what servers stage.
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

constexpr uint32_t kThreads = 256;  // of a block that unpack
constexpr uint32_t kLaunchThreads = kThreads + 32;  // with those that see to the cursor

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
  uint32_t payload_unit = 0;  // where in the block, in units: where the last slot's payload ends
  uint32_t rows = 0;          // padded
  uint32_t greatest_rows = 0;
  uint32_t row_elements = 0;
  uint32_t pieces = 0;
  uint32_t piece_units = 0;
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
// The first unit behind the Staged records, and behind all payloads.
GRAPHTREE_HOST_DEVICE inline uint32_t FirstPayload(uint32_t slots) {
  return slots * static_cast<uint32_t>(sizeof(Staged) / kUnitBytes);
}
GRAPHTREE_HOST_DEVICE inline uint32_t EndOfPayloads(const Slot* slots, uint32_t count) {
  const Slot& last = slots[count - 1];
  return last.payload_unit + last.piece_units * last.pieces;
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

GRAPHTREE_HOST_DEVICE inline uint64_t MaskOf(uint32_t bytes) {
  return bytes >= 8 ? ~uint64_t{0} : (uint64_t{1} << (bytes * 8)) - 1;
}

// A unit of one element over and over.
GRAPHTREE_HOST_DEVICE inline Unit Repeated(uint64_t bits, uint32_t size) {
  bits &= MaskOf(size);
  if (size <= 1) bits |= bits << 8;
  if (size <= 2) bits |= bits << 16;
  if (size <= 4) bits |= bits << 32;
  return {{bits, bits}};
}

// The first `bytes` of one unit and the rest of another.
GRAPHTREE_HOST_DEVICE inline Unit Joined(const Unit& head, const Unit& rest, uint32_t bytes) {
  const uint64_t masks[2] = {MaskOf(bytes), bytes <= 8 ? 0 : MaskOf(bytes - 8)};
  return {{(head.words[0] & masks[0]) | (rest.words[0] & ~masks[0]),
           (head.words[1] & masks[1]) | (rest.words[1] & ~masks[1])}};
}

// REQUIRES: the bits of the element are zeros in the unit.
GRAPHTREE_HOST_DEVICE inline void AddElement(Unit* unit, uint32_t index, uint64_t bits,
                                             uint32_t size) {
  const uint32_t bit = index * size * 8;
  const uint64_t word = (bits & MaskOf(size)) << (bit % 64);
  unit->words[0] |= bit < 64 ? word : 0;
  unit->words[1] |= bit < 64 ? 0 : word;
}

GRAPHTREE_HOST_DEVICE inline uint64_t ElementOf(const Unit& unit, uint32_t index, uint32_t size) {
  const uint32_t bit = index * size * 8;
  const uint64_t word = bit < 64 ? unit.words[0] : unit.words[1];
  return (word >> (bit % 64)) & MaskOf(size);
}

// The first `count` elements of the unit. `target` is a multiple of the size.
GRAPHTREE_HOST_DEVICE inline void WriteUnit(uint8_t* target, const Unit& unit, uint32_t count,
                                            uint32_t size) {
  if (count * size == kUnitBytes && reinterpret_cast<uint64_t>(target) % kUnitBytes == 0) {
    uint64_t* const words = reinterpret_cast<uint64_t*>(target);
    words[0] = unit.words[0];
    words[1] = unit.words[1];
    return;
  }
  for (uint32_t i = 0; i < count; ++i) {
    WriteElement(target + i * size, ElementOf(unit, i, size), size);
  }
}

// Elements in the caller's memory from (row, column) of a piece on.
struct DeviceWalk {
  const uint8_t* row_at;
  uint64_t row_bytes;  // from row to row
  uint32_t column;
  uint32_t columns;
  uint32_t size;

  GRAPHTREE_HOST_DEVICE DeviceWalk(const Slot& slot, const Staged& staged, uint32_t piece,
                                   uint64_t row, uint32_t first_column)
      : column(first_column), columns(slot.row_elements), size(SizeOf(staged.type)) {
    row_bytes = static_cast<uint64_t>(staged.row_stride) * size;
    row_at = reinterpret_cast<const uint8_t*>(staged.source) +
             static_cast<uint64_t>(piece) * staged.piece_stride * size + row * row_bytes;
  }
  GRAPHTREE_HOST_DEVICE uint64_t Next() {
    const uint64_t bits = ReadElement(row_at + static_cast<uint64_t>(column) * size, size);
    if (++column == columns) {
      column = 0;
      row_at += row_bytes;
    }
    return bits;
  }
};

// The `count` elements of a piece from `first` on, of what lies in device memory.
GRAPHTREE_HOST_DEVICE inline Unit FromDevice(const Slot& slot, const Staged& staged, uint32_t piece,
                                             uint64_t first, uint32_t count) {
  const uint32_t size = SizeOf(slot.type);
  const bool is_dense = staged.row_stride == slot.row_elements;
  if (is_dense && staged.type == slot.type && count * size == kUnitBytes) {
    const uint8_t* const at =
        reinterpret_cast<const uint8_t*>(staged.source) +
        (static_cast<uint64_t>(piece) * staged.piece_stride + first) * size;
    if (reinterpret_cast<uint64_t>(at) % kUnitBytes == 0) return ReadUnit(at);
  }
  const bool is_narrow = slot.row_elements == 1;
  const uint64_t row = is_narrow ? first : first / slot.row_elements;
  const uint32_t column = is_narrow ? 0 : static_cast<uint32_t>(first % slot.row_elements);
  DeviceWalk walk(slot, staged, piece, row, column);
  Unit made = {{0, 0}};
  // Four reads are under way before the first is used.
  constexpr uint32_t kAtOnce = 4;
  for (uint32_t done = 0; done < count; done += kAtOnce) {
    uint64_t bits[kAtOnce];
    for (uint32_t i = 0; i < kAtOnce; ++i) bits[i] = done + i < count ? walk.Next() : 0;
    for (uint32_t i = 0; i < kAtOnce; ++i) {
      if (done + i == count) break;
      AddElement(&made, done + i, Converted(bits[i], staged.type, slot.type), size);
    }
  }
  return made;
}

// `count` elements that repeat the last row that came, from `first` of the piece on.
GRAPHTREE_HOST_DEVICE inline Unit FromLastRow(const Slot& slot, const Staged& staged,
                                              const uint8_t* payload, uint32_t piece,
                                              uint64_t first, uint32_t count) {
  const uint32_t size = SizeOf(slot.type);
  if (staged.kind == Kind::kValue) return Repeated(staged.source, size);
  const uint64_t last = staged.rows - 1;
  const uint32_t different = slot.row_elements == 1 ? 1 : count;
  Unit made = {{0, 0}};
  for (uint32_t i = 0; i < different; ++i) {
    const auto column = static_cast<uint32_t>((first + i) % slot.row_elements);
    uint64_t bits;
    if (staged.kind == Kind::kDevice) {
      bits = DeviceWalk(slot, staged, piece, last, column).Next();
      bits = Converted(bits, staged.type, slot.type);
    } else {
      bits = ReadElement(payload + (last * slot.row_elements + column) * size, size);
    }
    if (different == 1) return Repeated(bits, size);
    AddElement(&made, i, bits, size);
  }
  return made;
}

// The unit moved up by so many bytes.
GRAPHTREE_HOST_DEVICE inline Unit Shifted(const Unit& unit, uint32_t bytes) {
  if (bytes == 0) return unit;
  if (bytes >= 8) return {{0, unit.words[0] << ((bytes - 8) * 8)}};
  return {{unit.words[0] << (bytes * 8),
           unit.words[1] << (bytes * 8) | unit.words[0] >> (64 - bytes * 8)}};
}

// The slot of a unit of the block: the last one that starts no later. Without a branch: threads of
// a warp may have several slots.
GRAPHTREE_HOST_DEVICE inline uint32_t SlotOf(const Slot* slots, uint32_t count, uint32_t unit) {
  uint32_t index = 0;
  for (uint32_t i = 1; i < count; ++i) index += slots[i].payload_unit <= unit ? 1 : 0;
  return index;
}

// `unit` is counted from the start of the block.
GRAPHTREE_HOST_DEVICE inline void UnpackUnit(const Slot* slots, uint32_t count, uint32_t unit,
                                             const uint8_t* block, uint8_t* arena) {
  const Unit read = ReadUnit(block + static_cast<uint64_t>(unit) * kUnitBytes);
  const uint32_t index = SlotOf(slots, count, unit);
  const Staged staged = ReadStaged(block, index);
  const Slot& slot = slots[index];
  const uint32_t size = SizeOf(slot.type);
  const uint32_t in_unit = kUnitBytes / size;
  const uint32_t place = unit - slot.payload_unit;
  const uint32_t piece = slot.pieces == 1 ? 0 : place / slot.piece_units;
  const uint32_t at = place - piece * slot.piece_units;
  const uint64_t first = static_cast<uint64_t>(at) * in_unit;
  const uint64_t piece_elements = static_cast<uint64_t>(slot.greatest_rows) * slot.row_elements;
  uint8_t* const target = arena + static_cast<uint64_t>(slot.target_unit) * kUnitBytes +
                          (piece * piece_elements + first) * size;
  const uint64_t padded = static_cast<uint64_t>(slot.rows) * slot.row_elements - first;
  if (staged.kind == Kind::kNothing) return;

  // Of the unit's elements `wanted` are the slot's, and the first `came` of them were staged.
  uint32_t wanted = padded < in_unit ? static_cast<uint32_t>(padded) : in_unit;
  const uint64_t staged_elements = static_cast<uint64_t>(staged.rows) * slot.row_elements;
  const uint64_t left = staged_elements > first ? staged_elements - first : 0;
  const uint32_t came = left < wanted ? static_cast<uint32_t>(left) : wanted;
  Unit made = read;
  if (staged.kind == Kind::kValue) made = Repeated(staged.source, size);
  if (staged.kind == Kind::kDevice) made = FromDevice(slot, staged, piece, first, came);
  if (came < wanted) {
    if (slot.tail == Tail::kKeep || (slot.tail == Tail::kLastRow && staged.rows == 0)) {
      wanted = came;
    } else if (slot.tail == Tail::kValue) {
      made = Joined(made, Repeated(staged.tail_bits, size), came * size);
    } else {
      const uint8_t* const payload = block + static_cast<uint64_t>(unit - at) * kUnitBytes;
      const Unit tail = FromLastRow(slot, staged, payload, piece, first + came, wanted - came);
      made = Joined(made, Shifted(tail, came * size), came * size);
    }
  }
  WriteUnit(target, made, wanted, size);
}

// What one thread of `threads` does for a block of the launch.
GRAPHTREE_HOST_DEVICE inline void UnpackThread(const Slot* slots, uint32_t count,
                                               const uint8_t* block, uint8_t* arena,
                                               uint32_t launch_block, uint32_t thread,
                                               uint32_t threads) {
  const uint32_t first = FirstPayload(count) + launch_block * kThreads;
  const uint32_t left = EndOfPayloads(slots, count) - first;
  const uint32_t units = left < kThreads ? left : kThreads;
  for (uint32_t i = thread; i < units; i += threads) {
    UnpackUnit(slots, count, first + i, block, arena);
  }
}

}  // namespace graphtree::unpack

#endif  // GRAPHTREE_RUNTIME_SLOTS_UNPACK_TABLE_H_
