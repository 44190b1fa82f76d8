// The memory of a fault device, whose calls ask the FaultPlan first (fault_device.h).
#ifndef GRAPHTREE_DEVICE_FAULT_FAULT_MEMORY_H_
#define GRAPHTREE_DEVICE_FAULT_FAULT_MEMORY_H_

#include <memory>
#include <utility>

#include "device/fault/fault_plan.h"
#include "device/memory.h"

namespace graphtree {

class FaultPhysicalMemory : public PhysicalMemory {
 public:
  explicit FaultPhysicalMemory(std::unique_ptr<PhysicalMemory> wrapped)
      : wrapped_(std::move(wrapped)) {}
  uint64_t bytes() const override { return wrapped_->bytes(); }
  const PhysicalMemory& wrapped() const { return *wrapped_; }

 private:
  const std::unique_ptr<PhysicalMemory> wrapped_;
};

class FaultMemory : public Memory {
 public:
  FaultMemory(Memory* wrapped, FaultPlan* plan) : wrapped_(wrapped), plan_(plan) {}

  uint64_t granularity() const override { return wrapped_->granularity(); }
  absl::StatusOr<MemoryInfo> Info() override;
  absl::StatusOr<AddressRange> Reserve(uint64_t bytes, const ReserveOptions& options) override;
  absl::Status Release(AddressRange range) override;
  absl::StatusOr<std::unique_ptr<PhysicalMemory>> Create(uint64_t bytes) override;
  absl::Status Map(Address at, const PhysicalMemory& memory) override;
  absl::Status Unmap(AddressRange range) override;
  absl::Status SetAccess(AddressRange range, MemoryAccess access) override;
  absl::StatusOr<std::unique_ptr<HostBuffer>> AllocateHost(uint64_t bytes) override;
  absl::Status CheckLive(AddressRange range) override { return wrapped_->CheckLive(range); }
  std::string OtherHomeOf(Address address) override { return wrapped_->OtherHomeOf(address); }
  void NoteLive(AddressRange range, absl::string_view label) override;
  void NoteDead(AddressRange range, absl::string_view reason) override;
  void NoteRevived(AddressRange range, absl::string_view label) override;
  std::vector<AddressRange> UsableParts(AddressRange range) override;

 private:
  Memory* const wrapped_;
  FaultPlan* const plan_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_FAULT_FAULT_MEMORY_H_
