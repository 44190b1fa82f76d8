// Runs parts, and tells of their writes.
#include "graphs/memory/part_runner.h"

#include "absl/algorithm/container.h"

namespace graphtree {

PartRunner::PartRunner(Stream& stream, StepAllocator allocator, Workspaces* workspaces,
                       RandomSource* random, SaveWrite save)
    : stream_(stream),
      allocator_(std::move(allocator)),
      parts_(stream, allocator_, save == nullptr ? nullptr : this, random),
      save_(std::move(save)) {
  parts_.SetWorkspaces(workspaces);
}

absl::Status PartRunner::Run(const BreakRequest& part) {
  running_ = &part;
  absl::Status status = parts_.Run(part);
  running_ = nullptr;
  allocator_.TellOwners(stream_);
  return status;
}

void PartRunner::Launching(absl::string_view op) {
  if (judge_ != nullptr) op_.assign(op.data(), op.size());
}

void PartRunner::Accessed(Access access, const Tensor& tensor, int argument) {
  const AddressRange range = tensor.raw_bytes();
  if (judge_ != nullptr) parts_.Fail(judge_(argument < 0 ? "" : op_, access, range));
  if (access != Access::kWrite && access != Access::kReadWrite) return;
  if (range.empty() || allocator_.HasMade(range)) return;
  const bool is_named = absl::c_any_of(running_->tensors, [range](const Tensor& named) {
    return named.raw_bytes().Contains(range);
  });
  save_(tensor, !is_named);
}

}  // namespace graphtree
