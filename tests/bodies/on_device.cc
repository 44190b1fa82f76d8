// Lays arenas over host and device memory.
#include "tests/bodies/on_device.h"

#include <utility>

#include "device/base/status_macros.h"
#include "device/base/status_matchers.h"
#include "device/open.h"
#include "gmock/gmock.h"
#include "tools/demo_model/device_block.h"

namespace graphtree {

size_t BodyCall::Room(uint64_t bytes) {
  const uint64_t offset = arena_.size();
  arena_.resize(offset + (bytes + 255) / 256 * 256, 0xAB);
  buffers_.push_back({offset, bytes});
  return buffers_.size() - 1;
}

std::vector<Argument> BodyCall::ArgumentsAt(Address base) const {
  std::vector<Argument> arguments;
  for (const Slot& slot : arguments_) {
    if (slot.pointer) {
      const AddressRange buffer = buffers_[slot.number];
      arguments.push_back(Argument::InOut({base + buffer.base, buffer.bytes}));
    } else {
      arguments.push_back(
          Argument::Bytes(slot.bytes.data(), static_cast<uint32_t>(slot.number)));
    }
  }
  return arguments;
}

ByteVector BodyCall::RunHostBody(const Kernel& kernel, const LaunchShape& shape) const {
  ByteVector arena = arena_;
  const std::vector<Argument> arguments = ArgumentsAt(AddressOf(arena.data()));
  EXPECT_EQ(ArgumentMismatch(kernel, arguments), "");
  std::vector<const void*> pointers;
  for (const Argument& argument : arguments) pointers.push_back(argument.data());
  kernel.host()(HostCall(shape, pointers));
  return arena;
}

absl::StatusOr<ByteVector> BodyCall::RunOn(Device& device, const Kernel& kernel,
                                           const LaunchShape& shape) const {
  return Through(device, arena_, [&](Stream& stream, Address base) {
    return stream.Launch(kernel, shape, ArgumentsAt(base));
  });
}

absl::StatusOr<ByteVector> Through(Device& device, const ByteVector& bytes,
                                   const std::function<absl::Status(Stream&, Address)>& launch) {
  GRAPHTREE_ASSIGN_OR_RETURN(const std::unique_ptr<Stream> stream, device.NewStream());
  GRAPHTREE_ASSIGN_OR_RETURN(const std::unique_ptr<HostBuffer> host,
                             device.memory().AllocateHost(bytes.size()));
  GRAPHTREE_ASSIGN_OR_RETURN(const std::unique_ptr<demo::DeviceBlock> block,
                             demo::DeviceBlock::Map(device, bytes.size()));
  std::memcpy(host->data(), bytes.data(), bytes.size());
  const Address base = block->range().base;
  GRAPHTREE_RETURN_IF_ERROR(stream->Copy(base, host->range().base, bytes.size()));
  GRAPHTREE_RETURN_IF_ERROR(launch(*stream, base));
  GRAPHTREE_RETURN_IF_ERROR(stream->Copy(host->range().base, base, bytes.size()));
  GRAPHTREE_RETURN_IF_ERROR(stream->Synchronize());
  ByteVector after(bytes.size());
  std::memcpy(after.data(), host->data(), bytes.size());
  return after;
}

void OnEveryDevice::SetUp() {
  absl::StatusOr<std::unique_ptr<Device>> device = OpenDevice(GetParam());
  if (!device.ok() && std::string(GetParam()) != "host") {
    GTEST_SKIP() << GetParam() << ": " << device.status().message();
  }
  ASSERT_THAT(device, IsOk());
  device_ = *std::move(device);
}

void OnEveryDevice::TearDown() {
  if (device_ == nullptr) return;
  EXPECT_THAT(device_->Close(), IsOk());
}

}  // namespace graphtree
