// How to link the tree into a program of your own: a kernel with two bodies, a function, a loop.
//
//   bazel run //tools/example            on the host device
//   bazel run //tools/example -- cuda:0  on a GPU (the kernel's CUDA body is compiled when it runs)
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "device/base/status_macros.h"
#include "device/open.h"
#include "graphs/launcher.h"
#include "graphs/tree.h"
#include "graphs/tree_stats.h"

namespace graphtree {
namespace {

constexpr uint32_t kCount = 1024;

// The host body computes what all threads of the CUDA body compute together.
void AddOnHost(const HostCall& call) {
  auto* out = call.Get<uint32_t*>(0);
  const auto* in = call.Get<const uint32_t*>(1);
  const auto by = call.Get<uint32_t>(2);
  for (uint32_t i = 0; i < kCount; ++i) out[i] = in[i] + by;
}

constexpr char kAddOnCuda[] = R"(
  extern "C" __global__ void add(unsigned* out, const unsigned* in, unsigned by) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 1024) out[i] = in[i] + by;
  })";

const Kernel& AddKernel() {
  static const Kernel* kernel =
      new Kernel("add", Params<uint32_t*, const uint32_t*, uint32_t>(), AddOnHost,
                 CudaSource{kAddOnCuda, "add", {}});
  return *kernel;
}

// The body is the same for the eager run, the recording and every other device.
Values ThreeAdditions(Launcher& on, Values&) {
  Tensor x = on.Input(0);
  for (uint32_t by : {1u, 10u, 100u}) {
    Tensor sum = on.Empty(&x.shape());
    on.Launch(AddKernel(), {.grid = {4}, .block = {256}}, {Out(sum), In(x), Val(by)});
    x = sum;
  }
  return {x};
}

absl::Status Main(const std::string& name) {
  GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<Device> device, OpenDevice(name));
  GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<Stream> stream, device->NewStream());
  GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<HostBuffer> input,
                             device->memory().AllocateHost(kCount * sizeof(uint32_t)));
  auto* words = static_cast<uint32_t*>(input->data());
  for (uint32_t i = 0; i < kCount; ++i) words[i] = i;

  GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<Tree> tree, Tree::Create(*device, {}));
  const FunctionId function = tree->Register("three additions", {}, ThreeAdditions);
  const Layout* layout = Layout::Of(DType::kI32, {kCount});
  std::vector<uint32_t> result(kCount);
  for (int step = 0; step < 5; ++step) {
    tree->BeginStep();
    GRAPHTREE_ASSIGN_OR_RETURN(
        const Values outputs,
        tree->Run(function, {Tensor::Foreign(input->range().base, layout)}, *stream));
    GRAPHTREE_RETURN_IF_ERROR(
        stream->Copy(AddressOf(result.data()), outputs[0].word(), kCount * sizeof(uint32_t)));
    GRAPHTREE_RETURN_IF_ERROR(stream->Synchronize());
    if (result[7] != 7 + 111) return absl::InternalError("a wrong result");
  }
  const TreeStats stats = tree->stats();
  std::printf("on %s: %llu calls, 1 eager to warm up, %llu recorded, %llu replayed, all right\n",
              name.c_str(), static_cast<unsigned long long>(stats.calls),
              static_cast<unsigned long long>(stats.recordings),
              static_cast<unsigned long long>(stats.replays));
  return absl::OkStatus();
}

}  // namespace
}  // namespace graphtree

int main(int argc, char** argv) {
  const absl::Status status = graphtree::Main(argc > 1 ? argv[1] : "host");
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
