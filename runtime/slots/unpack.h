// Launches the unpack op (unpack_table.h) with the table of a shape.
//
// The table is passed by value, and a step that patches the block's address passes it again; so
// there are kernels for 8, 16 and 32 slots, and a step pays for as many as it has.
#ifndef GRAPHTREE_RUNTIME_SLOTS_UNPACK_H_
#define GRAPHTREE_RUNTIME_SLOTS_UNPACK_H_

#include "absl/types/span.h"
#include "device/kernel.h"
#include "graphs/launcher.h"
#include "graphs/tensor.h"
#include "runtime/slots/slot_plan.h"

namespace graphtree {

// Launches the op that brings in a block. Nothing if no slot has any bytes. REQUIRES: the plan has
// at most kMostSlots slots.
void LaunchUnpack(Launcher& on, const ShapePlan& plan, const Tensor& block, const Tensor& arena);

// One for each size of table, smallest first.
absl::Span<const Kernel* const> UnpackKernels();

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_SLOTS_UNPACK_H_
