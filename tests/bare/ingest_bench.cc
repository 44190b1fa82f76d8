// What it costs that inputs are copied: ours, the bare CUDA calls, and separate copies, in one run.
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "device/base/status_macros.h"
#include "device/device.h"
#include "device/open.h"
#include "graphs/inputs/ingest/ingest.h"
#include "tests/bare/bare_graph.h"
#include "tests/kernels/kernels.h"
#include "tools/benching/row.h"
#include "tools/demo_model/device_block.h"

namespace graphtree {
namespace {

using bench::ComparePair;
using bench::Measurement;
using bench::Outcome;
using bench::Skipped;
using bench::TimingOptions;

constexpr int kOtherOps = 20;
constexpr uint64_t kInputBytes = 4096;

// A recorded graph (ingest, then small kernels) made through the interface, and the same one bare.
struct Setup {
  std::unique_ptr<Device> device;
  std::unique_ptr<Stream> stream;
  std::unique_ptr<demo::DeviceBlock> block;
  std::vector<IngestPlan> plans;
  std::unique_ptr<Graph> graph;
  std::unique_ptr<Executable> executable;
  std::unique_ptr<BareGraph> bare;
  int turn = 0;

  Address source(int input, int set) const {
    return block->range().base + (1 + set) * (1 << 20) + input * kInputBytes;
  }
  // All inputs have moved.
  void Move() {
    turn = 1 - turn;
    for (size_t i = 0; i < plans[0].copies(); ++i) {
      plans[0].Retarget(i, source(static_cast<int>(i), turn));
    }
  }
  absl::Status Replay() {
    Move();
    const Argument table = plans[0].Table();
    GRAPHTREE_RETURN_IF_ERROR(executable->PatchKernel(0, plans[0].kernel(), plans[0].shape(),
                                                      absl::MakeConstSpan(&table, 1)));
    return executable->Launch(*stream);
  }
  TimingOptions Queued() {
    TimingOptions options;
    options.most_calls = 32;
    options.batches = 401;
    options.between = [this] {
      stream->Synchronize().IgnoreError();
      bare->Synchronize().IgnoreError();
    };
    return options;
  }
};

BareLaunch BareIngest(const IngestPlan& plan, const Argument& table) {
  return {std::get<CudaSymbol>(plan.kernel().cuda()).symbol, plan.shape().grid, plan.shape().block,
          {table.data()}};
}

absl::Status Record(Setup& setup) {
  const Argument table = setup.plans[0].Table();
  std::vector<BareLaunch> launches = {BareIngest(setup.plans[0], table)};
  GRAPHTREE_RETURN_IF_ERROR(setup.stream->BeginCapture(CaptureMode::kThreadLocal));
  GRAPHTREE_RETURN_IF_ERROR(setup.stream->Launch(setup.plans[0].kernel(), setup.plans[0].shape(),
                                                 absl::MakeConstSpan(&table, 1)));
  for (int i = 0; i < kOtherOps; ++i) {
    GRAPHTREE_RETURN_IF_ERROR(setup.stream->Launch(EmptyKernel(), LaunchShape(), {}));
    launches.push_back({std::get<CudaSymbol>(EmptyKernel().cuda()).symbol, {}, {}, {}});
  }
  GRAPHTREE_ASSIGN_OR_RETURN(setup.graph, setup.stream->EndCapture());
  GRAPHTREE_ASSIGN_OR_RETURN(setup.executable, setup.graph->Instantiate());
  GRAPHTREE_ASSIGN_OR_RETURN(setup.bare, BareGraph::Capture(launches));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Setup>> MakeSetup(std::unique_ptr<Device> device, int inputs) {
  auto setup = std::make_unique<Setup>();
  setup->device = std::move(device);
  GRAPHTREE_ASSIGN_OR_RETURN(setup->stream, setup->device->NewStream());
  GRAPHTREE_ASSIGN_OR_RETURN(setup->block, demo::DeviceBlock::Map(*setup->device, 4 << 20));
  const Layout* layout = Layout::Of(DType::kU8, {kInputBytes});
  std::vector<IngestCopy> copies;
  for (int i = 0; i < inputs; ++i) {
    copies.push_back({setup->block->range().base + i * kInputBytes, setup->source(i, 0), layout});
  }
  setup->plans = IngestPlan::For(copies, {});
  GRAPHTREE_RETURN_IF_ERROR(Record(*setup));
  return setup;
}

template <typename Body>
Outcome OnGpu(int inputs, Body body) {
  absl::StatusOr<std::unique_ptr<Device>> device = OpenDevice("cuda:0");
  if (!device.ok()) return Skipped(absl::StrCat("needs a GPU: ", device.status().message()));
  absl::StatusOr<std::unique_ptr<Setup>> setup = MakeSetup(*std::move(device), inputs);
  if (!setup.ok()) return setup.status();
  const absl::StatusOr<Measurement> pair = body(**setup);
  GRAPHTREE_RETURN_IF_ERROR((*setup)->bare->Synchronize());
  GRAPHTREE_RETURN_IF_ERROR((*setup)->stream->Synchronize());
  return pair;
}

template <typename Baseline>
absl::StatusOr<Measurement> ReplayBeside(Setup& setup, Baseline baseline) {
  absl::Status status;
  const Measurement pair =
      ComparePair([&] { status.Update(setup.Replay()); }, baseline, setup.Queued());
  if (!status.ok()) return status;
  return pair;
}

// The bare side's inputs move, too: it patches two ready tables in turn, because a patch that
// changes nothing is cheaper at the next launch.
Outcome BesideBarePatch(int inputs) {
  return OnGpu(inputs, [inputs](Setup& setup) {
    IngestPlan ready[2] = {setup.plans[0], setup.plans[0]};
    for (int turn : {0, 1}) {
      for (int i = 0; i < inputs; ++i) ready[turn].Retarget(i, setup.source(i, turn));
    }
    const Argument tables[2] = {ready[0].Table(), ready[1].Table()};
    const BareLaunch ingests[2] = {BareIngest(ready[0], tables[0]),
                                   BareIngest(ready[1], tables[1])};
    int turn = 0;
    return ReplayBeside(setup, [&] {
      setup.bare->Patch(0, ingests[turn ^= 1]);
      setup.bare->Launch();
    });
  });
}

Outcome BesideSeparateCopies(int inputs) {
  return OnGpu(inputs, [inputs](Setup& setup) {
    return ReplayBeside(setup, [&setup, inputs] {
      for (int i = 0; i < inputs; ++i) {
        setup.bare->Copy(setup.block->range().base + i * kInputBytes, setup.source(i, 1),
                         kInputBytes);
      }
      setup.bare->Launch();
    });
  });
}

const bool kRegistered = [] {
  for (int inputs : {1, 8, 32, 120}) {
    const std::string moved = absl::StrCat(inputs, " inputs of 4 KiB that moved");
    bench::RegisterRow({.name = absl::StrCat("graphs.ingest.patched_replay.", inputs),
                        .ours = absl::StrCat("table, patch and launch, ", moved),
                        .against = "bare patch and launch, tables ready",
                        .goal = inputs <= 8 ? "difference <= 300 ns" : "difference <= 500 ns"},
                       [inputs] { return BesideBarePatch(inputs); });
    bench::RegisterRow({.name = absl::StrCat("graphs.ingest.beside_copies.", inputs),
                        .ours = absl::StrCat("table, patch and launch, ", moved),
                        .against = "a bare copy for each, and a bare launch",
                        .goal = inputs == 1 ? "ratio <= 1" : "ratio <= 0.5"},
                       [inputs] { return BesideSeparateCopies(inputs); });
  }
  return true;
}();

GRAPHTREE_ROW(CostOfIngest, {.name = "graphs.ingest.beside_launch.8",
                             .ours = "table, patch and launch, 8 inputs that moved",
                             .against = "a bare launch that patches nothing"}) {
  return OnGpu(8, [](Setup& setup) {
    return ReplayBeside(setup, [&setup] { setup.bare->Launch(); });
  });
}

GRAPHTREE_ROW(Retarget, {.name = "graphs.ingest.retarget.32",
                         .ours = "32 sources written into the table",
                         .goal = "value <= 100 ns"}) {
  const Layout* layout = Layout::Of(DType::kF32, {256});
  std::vector<IngestPlan> plans =
      IngestPlan::For(std::vector<IngestCopy>(32, {4096, 8192, layout}), {});
  Address source = 0;
  return bench::Measure([&] {
    source += 16;
    for (size_t i = 0; i < 32; ++i) plans[0].Retarget(i, source);
    bench::ClobberMemory();
  });
}

// The whole time of one large copy, which shows whether the op's loads and stores are wide enough.
GRAPHTREE_ROW(LargeCopy, {.name = "graphs.ingest.copy.256MiB",
                          .ours = "one ingest op of 256 MiB, until done",
                          .against = "cudaMemcpyAsync",
                          .goal = "ratio <= 1.3"}) {
  return OnGpu(1, [](Setup& setup) -> absl::StatusOr<Measurement> {
    constexpr int64_t kBytes = 256 << 20;
    GRAPHTREE_ASSIGN_OR_RETURN(const auto block, demo::DeviceBlock::Map(*setup.device, 2 * kBytes));
    const Address base = block->range().base;
    const std::vector<IngestPlan> plans =
        IngestPlan::For({{base, base + kBytes, Layout::Of(DType::kU8, {kBytes})}}, {});
    const Argument table = plans[0].Table();
    const BareLaunch ingest = BareIngest(plans[0], table);
    absl::Status status;
    TimingOptions options = setup.Queued();
    options.most_calls = 1;
    options.batches = 51;
    const Measurement pair = ComparePair(
        [&] {
          setup.bare->LaunchOne(ingest);
          status.Update(setup.bare->Synchronize());
        },
        [&] {
          setup.bare->Copy(base, base + kBytes, kBytes);
          status.Update(setup.bare->Synchronize());
        },
        options);
    if (!status.ok()) return status;
    return pair;
  });
}

}  // namespace
}  // namespace graphtree
