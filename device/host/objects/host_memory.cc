// Owners of pieces and host buffers, and the calls that take the lock.
#include "device/host/objects/host_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "device/address_map.h"
#include "device/base/status_macros.h"
#include "device/error.h"

namespace graphtree::host {
namespace {

constexpr uint8_t kFreshByte = 0xCB;
constexpr uint8_t kDeadByte = 0xDB;

// The system knows: it refuses to synchronise what is not mapped, and does nothing else.
bool IsMappedHere(AddressRange range) {
  const Address page = static_cast<Address>(sysconf(_SC_PAGESIZE));
  const Address first = range.base / page * page;
  return msync(PointerTo(first), range.end() - first, MS_ASYNC) == 0;
}

class OwnedPiece : public PhysicalMemory {
 public:
  OwnedPiece(std::shared_ptr<Core> core, Piece* piece)
      : core_(std::move(core)), piece_(piece), bytes_(piece->bytes) {}
  ~OwnedPiece() override {
    const Engine::Lock lock = core_->engine.Guard();
    core_->books.Disown(piece_);
  }
  uint64_t bytes() const override { return bytes_; }
  const Core* core() const { return core_.get(); }
  Piece* piece() const { return piece_; }

 private:
  const std::shared_ptr<Core> core_;
  Piece* const piece_;
  const uint64_t bytes_;
};

class OwnedHostBuffer : public HostBuffer {
 public:
  OwnedHostBuffer(std::shared_ptr<Core> core, void* data, uint64_t bytes)
      : core_(std::move(core)), data_(data), bytes_(bytes) {}
  ~OwnedHostBuffer() override {
    {
      const Engine::Lock lock = core_->engine.Guard();
      core_->books.RemoveHostBuffer(range());
    }
    munmap(data_, bytes_);
  }
  void* data() const override { return data_; }
  uint64_t bytes() const override { return bytes_; }

 private:
  const std::shared_ptr<Core> core_;
  void* const data_;
  const uint64_t bytes_;
};

}  // namespace

absl::StatusOr<MemoryInfo> HostMemory::Info() {
  const Engine::Lock lock = core_->engine.Guard();
  GRAPHTREE_RETURN_IF_ERROR(core_->Usable("asking for the free memory"));
  return core_->books.info();
}

absl::StatusOr<AddressRange> HostMemory::Reserve(uint64_t bytes, const ReserveOptions& options) {
  const Engine::Lock lock = core_->engine.Guard();
  GRAPHTREE_RETURN_IF_ERROR(core_->Usable("reserving addresses"));
  return core_->books.Reserve(bytes, options);
}

// Giving back works on a lost device too: closing it needs that.
absl::Status HostMemory::Release(AddressRange range) {
  const Engine::Lock lock = core_->engine.Guard();
  return core_->books.Release(range);
}

absl::StatusOr<std::unique_ptr<PhysicalMemory>> HostMemory::Create(uint64_t bytes) {
  const Engine::Lock lock = core_->engine.Guard();
  GRAPHTREE_RETURN_IF_ERROR(core_->Usable("creating physical memory"));
  GRAPHTREE_ASSIGN_OR_RETURN(Piece* const piece, core_->books.Create(bytes));
  return std::make_unique<OwnedPiece>(core_, piece);
}

absl::Status HostMemory::Map(Address at, const PhysicalMemory& memory) {
  const auto* owned = dynamic_cast<const OwnedPiece*>(&memory);
  if (owned == nullptr || owned->core() != core_.get()) {
    return DeviceError(ErrorCode::kInvalidValue,
                       absl::StrCat("mapping ", memory.bytes(),
                                    " bytes of physical memory of another device"));
  }
  const Engine::Lock lock = core_->engine.Guard();
  GRAPHTREE_RETURN_IF_ERROR(core_->Usable("mapping memory"));
  return core_->books.Map(at, owned->piece());
}

absl::Status HostMemory::Unmap(AddressRange range) {
  const Engine::Lock lock = core_->engine.Guard();
  return core_->books.Unmap(range);
}

absl::Status HostMemory::SetAccess(AddressRange range, MemoryAccess access) {
  const Engine::Lock lock = core_->engine.Guard();
  GRAPHTREE_RETURN_IF_ERROR(core_->Usable("setting access"));
  return core_->books.SetAccess(range, access);
}

absl::StatusOr<std::unique_ptr<HostBuffer>> HostMemory::AllocateHost(uint64_t bytes) {
  if (bytes == 0) {
    return DeviceError(ErrorCode::kInvalidValue, "allocating 0 bytes of page-locked host memory");
  }
  const Engine::Lock lock = core_->engine.Guard();
  GRAPHTREE_RETURN_IF_ERROR(core_->Usable("allocating page-locked host memory"));
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) {
    return DeviceError(ErrorCode::kOutOfMemory,
                       absl::StrCat("allocating ", bytes, " bytes of page-locked host memory: ",
                                    std::strerror(errno)));
  }
  core_->books.AddHostBuffer({AddressOf(data), bytes});
  return std::make_unique<OwnedHostBuffer>(core_, data, bytes);
}

absl::Status HostMemory::CheckLive(AddressRange range) {
  if (range.empty()) return absl::OkStatus();
  const Engine::Lock lock = core_->engine.Guard();
  Checks& checks = core_->engine.checks();
  std::string wrong = checks.liveness().Check(range);
  if (wrong.empty()) wrong = checks.access().Check(range, false);
  if (wrong.empty() && !IsMappedHere(range)) {
    wrong = absl::StrCat(ToString(range), " is no memory of this process");
  }
  return wrong.empty() ? absl::OkStatus() : DeviceError(ErrorCode::kInvalidValue, wrong);
}

void HostMemory::NoteLive(AddressRange range, absl::string_view label) {
  const Engine::Lock lock = core_->engine.Guard();
  Checks& checks = core_->engine.checks();
  checks.liveness().SetLive(range, label);
  if (checks.poison()) core_->engine.FillInOrder(range, kFreshByte);
}

void HostMemory::NoteRevived(AddressRange range, absl::string_view label) {
  const Engine::Lock lock = core_->engine.Guard();
  core_->engine.checks().liveness().SetLive(range, label);
}

std::vector<AddressRange> HostMemory::UsableParts(AddressRange range) {
  const Engine::Lock lock = core_->engine.Guard();
  return core_->engine.checks().liveness().UsableParts(range);
}

void HostMemory::NoteDead(AddressRange range, absl::string_view reason) {
  const Engine::Lock lock = core_->engine.Guard();
  Checks& checks = core_->engine.checks();
  checks.liveness().SetDead(range, reason);
  if (checks.poison()) core_->engine.FillInOrder(range, kDeadByte);
}

}  // namespace graphtree::host
