// Saves, unmaps, maps again, copies back.
#include "runtime/park/parkable_memory.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "device/base/insist.h"
#include "device/base/status_macros.h"
#include "device/stream.h"

namespace graphtree {
namespace {

uint64_t RoundUp(uint64_t bytes, uint64_t to) { return (bytes + to - 1) / to * to; }

}  // namespace

absl::StatusOr<std::unique_ptr<ParkableMemory>> ParkableMemory::Create(Device& device,
                                                                       uint64_t bytes,
                                                                       std::string name) {
  std::unique_ptr<ParkableMemory> made(new ParkableMemory(device, bytes, std::move(name)));
  if (bytes == 0) return made;
  GRAPHTREE_ASSIGN_OR_RETURN(
      made->reserved_,
      device.memory().Reserve(RoundUp(bytes, device.memory().granularity()), {}));
  GRAPHTREE_RETURN_IF_ERROR(made->Map());
  return made;
}

ParkableMemory::~ParkableMemory() {
  // Nobody could be told of a failure.
  if (physical_ != nullptr) Insist([this] { return Unmap(); }).IgnoreError();
  physical_ = nullptr;
  if (reserved_.empty()) return;
  Insist([this] { return device_.memory().Release(reserved_); }).IgnoreError();
}

absl::Status ParkableMemory::Map() {
  Memory& memory = device_.memory();
  if (physical_ == nullptr) {
    GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<PhysicalMemory> physical,
                               memory.Create(reserved_.bytes));
    GRAPHTREE_RETURN_IF_ERROR(memory.Map(reserved_.base, *physical));
    physical_ = std::move(physical);
  }
  if (is_usable_) return absl::OkStatus();
  absl::Status usable = memory.SetAccess(reserved_, MemoryAccess::kReadWrite);
  is_usable_ = usable.ok();
  // What cannot be unmapped is there for the next try.
  if (!usable.ok()) Insist([this] { return Unmap(); }).IgnoreError();
  return usable;
}

absl::Status ParkableMemory::Unmap() {
  GRAPHTREE_RETURN_IF_ERROR(device_.memory().Unmap(reserved_));
  physical_ = nullptr;
  is_usable_ = false;
  return absl::OkStatus();
}

absl::Status ParkableMemory::CopyAll(Address target, Address source) {
  GRAPHTREE_ASSIGN_OR_RETURN(const std::unique_ptr<Stream> stream, device_.NewStream());
  GRAPHTREE_RETURN_IF_ERROR(stream->Copy(target, source, bytes_));
  // Neither side may go while the copy is under way.
  return Insist([&stream] { return stream->Synchronize(); });
}

absl::Status ParkableMemory::Save() {
  GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<HostBuffer> saved,
                             device_.memory().AllocateHost(bytes_));
  GRAPHTREE_RETURN_IF_ERROR(CopyAll(saved->range().base, reserved_.base));
  saved_ = std::move(saved);
  return absl::OkStatus();
}

absl::Status ParkableMemory::Park(Contents contents) {
  const absl::Status parked = ParkNow(contents);
  // It stays, and may be written to.
  if (!parked.ok()) ForgetLastPark();
  return parked;
}

absl::Status ParkableMemory::ParkNow(Contents contents) {
  ForgetLastPark();
  const AddressRange all = range();
  if (contents != Contents::kDrop && !all.empty()) {
    GRAPHTREE_ASSIGN_OR_RETURN(canaries_, Canaries::Take(device_, {&all, 1}));
  }
  if (contents == Contents::kKeep && !all.empty()) GRAPHTREE_RETURN_IF_ERROR(Save());
  if (contents != Contents::kPinned && physical_ != nullptr) {
    if (absl::Status gone = Unmap(); !gone.ok()) {
      saved_ = nullptr;
      return gone;
    }
  }
  is_parked_ = true;
  return absl::OkStatus();
}

absl::Status ParkableMemory::Wake() {
  if (!is_parked_) return absl::OkStatus();
  const bool stayed = is_usable_;
  if (!reserved_.empty()) GRAPHTREE_RETURN_IF_ERROR(Map());
  if (absl::Status back = BringBack(); !back.ok()) {
    if (!stayed) Insist([this] { return Unmap(); }).IgnoreError();
    return back;
  }
  saved_ = nullptr;
  is_parked_ = false;
  return absl::OkStatus();
}

absl::Status ParkableMemory::BringBack() {
  return saved_ == nullptr ? absl::OkStatus() : CopyAll(reserved_.base, saved_->range().base);
}

void ParkableMemory::GiveUpContents() {
  canaries_ = Canaries();
  saved_ = nullptr;
}

}  // namespace graphtree
