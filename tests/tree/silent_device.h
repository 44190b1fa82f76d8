// A host device that can be told to do nothing in a replay's calls: what a hit costs then is the
// tree's own, to the last lock.
//
//   tree --> Executable.PatchKernel, Executable.Launch, Stream.Capture --> counted, and not passed
//                                                                          on while silent
//
// It says that it checks no accesses, so that the tree does not tell it which bytes are live, as it
// tells the host device.
#ifndef GRAPHTREE_TESTS_TREE_SILENT_DEVICE_H_
#define GRAPHTREE_TESTS_TREE_SILENT_DEVICE_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/fault/fault_device.h"
#include "device/fault/fault_graph.h"
#include "device/fault/fault_stream.h"
#include "device/stream.h"

namespace graphtree {

struct Silence {
  bool on = false;
  uint64_t calls = 0;  // that were not passed on
};

class SilentExecutable : public FaultExecutable {
 public:
  SilentExecutable(Device* device, FaultPlan* plan, std::unique_ptr<Executable> wrapped,
                   Silence* silence)
      : FaultExecutable(device, plan, std::move(wrapped)), silence_(silence) {}
  absl::Status Launch(Stream& stream) override {
    if (!silence_->on) return FaultExecutable::Launch(stream);
    ++silence_->calls;
    return absl::OkStatus();
  }
  absl::Status PatchKernel(OpId op, const Kernel& kernel, const LaunchShape& shape,
                           Arguments arguments) override {
    if (!silence_->on) return FaultExecutable::PatchKernel(op, kernel, shape, arguments);
    ++silence_->calls;
    return absl::OkStatus();
  }

 private:
  Silence* const silence_;
};

class SilentGraph : public FaultGraph {
 public:
  SilentGraph(Device* device, FaultPlan* plan, std::unique_ptr<Graph> wrapped, Silence* silence)
      : FaultGraph(device, plan, std::move(wrapped)),
        device_(device),
        plan_(plan),
        silence_(silence) {}
  absl::StatusOr<std::unique_ptr<Executable>> Instantiate() const override {
    absl::StatusOr<std::unique_ptr<Executable>> made = FaultGraph::Instantiate();
    if (!made.ok()) return made;
    return std::make_unique<SilentExecutable>(device_, plan_, *std::move(made), silence_);
  }

 private:
  Device* const device_;
  FaultPlan* const plan_;
  Silence* const silence_;
};

class SilentStream : public FaultStream {
 public:
  SilentStream(Device* device, FaultPlan* plan, std::unique_ptr<Stream> wrapped, Silence* silence)
      : FaultStream(device, plan, std::move(wrapped)), plan_(plan), silence_(silence) {}
  absl::StatusOr<std::unique_ptr<Graph>> EndCapture() override {
    absl::StatusOr<std::unique_ptr<Graph>> graph = FaultStream::EndCapture();
    if (!graph.ok()) return graph;
    return std::make_unique<SilentGraph>(&device(), plan_, *std::move(graph), silence_);
  }
  absl::StatusOr<CaptureInfo> Capture() override {
    if (!silence_->on) return FaultStream::Capture();
    ++silence_->calls;
    return CaptureInfo();
  }

 private:
  FaultPlan* const plan_;
  Silence* const silence_;
};

class SilentDevice : public FaultDevice {
 public:
  explicit SilentDevice(std::unique_ptr<Device> wrapped)
      : FaultDevice(std::move(wrapped)), info_(FaultDevice::info()) {
    info_.architecture = "silent";
    info_.checks_accesses = false;
  }
  const DeviceInfo& info() const override { return info_; }
  absl::StatusOr<std::unique_ptr<Stream>> NewStream() override {
    absl::StatusOr<std::unique_ptr<Stream>> stream = wrapped().NewStream();
    if (!stream.ok()) return stream;
    return std::make_unique<SilentStream>(this, &plan(), *std::move(stream), &silence_);
  }
  Silence& silence() { return silence_; }

 private:
  DeviceInfo info_;
  Silence silence_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_TESTS_TREE_SILENT_DEVICE_H_
