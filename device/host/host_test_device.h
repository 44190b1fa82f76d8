// What the host device's own tests stand on: an open device with mapped memory, and small kernels.
#ifndef GRAPHTREE_DEVICE_HOST_HOST_TEST_DEVICE_H_
#define GRAPHTREE_DEVICE_HOST_HOST_TEST_DEVICE_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/base/status_matchers.h"
#include "device/device.h"
#include "device/error.h"
#include "device/host/host_device.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphtree::host {

// target[0] = target[0] * 10 + digit: the number after several launches tells their order.
inline const Kernel& DigitKernel() {
  static const Kernel* const kernel = new Kernel(
      "digit", Params<uint64_t*, uint64_t>(),
      [](const HostCall& call) {
        uint64_t* const target = call.Get<uint64_t*>(0);
        *target = *target * 10 + call.Get<uint64_t>(1);
      },
      {});
  return *kernel;
}

// Writes one word that the launch does not declare: the address is a plain value.
inline const Kernel& SecretKernel() {
  static const Kernel* const kernel = new Kernel(
      "secret", Params<volatile uint64_t*>(),
      [](const HostCall& call) { *call.Get<volatile uint64_t*>(0) = 1; }, {});
  return *kernel;
}

class TestDevice {
 public:
  explicit TestDevice(HostOptions options = {}) : device_(OpenHostDevice(options).value()) {
    range_ = memory().Reserve(2 * memory().granularity(), {}).value();
    physical_ = memory().Create(memory().granularity()).value();
    EXPECT_THAT(memory().Map(range_.base, *physical_), IsOk());
    EXPECT_THAT(memory().SetAccess(mapped(), MemoryAccess::kReadWrite), IsOk());
    for (int i = 0; i < 3; ++i) {
      streams_.push_back(device_->NewStream().value());
      events_.push_back(device_->NewEvent({}).value());
    }
  }
  ~TestDevice() {
    streams_.clear();
    events_.clear();
    EXPECT_THAT(memory().Unmap(mapped()), IsOk());
    EXPECT_THAT(memory().Release(range_), IsOk());
    physical_.reset();
    EXPECT_THAT(device_->Close(), IsOk());
  }

  Device& device() { return *device_; }
  Memory& memory() { return device_->memory(); }
  Stream& stream(int i) { return *streams_[i]; }
  Event& event(int i) { return *events_[i]; }
  // The first half is mapped, the second is not.
  AddressRange mapped() const { return {range_.base, range_.bytes / 2}; }
  AddressRange unmapped() const { return {range_.base + range_.bytes / 2, range_.bytes / 2}; }
  // The i-th 8 bytes of the mapped half.
  AddressRange word(int i) const { return {range_.base + static_cast<Address>(i) * 8, 8}; }
  uint64_t& at(int i) { return *PointerTo<uint64_t>(word(i).base); }

  absl::Status Digit(Stream& on, AddressRange word, uint64_t digit) {
    return on.Launch(DigitKernel(), {},
                     std::vector<Argument>{Argument::InOut(word), Argument::Value(digit)});
  }
  absl::Status Digit(int stream_index, int word_index, uint64_t digit) {
    return Digit(stream(stream_index), word(word_index), digit);
  }
  absl::Status Secret(int stream_index, Address address) {
    return stream(stream_index)
        .Launch(SecretKernel(), {}, std::vector<Argument>{Argument::Value(address)});
  }
  std::unique_ptr<Graph> Capture(int stream_index, const std::function<void()>& record) {
    EXPECT_THAT(stream(stream_index).BeginCapture(CaptureMode::kThreadLocal), IsOk());
    record();
    auto graph = stream(stream_index).EndCapture();
    EXPECT_THAT(graph, IsOk());
    return std::move(graph).value();
  }

 private:
  std::unique_ptr<Device> device_;
  AddressRange range_;
  std::unique_ptr<PhysicalMemory> physical_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::vector<std::unique_ptr<Event>> events_;
};

// EXPECT_THAT(device.health(), HasCode(ErrorCode::kIllegalAddress, "scale"));
MATCHER_P2(HasCode, code, text, "carries the code and mentions the text") {
  const absl::Status& status = StatusOf(arg);
  *result_listener << status.ToString();
  return ErrorCodeOf(status) == code &&
         std::string(status.message()).find(text) != std::string::npos;
}

}  // namespace graphtree::host

#endif  // GRAPHTREE_DEVICE_HOST_HOST_TEST_DEVICE_H_
