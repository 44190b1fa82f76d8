// The fixture of the CUDA tests: device 0, or a skip with the reason; one mapped piece of memory;
// one stream; kernels over the linked symbols.
#ifndef GRAPHTREE_DEVICE_CUDA_GPU_FIXTURE_H_
#define GRAPHTREE_DEVICE_CUDA_GPU_FIXTURE_H_

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "device/base/status_matchers.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda/gpu_test_kernels.h"
#include "device/cuda/native.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphtree {

inline CudaOptions TestOptions() {
  const char* folder = std::getenv("GRAPHTREE_NVRTC");
  return {folder != nullptr ? folder : "", ""};
}

class GpuTest : public testing::Test {
 protected:
  void SetUp() override {
    const absl::StatusOr<int> count = CountCudaDevices();
    if (!count.ok()) GTEST_SKIP() << "needs a GPU: " << count.status().message();
    auto device = OpenCudaDevice(0, TestOptions());
    ASSERT_THAT(device, IsOk());
    device_ = *std::move(device);
    bytes_ = device_->memory().granularity();
    auto range = device_->memory().Reserve(bytes_, {});
    ASSERT_THAT(range, IsOk());
    range_ = *range;
    auto physical = device_->memory().Create(bytes_);
    ASSERT_THAT(physical, IsOk());
    ASSERT_THAT(device_->memory().Map(range_.base, **physical), IsOk());
    ASSERT_THAT(device_->memory().SetAccess(range_, MemoryAccess::kReadWrite), IsOk());
    auto stream = device_->NewStream();
    ASSERT_THAT(stream, IsOk());
    stream_ = *std::move(stream);
    ASSERT_THAT(stream_->Fill(range_.base, 0, 4, bytes_ / 4), IsOk());
    ASSERT_THAT(stream_->Synchronize(), IsOk());
  }

  void TearDown() override {
    if (device_ == nullptr) return;
    EXPECT_THAT(stream_->Synchronize(), IsOk());
    stream_.reset();
    EXPECT_THAT(device_->memory().Unmap(range_), IsOk());
    EXPECT_THAT(device_->memory().Release(range_), IsOk());
    EXPECT_THAT(device_->Close(), IsOk());
  }

  // The i-th word of the device memory.
  AddressRange Word(int i) const { return {range_.base + 4 * static_cast<uint64_t>(i), 4}; }
  uint32_t* Raw(int i) const { return PointerTo<uint32_t>(Word(i).base); }
  cudaStream_t RawStream() const { return *NativeOf(*stream_); }

  absl::Status AddTo(Stream& stream, int word, uint32_t by) {
    return stream.Launch(add_, {}, WordArguments(word, by));
  }
  std::vector<Argument> WordArguments(int word, uint32_t by) const {
    return {Argument::InOut(Word(word)), Argument::Value(by)};
  }

  // After all work of the stream.
  uint32_t ValueOf(int word) {
    uint32_t value = 0xDEAD;
    EXPECT_THAT(stream_->Copy(AddressOf(&value), Word(word).base, 4), IsOk());
    EXPECT_THAT(stream_->Synchronize(), IsOk());
    return value;
  }

  template <typename Body>
  std::unique_ptr<Graph> Captured(Body body) {
    EXPECT_THAT(stream_->BeginCapture(CaptureMode::kThreadLocal), IsOk());
    body();
    auto graph = stream_->EndCapture();
    EXPECT_THAT(graph, IsOk());
    return graph.ok() ? *std::move(graph) : nullptr;
  }

  const Kernel add_{"add_word", Params<uint32_t*, uint32_t>(), nullptr, CudaSymbol{kAddWordSymbol}};
  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  AddressRange range_;
  uint64_t bytes_ = 0;
};

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_CUDA_GPU_FIXTURE_H_
