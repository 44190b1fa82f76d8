// The argument table of an ingest op and what one thread of the op does with it. Both bodies are
// made of this: the CUDA body calls IngestThread once in every thread, the host body once for every
// block with a single thread that does the whole block's work.
//
// A table is an array of 64-bit words, passed by value:
//
//   word 0      copies (16 bits) | scalars (16) | blocks that copy (32)
//   word 1      units that one block takes
//   copies      one word each: first block (32) | record's word (16) | dims (8) | log2 width (8)
//   scalars     two words each: address, value
//   records     flat, dims 0:   source, target, bytes
//               strided:        source, target, pieces, then size and stride in bytes of each dim
//
// A unit is 16 bytes of a flat copy or one piece (1 to 16 bytes) of a strided one: what one thread
// moves at once. Blocks are dealt out by units, so a small input gets one block and a large one as
// many as it needs; a block finds its copy by a binary search over the first blocks. The block
// after those that copy writes the scalars.
//
// Source and target of a strided copy have the same strides. An address may have any alignment: a
// copy takes the widest access that both of its addresses allow.
#ifndef GRAPHTREE_GRAPHS_INPUTS_INGEST_INGEST_TABLE_H_
#define GRAPHTREE_GRAPHS_INPUTS_INGEST_INGEST_TABLE_H_

#include <cstdint>

#include "device/base/any_bytes.h"
#include "device/base/host_device.h"

namespace graphtree::ingest {

constexpr uint32_t kThreads = 256;
constexpr uint32_t kUnitBytes = 16;
constexpr uint32_t kHeaderWords = 2;
constexpr uint32_t kRecordWords = 3;
constexpr uint32_t kMaxDims = 8;

template <uint32_t kWords>
struct Table {
  uint64_t words[kWords];
};

// A copy's index word.
struct Entry {
  uint32_t first_block;
  uint32_t record;
  uint32_t dims;
  uint32_t width;
};

GRAPHTREE_HOST_DEVICE inline uint64_t PackHeader(uint32_t copies, uint32_t scalars,
                                                 uint32_t blocks) {
  return copies | static_cast<uint64_t>(scalars) << 16 | static_cast<uint64_t>(blocks) << 32;
}
GRAPHTREE_HOST_DEVICE inline uint32_t Copies(const uint64_t* words) { return words[0] & 0xffff; }
GRAPHTREE_HOST_DEVICE inline uint32_t Scalars(const uint64_t* words) {
  return words[0] >> 16 & 0xffff;
}
GRAPHTREE_HOST_DEVICE inline uint32_t CopyBlocks(const uint64_t* words) { return words[0] >> 32; }
GRAPHTREE_HOST_DEVICE inline uint32_t RecordOf(uint64_t entry) { return entry >> 32 & 0xffff; }
GRAPHTREE_HOST_DEVICE inline Entry UnpackEntry(uint64_t word) {
  return {static_cast<uint32_t>(word), RecordOf(word), static_cast<uint32_t>(word >> 48 & 0xff),
          1u << (word >> 56)};
}

template <typename T>
GRAPHTREE_HOST_DEVICE inline void MoveOne(uint64_t target, uint64_t source) {
  *reinterpret_cast<T*>(target) = *reinterpret_cast<const T*>(source);
}

GRAPHTREE_HOST_DEVICE inline void MovePiece(uint64_t target, uint64_t source, uint32_t width) {
  if (WidestAccess(target, source, width) == width) {
    switch (width) {
      case 16: MoveOne<Word128>(target, source); return;
      case 8: MoveOne<Word64>(target, source); return;
      case 4: MoveOne<Word32>(target, source); return;
      case 2: MoveOne<Word16>(target, source); return;
    }
  }
  for (uint32_t i = 0; i < width; ++i) MoveOne<Byte>(target + i, source + i);
}

// Four loads are under way before the first store, so that one thread hides its own latency.
template <typename T>
GRAPHTREE_HOST_DEVICE inline void MoveRange(uint64_t target, uint64_t source, uint64_t bytes,
                                            uint32_t thread, uint32_t threads) {
  constexpr uint32_t kAhead = 4;
  T* to = reinterpret_cast<T*>(target);
  const T* from = reinterpret_cast<const T*>(source);
  const uint64_t count = bytes / sizeof(T);
  for (uint64_t i = thread; i < count; i += kAhead * threads) {
    T held[kAhead];
    for (uint32_t k = 0; k < kAhead; ++k) {
      if (i + k * threads < count) held[k] = from[i + k * threads];
    }
    for (uint32_t k = 0; k < kAhead; ++k) {
      if (i + k * threads < count) to[i + k * threads] = held[k];
    }
  }
  for (uint64_t i = count * sizeof(T) + thread; i < bytes; i += threads) {
    MoveOne<Byte>(target + i, source + i);
  }
}

GRAPHTREE_HOST_DEVICE inline void CopyFlat(const uint64_t* record, uint64_t first, uint64_t units,
                                           uint32_t thread, uint32_t threads) {
  const uint64_t begin = first * kUnitBytes;
  const uint64_t all = record[2];
  const uint64_t end = begin + units * kUnitBytes < all ? begin + units * kUnitBytes : all;
  if (begin >= end) return;
  const uint64_t source = record[0] + begin;
  const uint64_t target = record[1] + begin;
  switch (WidestAccess(target, source, kUnitBytes)) {
    case 16: MoveRange<Word128>(target, source, end - begin, thread, threads); break;
    case 8: MoveRange<Word64>(target, source, end - begin, thread, threads); break;
    case 4: MoveRange<Word32>(target, source, end - begin, thread, threads); break;
    case 2: MoveRange<Word16>(target, source, end - begin, thread, threads); break;
    default: MoveRange<Byte>(target, source, end - begin, thread, threads); break;
  }
}

// Where piece number `piece` starts, in bytes; the innermost dim comes first. Divisions by 32 bits
// are several times cheaper, and nearly every input is small enough.
template <typename Index>
GRAPHTREE_HOST_DEVICE inline uint64_t OffsetOf(const uint64_t* dims, uint32_t count, Index piece) {
  uint64_t offset = 0;
  for (uint32_t d = 0; d < count; ++d) {
    const Index size = static_cast<Index>(dims[2 * d]);
    offset += (piece % size) * dims[2 * d + 1];
    piece /= size;
  }
  return offset;
}

GRAPHTREE_HOST_DEVICE inline void CopyStrided(const uint64_t* record, const Entry& entry,
                                              uint64_t first, uint64_t units, uint32_t thread,
                                              uint32_t threads) {
  const uint64_t all = record[2];
  const uint64_t end = first + units < all ? first + units : all;
  const uint64_t* dims = record + kRecordWords;
  for (uint64_t piece = first + thread; piece < end; piece += threads) {
    const uint64_t offset = all >> 32 == 0
                                ? OffsetOf(dims, entry.dims, static_cast<uint32_t>(piece))
                                : OffsetOf(dims, entry.dims, piece);
    MovePiece(record[1] + offset, record[0] + offset, entry.width);
  }
}

// The copy that `block` belongs to: the last one whose first block is `block` or before it. A copy
// without blocks is never that one, as the next copy has the same first block.
GRAPHTREE_HOST_DEVICE inline uint32_t CopyOfBlock(const uint64_t* words, uint32_t block) {
  uint32_t low = 0;
  uint32_t high = Copies(words);
  while (high - low > 1) {
    const uint32_t middle = (low + high) / 2;
    if (static_cast<uint32_t>(words[kHeaderWords + middle]) <= block) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

// The work of one thread.
GRAPHTREE_HOST_DEVICE inline void IngestThread(const uint64_t* words, uint32_t block,
                                               uint32_t thread, uint32_t threads) {
  if (block >= CopyBlocks(words)) {
    const uint64_t* scalars = words + kHeaderWords + Copies(words);
    for (uint32_t i = thread; i < Scalars(words); i += threads) {
      *reinterpret_cast<Word64*>(scalars[2 * i]) = Word64{scalars[2 * i + 1]};
    }
    return;
  }
  const Entry entry = UnpackEntry(words[kHeaderWords + CopyOfBlock(words, block)]);
  const uint64_t units = words[1];
  const uint64_t first = (block - entry.first_block) * units;
  if (entry.dims == 0) {
    CopyFlat(words + entry.record, first, units, thread, threads);
  } else {
    CopyStrided(words + entry.record, entry, first, units, thread, threads);
  }
}

}  // namespace graphtree::ingest

#endif  // GRAPHTREE_GRAPHS_INPUTS_INGEST_INGEST_TABLE_H_
