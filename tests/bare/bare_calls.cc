// Two ways to make the same calls.
#include "tests/bare/bare_calls.h"

#include <utility>
#include <variant>

#include "device/base/status_macros.h"
#include "device/graph.h"
#include "device/stream.h"

namespace graphtree {
namespace {

// The stream is that of the first graph.
class CallsOfCuda : public BareCalls {
 public:
  ~CallsOfCuda() override {
    while (graphs_.size() > 1) graphs_.pop_back();
  }
  absl::Status Record(const std::vector<const BareKernel*>& kernels) override {
    std::vector<BareLaunch> launches;
    for (const BareKernel* kernel : kernels) launches.push_back(kernel->launch());
    BareGraph* const beside = graphs_.empty() ? nullptr : graphs_[0].get();
    GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<BareGraph> graph,
                               BareGraph::Capture(launches, beside));
    graphs_.push_back(std::move(graph));
    return absl::OkStatus();
  }
  absl::Status RecordCalls(const std::function<void()>& calls) override {
    GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<BareGraph> graph,
                               BareGraph::CaptureCalls(calls, *graphs_[0]));
    graphs_.push_back(std::move(graph));
    return absl::OkStatus();
  }
  void Replay(size_t graph) override { graphs_[graph]->Launch(); }
  void Patch(size_t graph, const BareKernel& kernel) override {
    graphs_[graph]->Patch(0, kernel.launch());
  }
  void Copy(Address target, const void* from, uint64_t bytes) override {
    graphs_[0]->CopyFromHost(target, from, bytes);
  }
  void Fill(Address target, uint64_t bytes) override { graphs_[0]->Fill(target, bytes); }
  void Launch(const BareKernel& kernel) override { graphs_[0]->LaunchOne(kernel.launch()); }
  absl::Status Synchronize() override {
    absl::Status first;
    for (const std::unique_ptr<BareGraph>& graph : graphs_) first.Update(graph->Synchronize());
    return first;
  }

 private:
  std::vector<std::unique_ptr<BareGraph>> graphs_;
};

class CallsOfHost : public BareCalls {
 public:
  explicit CallsOfHost(BenchDevice& on) : on_(on) {}
  absl::Status Record(const std::vector<const BareKernel*>& kernels) override {
    GRAPHTREE_ASSIGN_OR_RETURN(HostGraph graph, on_.Capture([&] {
      for (const BareKernel* kernel : kernels) {
        GRAPHTREE_RETURN_IF_ERROR(
            on_.stream().Launch(kernel->kernel(), kernel->shape(), kernel->arguments()));
      }
      return absl::OkStatus();
    }));
    graphs_.push_back(std::move(graph));
    return absl::OkStatus();
  }
  absl::Status RecordCalls(const std::function<void()>& calls) override {
    GRAPHTREE_ASSIGN_OR_RETURN(HostGraph graph, on_.Capture([&] {
      calls();
      return status_;
    }));
    graphs_.push_back(std::move(graph));
    return absl::OkStatus();
  }
  void Replay(size_t graph) override {
    status_.Update(graphs_[graph].executable->Launch(on_.stream()));
  }
  void Patch(size_t graph, const BareKernel& kernel) override {
    const OpId first = graphs_[graph].graph->ops()[0].id;
    status_.Update(graphs_[graph].executable->PatchKernel(first, kernel.kernel(),
                                                          kernel.shape(), kernel.arguments()));
  }
  void Copy(Address target, const void* from, uint64_t bytes) override {
    status_.Update(on_.stream().Copy(target, AddressOf(from), bytes));
  }
  void Fill(Address target, uint64_t bytes) override {
    status_.Update(on_.stream().Fill(target, 0, 1, bytes));
  }
  void Launch(const BareKernel& kernel) override {
    status_.Update(on_.stream().Launch(kernel.kernel(), kernel.shape(), kernel.arguments()));
  }
  absl::Status Synchronize() override {
    status_.Update(on_.stream().Synchronize());
    return status_;
  }

 private:
  BenchDevice& on_;
  std::vector<HostGraph> graphs_;
  absl::Status status_;
};

}  // namespace

BareKernel::BareKernel(const Kernel& kernel, const LaunchShape& shape,
                       std::vector<Argument> arguments)
    : kernel_(&kernel), shape_(shape), arguments_(std::move(arguments)) {
  const auto* const symbol = std::get_if<CudaSymbol>(&kernel.cuda());
  launch_ = {symbol == nullptr ? nullptr : symbol->symbol, shape.grid, shape.block, {}};
  for (const Argument& argument : arguments_) launch_.arguments.push_back(argument.data());
}

std::unique_ptr<BareCalls> BareCalls::Make(BenchDevice& on) {
  if (on.is_host()) return std::make_unique<CallsOfHost>(on);
  return std::make_unique<CallsOfCuda>();
}

}  // namespace graphtree
