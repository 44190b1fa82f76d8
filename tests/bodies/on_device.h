// A kernel's two bodies run on the same bytes, for tests that compare them.
//
//   BodyCall call;
//   const size_t x = call.Buffer(floats), y = call.Room(400);
//   call.Pointer(y);  call.Pointer(x);  call.Value(100);
//   EXPECT_EQ(*call.RunOn(device, kernel, shape), call.RunHostBody(kernel, shape));
//
// All buffers lie in one arena, which is laid over host memory for the one run and over device
// memory for the other; what comes back is the whole arena.
#ifndef GRAPHTREE_TESTS_BODIES_ON_DEVICE_H_
#define GRAPHTREE_TESTS_BODIES_ON_DEVICE_H_

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/address.h"
#include "device/device.h"
#include "device/kernel.h"
#include "device/stream.h"
#include "gtest/gtest.h"

namespace graphtree {

using ByteVector = std::vector<uint8_t>;

class BodyCall {
 public:
  // Buffers, 256 bytes apart. Their numbers count from 0.
  template <typename T>
  size_t Buffer(const std::vector<T>& content) {
    const size_t number = Room(content.size() * sizeof(T));
    std::memcpy(arena_.data() + buffers_[number].base, content.data(), buffers_[number].bytes);
    return number;
  }
  size_t Room(uint64_t bytes);  // filled with 0xAB

  // The kernel's arguments, in order.
  void Pointer(size_t buffer) { arguments_.push_back({true, buffer, {}}); }
  template <typename T>
  void Value(const T& value) {
    Slot slot = {false, sizeof(T), {}};
    std::memcpy(slot.bytes.data(), &value, sizeof(T));
    arguments_.push_back(slot);
  }

  ByteVector RunHostBody(const Kernel& kernel, const LaunchShape& shape) const;
  absl::StatusOr<ByteVector> RunOn(Device& device, const Kernel& kernel,
                                   const LaunchShape& shape) const;

 private:
  struct Slot {
    bool pointer;
    size_t number;  // a pointer's buffer; a value's size
    std::array<uint8_t, 32> bytes;
  };

  std::vector<Argument> ArgumentsAt(Address base) const;

  ByteVector arena_;
  std::vector<AddressRange> buffers_;  // offsets in the arena
  std::vector<Slot> arguments_;
};

// Copies `bytes` to device memory, calls `launch` with where they lie, and reads them back.
absl::StatusOr<ByteVector> Through(Device& device, const ByteVector& bytes,
                                   const std::function<absl::Status(Stream&, Address)>& launch);

// A test for every device of this machine; it is skipped, with the reason, where there is no GPU.
class OnEveryDevice : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override;
  void TearDown() override;
  Device& device() { return *device_; }

 private:
  std::unique_ptr<Device> device_;
};

#define GRAPHTREE_ON_HOST_AND_CUDA(suite)                                        \
  INSTANTIATE_TEST_SUITE_P(Devices, suite, testing::Values("host", "cuda"),      \
                           [](const testing::TestParamInfo<const char*>& info) { \
                             return std::string(info.param);                     \
                           })

}  // namespace graphtree

#endif  // GRAPHTREE_TESTS_BODIES_ON_DEVICE_H_
