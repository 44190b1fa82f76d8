// Each call: ask the books whether it may be done, do it, tell the books.
#include "device/host/engine/memory_books.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "device/base/check.h"
#include "device/base/known_enum.h"
#include "device/base/status_macros.h"
#include "device/error.h"

namespace graphtree::host {
namespace {

// Pieces are never put where one was before, so the file grows without end: 64 TiB of holes.
constexpr uint64_t kFileBytes = uint64_t{64} << 40;

absl::Status SystemError(ErrorCode code, absl::string_view what) {
  return DeviceError(code, absl::StrCat(what, ": ", std::strerror(errno)));
}

absl::Status CheckSize(absl::string_view verb, uint64_t bytes) {
  if (bytes != 0 && bytes % MemoryBooks::kGranularity == 0) return absl::OkStatus();
  return DeviceError(ErrorCode::kInvalidValue,
                     absl::StrCat(verb, " ", bytes, " bytes: sizes are multiples of ",
                                  MemoryBooks::kGranularity, " and not 0"));
}

bool IsPowerOfTwo(uint64_t value) { return value != 0 && (value & (value - 1)) == 0; }

// These addresses have no memory, and touching them faults.
void* MapNothing(Address at, uint64_t bytes, int flags) {
  return mmap(PointerTo<>(at), bytes, PROT_NONE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
}

int ProtectionOf(MemoryAccess access) {
  switch (access) {
    case MemoryAccess::kNone: return PROT_NONE;
    case MemoryAccess::kRead: return PROT_READ;
    case MemoryAccess::kReadWrite: return PROT_READ | PROT_WRITE;
  }
  return PROT_NONE;
}

}  // namespace

MemoryBooks::~MemoryBooks() {
  if (file_ >= 0) close(file_);
}

absl::Status MemoryBooks::Charge(uint64_t bytes, absl::string_view what) {
  if (bytes > total_bytes_ - used_bytes_) {
    return DeviceError(ErrorCode::kOutOfMemory,
                       absl::StrCat(what, " takes ", bytes, " bytes, and ",
                                    total_bytes_ - used_bytes_, " of the host device's ",
                                    total_bytes_, " are free"));
  }
  used_bytes_ += bytes;
  return absl::OkStatus();
}

absl::StatusOr<AddressRange> MemoryBooks::TakeAddresses(uint64_t bytes,
                                                        const ReserveOptions& options) {
  const uint64_t alignment = std::max(options.alignment, kGranularity);
  if (options.wished_base != 0 && options.wished_base % alignment == 0) {
    void* at = MapNothing(options.wished_base, bytes, MAP_FIXED_NOREPLACE);
    if (AddressOf(at) == options.wished_base) return AddressRange{options.wished_base, bytes};
    if (at != MAP_FAILED) munmap(at, bytes);
  }
  const uint64_t padded = bytes + alignment;
  void* at = padded < bytes ? MAP_FAILED : MapNothing(0, padded, 0);
  if (at == MAP_FAILED) {
    if (padded < bytes) errno = ENOMEM;
    return SystemError(ErrorCode::kOutOfMemory, absl::StrCat("reserving ", bytes, " bytes"));
  }
  const Address base = (AddressOf(at) + alignment - 1) & ~(alignment - 1);
  const Address end = AddressOf(at) + padded;
  if (base != AddressOf(at)) munmap(at, base - AddressOf(at));
  if (base + bytes != end) munmap(PointerTo<>(base + bytes), end - (base + bytes));
  return AddressRange{base, bytes};
}

absl::StatusOr<AddressRange> MemoryBooks::Reserve(uint64_t bytes, const ReserveOptions& options) {
  GRAPHTREE_RETURN_IF_ERROR(CheckSize("reserving", bytes));
  if (options.alignment != 0 && !IsPowerOfTwo(options.alignment)) {
    return DeviceError(ErrorCode::kInvalidValue,
                       absl::StrCat("reserving ", bytes, " bytes: the alignment ",
                                    options.alignment, " is no power of two"));
  }
  GRAPHTREE_ASSIGN_OR_RETURN(const AddressRange range, TakeAddresses(bytes, options));
  map_.Reserved(range);
  home_.Reserved(range);
  checks_.access().Reserved(range);
  return range;
}

absl::Status MemoryBooks::Release(AddressRange range) {
  GRAPHTREE_RETURN_IF_ERROR(map_.MayRelease(range));
  home_.Released(range);
  munmap(PointerTo<>(range.base), range.bytes);
  map_.Released(range);
  checks_.access().Released(range);
  checks_.liveness().Forget(range);
  checks_.races().Forget(range);
  return absl::OkStatus();
}

absl::Status MemoryBooks::OpenFile() {
  if (file_ >= 0) return absl::OkStatus();
  file_ = memfd_create("graphtree-host-device", MFD_CLOEXEC);
  if (file_ < 0) return SystemError(ErrorCode::kOutOfMemory, "making the file of pages");
  if (ftruncate(file_, static_cast<off_t>(kFileBytes)) != 0) {
    const absl::Status status =
        SystemError(ErrorCode::kOutOfMemory, "making room in the file of pages");
    close(file_);
    file_ = -1;
    return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<Piece*> MemoryBooks::Create(uint64_t bytes) {
  GRAPHTREE_RETURN_IF_ERROR(CheckSize("creating physical memory of", bytes));
  if (bytes > kFileBytes - file_end_) {
    return DeviceError(ErrorCode::kOutOfMemory,
                       absl::StrCat("creating physical memory of ", bytes,
                                    " bytes: the file of pages is used up"));
  }
  GRAPHTREE_RETURN_IF_ERROR(OpenFile());
  GRAPHTREE_RETURN_IF_ERROR(Charge(bytes, "physical memory"));
  auto piece = std::make_unique<Piece>(Piece{file_end_, bytes});
  file_end_ += bytes;
  physical_bytes_ += bytes;
  Piece* const created = piece.get();
  pieces_.emplace(created, std::move(piece));
  return created;
}

void MemoryBooks::DropIfUnused(Piece* piece) {
  if (piece->owned || piece->mappings > 0) return;
  fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(piece->offset),
            static_cast<off_t>(piece->bytes));
  Refund(piece->bytes);
  physical_bytes_ -= piece->bytes;
  pieces_.erase(piece);
}

void MemoryBooks::Disown(Piece* piece) {
  piece->owned = false;
  DropIfUnused(piece);
}

absl::Status MemoryBooks::Map(Address at, Piece* piece) {
  const AddressRange range = {at, piece->bytes};
  if (at % kGranularity != 0) {
    return DeviceError(ErrorCode::kInvalidValue,
                       absl::StrCat("mapping ", ToString(range),
                                    ": addresses are multiples of ", kGranularity));
  }
  GRAPHTREE_RETURN_IF_ERROR(map_.MayMap(range));
  void* mapped = mmap(PointerTo<>(at), piece->bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, file_,
                      static_cast<off_t>(piece->offset));
  if (mapped == MAP_FAILED) {
    return SystemError(ErrorCode::kOutOfMemory, absl::StrCat("mapping ", ToString(range)));
  }
  map_.Mapped(range, reinterpret_cast<uintptr_t>(piece));
  ++piece->mappings;
  return absl::OkStatus();
}

absl::Status MemoryBooks::Unmap(AddressRange range) {
  GRAPHTREE_RETURN_IF_ERROR(map_.MayUnmap(range));
  if (MapNothing(range.base, range.bytes, MAP_FIXED) == MAP_FAILED) {
    return SystemError(ErrorCode::kOutOfMemory, absl::StrCat("unmapping ", ToString(range)));
  }
  checks_.access().SetRights(range, MemoryAccess::kNone);
  for (const AddressMap::Mapping& mapping : map_.Unmapped(range)) {
    Piece* const piece = PointerTo<Piece>(mapping.tag);
    --piece->mappings;
    DropIfUnused(piece);
  }
  return absl::OkStatus();
}

absl::Status MemoryBooks::SetAccess(AddressRange range, MemoryAccess access) {
  GRAPHTREE_RETURN_IF_ERROR(map_.MayAccess(range));
  if (!IsKnown(access, MemoryAccess::kReadWrite)) {
    return DeviceError(ErrorCode::kInvalidValue,
                       absl::StrCat("setting ", NotKnown("access", access), ", on ",
                                    ToString(range)));
  }
  if (mprotect(PointerTo<>(range.base), range.bytes, ProtectionOf(access)) != 0) {
    return SystemError(ErrorCode::kInvalidValue,
                       absl::StrCat("setting the access of ", ToString(range)));
  }
  checks_.access().SetRights(range, access);
  return absl::OkStatus();
}

void MemoryBooks::RemoveHostBuffer(AddressRange range) {
  host_buffers_.erase(range.base);
  checks_.races().Forget(range);
}

bool MemoryBooks::IsPageLocked(AddressRange range) const {
  if (checks_.access().IsReserved(range.base)) return true;
  const auto behind = host_buffers_.upper_bound(range.base);
  return behind != host_buffers_.begin() && std::prev(behind)->second.Contains(range);
}

}  // namespace graphtree::host
