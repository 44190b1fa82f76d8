// Each call asks the plan, then the wrapped memory.
#include "device/fault/fault_memory.h"

#include "device/base/status_macros.h"

namespace graphtree {

absl::StatusOr<MemoryInfo> FaultMemory::Info() {
  GRAPHTREE_RETURN_IF_ERROR(plan_->Enter("Memory.Info"));
  return wrapped_->Info();
}

absl::StatusOr<AddressRange> FaultMemory::Reserve(uint64_t bytes, const ReserveOptions& options) {
  GRAPHTREE_RETURN_IF_ERROR(plan_->Enter("Memory.Reserve"));
  return wrapped_->Reserve(bytes, options);
}

absl::Status FaultMemory::Release(AddressRange range) {
  GRAPHTREE_RETURN_IF_ERROR(plan_->Enter("Memory.Release"));
  return wrapped_->Release(range);
}

absl::StatusOr<std::unique_ptr<PhysicalMemory>> FaultMemory::Create(uint64_t bytes) {
  GRAPHTREE_RETURN_IF_ERROR(plan_->Enter("Memory.Create"));
  GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<PhysicalMemory> memory, wrapped_->Create(bytes));
  return std::make_unique<FaultPhysicalMemory>(std::move(memory));
}

absl::Status FaultMemory::Map(Address at, const PhysicalMemory& memory) {
  GRAPHTREE_RETURN_IF_ERROR(plan_->Enter("Memory.Map"));
  const auto* ours = dynamic_cast<const FaultPhysicalMemory*>(&memory);
  return wrapped_->Map(at, ours != nullptr ? ours->wrapped() : memory);
}

absl::Status FaultMemory::Unmap(AddressRange range) {
  GRAPHTREE_RETURN_IF_ERROR(plan_->Enter("Memory.Unmap"));
  return wrapped_->Unmap(range);
}

absl::Status FaultMemory::SetAccess(AddressRange range, MemoryAccess access) {
  GRAPHTREE_RETURN_IF_ERROR(plan_->Enter("Memory.SetAccess"));
  return wrapped_->SetAccess(range, access);
}

absl::StatusOr<std::unique_ptr<HostBuffer>> FaultMemory::AllocateHost(uint64_t bytes) {
  GRAPHTREE_RETURN_IF_ERROR(plan_->Enter("Memory.AllocateHost"));
  return wrapped_->AllocateHost(bytes);
}

void FaultMemory::NoteLive(AddressRange range, absl::string_view label) {
  wrapped_->NoteLive(range, label);
}

void FaultMemory::NoteRevived(AddressRange range, absl::string_view label) {
  wrapped_->NoteRevived(range, label);
}

std::vector<AddressRange> FaultMemory::UsableParts(AddressRange range) {
  return wrapped_->UsableParts(range);
}

void FaultMemory::NoteDead(AddressRange range, absl::string_view reason) {
  wrapped_->NoteDead(range, reason);
}

}  // namespace graphtree
