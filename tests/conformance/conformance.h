// What every conformance test stands on: a device of each kind, with streams and memory at hand,
// and a check at the end that the test left the world clean.
//
//   class OrderTest : public ConformanceTest {};
//   GRAPHTREE_ON_EVERY_DEVICE(OrderTest);
//
//   TEST_P(OrderTest, AStreamKeepsItsOrder) {
//     const AddressRange log = NewLog();
//     ASSERT_THAT(Append(a(), log, 1), IsOk());
//     ...
//   }
//
// Each test opens its own device and closes it. A device that this machine does not have skips the
// test and says why. After the test: no capture is open, the device is healthy, and it closes with
// nothing left. A test says what a device must do, never which device it is: the few questions that
// differ (is a missing event certain to show?) are asked of the DeviceCase.
#ifndef GRAPHTREE_TESTS_CONFORMANCE_CONFORMANCE_H_
#define GRAPHTREE_TESTS_CONFORMANCE_CONFORMANCE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "device/base/status_matchers.h"
#include "device/device.h"
#include "device/error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/conformance/device_cases.h"
#include "tests/kernels/launches.h"

// ASSERT_OK_AND_ASSIGN(const AddressRange range, memory().Reserve(bytes, {}));
#define ASSERT_OK_AND_ASSIGN(target, expression) \
  ASSERT_OK_AND_ASSIGN_(GRAPHTREE_TEST_JOIN(graphtree_or_, __LINE__), target, expression)
#define ASSERT_OK_AND_ASSIGN_(holder, target, expression) \
  auto holder = (expression);                             \
  ASSERT_THAT(holder, ::graphtree::IsOk());               \
  target = std::move(holder).value()
#define GRAPHTREE_TEST_JOIN_(a, b) a##b
#define GRAPHTREE_TEST_JOIN(a, b) GRAPHTREE_TEST_JOIN_(a, b)

#define GRAPHTREE_ON_EVERY_DEVICE(suite)                \
  INSTANTIATE_TEST_SUITE_P(                             \
      Devices, suite, testing::ValuesIn(DeviceCases()), \
      [](const testing::TestParamInfo<DeviceCase>& info) { return info.param.name; })

namespace graphtree {

// EXPECT_THAT(stream.Synchronize(), HasError(ErrorCode::kCaptureUnsupported, "synchronize"));
MATCHER_P2(HasError, code, text,
           "fails with " + ErrorCodeName(code) + " and mentions \"" + std::string(text) + "\"") {
  const absl::Status& status = StatusOf(arg);
  *result_listener << status.ToString();
  return ErrorCodeOf(status) == code &&
         std::string(status.message()).find(text) != std::string::npos;
}

// The words that FillPattern(seed) writes.
std::vector<uint32_t> Pattern(uint32_t seed, size_t words);

// What a log that started at 0 holds after these appends, in this order.
uint64_t LogOf(const std::vector<uint64_t>& ids);

class ConformanceTest : public testing::TestWithParam<DeviceCase> {
 protected:
  void SetUp() override;
  void TearDown() override;

  Device& device() { return *device_; }
  Memory& memory() { return device_->memory(); }
  uint64_t granularity() { return memory().granularity(); }
  // Three streams of the device.
  Stream& a() { return *streams_[0]; }
  Stream& b() { return *streams_[1]; }
  Stream& c() { return *streams_[2]; }
  // Two events without timing.
  Event& event() { return *events_[0]; }
  Event& other_event() { return *events_[1]; }

  // `words` mapped and writable words of device memory, valid until the test ends.
  AddressRange NewWords(size_t words);
  // The same, with these words in them.
  AddressRange NewWordsWith(const std::vector<uint32_t>& words);
  // One log for Append, holding 0.
  AddressRange NewLog() { return NewWordsWith({0, 0}); }
  // `words` words of page-locked host memory, zeroed, valid until the test ends.
  AddressRange NewHostWords(size_t words);

  // Reads and writes on a stream of its own; work on other streams must have been awaited.
  std::vector<uint32_t> Read(AddressRange range);
  uint64_t ReadLog(AddressRange log);
  void Write(AddressRange range, const std::vector<uint32_t>& words);

  // Captures what `record` does on stream `on` and expects all of it to work.
  std::unique_ptr<Graph> CaptureOn(Stream& on, const std::function<void()>& record);
  std::unique_ptr<Executable> InstantiateOf(const Graph& graph);
  // Launches on a() and waits.
  void Replay(Executable& executable);

 private:
  void MapArena();
  void UnmapArena();

  std::unique_ptr<Device> device_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::vector<std::unique_ptr<Event>> events_;
  AddressRange arena_;
  uint64_t arena_used_ = 0;
  std::unique_ptr<HostBuffer> pinned_;
  uint64_t pinned_used_ = 0;
  std::unique_ptr<HostBuffer> transfer_;
  std::unique_ptr<Stream> transfer_stream_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_TESTS_CONFORMANCE_CONFORMANCE_H_
