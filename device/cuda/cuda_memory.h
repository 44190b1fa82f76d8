// A GPU's memory through the driver's virtual memory calls.
//
//   Reserve -> cuMemAddressReserve       Create -> cuMemCreate
//   Map     -> cuMemMap                  SetAccess -> cuMemSetAccess
//
// An AddressMap decides whether a call may be made before the driver is asked, so that a wrong call
// is refused in the same words as on every device, which name both sides. Physical memory that is
// destroyed while it is mapped is freed by the driver when the mapping goes.
//
// Every call is allowed while a capture is open and is not part of it.
//
// Threads: safe from all; calls that change a mapping run one after the other.
#ifndef GRAPHTREE_DEVICE_CUDA_CUDA_MEMORY_H_
#define GRAPHTREE_DEVICE_CUDA_CUDA_MEMORY_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "device/address.h"
#include "device/address_home.h"
#include "device/address_map.h"
#include "device/cuda/context.h"
#include "device/cuda/handles.h"
#include "device/memory.h"

namespace graphtree {

class CudaPhysicalMemory final : public PhysicalMemory {
 public:
  CudaPhysicalMemory(std::shared_ptr<Context> context, MemHandle handle, uint64_t bytes)
      : context_(std::move(context), Kind::kPhysicalMemory),
        handle_(std::move(handle)),
        bytes_(bytes) {}
  ~CudaPhysicalMemory() override;
  uint64_t bytes() const override { return bytes_; }
  CUmemGenericAllocationHandle native() const { return handle_.get(); }
  const Context& context() const { return *context_; }

 private:
  const Membership context_;
  MemHandle handle_;
  const uint64_t bytes_;
};

class CudaHostBuffer final : public HostBuffer {
 public:
  CudaHostBuffer(std::shared_ptr<Context> context, void* data, uint64_t bytes)
      : context_(std::move(context), Kind::kHostBuffer), data_(data), bytes_(bytes) {}
  ~CudaHostBuffer() override;
  void* data() const override { return data_; }
  uint64_t bytes() const override { return bytes_; }

 private:
  const Membership context_;
  void* const data_;
  const uint64_t bytes_;
};

class CudaMemory final : public Memory {
 public:
  static absl::StatusOr<std::unique_ptr<CudaMemory>> Make(std::shared_ptr<Context> context);

  uint64_t granularity() const override { return granularity_; }
  absl::StatusOr<MemoryInfo> Info() override;
  absl::StatusOr<AddressRange> Reserve(uint64_t bytes, const ReserveOptions& options) override;
  absl::Status Release(AddressRange range) override;
  absl::StatusOr<std::unique_ptr<PhysicalMemory>> Create(uint64_t bytes) override;
  absl::Status Map(Address at, const PhysicalMemory& memory) override;
  absl::Status Unmap(AddressRange range) override;
  absl::Status SetAccess(AddressRange range, MemoryAccess access) override;
  absl::StatusOr<std::unique_ptr<HostBuffer>> AllocateHost(uint64_t bytes) override;
  absl::Status CheckLive(AddressRange range) override;
  std::string OtherHomeOf(Address address) override;
  void NoteLive(AddressRange, absl::string_view) override {}
  void NoteDead(AddressRange, absl::string_view) override {}

 private:
  CudaMemory(std::shared_ptr<Context> context, uint64_t granularity)
      : context_(std::move(context)),
        granularity_(granularity),
        home_(context_->name(), true) {}
  absl::Status CheckMultiple(absl::string_view what, uint64_t value) const;

  const std::shared_ptr<Context> context_;
  const uint64_t granularity_;
  std::mutex mutex_;
  AddressMap map_;
  AddressHome home_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_CUDA_CUDA_MEMORY_H_
