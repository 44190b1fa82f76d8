// Memory for arrays that reach megabytes: in huge pages, and grown without copying.
//
// A column of a snapshot is written once from front to back, so nearly all that it costs is the
// first touch of each page: a fault, of which one of two megabytes takes a fraction of what five
// hundred of four kilobytes do, above all in a virtual machine. Huge pages need a mapping that
// begins at one, and moving one keeps them only if the new place begins at one, too:
//
//   small   [malloc's]                                       up to kLargeBytes
//   large   |2 MiB    |2 MiB    |2 MiB    |                  a mapping of its own
//           |2 MiB    |2 MiB    |2 MiB    |2 MiB    |        grown: its pages are hung in here
//
// Where the system has no huge pages the advice is not taken, and everything else is the same.
// Thread-safe.
#ifndef GRAPHTREE_ALLOCATOR_SNAPSHOT_LARGE_MEMORY_H_
#define GRAPHTREE_ALLOCATOR_SNAPSHOT_LARGE_MEMORY_H_

#include <cstddef>

namespace graphtree::snapshot {

inline constexpr size_t kHugePageBytes = 2 << 20;
inline constexpr size_t kLargeBytes = 2 * kHugePageBytes;

// What an array of at least `bytes` takes: what is large takes whole huge pages.
inline size_t RoundedBytes(size_t bytes) {
  if (bytes < kLargeBytes) return bytes;
  return (bytes + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
}

// realloc for sizes that RoundedBytes gives, `old_bytes` among them; 0 is no memory yet. Null where
// there is no memory, and then the old is as it was.
void* GrowMemory(void* old, size_t old_bytes, size_t bytes);
void FreeMemory(void* memory, size_t bytes);

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_ALLOCATOR_SNAPSHOT_LARGE_MEMORY_H_
