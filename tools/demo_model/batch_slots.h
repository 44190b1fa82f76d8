// What of a batch goes to the device, and how: the slots of the demo's programs. Every way of
// serving brings the same data in; each has its own way to do so.
#ifndef GRAPHTREE_TOOLS_DEMO_MODEL_BATCH_SLOTS_H_
#define GRAPHTREE_TOOLS_DEMO_MODEL_BATCH_SLOTS_H_

#include <array>
#include <cstdint>
#include <vector>

#include "device/address.h"
#include "graphs/tensor.h"
#include "runtime/runtime.h"
#include "tools/demo_model/scheduler.h"

namespace graphtree::demo {

enum BatchSlot { kIds, kStarts, kLengths, kTables, kTemperatures, kSeeds, kBatchSlots };

// Large enough for every batch. Rows of padding belong to nobody: a request that is not there
// starts where the last one ends, and has no tokens.
const std::vector<SlotSpec>& BatchSlotSpecs();

// Where a slot's rows lie in the batch.
HostRows RowsOf(const Batch& batch, BatchSlot slot);

// The slots on the device, as large as a step has them.
using BatchTensors = std::array<Tensor, kBatchSlots>;

// The slots one behind another in one piece of memory, each as large as its spec says.
class BatchPiece {
 public:
  BatchPiece();
  uint64_t bytes() const { return bytes_; }
  uint64_t offset(BatchSlot slot) const { return offsets_[slot]; }
  // Slots in a piece at `base`, for so many tokens and requests.
  BatchTensors At(Address base, int tokens, int requests) const;
  // Puts the slot's rows into a piece on the host, converted to the slot's type. Returns their
  // bytes.
  uint64_t Write(const Batch& batch, BatchSlot slot, void* piece) const;

 private:
  std::array<uint64_t, kBatchSlots> offsets_;
  uint64_t bytes_ = 0;
};

}  // namespace graphtree::demo

#endif  // GRAPHTREE_TOOLS_DEMO_MODEL_BATCH_SLOTS_H_
