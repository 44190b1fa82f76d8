// Memory of graphtree.h: one piece of physical memory under addresses of its own, or page-locked
// memory of the host.
#include <algorithm>
#include <utility>

#include "device/base/status_macros.h"
#include "device/memory.h"
#include "runtime/c/device_objects.h"
#include "runtime/c/entry.h"

namespace graphtree::c {
namespace {

class MemoryObject : public Object {
 public:
  static constexpr Kind kKind = c::kMemory;
  explicit MemoryObject(std::shared_ptr<OpenedDevice> opened) : opened_(std::move(opened)) {}
  ~MemoryObject() override {
    Memory& memory = opened_->device().memory();
    // What cannot be given back is left, and closing the device names it.
    if (is_mapped_) memory.Unmap(reserved_).IgnoreError();
    if (!reserved_.empty()) memory.Release(reserved_).IgnoreError();
  }

  absl::Status MakeOnHost(uint64_t bytes) {
    GRAPHTREE_ASSIGN_OR_RETURN(host_, opened_->device().memory().AllocateHost(bytes));
    range_ = {host_->range().base, bytes};
    return absl::OkStatus();
  }
  absl::Status MakeOnDevice(uint64_t bytes) {
    Memory& memory = opened_->device().memory();
    const uint64_t grain = memory.granularity();
    const uint64_t rounded = (std::max<uint64_t>(bytes, 1) + grain - 1) / grain * grain;
    if (rounded < bytes) return absl::ResourceExhaustedError("more bytes than there are addresses");
    GRAPHTREE_ASSIGN_OR_RETURN(physical_, memory.Create(rounded));
    GRAPHTREE_ASSIGN_OR_RETURN(reserved_, memory.Reserve(rounded, {}));
    GRAPHTREE_RETURN_IF_ERROR(memory.Map(reserved_.base, *physical_));
    is_mapped_ = true;
    range_ = {reserved_.base, bytes};
    return memory.SetAccess(reserved_, MemoryAccess::kReadWrite);
  }
  AddressRange range() const { return range_; }

 private:
  const std::shared_ptr<OpenedDevice> opened_;
  std::unique_ptr<HostBuffer> host_;
  std::unique_ptr<PhysicalMemory> physical_;
  AddressRange reserved_;
  AddressRange range_;  // what was asked for
  bool is_mapped_ = false;
};

}  // namespace
}  // namespace graphtree::c

using graphtree::c::Entry;
using graphtree::c::MemoryObject;
using graphtree::c::Within;

gt_error gt_memory_new(gt_device device, gt_place place, uint64_t bytes, gt_memory* out) noexcept {
  return Within("gt_memory_new", [&](Entry& entry) -> gt_error {
    const auto of = entry.Get<graphtree::c::DeviceObject>(device, "device");
    entry.Fail(graphtree::c::CheckEnum("place", place, GT_ON_HOST));
    if (!entry.Sets(out, "out") || !entry.ok()) return entry.Failed();
    std::unique_ptr<MemoryObject> memory = graphtree::c::NewObject<MemoryObject>(of->opened());
    if (memory == nullptr) return entry.Return(Entry::NoHandle());
    entry.Fail(place == GT_ON_HOST ? memory->MakeOnHost(bytes) : memory->MakeOnDevice(bytes));
    return entry.ok() ? entry.Give(std::move(memory), out) : entry.Failed();
  });
}

gt_error gt_memory_range(gt_memory memory, gt_range* out) noexcept {
  return Within("gt_memory_range", [&](Entry& entry) -> gt_error {
    const auto of = entry.Get<MemoryObject>(memory, "memory");
    if (!entry.Sets(out, "out") || !entry.ok()) return entry.Failed();
    *out = {of->range().base, of->range().bytes};
    return nullptr;
  });
}
