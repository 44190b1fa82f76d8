// Opening, mapping, capturing.
#include "tests/bare/bench_device.h"

#include "device/base/status_macros.h"
#include "device/open.h"

namespace graphtree {

BenchDevice::~BenchDevice() {
  if (memory_.empty()) return;
  device_->memory().Unmap(memory_).IgnoreError();
  device_->memory().Release(memory_).IgnoreError();
}

absl::Status BenchDevice::Open(const std::string& name, uint64_t bytes) {
  GRAPHTREE_ASSIGN_OR_RETURN(device_, OpenDevice(name));
  GRAPHTREE_ASSIGN_OR_RETURN(stream_, device_->NewStream());
  Memory& memory = device_->memory();
  const uint64_t granularity = memory.granularity();
  const uint64_t whole = (bytes + granularity - 1) / granularity * granularity;
  GRAPHTREE_ASSIGN_OR_RETURN(memory_, memory.Reserve(whole, {}));
  GRAPHTREE_ASSIGN_OR_RETURN(physical_, memory.Create(whole));
  GRAPHTREE_RETURN_IF_ERROR(memory.Map(memory_.base, *physical_));
  GRAPHTREE_RETURN_IF_ERROR(memory.SetAccess(memory_, MemoryAccess::kReadWrite));
  return stream_->Fill(memory_.base, 1, 4, whole / 4);
}

absl::StatusOr<HostGraph> BenchDevice::Capture(const std::function<absl::Status()>& record) {
  HostGraph made;
  GRAPHTREE_RETURN_IF_ERROR(stream_->BeginCapture(CaptureMode::kThreadLocal));
  GRAPHTREE_RETURN_IF_ERROR(record());
  GRAPHTREE_ASSIGN_OR_RETURN(made.graph, stream_->EndCapture());
  GRAPHTREE_ASSIGN_OR_RETURN(made.executable, made.graph->Instantiate());
  return made;
}

}  // namespace graphtree
