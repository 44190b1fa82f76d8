// A Graph of a CUDA device. When its capture ends only the number of ops is read from the driver
// (native_graph.h).
#ifndef GRAPHTREE_DEVICE_CUDA_CUDA_GRAPH_H_
#define GRAPHTREE_DEVICE_CUDA_CUDA_GRAPH_H_

#include <cstdint>
#include <memory>
#include <vector>

#include <cuda_runtime_api.h>

#include "absl/status/statusor.h"
#include "device/cuda/context.h"
#include "device/cuda/handles.h"
#include "device/cuda/native_graph.h"
#include "device/cuda/open_captures.h"
#include "device/graph.h"

namespace graphtree {

class CudaGraph final : public Graph {
 public:
  static absl::StatusOr<std::unique_ptr<Graph>> Make(std::shared_ptr<Context> context,
                                                     Device& device, GraphHandle native,
                                                     uint64_t capture_id, KeptByGraph kept);
  ~CudaGraph() override;

  Device& device() const override { return device_; }
  size_t op_count() const override { return native_->op_count(); }
  const std::vector<Op>& ops() const override;
  void ForgetOps() const override { native_->Forget(); }
  absl::StatusOr<OpId> Find(OpToken token) const override;
  absl::StatusOr<std::unique_ptr<Executable>> Instantiate() const override;

  cudaGraph_t native() const { return native_->get(); }
  const std::shared_ptr<NativeGraph>& shared_native() const { return native_; }
  absl::StatusOr<cudaGraphNode_t> NodeOf(OpId op) const;

 private:
  CudaGraph(std::shared_ptr<Context> context, Device& device, std::shared_ptr<NativeGraph> native);

  const Membership context_;
  Device& device_;
  std::shared_ptr<NativeGraph> native_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_CUDA_CUDA_GRAPH_H_
