// What a slot is staged with: rows of the caller's, on the host or on the device.
//
//   HostRows{ids.data(), DType::kI64, 5}          copied and converted when they are staged
//   DeviceRows{logits.word(), DType::kF32, 5}     read by the step's first op, in stream order
//
// Device rows stay as they are until that op has run (slots/free_events.h says when). The op cannot
// say which memory it reads, so nobody else knows of the rows: a tensor of a tree's is staged by
// Step::Stage(slot, tensor), which holds the tensor, and not by its address. Rows that lie in the
// program's own slots are an error: the op writes these while it reads.
#ifndef GRAPHTREE_RUNTIME_SLOTS_ROWS_H_
#define GRAPHTREE_RUNTIME_SLOTS_ROWS_H_

#include <cstdint>

#include "device/address.h"
#include "graphs/layout.h"

namespace graphtree {

// Rows of the caller's. A stride counts elements; 0 stands for rows, or pieces, without gaps.
struct HostRows {
  const void* data = nullptr;
  DType type = DType::kI32;
  int64_t rows = 0;
  int64_t row_stride = 0;
  int64_t piece_stride = 0;
};

struct DeviceRows {
  Address address = 0;
  DType type = DType::kI32;
  int64_t rows = 0;
  int64_t row_stride = 0;
  int64_t piece_stride = 0;
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_SLOTS_ROWS_H_
