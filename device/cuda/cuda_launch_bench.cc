// What a launch and a patch through the interface cost beside the bare calls, in one run.
#include <cuda_runtime_api.h>

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda/gpu_test_kernels.h"
#include "device/cuda/native.h"
#include "tools/benching/row.h"

namespace graphtree {
namespace {

using bench::ComparePair;
using bench::Measure;
using bench::Measurement;
using bench::Outcome;
using bench::Skipped;
using bench::TimingOptions;

// One graph of `ops` kernels with four arguments each, made through the interface.
struct Setup {
  const Kernel kernel{"many", Params<float*, const float*, const float*, int>(), nullptr,
                      CudaSymbol{kManySymbol}};
  std::unique_ptr<Device> device;
  std::unique_ptr<Stream> stream;
  AddressRange range;
  std::unique_ptr<Graph> graph;
  std::unique_ptr<Executable> executable;
  cudaStream_t raw_stream = nullptr;
  cudaGraphExec_t raw_executable = nullptr;
  cudaGraphNode_t raw_node = nullptr;

  ~Setup() {
    executable.reset();
    graph.reset();
    if (stream != nullptr) stream->Synchronize().IgnoreError();
    stream.reset();
    if (!range.empty()) {
      device->memory().Unmap(range).IgnoreError();
      device->memory().Release(range).IgnoreError();
    }
  }

  std::vector<Argument> LaunchArguments() const {
    const AddressRange part{range.base, 4096};
    return {Argument::Out(part), Argument::In(part), Argument::In(part), Argument::Value(1024)};
  }
};

constexpr LaunchShape kShape = {.grid = {4}, .block = {256}};

absl::Status MapMemory(Setup& setup) {
  Memory& memory = setup.device->memory();
  const uint64_t bytes = memory.granularity();
  GRAPHTREE_ASSIGN_OR_RETURN(setup.range, memory.Reserve(bytes, {}));
  GRAPHTREE_ASSIGN_OR_RETURN(const std::unique_ptr<PhysicalMemory> physical, memory.Create(bytes));
  GRAPHTREE_RETURN_IF_ERROR(memory.Map(setup.range.base, *physical));
  return memory.SetAccess(setup.range, MemoryAccess::kReadWrite);
}

absl::StatusOr<std::unique_ptr<Setup>> MakeSetup(int ops) {
  auto setup = std::make_unique<Setup>();
  GRAPHTREE_ASSIGN_OR_RETURN(setup->device, OpenCudaDevice(0, {}));
  GRAPHTREE_RETURN_IF_ERROR(MapMemory(*setup));
  GRAPHTREE_ASSIGN_OR_RETURN(setup->stream, setup->device->NewStream());
  const std::vector<Argument> arguments = setup->LaunchArguments();
  GRAPHTREE_RETURN_IF_ERROR(setup->stream->BeginCapture(CaptureMode::kThreadLocal));
  for (int i = 0; i < ops; ++i) {
    GRAPHTREE_RETURN_IF_ERROR(setup->stream->Launch(setup->kernel, kShape, arguments));
  }
  GRAPHTREE_ASSIGN_OR_RETURN(setup->graph, setup->stream->EndCapture());
  GRAPHTREE_ASSIGN_OR_RETURN(setup->executable, setup->graph->Instantiate());
  GRAPHTREE_RETURN_IF_ERROR(setup->executable->Upload(*setup->stream));
  GRAPHTREE_ASSIGN_OR_RETURN(setup->raw_stream, NativeOf(*setup->stream));
  GRAPHTREE_ASSIGN_OR_RETURN(setup->raw_executable, NativeOf(*setup->executable));
  GRAPHTREE_ASSIGN_OR_RETURN(setup->raw_node, NativeOf(*setup->graph, 0));
  // The bare calls run on a thread whose current device is set, as their users' threads are.
  if (cudaSetDevice(0) != cudaSuccess) return absl::InternalError("cudaSetDevice failed");
  return setup;
}

TimingOptions Queued(Setup& setup) {
  TimingOptions options;
  options.most_calls = 64;
  options.batches = 401;
  options.between = [&setup] { setup.stream->Synchronize().IgnoreError(); };
  return options;
}

template <typename Body>
Outcome OnGpu(int ops, Body body) {
  const absl::StatusOr<int> count = CountCudaDevices();
  if (!count.ok()) return Skipped(absl::StrCat("needs a GPU: ", count.status().message()));
  absl::StatusOr<std::unique_ptr<Setup>> setup = MakeSetup(ops);
  if (!setup.ok()) return setup.status();
  return body(**setup);
}

Outcome CompareLaunch(int ops) {
  return OnGpu(ops, [](Setup& setup) -> Outcome {
    absl::Status status;
    const Measurement pair = ComparePair(
        [&] { status.Update(setup.executable->Launch(*setup.stream)); },
        [&] { (void)cudaGraphLaunch(setup.raw_executable, setup.raw_stream); }, Queued(setup));
    if (!status.ok()) return status;
    return pair;
  });
}

GRAPHTREE_ROW(LaunchOne, {.name = "device.cuda.launch.1",
                          .ours = "Executable::Launch, graph of 1 kernel",
                          .against = "cudaGraphLaunch",
                          .goal = "difference <= 30 ns"}) {
  return CompareLaunch(1);
}

GRAPHTREE_ROW(LaunchHundred, {.name = "device.cuda.launch.100",
                              .ours = "Executable::Launch, graph of 100 kernels",
                              .against = "cudaGraphLaunch",
                              .goal = "difference <= 30 ns"}) {
  return CompareLaunch(100);
}

// Ours is the cheaper one, since it hands the driver its own function handle, found when the op was
// first patched; the Runtime's call looks the function up at every call.
GRAPHTREE_ROW(Patch, {.name = "device.cuda.patch_kernel",
                      .ours = "Executable::PatchKernel, 4 arguments",
                      .against = "cudaGraphExecKernelNodeSetParams",
                      .goal = "difference <= 30 ns"}) {
  return OnGpu(100, [](Setup& setup) -> Outcome {
    cudaKernelNodeParams params = {};
    if (cudaGraphKernelNodeGetParams(setup.raw_node, &params) != cudaSuccess) {
      return absl::InternalError("cudaGraphKernelNodeGetParams failed");
    }
    const Address address = setup.range.base;
    const int count = 1024;
    const void* pointers[] = {&address, &address, &address, &count};
    params.kernelParams = const_cast<void**>(pointers);
    params.extra = nullptr;
    const std::vector<Argument> arguments = setup.LaunchArguments();
    absl::Status status;
    const Measurement pair = ComparePair(
        [&] {
          status.Update(setup.executable->PatchKernel(0, setup.kernel, kShape, arguments));
        },
        [&] {
          (void)cudaGraphExecKernelNodeSetParams(setup.raw_executable, setup.raw_node, &params);
        },
        Queued(setup));
    if (!status.ok()) return status;
    return pair;
  });
}

GRAPHTREE_ROW(EagerLaunch, {.name = "device.cuda.eager_launch",
                            .ours = "Stream::Launch, 4 arguments",
                            .against = "cudaLaunchKernel"}) {
  return OnGpu(1, [](Setup& setup) -> Outcome {
    const Address address = setup.range.base;
    const int count = 1024;
    const void* pointers[] = {&address, &address, &address, &count};
    const std::vector<Argument> arguments = setup.LaunchArguments();
    absl::Status status;
    const Measurement pair = ComparePair(
        [&] { status.Update(setup.stream->Launch(setup.kernel, kShape, arguments)); },
        [&] {
          (void)cudaLaunchKernel(kManySymbol, dim3(4), dim3(256), const_cast<void**>(pointers), 0,
                                 setup.raw_stream);
        },
        Queued(setup));
    if (!status.ok()) return status;
    return pair;
  });
}

GRAPHTREE_ROW(Instantiate, {.name = "device.cuda.instantiate.100",
                            .ours = "Graph::Instantiate with its memory measured, 100 kernels",
                            .against = "cudaGraphInstantiate"}) {
  return OnGpu(100, [](Setup& setup) -> Outcome {
    const absl::StatusOr<cudaGraph_t> raw = NativeOf(*setup.graph);
    if (!raw.ok()) return raw.status();
    absl::Status status;
    TimingOptions options = Queued(setup);
    options.most_calls = 2;
    options.batches = 51;
    const Measurement pair = ComparePair(
        [&] { status.Update(setup.graph->Instantiate().status()); },
        [&] {
          cudaGraphExec_t executable = nullptr;
          (void)cudaGraphInstantiate(&executable, *raw, 0);
          (void)cudaGraphExecDestroy(executable);
        },
        options);
    if (!status.ok()) return status;
    return pair;
  });
}

GRAPHTREE_ROW(Listing, {.name = "device.cuda.listing.100",
                        .ours = "Stream::CapturedOps of 100 kernels with 4 arguments"}) {
  return OnGpu(1, [](Setup& setup) -> Outcome {
    const std::vector<Argument> arguments = setup.LaunchArguments();
    GRAPHTREE_RETURN_IF_ERROR(setup.stream->BeginCapture(CaptureMode::kThreadLocal));
    for (int i = 0; i < 100; ++i) {
      GRAPHTREE_RETURN_IF_ERROR(setup.stream->Launch(setup.kernel, kShape, arguments));
    }
    absl::Status status;
    TimingOptions options;
    options.batches = 51;
    const Measurement alone =
        Measure([&] { status.Update(setup.stream->CapturedOps().status()); }, options);
    status.Update(setup.stream->EndCapture().status());
    if (!status.ok()) return status;
    return alone;
  });
}

}  // namespace
}  // namespace graphtree
