// How the unpack op finds its block by itself, so that a step patches nothing and is a bare launch.
//
// Blocks of a ring follow one another, and a shape's blocks are all of one size. So where a block
// lies follows from where the last one ended. Host and device both compute that, with NextPlace:
//
//   the ring       | A A A | B B B B |  C C C | . . |       the host puts C here
//   the cursor                       ^                      device memory: where B ended
//   the op of C                       C C C  ^              reads the cursor, unpacks C, moves it
//
// The cursor moves in the order in which the device runs the ops, however many steps are queued.
// The host keeps what the cursor is going to be (StagingRing), and gives the op an address of two
// kinds:
//
//   a block's            the op reads that block
//   the ring's + 16      the op reads the block at the cursor; the same in every step
//
// Either way the op then sets the cursor to the end of the block that it has read. So the host need
// not know what became of a call that failed or ran otherwise than by a replay: it names the next
// block by its address, and from there on the cursor is right again.
//
// Why not a patched address: patching one op takes 0.45 us of host time in every step. Why not a
// list of addresses in page-locked memory: reading it first takes one more trip over the bus.
#ifndef GRAPHTREE_RUNTIME_SLOTS_BLOCK_CURSOR_H_
#define GRAPHTREE_RUNTIME_SLOTS_BLOCK_CURSOR_H_

#include <cstdint>

#include "device/base/host_device.h"

namespace graphtree::unpack {

constexpr uint32_t kUnitBytes = 16;
// Blocks start at multiples of this from the ring's start, which is one as well.
constexpr uint32_t kBlockAlignment = 256;
constexpr uint32_t kBlockUnits = kBlockAlignment / kUnitBytes;
constexpr uint32_t kSegments = 4;
// What an address has beyond a multiple of kBlockAlignment if it stands for the block at the
// cursor.
constexpr uint32_t kByCursor = 16;

// Behind a block: in which segment, and how many of its units are used.
struct Place {
  uint32_t segment = 0;
  uint32_t used = 0;
};

GRAPHTREE_HOST_DEVICE inline bool operator==(const Place& a, const Place& b) {
  return a.segment == b.segment && a.used == b.used;
}

// In device memory.
struct Cursor {
  Place after;           // the block that was read last
  uint32_t arrived = 0;  // blocks of the launch under way that have read `after`
  uint32_t unused = 0;
};
static_assert(sizeof(Cursor) == 16, "one unit of the arena");

// The same in every launch of an op.
struct Ring {
  uint64_t first_unit = 0;  // the ring's address, in units: nothing takes it for an address
  uint32_t segment_units = 0;
  uint32_t block_units = 0;  // of this shape's block: BlockUnitsFor
  uint32_t cursor_unit = 0;  // where the cursor lies in the arena, in units
  uint32_t unused = 0;
};

// A block of so many bytes, with what is left up to where the next one may start.
GRAPHTREE_HOST_DEVICE inline uint32_t BlockUnitsFor(uint64_t bytes) {
  return static_cast<uint32_t>((bytes + kBlockAlignment - 1) / kBlockAlignment) * kBlockUnits;
}

// Where a block of so many units starts if the last one ended at `after`.
// REQUIRES: it fits into a segment.
GRAPHTREE_HOST_DEVICE inline Place NextPlace(Place after, uint32_t block_units,
                                             uint32_t segment_units) {
  const bool fits = uint64_t{after.used} + block_units <= segment_units;
  return fits ? after : Place{(after.segment + 1) % kSegments, 0};
}

GRAPHTREE_HOST_DEVICE inline Cursor* CursorIn(const Ring& ring, uint8_t* arena) {
  return reinterpret_cast<Cursor*>(arena + uint64_t{ring.cursor_unit} * kUnitBytes);
}

// The block that the op is to read; `address` is what it was given.
GRAPHTREE_HOST_DEVICE inline const uint8_t* FindBlock(const Ring& ring, const uint8_t* address,
                                                      uint8_t* arena) {
  if (reinterpret_cast<uint64_t>(address) % kBlockAlignment != kByCursor) return address;
  const volatile Cursor* const cursor = CursorIn(ring, arena);
  const Place after = {cursor->after.segment, cursor->after.used};
  const Place at = NextPlace(after, ring.block_units, ring.segment_units);
  const uint64_t unit = ring.first_unit + uint64_t{at.segment} * ring.segment_units + at.used;
  return reinterpret_cast<const uint8_t*>(unit * kUnitBytes);
}

// Sets the cursor to the end of the block. Called once in each launch, by one thread, after all
// have found the block.
GRAPHTREE_HOST_DEVICE inline void MoveCursor(const Ring& ring, const uint8_t* block,
                                             uint8_t* arena) {
  const uint64_t unit = reinterpret_cast<uint64_t>(block) / kUnitBytes - ring.first_unit;
  const Place after = {static_cast<uint32_t>(unit / ring.segment_units),
                       static_cast<uint32_t>(unit % ring.segment_units) + ring.block_units};
  CursorIn(ring, arena)->after = after;
}

}  // namespace graphtree::unpack

#endif  // GRAPHTREE_RUNTIME_SLOTS_BLOCK_CURSOR_H_
