// Mappings that begin at a huge page, and their moves.
#include "allocator/snapshot/large_memory.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace graphtree::snapshot {
namespace {

// Maps more, and gives back what lies before the first huge page and after the last.
void* Map(size_t bytes) {
  const size_t mapped = bytes + kHugePageBytes;
  void* const all =
      mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED) return nullptr;
  char* const begin = static_cast<char*>(all);
  const size_t before = -reinterpret_cast<uintptr_t>(all) % kHugePageBytes;
  if (before != 0) munmap(begin, before);
  if (before != kHugePageBytes) munmap(begin + before + bytes, kHugePageBytes - before);
  madvise(begin + before, bytes, MADV_HUGEPAGE);
  return begin + before;
}

// The pages of `old` at a new place, where there is room for more.
void* Move(void* old, size_t old_bytes, size_t bytes) {
  void* const place = Map(bytes);
  if (place == nullptr) return nullptr;
  // The old pages replace the first ones of the new place, the rest of which stays mapped.
  if (mremap(old, old_bytes, old_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, place) == MAP_FAILED) {
    std::memcpy(place, old, old_bytes);
    munmap(old, old_bytes);
  }
  return place;
}

}  // namespace

void* GrowMemory(void* old, size_t old_bytes, size_t bytes) {
  if (bytes < kLargeBytes) return std::realloc(old, bytes);
  if (old_bytes >= kLargeBytes) return Move(old, old_bytes, bytes);
  void* const place = Map(bytes);
  if (place == nullptr) return nullptr;
  if (old_bytes != 0) std::memcpy(place, old, old_bytes);
  std::free(old);
  return place;
}

void FreeMemory(void* memory, size_t bytes) {
  if (bytes >= kLargeBytes) {
    munmap(memory, bytes);
  } else {
    std::free(memory);
  }
}

}  // namespace graphtree::snapshot
