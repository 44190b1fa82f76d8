// Allocates, unless a test says that it fails.
#include "runtime/c/host_memory.h"

#include <atomic>
#include <cstdlib>

namespace graphtree::c {
namespace {

std::atomic<int64_t> left{-1};

}  // namespace

void* NewHostMemory(size_t bytes) {
  constexpr size_t kAlignment = 64;
  if (left.load(std::memory_order_relaxed) >= 0 && left.fetch_sub(1) <= 0) {
    left.store(0);
    return nullptr;
  }
  return std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
}

void FreeHostMemory(void* memory) { std::free(memory); }

void FailHostMemoryAfter(int64_t allocations) { left.store(allocations); }

}  // namespace graphtree::c
