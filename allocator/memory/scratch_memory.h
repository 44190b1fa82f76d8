// A short-lived piece of device memory with addresses of its own, for the library's own few bytes.
#ifndef GRAPHTREE_ALLOCATOR_MEMORY_SCRATCH_MEMORY_H_
#define GRAPHTREE_ALLOCATOR_MEMORY_SCRATCH_MEMORY_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "device/base/insist.h"
#include "device/base/status_macros.h"
#include "device/memory.h"

namespace graphtree {

class ScratchMemory {
 public:
  explicit ScratchMemory(Memory* memory) : memory_(*memory) {}
  ScratchMemory(const ScratchMemory&) = delete;
  ScratchMemory& operator=(const ScratchMemory&) = delete;
  // Closing the device names whatever could not be given back.
  ~ScratchMemory() {
    if (is_mapped_) Insist([this] { return memory_.Unmap(range_); }).IgnoreError();
    physical_.reset();
    if (!range_.empty()) Insist([this] { return memory_.Release(range_); }).IgnoreError();
  }

  absl::Status Map(uint64_t bytes) {
    const uint64_t unit = memory_.granularity();
    bytes = (bytes + unit - 1) / unit * unit;
    GRAPHTREE_ASSIGN_OR_RETURN(range_, memory_.Reserve(bytes, {}));
    GRAPHTREE_ASSIGN_OR_RETURN(physical_, memory_.Create(bytes));
    GRAPHTREE_RETURN_IF_ERROR(memory_.Map(range_.base, *physical_));
    is_mapped_ = true;
    memory_.NoteLive(range_, "the pool's own");
    return memory_.SetAccess(range_, MemoryAccess::kReadWrite);
  }
  Address base() const { return range_.base; }

 private:
  Memory& memory_;
  AddressRange range_;
  std::unique_ptr<PhysicalMemory> physical_;
  bool is_mapped_ = false;
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_MEMORY_SCRATCH_MEMORY_H_
