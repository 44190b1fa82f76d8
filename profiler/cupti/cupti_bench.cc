// What a launch of a graph costs with CUPTI attached, beside bare CUPTI with the same kinds, and
// after it has left.
#include <cuda_runtime_api.h>
#include <cupti.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "device/base/status_macros.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda/gpu_test_kernels.h"
#include "device/device.h"
#include "device/graph.h"
#include "device/kernel.h"
#include "device/memory.h"
#include "device/stream.h"
#include "profiler/activity/activity_source.h"
#include "profiler/cupti/cupti_functions.h"
#include "profiler/cupti/cupti_source.h"
#include "tools/benching/row.h"
#include "tools/benching/timing.h"

namespace graphtree::cupti {
namespace {

using bench::Measurement;
using bench::Outcome;
using bench::Skipped;

constexpr int kOps = 100;

// What a profile does at least: it looks at every op.
class Summing : public activity::ActivityListener {
 public:
  void Op(const activity::Activity& op) override { sum += op.correlation; }
  void Dropped(uint64_t records) override { dropped += records; }
  void Note(absl::string_view remark) override {}

  uint64_t sum = 0;
  uint64_t dropped = 0;
};

struct Setup {
  const Kernel kernel{"add_word", Params<uint32_t*, uint32_t>(), nullptr,
                      CudaSymbol{kAddWordSymbol}};
  std::unique_ptr<Device> device;
  std::unique_ptr<Stream> stream;
  AddressRange range;
  std::unique_ptr<Executable> executable;
  std::unique_ptr<activity::ActivitySource> source;
  CuptiFunctions bare;

  ~Setup() {
    executable.reset();
    stream.reset();
    if (range.empty()) return;
    device->memory().Unmap(range).IgnoreError();
    device->memory().Release(range).IgnoreError();
  }
};

CuptiOptions Options() {
  return OptionsOf([](const char* name) { return std::getenv(name); });
}

absl::StatusOr<std::unique_ptr<Setup>> MakeSetup() {
  auto setup = std::make_unique<Setup>();
  GRAPHTREE_ASSIGN_OR_RETURN(setup->device, OpenCudaDevice(0, {}));
  Memory& memory = setup->device->memory();
  const uint64_t bytes = memory.granularity();
  GRAPHTREE_ASSIGN_OR_RETURN(setup->range, memory.Reserve(bytes, {}));
  GRAPHTREE_ASSIGN_OR_RETURN(const std::unique_ptr<PhysicalMemory> physical, memory.Create(bytes));
  GRAPHTREE_RETURN_IF_ERROR(memory.Map(setup->range.base, *physical));
  GRAPHTREE_RETURN_IF_ERROR(memory.SetAccess(setup->range, MemoryAccess::kReadWrite));
  GRAPHTREE_ASSIGN_OR_RETURN(setup->stream, setup->device->NewStream());
  const std::vector<Argument> arguments = {Argument::InOut({setup->range.base, 4}),
                                           Argument::Value(uint32_t{1})};
  GRAPHTREE_RETURN_IF_ERROR(setup->stream->BeginCapture(CaptureMode::kThreadLocal));
  for (int i = 0; i < kOps; ++i) {
    GRAPHTREE_RETURN_IF_ERROR(setup->stream->Launch(setup->kernel, {}, arguments));
  }
  GRAPHTREE_ASSIGN_OR_RETURN(const std::unique_ptr<Graph> graph, setup->stream->EndCapture());
  GRAPHTREE_ASSIGN_OR_RETURN(setup->executable, graph->Instantiate());
  GRAPHTREE_RETURN_IF_ERROR(setup->executable->Upload(*setup->stream));
  return setup;
}

template <typename Body>
Outcome WithCupti(Body body) {
  const absl::StatusOr<int> count = CountCudaDevices();
  if (!count.ok()) return Skipped(absl::StrCat("needs a GPU: ", count.status().message()));
  auto source = OpenCuptiSource(Options());
  if (!source.ok()) return Skipped(absl::StrCat("needs CUPTI: ", source.status().message()));
  absl::StatusOr<CuptiFunctions> bare = FindCupti(Options().library, Options().cuda_home);
  if (!bare.ok()) return bare.status();
  absl::StatusOr<std::unique_ptr<Setup>> setup = MakeSetup();
  if (!setup.ok()) return setup.status();
  (*setup)->source = std::move(source).value();
  (*setup)->bare = std::move(bare).value();
  return body(**setup);
}

// Of one launch, in ns of the host's time; the stream is empty before each batch.
Measurement MeasureLaunches(Setup& setup, int batches) {
  bench::TimingOptions options;
  options.batches = batches;
  options.most_calls = 16;
  options.between = [&setup] { setup.stream->Synchronize().IgnoreError(); };
  return bench::Measure([&] { setup.executable->Launch(*setup.stream).IgnoreError(); }, options);
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

Outcome After(Setup& setup) {
  MeasureLaunches(setup, 401);
  const Measurement before = MeasureLaunches(setup, 2001);
  Summing listener;
  GRAPHTREE_RETURN_IF_ERROR(setup.source->Attach(&listener, {}));
  MeasureLaunches(setup, 21);
  GRAPHTREE_RETURN_IF_ERROR(setup.stream->Synchronize());
  GRAPHTREE_RETURN_IF_ERROR(setup.source->Detach({}));
  MeasureLaunches(setup, 401);
  Measurement after = MeasureLaunches(setup, 2001);
  after.baseline = before.ours;
  return after;
}

GRAPHTREE_ROW(AfterDetaching, {.name = "profiler.cupti.launch_after_detaching",
                               .ours = "a launch of 100 kernels after CUPTI has left",
                               .against = "the same before it came",
                               .goal = "ratio <= 1.02"}) {
  return WithCupti(After);
}

// Bare CUPTI, as its samples use it.
const CuptiFunctions* bare_functions = nullptr;
uint64_t bare_sum = 0;

void CUPTIAPI BareWanted(uint8_t** buffer, size_t* bytes, size_t* most_records) {
  *bytes = size_t{4} << 20;
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(8, *bytes));
  *most_records = 0;
}

void CUPTIAPI BareFull(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid_bytes) {
  CUpti_Activity* record = nullptr;
  while (bare_functions->ActivityGetNextRecord(buffer, valid_bytes, &record) == CUPTI_SUCCESS) {
    bare_sum += record->kind;
  }
  std::free(buffer);
}

constexpr CUpti_ActivityKind kBareKinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                             CUPTI_ACTIVITY_KIND_MEMCPY,
                                             CUPTI_ACTIVITY_KIND_MEMSET};

absl::Status Worked(CUptiResult result) {
  if (result == CUPTI_SUCCESS) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("bare CUPTI failed with code ", int{result}));
}

absl::StatusOr<double> MeasureBare(Setup& setup, int batches) {
  bare_functions = &setup.bare;
  GRAPHTREE_RETURN_IF_ERROR(Worked(setup.bare.ActivityRegisterCallbacks(BareWanted, BareFull)));
  for (CUpti_ActivityKind kind : kBareKinds) {
    GRAPHTREE_RETURN_IF_ERROR(Worked(setup.bare.ActivityEnable(kind)));
  }
  const double cost = MeasureLaunches(setup, batches).ours;
  GRAPHTREE_RETURN_IF_ERROR(setup.stream->Synchronize());
  GRAPHTREE_RETURN_IF_ERROR(Worked(setup.bare.ActivityFlushAll(1)));
  for (CUpti_ActivityKind kind : kBareKinds) {
    GRAPHTREE_RETURN_IF_ERROR(Worked(setup.bare.ActivityDisable(kind)));
  }
  GRAPHTREE_RETURN_IF_ERROR(Worked(setup.bare.Finalize()));
  return cost;
}

absl::StatusOr<double> MeasureAttached(Setup& setup, int batches) {
  Summing listener;
  GRAPHTREE_RETURN_IF_ERROR(setup.source->Attach(&listener, {}));
  const double cost = MeasureLaunches(setup, batches).ours;
  GRAPHTREE_RETURN_IF_ERROR(setup.stream->Synchronize());
  GRAPHTREE_RETURN_IF_ERROR(setup.source->Detach({}));
  if (listener.dropped == 0) return cost;
  return absl::InternalError(absl::StrCat(listener.dropped, " records were dropped"));
}

Outcome AttachedBesideBare(Setup& setup) {
  const int rounds = bench::Smoke() ? 1 : 9;
  std::vector<double> attached, bare;
  for (int i = 0; i < rounds; ++i) {
    GRAPHTREE_ASSIGN_OR_RETURN(const double theirs, MeasureBare(setup, 51));
    bare.push_back(theirs);
    GRAPHTREE_ASSIGN_OR_RETURN(const double ours, MeasureAttached(setup, 51));
    attached.push_back(ours);
  }
  Measurement measured;
  measured.ours = Median(attached);
  measured.baseline = Median(bare);
  return measured;
}

GRAPHTREE_ROW(Attached, {.name = "profiler.cupti.launch_attached",
                         .ours = "a launch of 100 kernels while attached",
                         .against = "the same under bare CUPTI with the same kinds",
                         .goal = "ratio <= 1.05"}) {
  return WithCupti(AttachedBesideBare);
}

}  // namespace
}  // namespace graphtree::cupti
