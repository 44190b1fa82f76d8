// Runs parts, and tells of their writes.
#include "graphs/memory/part_runner.h"

#include <cstddef>

namespace graphtree {
namespace {

void LendStorages(absl::Span<const Value> others, std::vector<Tensor>* tensors) {
  for (const Value& other : others) {
    Storage* const storage = other.storage();
    for (Tensor& tensor : *tensors) {
      if (!storage->range().Contains(tensor.raw_bytes())) continue;
      tensor = Tensor::Over(storage, tensor.layout(), tensor.word());
    }
  }
}

void TakeStoragesBack(std::vector<Tensor>* tensors) {
  for (Tensor& tensor : *tensors) {
    if (tensor.storage() == nullptr) continue;
    tensor = Tensor::Foreign(tensor.word(), tensor.layout());
  }
}

}  // namespace

PartRunner::PartRunner(Stream& stream, StepAllocator allocator, Workspaces* workspaces,
                       RandomSource* random, SaveWrite save)
    : stream_(stream),
      allocator_(std::move(allocator)),
      parts_(stream, allocator_, save == nullptr ? nullptr : this, random),
      save_(std::move(save)) {
  parts_.SetWorkspaces(workspaces);
}

absl::Status PartRunner::Run(BreakRequest* part, absl::Span<const Value> others) {
  LendStorages(others, &part->tensors);
  running_ = part;
  absl::Status status = parts_.Run(*part);
  running_ = nullptr;
  TakeStoragesBack(&part->tensors);
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
  save_(WriteTo(tensor));
}

PartRunner::Write PartRunner::WriteTo(const Tensor& tensor) const {
  Write write{tensor};
  if (tensor.storage() != nullptr) write.serial = tensor.storage()->serial;
  for (size_t i = 0; i < running_->tensors.size(); ++i) {
    const AddressRange named = running_->tensors[i].raw_bytes();
    if (named.Contains(write.range())) write.is_told |= running_->named[i].is_written;
    const bool is_same = tensor.storage() == nullptr && named.Overlaps(write.range());
    if (is_same && write.serial == 0) write.serial = running_->named[i].serial;
  }
  return write;
}

}  // namespace graphtree
