// A tensor as the rows of a slot: where its elements lie, if the unpack op can read them there.
//
//   slot i32[3, 256] along axis 1, tensor i32[3, 5]      3 pieces of 5 rows
//   slot f16[256, 8] along axis 0, tensor f16[5, 8]      1 piece of 5 rows, 8 elements each
//
// The op takes two strides, from row to row and from piece to piece; what is inside of a row lies
// without a gap. A tensor that cannot be read so is an error.
//
// Pure.
#ifndef GRAPHTREE_RUNTIME_SLOTS_TENSOR_ROWS_H_
#define GRAPHTREE_RUNTIME_SLOTS_TENSOR_ROWS_H_

#include "absl/status/statusor.h"
#include "graphs/layout.h"
#include "graphs/tensor.h"
#include "runtime/slots/rows.h"
#include "runtime/slots/slot.h"

namespace graphtree {

// InvalidArgument, with both shapes, if the tensor does not fit the slot in every axis but that of
// the rows. Whether the slot has so many rows, and the type, is not looked at.
absl::StatusOr<DeviceRows> RowsOfTensor(const SlotSpec& slot, const Tensor& tensor);

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_SLOTS_TENSOR_ROWS_H_
