// What tests of a session stand on: a host device with a graph of every kind of op.
#ifndef GRAPHTREE_PROFILER_CUPTI_SESSION_TEST_DEVICE_H_
#define GRAPHTREE_PROFILER_CUPTI_SESSION_TEST_DEVICE_H_

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "device/device.h"
#include "device/graph.h"
#include "device/host/host_device.h"
#include "device/host/host_options.h"
#include "device/kernel.h"
#include "device/memory.h"
#include "device/stream.h"

namespace graphtree::cupti {

inline const Kernel& AddOneKernel() {
  static const Kernel* const kernel = new Kernel(
      "add_one", Params<uint64_t*>(), [](const HostCall& call) { ++*call.Get<uint64_t*>(0); }, {});
  return *kernel;
}

class SessionTestDevice {
 public:
  explicit SessionTestDevice(HostScheduler scheduler = HostScheduler::kSeeded)
      : device_(OpenHostDevice({.scheduler = scheduler, .seed = 11}).value()) {
    range_ = device_->memory().Reserve(device_->memory().granularity(), {}).value();
    physical_ = device_->memory().Create(range_.bytes).value();
    device_->memory().Map(range_.base, *physical_).IgnoreError();
    device_->memory().SetAccess(range_, MemoryAccess::kReadWrite).IgnoreError();
  }
  ~SessionTestDevice() {
    device_->memory().Unmap(range_).IgnoreError();
    device_->memory().Release(range_).IgnoreError();
    physical_.reset();
    device_->Close().IgnoreError();
  }

  Device& device() { return *device_; }
  std::unique_ptr<Stream> NewStream() { return device_->NewStream().value(); }

  // A kernel, a copy, a fill, a call of the host and so many more kernels, in words of its own.
  std::unique_ptr<Graph> NewGraph(int more_kernels = 1) {
    const AddressRange words{range_.base + 64 * graphs_++, 64};
    std::unique_ptr<Stream> stream = NewStream();
    absl::Status status = stream->BeginCapture(CaptureMode::kThreadLocal);
    status.Update(AddOne(*stream, words.base, 2));
    status.Update(stream->Copy(words.base + 8, words.base, 8));
    status.Update(stream->Fill(words.base + 16, 3, 4, 2));
    status.Update(stream->CallHost([] {}));
    for (int i = 0; i < more_kernels; ++i) status.Update(AddOne(*stream, words.base + 24, 1));
    absl::StatusOr<std::unique_ptr<Graph>> graph = stream->EndCapture();
    return status.ok() && graph.ok() ? std::move(graph).value() : nullptr;
  }

  absl::Status AddOne(Stream& stream, Address word, uint32_t blocks) {
    LaunchShape shape;
    shape.grid.x = blocks;
    shape.block.x = 32;
    return stream.Launch(AddOneKernel(), shape,
                         std::vector<Argument>{Argument::InOut({word, 8})});
  }
  // Outside of what graphs use.
  Address spare() const { return range_.base + range_.bytes - 8; }

 private:
  std::unique_ptr<Device> device_;
  AddressRange range_;
  std::unique_ptr<PhysicalMemory> physical_;
  int graphs_ = 0;
};

}  // namespace graphtree::cupti

#endif  // GRAPHTREE_PROFILER_CUPTI_SESSION_TEST_DEVICE_H_
