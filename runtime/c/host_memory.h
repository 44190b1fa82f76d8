// The host's memory, for what the C interface itself needs: an allocation that fails is an error of
// the call, and a test can make the n-th one fail.
#ifndef GRAPHTREE_RUNTIME_C_HOST_MEMORY_H_
#define GRAPHTREE_RUNTIME_C_HOST_MEMORY_H_

#include <cstddef>
#include <cstdint>

namespace graphtree::c {

// At a multiple of 64; null if there is none.
void* NewHostMemory(size_t bytes);
void FreeHostMemory(void* memory);

// For tests: after so many allocations each one fails. Negative: none does, as at first.
void FailHostMemoryAfter(int64_t allocations);

}  // namespace graphtree::c

#endif  // GRAPHTREE_RUNTIME_C_HOST_MEMORY_H_
