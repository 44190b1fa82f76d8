// The bare calls of a device behind one interface: CUDA's own where there is CUDA, those of the
// host device elsewhere. What a step costs is held against programs that are made of these.
//
//   auto calls = BareCalls::Make(on);
//   calls->Record({&copy, &kernel, &kernel});   // graph 0
//   copy.Set(1, other);
//   calls->Patch(0, copy);                      // its first op
//   calls->Replay(0);
//   calls->Copy(target, from, bytes); calls->Fill(target, bytes); calls->Launch(kernel);
//
// Errors are kept: a bench would time it, if each were looked at. Synchronize returns the first.
#ifndef GRAPHTREE_TESTS_BARE_BARE_CALLS_H_
#define GRAPHTREE_TESTS_BARE_BARE_CALLS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/address.h"
#include "device/kernel.h"
#include "tests/bare/bare_graph.h"
#include "tests/bare/bench_device.h"

namespace graphtree {

// A kernel with its arguments, ready for either device's call.
class BareKernel {
 public:
  BareKernel(const Kernel& kernel, const LaunchShape& shape, std::vector<Argument> arguments);
  BareKernel(BareKernel&&) = default;
  BareKernel& operator=(BareKernel&&) = default;

  // REQUIRES: of the same size as the one before.
  void Set(size_t index, const Argument& argument) { arguments_[index] = argument; }

  const Kernel& kernel() const { return *kernel_; }
  const LaunchShape& shape() const { return shape_; }
  Arguments arguments() const { return arguments_; }
  const BareLaunch& launch() const { return launch_; }

 private:
  const Kernel* kernel_;
  LaunchShape shape_;
  std::vector<Argument> arguments_;
  BareLaunch launch_;  // points to the arguments
};

class BareCalls {
 public:
  // `on` outlives it. On CUDA it has a stream of its own.
  static std::unique_ptr<BareCalls> Make(BenchDevice& on);
  virtual ~BareCalls() = default;

  // One more graph, numbered from 0.
  virtual absl::Status Record(const std::vector<const BareKernel*>& kernels) = 0;
  // One more, of what `calls` issues here. REQUIRES: it is not the first, and is not patched.
  virtual absl::Status RecordCalls(const std::function<void()>& calls) = 0;
  virtual void Replay(size_t graph) = 0;
  // The first op of the graph.
  virtual void Patch(size_t graph, const BareKernel& kernel) = 0;
  // From page-locked memory.
  virtual void Copy(Address target, const void* from, uint64_t bytes) = 0;
  // With zeros.
  virtual void Fill(Address target, uint64_t bytes) = 0;
  virtual void Launch(const BareKernel& kernel) = 0;
  virtual absl::Status Synchronize() = 0;
};

}  // namespace graphtree

#endif  // GRAPHTREE_TESTS_BARE_BARE_CALLS_H_
