// Maps, copies.
#include "tests/runtime/simulation/server_memory.h"

#include <algorithm>
#include <cstring>

#include "device/base/status_macros.h"

namespace graphtree::runtime_simulation {
namespace {

constexpr uint64_t kTransferBytes = 256 << 10;

}  // namespace

absl::Status ServerMemory::Open() {
  Memory& memory = device_.memory();
  const uint64_t used = log(kMostPrograms) - source(0);
  const uint64_t bytes = std::max(used, memory.granularity());
  GRAPHTREE_ASSIGN_OR_RETURN(stream_, device_.NewStream());
  GRAPHTREE_ASSIGN_OR_RETURN(transfer_, memory.AllocateHost(kTransferBytes));
  GRAPHTREE_ASSIGN_OR_RETURN(range_, memory.Reserve(bytes, {}));
  GRAPHTREE_ASSIGN_OR_RETURN(memory_, memory.Create(bytes));
  GRAPHTREE_RETURN_IF_ERROR(memory.Map(range_.base, *memory_));
  GRAPHTREE_RETURN_IF_ERROR(memory.SetAccess(range_, MemoryAccess::kReadWrite));
  // Only what is used: a fresh page takes longer than many calls.
  memory.NoteLive({range_.base, used}, "the simulated server's own memory");
  GRAPHTREE_RETURN_IF_ERROR(stream_->Fill(range_.base, 0, 1, used));
  return stream_->Synchronize();
}

absl::Status ServerMemory::Close() {
  transfer_ = nullptr;
  stream_ = nullptr;
  if (memory_ != nullptr) {
    GRAPHTREE_RETURN_IF_ERROR(device_.memory().Unmap(range_));
    memory_ = nullptr;
  }
  if (range_.empty()) return absl::OkStatus();
  return device_.memory().Release(range_);
}

absl::Status ServerMemory::Write(Address at, const void* data, uint64_t bytes) {
  if (bytes == 0) return absl::OkStatus();
  std::memcpy(transfer_->data(), data, bytes);
  GRAPHTREE_RETURN_IF_ERROR(stream_->Copy(at, AddressOf(transfer_->data()), bytes));
  return stream_->Synchronize();
}

absl::Status ServerMemory::Read(Address at, void* data, uint64_t bytes) {
  if (bytes == 0) return absl::OkStatus();
  GRAPHTREE_RETURN_IF_ERROR(stream_->Copy(AddressOf(transfer_->data()), at, bytes));
  GRAPHTREE_RETURN_IF_ERROR(stream_->Synchronize());
  std::memcpy(data, transfer_->data(), bytes);
  return absl::OkStatus();
}

}  // namespace graphtree::runtime_simulation
