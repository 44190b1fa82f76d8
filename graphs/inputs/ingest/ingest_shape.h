// How the bytes of a layout are copied to another place of that layout: the pure part of ingest.
//
//   f32[4,512] dense, or transposed          -> flat, 8192 bytes
//   f32[4,512] expanded from [1,512]         -> flat, 2048 bytes: stride 0 has one element to copy
//   f32[8,16] with strides 32,1 (a slice)    -> 32 pieces of 16 bytes: dims (4, 16 B), (8, 128 B)
//   windows that overlap each other          -> flat, the whole extent
//
// Elements are copied and nothing between them, because bytes in a gap may belong to somebody else.
// Two kinds of layouts are copied with their gaps: those that overlap themselves, and those that
// have more than eight dims left after merging.
#ifndef GRAPHTREE_GRAPHS_INPUTS_INGEST_INGEST_SHAPE_H_
#define GRAPHTREE_GRAPHS_INPUTS_INGEST_INGEST_SHAPE_H_

#include <array>
#include <cstdint>

#include "graphs/inputs/ingest/ingest_table.h"
#include "graphs/layout.h"

namespace graphtree::ingest {

struct Dim {
  uint64_t size = 0;
  uint64_t stride = 0;  // bytes
};

struct CopyShape {
  uint64_t amount = 0;   // bytes of a flat copy, pieces of a strided one
  uint32_t dims = 0;     // 0: flat
  uint32_t width = 16;   // bytes of a piece
  std::array<Dim, kMaxDims> dim;  // innermost first

  // 16 bytes of a flat copy, or one piece.
  uint64_t units() const {
    return dims == 0 ? (amount + kUnitBytes - 1) / kUnitBytes : amount;
  }
};

CopyShape ShapeOf(const Layout& layout);

}  // namespace graphtree::ingest

#endif  // GRAPHTREE_GRAPHS_INPUTS_INGEST_INGEST_SHAPE_H_
