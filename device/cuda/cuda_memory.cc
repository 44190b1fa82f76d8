// Addresses, physical memory and page-locked host memory.
#include "device/cuda/cuda_memory.h"

#include <cuda_runtime_api.h>

#include <memory>
#include <mutex>
#include <typeinfo>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "device/base/known_enum.h"
#include "device/base/status_macros.h"
#include "device/cuda/cuda_status.h"
#include "device/error.h"

namespace graphtree {
namespace {

CUmemAllocationProp Properties(int ordinal) {
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = ordinal;
  return properties;
}

CUmemAccess_flags AccessFlags(MemoryAccess access) {
  switch (access) {
    case MemoryAccess::kNone: return CU_MEM_ACCESS_FLAGS_PROT_NONE;
    case MemoryAccess::kRead: return CU_MEM_ACCESS_FLAGS_PROT_READ;
    case MemoryAccess::kReadWrite: return CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  }
  return CU_MEM_ACCESS_FLAGS_PROT_NONE;
}

// The driver takes a wished base as a hint, and was seen to pass over a free one at the first
// asking and to grant it at the second, while its first answer was held.
CUresult ReserveNear(const Driver& driver, uint64_t bytes, const ReserveOptions& options,
                     CUdeviceptr* base) {
  const auto ask = [&](CUdeviceptr* answer) {
    return driver.MemAddressReserve(answer, bytes, options.alignment, options.wished_base, 0);
  };
  const CUresult result = ask(base);
  if (result != CUDA_SUCCESS || options.wished_base == 0 || *base == options.wished_base) {
    return result;
  }
  CUdeviceptr second = 0;
  if (ask(&second) != CUDA_SUCCESS) return CUDA_SUCCESS;
  if (second == options.wished_base) std::swap(*base, second);
  driver.MemAddressFree(second, bytes);
  return CUDA_SUCCESS;
}

}  // namespace

CudaPhysicalMemory::~CudaPhysicalMemory() {
  ContextScope current(context_->primary());
  handle_.reset();
}

CudaHostBuffer::~CudaHostBuffer() {
  ContextScope current(context_->primary());
  RelaxedScope relaxed(context_->primary());
  if (cudaFreeHost(data_) != cudaSuccess) cudaGetLastError();
}

absl::StatusOr<std::unique_ptr<CudaMemory>> CudaMemory::Make(std::shared_ptr<Context> context) {
  const CUmemAllocationProp properties = Properties(context->primary().ordinal());
  size_t granularity = 0;
  GRAPHTREE_RETURN_IF_ERROR(
      ToStatus(context->health(),
               context->driver().MemGetAllocationGranularity(&granularity, &properties,
                                                             CU_MEM_ALLOC_GRANULARITY_MINIMUM),
               [&] { return absl::StrCat("asking ", context->name(), " for its granularity"); }));
  return std::unique_ptr<CudaMemory>(new CudaMemory(std::move(context), granularity));
}

absl::Status CudaMemory::CheckMultiple(absl::string_view what, uint64_t value) const {
  if (value != 0 && value % granularity_ == 0) return absl::OkStatus();
  return DeviceError(ErrorCode::kInvalidValue,
                     absl::StrCat(what, " ", value, " on ", context_->name(),
                                  ": it must be a multiple of the granularity, ", granularity_,
                                  " bytes, and not zero"));
}

absl::StatusOr<MemoryInfo> CudaMemory::Info() {
  GRAPHTREE_RETURN_IF_ERROR(context_->Usable());
  ContextScope current(context_->primary());
  RelaxedScope relaxed(context_->primary());
  size_t free = 0;
  size_t total = 0;
  GRAPHTREE_RETURN_IF_ERROR(ToStatus(context_->health(), cudaMemGetInfo(&free, &total), [&] {
    return absl::StrCat("asking ", context_->name(), " for its free memory");
  }));
  return MemoryInfo{total, free};
}

absl::StatusOr<AddressRange> CudaMemory::Reserve(uint64_t bytes, const ReserveOptions& options) {
  GRAPHTREE_RETURN_IF_ERROR(context_->Usable());
  GRAPHTREE_RETURN_IF_ERROR(CheckMultiple("reserving addresses, bytes:", bytes));
  if ((options.alignment & (options.alignment - 1)) != 0) {
    return DeviceError(ErrorCode::kInvalidValue,
                       absl::StrCat("reserving addresses with alignment ", options.alignment,
                                    " on ", context_->name(), ": it must be a power of two"));
  }
  ContextScope current(context_->primary());
  std::lock_guard<std::mutex> lock(mutex_);
  CUdeviceptr base = 0;
  GRAPHTREE_RETURN_IF_ERROR(
      ToStatus(context_->health(), ReserveNear(context_->driver(), bytes, options, &base),
               [&] {
                 return absl::StrCat("reserving ", bytes, " bytes of addresses on ",
                                     context_->name(), " (alignment ", options.alignment,
                                     ", wished base 0x", absl::Hex(options.wished_base), ", ",
                                     map_.reserved_bytes(), " bytes reserved before)");
               }));
  const AddressRange range{base, bytes};
  map_.Reserved(range);
  home_.Reserved(range);
  context_->Made(Kind::kReservation);
  return range;
}

absl::Status CudaMemory::Release(AddressRange range) {
  ContextScope current(context_->primary());
  std::lock_guard<std::mutex> lock(mutex_);
  GRAPHTREE_RETURN_IF_ERROR(map_.MayRelease(range));
  // Told before the driver can give the addresses to another device.
  home_.Released(range);
  const absl::Status status =
      ToStatus(context_->health(), context_->driver().MemAddressFree(range.base, range.bytes),
               [&] { return absl::StrCat("releasing the addresses ", ToString(range)); });
  // A lost device refuses everything; its addresses mean nothing any more.
  if (!status.ok() && !context_->health().lost()) {
    home_.Reserved(range);
    return status;
  }
  map_.Released(range);
  context_->Gone(Kind::kReservation);
  return status;
}

absl::StatusOr<std::unique_ptr<PhysicalMemory>> CudaMemory::Create(uint64_t bytes) {
  GRAPHTREE_RETURN_IF_ERROR(context_->Usable());
  GRAPHTREE_RETURN_IF_ERROR(CheckMultiple("creating physical memory, bytes:", bytes));
  ContextScope current(context_->primary());
  const CUmemAllocationProp properties = Properties(context_->primary().ordinal());
  CUmemGenericAllocationHandle handle = 0;
  GRAPHTREE_RETURN_IF_ERROR(ToStatus(
      context_->health(), context_->driver().MemCreate(&handle, bytes, &properties, 0), [&] {
        return absl::StrCat("creating ", bytes, " bytes of physical memory on ", context_->name());
      }));
  return std::make_unique<CudaPhysicalMemory>(context_, MemHandle(context_->driver(), handle),
                                              bytes);
}

absl::Status CudaMemory::Map(Address at, const PhysicalMemory& memory) {
  GRAPHTREE_RETURN_IF_ERROR(context_->Usable());
  if (typeid(memory) != typeid(CudaPhysicalMemory) ||
      &static_cast<const CudaPhysicalMemory&>(memory).context() != context_.get()) {
    return DeviceError(ErrorCode::kInvalidValue,
                       absl::StrCat("mapping memory of another device on ", context_->name()));
  }
  const AddressRange range{at, memory.bytes()};
  if (at % granularity_ != 0) {
    return DeviceError(ErrorCode::kInvalidValue,
                       absl::StrCat("mapping ", ToString(range), " on ", context_->name(),
                                    ": the address must be a multiple of ", granularity_));
  }
  const CUmemGenericAllocationHandle handle =
      static_cast<const CudaPhysicalMemory&>(memory).native();
  ContextScope current(context_->primary());
  std::lock_guard<std::mutex> lock(mutex_);
  GRAPHTREE_RETURN_IF_ERROR(map_.MayMap(range));
  GRAPHTREE_RETURN_IF_ERROR(
      ToStatus(context_->health(), context_->driver().MemMap(at, range.bytes, 0, handle, 0),
               [&] { return absl::StrCat("mapping ", ToString(range)); }));
  map_.Mapped(range, handle);
  return absl::OkStatus();
}

absl::Status CudaMemory::Unmap(AddressRange range) {
  ContextScope current(context_->primary());
  std::lock_guard<std::mutex> lock(mutex_);
  GRAPHTREE_RETURN_IF_ERROR(map_.MayUnmap(range));
  const absl::Status status =
      ToStatus(context_->health(), context_->driver().MemUnmap(range.base, range.bytes),
               [&] { return absl::StrCat("unmapping ", ToString(range)); });
  if (!status.ok() && !context_->health().lost()) return status;
  map_.Unmapped(range);
  return status;
}

absl::Status CudaMemory::SetAccess(AddressRange range, MemoryAccess access) {
  GRAPHTREE_RETURN_IF_ERROR(context_->Usable());
  if (!IsKnown(access, MemoryAccess::kReadWrite)) {
    return DeviceError(ErrorCode::kInvalidValue,
                       absl::StrCat("setting ", NotKnown("access", access), ", on ",
                                    ToString(range)));
  }
  CUmemAccessDesc wanted = {};
  wanted.location = Properties(context_->primary().ordinal()).location;
  wanted.flags = AccessFlags(access);
  ContextScope current(context_->primary());
  std::lock_guard<std::mutex> lock(mutex_);
  GRAPHTREE_RETURN_IF_ERROR(map_.MayAccess(range));
  return ToStatus(context_->health(),
                  context_->driver().MemSetAccess(range.base, range.bytes, &wanted, 1), [&] {
                    return absl::StrCat("setting access ", static_cast<int>(access), " on ",
                                        ToString(range), " of ", context_->name());
                  });
}

// The driver is asked about both ends; holes between mappings of ours are known here.
absl::Status CudaMemory::CheckLive(AddressRange range) {
  GRAPHTREE_RETURN_IF_ERROR(context_->Usable());
  if (range.empty()) return absl::OkStatus();
  ContextScope current(context_->primary());
  std::lock_guard<std::mutex> lock(mutex_);
  if (!map_.MappingsIn(range).empty()) return map_.IsMapped(range);
  for (const Address address : {range.base, range.end() - 1}) {
    CUmemorytype type = CU_MEMORYTYPE_HOST;
    const CUresult known = context_->driver().PointerGetAttribute(
        &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, static_cast<CUdeviceptr>(address));
    if (known == CUDA_SUCCESS) continue;
    return DeviceError(ErrorCode::kInvalidValue,
                       absl::StrCat(ToString(range), ": no memory is mapped at 0x",
                                    absl::Hex(address), " on ", context_->name()));
  }
  return absl::OkStatus();
}

// What other code in the process has allocated is known to the driver alone. Managed memory is
// everybody's.
std::string CudaMemory::OtherHomeOf(Address address) {
  std::string home = home_.OtherHomeOf(address);
  if (!home.empty()) return home;
  const Driver& driver = context_->driver();
  const auto at = static_cast<CUdeviceptr>(address);
  CUmemorytype type = CU_MEMORYTYPE_HOST;
  unsigned int is_managed = 1;
  int ordinal = context_->primary().ordinal();
  const bool is_known =
      driver.PointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at) == CUDA_SUCCESS &&
      driver.PointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, at) ==
          CUDA_SUCCESS &&
      driver.PointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, at) ==
          CUDA_SUCCESS;
  const bool is_elsewhere = is_known && type == CU_MEMORYTYPE_DEVICE && is_managed == 0 &&
                            ordinal != context_->primary().ordinal();
  return is_elsewhere ? absl::StrCat("cuda:", ordinal) : "";
}

absl::StatusOr<std::unique_ptr<HostBuffer>> CudaMemory::AllocateHost(uint64_t bytes) {
  GRAPHTREE_RETURN_IF_ERROR(context_->Usable());
  if (bytes == 0) {
    return DeviceError(ErrorCode::kInvalidValue, "allocating a host buffer of 0 bytes");
  }
  ContextScope current(context_->primary());
  RelaxedScope relaxed(context_->primary());
  void* data = nullptr;
  GRAPHTREE_RETURN_IF_ERROR(
      ToStatus(context_->health(), cudaHostAlloc(&data, bytes, cudaHostAllocPortable), [&] {
        return absl::StrCat("allocating ", bytes, " bytes of page-locked host memory");
      }));
  return std::make_unique<CudaHostBuffer>(context_, data, bytes);
}

}  // namespace graphtree
