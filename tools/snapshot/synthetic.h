// A snapshot of any size, as Python's pickler or PyTorch's C++ one would have written it, made
// without either.
//
// Benches and tests want files of a gigabyte, of every protocol, with known totals. This generator
// shares no code with the library's own writer, so that the two cannot agree on a mistake; that the
// bytes are theirs is tested by having Python load and dump them again, and a few lines of Python
// that write a real file of PyTorch's C++ pickler byte for byte (synthetic_test.py).
//
// What is in it is a training run in its steady state. Every block of every segment is freed and
// allocated again, in random order; each freeing and each allocation has a list of frames of its
// own, whose frames are shared by all, as PyTorch's symboliser makes them:
//
//   free_requested  [f1 f2 ... fn]  <-.
//   free_completed                  --'   the same list
//   alloc           [f1 f2 ... fn]        the block's list, where it is the block's last one
//
// The same options give the same bytes. Not safe for concurrent use; about 1 GB in ten seconds.
#ifndef GRAPHTREE_TOOLS_SNAPSHOT_SYNTHETIC_H_
#define GRAPHTREE_TOOLS_SNAPSHOT_SYNTHETIC_H_

#include <cstdint>
#include <string>

#include "allocator/snapshot/byte_sink.h"

namespace graphtree::snapshot {

struct SyntheticOptions {
  int protocol = 4;  // 2 for the C++ pickler
  bool cpp_writer = false;
  uint64_t steps = 1000;  // three entries each
  uint32_t segments = 8;
  uint32_t stacks = 2000;  // distinct ones
  uint32_t depth = 28;     // frames in each
  uint64_t seed = 1;
};

struct SyntheticTotals {
  uint64_t segments = 0;
  uint64_t blocks = 0;
  uint64_t entries = 0;
  uint64_t reserved = 0;
  uint64_t requested = 0;
};

// Bytes that one step adds to a file of protocol 4, roughly.
uint64_t SyntheticStepBytes(const SyntheticOptions& options);

SyntheticTotals WriteSynthetic(const SyntheticOptions& options, ByteSink& sink);

// In memory.
std::string SyntheticPickle(const SyntheticOptions& options, SyntheticTotals* totals = nullptr);

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_TOOLS_SNAPSHOT_SYNTHETIC_H_
