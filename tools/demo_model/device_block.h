// Owns a piece of a device's memory: addresses with physical memory behind them, readable and
// writable, given back when it goes. One piece costs some tens of microseconds, so take few.
//
// Thread rule: like a pointer; the device must outlive it.
#ifndef GRAPHTREE_TOOLS_DEMO_MODEL_DEVICE_BLOCK_H_
#define GRAPHTREE_TOOLS_DEMO_MODEL_DEVICE_BLOCK_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "device/address.h"
#include "device/device.h"
#include "device/memory.h"

namespace graphtree::demo {

class DeviceBlock {
 public:
  // At least `bytes`, rounded up to the device's granularity.
  static absl::StatusOr<std::unique_ptr<DeviceBlock>> Map(Device& device, uint64_t bytes);
  DeviceBlock(const DeviceBlock&) = delete;
  DeviceBlock& operator=(const DeviceBlock&) = delete;
  ~DeviceBlock();

  AddressRange range() const { return range_; }

 private:
  DeviceBlock(Device& device, AddressRange range) : device_(device), range_(range) {}
  absl::Status Fill();

  Device& device_;
  const AddressRange range_;
  std::unique_ptr<PhysicalMemory> physical_;
  bool mapped_ = false;
};

}  // namespace graphtree::demo

#endif  // GRAPHTREE_TOOLS_DEMO_MODEL_DEVICE_BLOCK_H_
