// The Runtime's calls behind BareGraph.
#include <cuda_runtime_api.h>

#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/bare/bare_graph.h"

namespace graphtree {
namespace {

absl::Status StatusOf(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(call, ": ", cudaGetErrorString(error)));
}

dim3 Dim(const Dim3& dim) { return dim3(dim.x, dim.y, dim.z); }

class BareGraphOnCuda : public BareGraph {
 public:
  explicit BareGraphOnCuda(BareGraph* beside)
      : lender_(static_cast<BareGraphOnCuda*>(beside)) {}
  ~BareGraphOnCuda() override {
    if (stream_ != nullptr) Note(cudaStreamSynchronize(stream_));
    if (executable_ != nullptr) Note(cudaGraphExecDestroy(executable_));
    if (graph_ != nullptr) Note(cudaGraphDestroy(graph_));
    if (stream_ != nullptr && lender_ == nullptr) Note(cudaStreamDestroy(stream_));
  }

  absl::Status Make(const std::vector<BareLaunch>& launches) {
    return MakeOf([&] {
      for (const BareLaunch& launch : launches) {
        LaunchOne(launch);
        NoteNode();
      }
    });
  }

  absl::Status MakeOf(const std::function<void()>& calls) {
    Note(cudaSetDevice(0));
    if (lender_ != nullptr) {
      stream_ = lender_->stream_;
    } else {
      Note(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    }
    Note(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    calls();
    Note(cudaStreamEndCapture(stream_, &graph_));
    if (error_ != cudaSuccess) return StatusOf(error_, "making a bare graph");
    Note(cudaGraphInstantiate(&executable_, graph_, 0));
    return StatusOf(error_, "instantiating a bare graph");
  }

  void Launch() override { Note(cudaGraphLaunch(executable_, stream_)); }

  void Patch(size_t op, const BareLaunch& launch) override {
    cudaKernelNodeParams params = {};
    params.func = const_cast<void*>(launch.symbol);
    params.gridDim = Dim(launch.grid);
    params.blockDim = Dim(launch.block);
    params.kernelParams = const_cast<void**>(launch.arguments.data());
    Note(cudaGraphExecKernelNodeSetParams(executable_, nodes_[op], &params));
  }

  void Copy(Address target, Address source, uint64_t bytes) override {
    Note(cudaMemcpyAsync(PointerTo(target), PointerTo(source), bytes, cudaMemcpyDeviceToDevice,
                         stream_));
  }

  void CopyFromHost(Address target, const void* source, uint64_t bytes) override {
    Note(cudaMemcpyAsync(PointerTo(target), source, bytes, cudaMemcpyHostToDevice, stream_));
  }

  void Fill(Address target, uint64_t bytes) override {
    Note(cudaMemsetAsync(PointerTo(target), 0, bytes, stream_));
  }

  void LaunchOne(const BareLaunch& launch) override {
    Note(cudaLaunchKernel(launch.symbol, Dim(launch.grid), Dim(launch.block),
                          const_cast<void**>(launch.arguments.data()), 0, stream_));
  }

  absl::Status Synchronize() override {
    Note(cudaStreamSynchronize(stream_));
    return StatusOf(error_, "a bare call");
  }

 private:
  // Keeps the first error.
  void Note(cudaError_t error) {
    if (error_ == cudaSuccess) error_ = error;
  }

  // The op that was captured last.
  void NoteNode() {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    const cudaGraphNode_t* nodes = nullptr;
    size_t count = 0;
#if CUDART_VERSION >= 13000
    Note(cudaStreamGetCaptureInfo(stream_, &status, nullptr, nullptr, &nodes, nullptr, &count));
#else
    Note(cudaStreamGetCaptureInfo_v2(stream_, &status, nullptr, nullptr, &nodes, &count));
#endif
    nodes_.push_back(count == 1 ? nodes[0] : nullptr);
  }

  BareGraphOnCuda* const lender_;  // of the stream; or null
  cudaStream_t stream_ = nullptr;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
  std::vector<cudaGraphNode_t> nodes_;
  cudaError_t error_ = cudaSuccess;
};

}  // namespace

absl::StatusOr<std::unique_ptr<BareGraph>> BareGraph::Capture(
    const std::vector<BareLaunch>& launches, BareGraph* beside) {
  auto graph = std::make_unique<BareGraphOnCuda>(beside);
  const absl::Status status = graph->Make(launches);
  if (!status.ok()) return status;
  return std::unique_ptr<BareGraph>(std::move(graph));
}

absl::StatusOr<std::unique_ptr<BareGraph>> BareGraph::CaptureCalls(
    const std::function<void()>& calls, BareGraph& beside) {
  auto graph = std::make_unique<BareGraphOnCuda>(&beside);
  const absl::Status status = graph->MakeOf(calls);
  if (!status.ok()) return status;
  return std::unique_ptr<BareGraph>(std::move(graph));
}

}  // namespace graphtree
