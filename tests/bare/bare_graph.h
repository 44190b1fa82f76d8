// A CUDA graph made, patched and launched by the Runtime's own calls, nothing around them: what
// benches hold the library to, in the same run.
//
//   auto graph = BareGraph::Capture({{symbol, grid, block, {&argument}}, ...});
//   graph->Patch(0, {&other});   // cudaGraphExecKernelNodeSetParams
//   graph->Launch();             // cudaGraphLaunch
//   graph->Synchronize();
//
// It has a stream of its own on device 0, or shares that of another one. Errors of Patch, Launch
// and Copy are not looked at, as a bench would time that too; Synchronize returns them. In a build
// without CUDA nothing works.
#ifndef GRAPHTREE_TESTS_BARE_BARE_GRAPH_H_
#define GRAPHTREE_TESTS_BARE_BARE_GRAPH_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/address.h"
#include "device/kernel.h"

namespace graphtree {

struct BareLaunch {
  const void* symbol = nullptr;
  Dim3 grid;
  Dim3 block;
  std::vector<const void*> arguments;  // pointers to the values
};

class BareGraph {
 public:
  // `beside`, if there is one, lends its stream and outlives the graph.
  static absl::StatusOr<std::unique_ptr<BareGraph>> Capture(
      const std::vector<BareLaunch>& launches, BareGraph* beside = nullptr);
  // Of whatever `calls` issues by `beside`. Its ops cannot be patched.
  static absl::StatusOr<std::unique_ptr<BareGraph>> CaptureCalls(
      const std::function<void()>& calls, BareGraph& beside);
  virtual ~BareGraph() = default;

  virtual void Launch() = 0;
  virtual void Patch(size_t op, const BareLaunch& launch) = 0;
  // cudaMemcpyAsync on the same stream.
  virtual void Copy(Address target, Address source, uint64_t bytes) = 0;
  // The same from page-locked memory.
  virtual void CopyFromHost(Address target, const void* source, uint64_t bytes) = 0;
  // cudaMemsetAsync on the same stream, with zeros.
  virtual void Fill(Address target, uint64_t bytes) = 0;
  // cudaLaunchKernel on the same stream.
  virtual void LaunchOne(const BareLaunch& launch) = 0;
  virtual absl::Status Synchronize() = 0;
};

}  // namespace graphtree

#endif  // GRAPHTREE_TESTS_BARE_BARE_GRAPH_H_
