// Two device sets, one copy each way.
#include "tools/demo_model/step_inputs.h"

#include <cstdint>
#include <cstring>

#include "device/base/status_macros.h"
#include "graphs/layout.h"
#include "tools/demo_model/kernels/dims.h"

namespace graphtree::demo {
namespace {

constexpr uint64_t kPartBytes = 64;  // of tokens, positions, slots, temperatures each
constexpr uint64_t kSetBytes = 4 * kPartBytes;
static_assert(kSlots * sizeof(int) <= kPartBytes);

}  // namespace

absl::StatusOr<std::unique_ptr<StepInputs>> StepInputs::Create(Device& device) {
  std::unique_ptr<StepInputs> inputs(new StepInputs());
  GRAPHTREE_ASSIGN_OR_RETURN(inputs->host_, device.memory().AllocateHost(3 * kSetBytes));
  GRAPHTREE_ASSIGN_OR_RETURN(inputs->block_, DeviceBlock::Map(device, 2 * kSetBytes));
  return inputs;
}

absl::Status StepInputs::Send(const Batch& batch, Stream& stream) {
  turn_ = 1 - turn_;
  rows_ = batch.rows();
  char* set = static_cast<char*>(host_->data()) + turn_ * kSetBytes;
  std::memcpy(set, batch.tokens.data(), rows_ * sizeof(int));
  std::memcpy(set + kPartBytes, batch.positions.data(), rows_ * sizeof(int));
  std::memcpy(set + 2 * kPartBytes, batch.slots.data(), rows_ * sizeof(int));
  std::memcpy(set + 3 * kPartBytes, batch.temperatures.data(), rows_ * sizeof(float));
  return stream.Copy(block_->range().base + turn_ * kSetBytes, AddressOf(set), kSetBytes);
}

Tensor StepInputs::Part(int part, DType type) const {
  return Tensor::Foreign(block_->range().base + turn_ * kSetBytes + part * kPartBytes,
                         Layout::Of(type, {rows_}));
}

absl::StatusOr<std::vector<int>> StepInputs::Receive(const Tensor& picked, Stream& stream) {
  GRAPHTREE_ASSIGN_OR_RETURN(const AddressRange bytes, picked.bytes());
  char* landing = static_cast<char*>(host_->data()) + 2 * kSetBytes;
  GRAPHTREE_RETURN_IF_ERROR(stream.Copy(AddressOf(landing), bytes.base, bytes.bytes));
  GRAPHTREE_RETURN_IF_ERROR(stream.Synchronize());
  std::vector<int> tokens(bytes.bytes / sizeof(int));
  std::memcpy(tokens.data(), landing, bytes.bytes);
  return tokens;
}

}  // namespace graphtree::demo
