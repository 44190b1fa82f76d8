// The Memory of a host device: calls the memory's books with the engine's lock held.
#ifndef GRAPHTREE_DEVICE_HOST_OBJECTS_HOST_MEMORY_H_
#define GRAPHTREE_DEVICE_HOST_OBJECTS_HOST_MEMORY_H_

#include <memory>
#include <utility>

#include "device/host/engine/core.h"
#include "device/memory.h"

namespace graphtree::host {

class HostMemory : public Memory {
 public:
  explicit HostMemory(std::shared_ptr<Core> core) : core_(std::move(core)) {}

  uint64_t granularity() const override { return MemoryBooks::kGranularity; }
  absl::StatusOr<MemoryInfo> Info() override;
  absl::StatusOr<AddressRange> Reserve(uint64_t bytes, const ReserveOptions& options) override;
  absl::Status Release(AddressRange range) override;
  absl::StatusOr<std::unique_ptr<PhysicalMemory>> Create(uint64_t bytes) override;
  absl::Status Map(Address at, const PhysicalMemory& memory) override;
  absl::Status Unmap(AddressRange range) override;
  absl::Status SetAccess(AddressRange range, MemoryAccess access) override;
  absl::StatusOr<std::unique_ptr<HostBuffer>> AllocateHost(uint64_t bytes) override;
  absl::Status CheckLive(AddressRange range) override;
  std::string OtherHomeOf(Address address) override {
    return core_->books.home().OtherHomeOf(address);
  }
  void NoteLive(AddressRange range, absl::string_view label) override;
  void NoteDead(AddressRange range, absl::string_view reason) override;
  void NoteRevived(AddressRange range, absl::string_view label) override;
  std::vector<AddressRange> UsableParts(AddressRange range) override;

 private:
  const std::shared_ptr<Core> core_;
};

}  // namespace graphtree::host

#endif  // GRAPHTREE_DEVICE_HOST_OBJECTS_HOST_MEMORY_H_
