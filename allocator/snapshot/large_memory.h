// Memory for arrays that reach megabytes: in huge pages, and grown without copying.
//
// A column of a snapshot is written once from front to back, so nearly all of its cost is the page
// fault at the first touch of each page. One fault for two megabytes takes a fraction of the time
// of five hundred for four kilobytes each, above all in a virtual machine. Huge pages need a
// mapping that begins at a multiple of their size, and a mapping that moves keeps them only if its
// new place begins at one, too:
//
//   small   [malloc's]                                       up to kLargeBytes
//   large   |2 MiB    |2 MiB    |2 MiB    |                  a mapping of its own
//           |2 MiB    |2 MiB    |2 MiB    |2 MiB    |        grown: its pages are hung in here
//
// A system without huge pages ignores the request for them, and everything else is the same.
// Thread-safe.
#ifndef GRAPHTREE_ALLOCATOR_SNAPSHOT_LARGE_MEMORY_H_
#define GRAPHTREE_ALLOCATOR_SNAPSHOT_LARGE_MEMORY_H_

#include <cstddef>

namespace graphtree::snapshot {

inline constexpr size_t kHugePageBytes = 2 << 20;
inline constexpr size_t kLargeBytes = 2 * kHugePageBytes;

// The bytes that an array of at least `bytes` takes: a large one takes whole huge pages.
inline size_t RoundedBytes(size_t bytes) {
  if (bytes < kLargeBytes) return bytes;
  return (bytes + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
}

// As realloc, for sizes that RoundedBytes returns; `old_bytes` is 0 where there is no memory yet.
// Null if memory is out, and then the old memory is as it was.
void* GrowMemory(void* old, size_t old_bytes, size_t bytes);
void FreeMemory(void* memory, size_t bytes);

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_ALLOCATOR_SNAPSHOT_LARGE_MEMORY_H_
