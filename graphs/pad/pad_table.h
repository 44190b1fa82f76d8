// The argument of a pad op, and what one thread of the op does with it. Both bodies are made of
// this, as those of ingest_table.h are: the host body calls PadThread once for every block, with a
// single thread that does the whole block's work.
//
// A pad is a few boxes of pieces. Of two dimensions:
//
//          kept   size
//      +---------+----+
//      |  copy   |  1 |   box d is all that dimension d adds to what the dimensions before it keep
// kept +---------+----+
//      |       0      |   the last box is what is copied; a pad in place has none
// size +--------------+
//
// A piece is 1 to 16 bytes: one element, or several that lie side by side and are in the same box.
// Blocks are dealt out by pieces, so a small box gets one block and an empty one none.
//
// The target is named from its first byte that is written, the source from its first element. Each
// may have any alignment.
#ifndef GRAPHTREE_GRAPHS_PAD_PAD_TABLE_H_
#define GRAPHTREE_GRAPHS_PAD_PAD_TABLE_H_

#include <cstdint>

#include "device/base/any_bytes.h"
#include "device/base/host_device.h"

namespace graphtree::pad {

constexpr uint32_t kThreads = 256;
constexpr uint32_t kMaxDims = 8;
constexpr uint32_t kMaxPiece = 16;

// Counts are in pieces, strides in bytes.
struct Dim {
  uint64_t kept;  // of the source
  uint64_t size;  // of the target
  uint64_t target_stride;
  uint64_t source_stride;
};

struct Table {
  Word128 value;  // a piece of it; a smaller piece has its first bytes
  uint64_t skipped;  // bytes of the target before the first one that is written
  uint64_t pieces_per_block;
  uint32_t dims;   // outermost first
  uint32_t piece;  // bytes
  uint32_t first_block[kMaxDims + 2];  // of each box; the last one is the number of blocks
  Dim dim[kMaxDims];
};

// How many pieces the box takes in dimension d, and from which on.
GRAPHTREE_HOST_DEVICE inline uint64_t CountIn(const Table& table, uint32_t box, uint32_t d) {
  const Dim& dim = table.dim[d];
  if (d == box) return dim.size - dim.kept;
  return d < box ? dim.kept : dim.size;
}
GRAPHTREE_HOST_DEVICE inline uint64_t BeginIn(const Table& table, uint32_t box, uint32_t d) {
  return d == box ? table.dim[d].kept : 0;
}

GRAPHTREE_HOST_DEVICE inline uint64_t PiecesOf(const Table& table, uint32_t box) {
  uint64_t pieces = 1;
  for (uint32_t d = 0; d < table.dims; ++d) pieces *= CountIn(table, box, d);
  return pieces;
}

struct Place {
  uint64_t target;
  uint64_t source;
};

// Where a piece of the box lies. Divisions by 32 bits are several times cheaper, and nearly every
// tensor is small enough.
template <typename Index>
GRAPHTREE_HOST_DEVICE inline Place PlaceOf(const Table& table, uint32_t box, Index piece) {
  Place place = {0, 0};
  for (uint32_t d = table.dims; d-- > 0;) {
    const Index count = static_cast<Index>(CountIn(table, box, d));
    const Index at = d == 0 ? piece : piece % count;
    piece /= count;
    place.target += (BeginIn(table, box, d) + at) * table.dim[d].target_stride;
    place.source += at * table.dim[d].source_stride;
  }
  place.target -= table.skipped;
  return place;
}

template <typename T, typename Index>
GRAPHTREE_HOST_DEVICE inline void WritePieces(const Table& table, uint32_t box, uint64_t target,
                                              uint64_t source, Index first, Index end,
                                              uint32_t thread, uint32_t threads) {
  const bool copies = box == table.dims;
  const T value = *reinterpret_cast<const T*>(&table.value);
  for (uint64_t i = first + thread; i < end; i += threads) {
    const Place place = PlaceOf(table, box, static_cast<Index>(i));
    *reinterpret_cast<T*>(target + place.target) =
        copies ? *reinterpret_cast<const T*>(source + place.source) : value;
  }
}

// The same where an address is less aligned than a piece: a piece is moved in parts.
template <typename T>
GRAPHTREE_HOST_DEVICE inline void WriteParts(const Table& table, uint32_t box, uint64_t target,
                                             uint64_t source, uint64_t first, uint64_t end,
                                             uint32_t thread, uint32_t threads) {
  const bool copies = box == table.dims;
  for (uint64_t i = first + thread; i < end; i += threads) {
    const Place place = PlaceOf(table, box, i);
    const uint64_t from = copies ? source + place.source : reinterpret_cast<uint64_t>(&table.value);
    for (uint32_t part = 0; part < table.piece; part += sizeof(T)) {
      *reinterpret_cast<T*>(target + place.target + part) =
          *reinterpret_cast<const T*>(from + part);
    }
  }
}

template <typename T>
GRAPHTREE_HOST_DEVICE inline void WritePiecesOf(const Table& table, uint32_t box, uint64_t target,
                                                uint64_t source, uint64_t first, uint64_t end,
                                                uint32_t thread, uint32_t threads) {
  if (table.piece != sizeof(T)) {
    WriteParts<T>(table, box, target, source, first, end, thread, threads);
  } else if (PiecesOf(table, box) >> 32 == 0) {
    WritePieces<T, uint32_t>(table, box, target, source, static_cast<uint32_t>(first),
                             static_cast<uint32_t>(end), thread, threads);
  } else {
    WritePieces<T, uint64_t>(table, box, target, source, first, end, thread, threads);
  }
}

// The work of one thread. `source` is 0 for a pad in place.
GRAPHTREE_HOST_DEVICE inline void PadThread(const Table& table, uint64_t target, uint64_t source,
                                            uint32_t block, uint32_t thread, uint32_t threads) {
  uint32_t box = 0;
  while (box < table.dims && table.first_block[box + 1] <= block) ++box;
  const uint64_t pieces = PiecesOf(table, box);
  const uint64_t first = (block - table.first_block[box]) * table.pieces_per_block;
  if (first >= pieces) return;
  const uint64_t rest = pieces - first;
  const uint64_t end = rest < table.pieces_per_block ? pieces : first + table.pieces_per_block;
  switch (WidestAccess(target, source, table.piece)) {
    case 16:
      return WritePiecesOf<Word128>(table, box, target, source, first, end, thread, threads);
    case 8: return WritePiecesOf<Word64>(table, box, target, source, first, end, thread, threads);
    case 4: return WritePiecesOf<Word32>(table, box, target, source, first, end, thread, threads);
    case 2: return WritePiecesOf<Word16>(table, box, target, source, first, end, thread, threads);
    default: return WritePiecesOf<Byte>(table, box, target, source, first, end, thread, threads);
  }
}

}  // namespace graphtree::pad

#endif  // GRAPHTREE_GRAPHS_PAD_PAD_TABLE_H_
