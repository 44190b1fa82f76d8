// The Runtime's calls behind BareNew.
#include <cuda_runtime_api.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/bare/bare_new.h"

namespace graphtree {
namespace {

dim3 Dim(const Dim3& dim) { return dim3(dim.x, dim.y, dim.z); }

class BareNewOnCuda : public BareNew {
 public:
  BareNewOnCuda() {
    Note(cudaSetDevice(0));
    Note(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }
  ~BareNewOnCuda() override {
    Forget();
    if (stream_ != nullptr) Note(cudaStreamDestroy(stream_));
  }

  void Launch(const std::vector<BareLaunch>& launches) override {
    for (const BareLaunch& launch : launches) {
      Note(cudaLaunchKernel(launch.symbol, Dim(launch.grid), Dim(launch.block),
                            const_cast<void**>(launch.arguments.data()), 0, stream_));
    }
  }

  void Meet(const std::vector<BareLaunch>& launches) override {
    Launch(launches);
    Record(launches);
  }

  void Record(const std::vector<BareLaunch>& launches) override {
    Note(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    Launch(launches);
    graphs_.push_back(nullptr);
    executables_.push_back(nullptr);
    Note(cudaStreamEndCapture(stream_, &graphs_.back()));
    last_ = graphs_.size() - 1;
    Instantiate(last_);
  }

  void Back(size_t graph) override {
    Note(cudaGraphExecDestroy(std::exchange(executables_[last_], nullptr)));
    last_ = graph;
    if (executables_[graph] != nullptr) {
      Note(cudaGraphExecDestroy(std::exchange(executables_[graph], nullptr)));
    }
    Instantiate(graph);
  }

  void Forget() override {
    Note(cudaStreamSynchronize(stream_));
    for (cudaGraphExec_t executable : executables_) {
      if (executable != nullptr) Note(cudaGraphExecDestroy(executable));
    }
    for (cudaGraph_t graph : graphs_) {
      if (graph != nullptr) Note(cudaGraphDestroy(graph));
    }
    executables_.clear();
    graphs_.clear();
  }

  absl::Status Synchronize() override {
    Note(cudaStreamSynchronize(stream_));
    if (error_ == cudaSuccess) return absl::OkStatus();
    return absl::InternalError(absl::StrCat("a bare call: ", cudaGetErrorString(error_)));
  }

 private:
  // Keeps the first error.
  void Note(cudaError_t error) {
    if (error_ == cudaSuccess) error_ = error;
  }

  void Instantiate(size_t graph) {
    Note(cudaGraphInstantiate(&executables_[graph], graphs_[graph], 0));
    if (executables_[graph] != nullptr) Note(cudaGraphLaunch(executables_[graph], stream_));
  }

  cudaStream_t stream_ = nullptr;
  std::vector<cudaGraph_t> graphs_;
  std::vector<cudaGraphExec_t> executables_;
  size_t last_ = 0;
  cudaError_t error_ = cudaSuccess;
};

}  // namespace

absl::StatusOr<std::unique_ptr<BareNew>> BareNew::Make() {
  auto made = std::make_unique<BareNewOnCuda>();
  const absl::Status status = made->Synchronize();
  if (!status.ok()) return status;
  return std::unique_ptr<BareNew>(std::move(made));
}

}  // namespace graphtree
