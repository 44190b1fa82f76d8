// A captured graph: the native one, and its listing, made once when the capture ends.
//
// Tokens: while a capture is open an op's token is its node's address with the low bits of the
// capture's id above it, so that a token of an earlier capture is not taken for one of this, even
// where the driver uses an address again.
#ifndef GRAPHTREE_DEVICE_CUDA_CUDA_GRAPH_H_
#define GRAPHTREE_DEVICE_CUDA_CUDA_GRAPH_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include <cuda_runtime_api.h>

#include "absl/status/statusor.h"
#include "device/cuda/context.h"
#include "device/cuda/graph_listing.h"
#include "device/cuda/handles.h"
#include "device/graph.h"

namespace graphtree {

OpToken TokenOf(cudaGraphNode_t node, uint64_t capture_id);

class CudaGraph final : public Graph {
 public:
  static absl::StatusOr<std::unique_ptr<Graph>> Make(std::shared_ptr<Context> context,
                                                     Device& device, GraphHandle native,
                                                     uint64_t capture_id);
  ~CudaGraph() override;

  Device& device() const override { return device_; }
  const std::vector<Op>& ops() const override { return listing_.ops; }
  absl::StatusOr<OpId> Find(OpToken token) const override;
  absl::StatusOr<std::unique_ptr<Executable>> Instantiate() const override;

  cudaGraph_t native() const { return native_.get(); }
  const std::vector<NativeOp>& natives() const { return listing_.natives; }
  const Context& context() const { return *context_; }

 private:
  CudaGraph(std::shared_ptr<Context> context, Device& device, GraphHandle native,
            GraphListing listing, uint64_t capture_id);

  const Membership context_;
  Device& device_;
  GraphHandle native_;
  const GraphListing listing_;
  std::unordered_map<uint64_t, OpId> by_token_;
  // False once the graph is gone; executables look at it before they patch.
  const std::shared_ptr<std::atomic<bool>> alive_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_CUDA_CUDA_GRAPH_H_
