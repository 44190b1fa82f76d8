// How CUPTI's records lie in a buffer: of each kind the part that every version since CUDA 11 has
// in the same places. Newer versions only append, so a reader of prefixes reads them all.
//
//   | kind | ... what is read here ...        | what newer versions have appended |
//   0      4                            graph + 4                        next record
//
// record_layout_check.cc holds these structs to CUPTI's own headers where those are there.
#ifndef GRAPHTREE_PROFILER_CUPTI_RECORD_LAYOUT_H_
#define GRAPHTREE_PROFILER_CUPTI_RECORD_LAYOUT_H_

#include <cstddef>
#include <cstdint>

namespace graphtree::cupti {

struct KernelRecord {
  uint32_t kind = 10;
  uint8_t caches[2] = {};
  uint16_t registers = 0;
  uint8_t partitioned[8] = {};
  uint64_t start = 0;
  uint64_t end = 0;
  uint64_t completed = 0;
  uint32_t device = 0;
  uint32_t context = 0;
  uint32_t stream = 0;
  int32_t grid[3] = {};
  int32_t block[3] = {};
  int32_t static_shared = 0;
  int32_t dynamic_shared = 0;
  uint32_t local_memory[2] = {};
  uint32_t correlation = 0;
  int64_t grid_id = 0;
  const char* name = nullptr;  // CUPTI's, for as long as it is attached
  uint8_t reserved_and_queued[32] = {};
  uint64_t graph_node = 0;
  uint32_t access_window = 0;
  uint32_t graph = 0;
};

struct CopyRecord {
  uint32_t kind = 1;
  uint8_t copy_kind = 0;
  uint8_t source_kind = 0;
  uint8_t target_kind = 0;
  uint8_t flags = 0;
  uint64_t bytes = 0;
  uint64_t start = 0;
  uint64_t end = 0;
  uint32_t device = 0;
  uint32_t context = 0;
  uint32_t stream = 0;
  uint32_t correlation = 0;
  uint32_t runtime_correlation = 0;
  uint32_t gap = 0;
  uint64_t reserved = 0;
  uint64_t graph_node = 0;
  uint32_t graph = 0;
  uint32_t channel = 0;
};

struct FillRecord {
  uint32_t kind = 2;
  uint32_t value = 0;
  uint64_t bytes = 0;
  uint64_t start = 0;
  uint64_t end = 0;
  uint32_t device = 0;
  uint32_t context = 0;
  uint32_t stream = 0;
  uint32_t correlation = 0;
  uint16_t flags = 0;
  uint16_t memory_kind = 0;
  uint32_t gap = 0;
  uint64_t reserved = 0;
  uint64_t graph_node = 0;
  uint32_t graph = 0;
  uint32_t channel = 0;
};

// So many bytes of a record must be there for it to be read.
inline constexpr size_t kKernelPrefix = offsetof(KernelRecord, graph) + sizeof(uint32_t);
inline constexpr size_t kCopyPrefix = offsetof(CopyRecord, graph) + sizeof(uint32_t);
inline constexpr size_t kFillPrefix = offsetof(FillRecord, graph) + sizeof(uint32_t);

// What the records of CUDA 13.0 take.
inline constexpr size_t kKernelBytes = 216;
inline constexpr size_t kCopyBytes = 96;
inline constexpr size_t kFillBytes = 88;

}  // namespace graphtree::cupti

#endif  // GRAPHTREE_PROFILER_CUPTI_RECORD_LAYOUT_H_
