// Reserves, maps and gives back.
#include "tools/demo_model/device_block.h"

#include "device/base/status_macros.h"

namespace graphtree::demo {

absl::Status DeviceBlock::Fill() {
  Memory& memory = device_.memory();
  GRAPHTREE_ASSIGN_OR_RETURN(physical_, memory.Create(range_.bytes));
  GRAPHTREE_RETURN_IF_ERROR(memory.Map(range_.base, *physical_));
  mapped_ = true;
  GRAPHTREE_RETURN_IF_ERROR(memory.SetAccess(range_, MemoryAccess::kReadWrite));
  memory.NoteLive(range_, "demo");
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<DeviceBlock>> DeviceBlock::Map(Device& device, uint64_t bytes) {
  const uint64_t granularity = device.memory().granularity();
  const uint64_t rounded = (bytes + granularity - 1) / granularity * granularity;
  GRAPHTREE_ASSIGN_OR_RETURN(const AddressRange range, device.memory().Reserve(rounded, {}));
  std::unique_ptr<DeviceBlock> block(new DeviceBlock(device, range));
  GRAPHTREE_RETURN_IF_ERROR(block->Fill());
  return block;
}

// What cannot be given back is named when the device is closed.
DeviceBlock::~DeviceBlock() {
  Memory& memory = device_.memory();
  if (mapped_) {
    memory.NoteDead(range_, "demo");
    memory.Unmap(range_).IgnoreError();
  }
  physical_.reset();
  memory.Release(range_).IgnoreError();
}

}  // namespace graphtree::demo
