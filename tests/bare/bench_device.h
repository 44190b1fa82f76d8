// What the worlds of benches have in common: a device with a stream and memory of the caller's, and
// a graph of the host device's own, which stands for the bare calls where there is no CUDA.
//
// The first member of a world, so that it is closed last.
#ifndef GRAPHTREE_TESTS_BARE_BENCH_DEVICE_H_
#define GRAPHTREE_TESTS_BARE_BENCH_DEVICE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/address.h"
#include "device/device.h"
#include "device/graph.h"
#include "device/memory.h"
#include "device/stream.h"

namespace graphtree {

struct HostGraph {
  std::unique_ptr<Graph> graph;
  std::unique_ptr<Executable> executable;
};

class BenchDevice {
 public:
  BenchDevice() = default;
  BenchDevice(const BenchDevice&) = delete;
  BenchDevice& operator=(const BenchDevice&) = delete;
  ~BenchDevice();

  // With at least so many bytes, which are ones.
  absl::Status Open(const std::string& name, uint64_t bytes);
  bool is_open() const { return stream_ != nullptr; }

  // REQUIRES: open.
  Device& device() { return *device_; }
  Stream& stream() { return *stream_; }
  AddressRange memory() const { return memory_; }
  bool is_host() const { return device_->info().architecture == "host"; }
  // What `record` does on stream().
  absl::StatusOr<HostGraph> Capture(const std::function<absl::Status()>& record);

 private:
  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<PhysicalMemory> physical_;
  AddressRange memory_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_TESTS_BARE_BENCH_DEVICE_H_
