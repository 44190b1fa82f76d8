// Launches the unpack op (unpack_table.h) with the table of a shape.
//
// The table is passed by value, so there are kernels for 8, 16 and 32 slots, and an executable
// keeps as many as the program has.
#ifndef GRAPHTREE_RUNTIME_SLOTS_UNPACK_H_
#define GRAPHTREE_RUNTIME_SLOTS_UNPACK_H_

#include "absl/types/span.h"
#include "device/kernel.h"
#include "graphs/launcher.h"
#include "graphs/tensor.h"
#include "runtime/slots/block_cursor.h"
#include "runtime/slots/slot_plan.h"

namespace graphtree {

// Launches the op that brings in a block and moves the cursor. Nothing if no slot has any bytes.
// `block` is at the block's address, or at the one that stands for the block at the cursor. `ring`
// says all but the block's size. REQUIRES: the plan has at most kMostSlots slots.
void LaunchUnpack(Launcher& on, const ShapePlan& plan, unpack::Ring ring, const Tensor& block,
                  const Tensor& arena);

// One for each size of table, smallest first.
absl::Span<const Kernel* const> UnpackKernels();

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_SLOTS_UNPACK_H_
