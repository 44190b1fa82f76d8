// What a recording costs beside capturing and instantiating the same ops by hand, both up to the
// first launch.
//
// The function is opaque: its work goes onto the stream itself, as a library's or another
// framework's does, and what it touches is declared. Each recording is of a function of its own
// that was warmed up before. The rows differ in what the function takes:
//
//   static    memory that stays: nothing is sought in the graph
//   copied    an input that the graph's first op copies
//   written   an input that is written to: its address is sought, by recording twice
//   kept      an output that is kept: its address is found where nobody said that it is, and the
//             recording is made again, with a copy at its end
//   launched  the same ops through the launcher
//
// By hand means the device's own calls on the host, and CUDA's on a GPU, where each op is looked at
// once in the capture.
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "device/base/status_macros.h"
#include "graphs/launcher.h"
#include "graphs/tree.h"
#include "graphs/tree_stats.h"
#include "tests/bare/bare_graph.h"
#include "tests/bare/bench_device.h"
#include "tests/kernels/kernels.h"
#include "tools/benching/row.h"
#include "tools/benching/statistics.h"

namespace graphtree {
namespace {

using bench::Measurement;
using bench::NowNs;
using bench::Outcome;
using bench::RegisterRow;
using bench::Skipped;

constexpr uint32_t kOps = 123;
constexpr uint32_t kElements = 256;
constexpr LaunchShape kShape = {.grid = {1}, .block = {256}};

enum class Takes { kStatic, kCopied, kWritten, kKept, kLaunched };

const Layout* Words() {
  static const Layout* layout = Layout::Of(DType::kI32, {kElements});
  return layout;
}

absl::Status Ops(Stream& stream, AddressRange data) {
  for (uint32_t i = 0; i < kOps; ++i) {
    const Argument arguments[] = {Argument::InOut(data), Argument::Value(i),
                                  Argument::Value(kElements)};
    GRAPHTREE_RETURN_IF_ERROR(stream.Launch(IncrementKernel(), kShape, arguments));
  }
  return absl::OkStatus();
}

class World {
 public:
  explicit World(Takes takes) : takes_(takes) {}
  ~World() {
    inputs_.clear();
    if (on_.is_open()) Drain();
    while (!bare_.empty()) bare_.pop_back();  // the first one lends its stream
  }

  absl::Status SetUp(const std::string& device) {
    GRAPHTREE_RETURN_IF_ERROR(on_.Open(device, 2 * Words()->extent_bytes()));
    GRAPHTREE_ASSIGN_OR_RETURN(tree_, Tree::Create(on_.device(), {.pool_bytes = 64 << 20}));
    const uint64_t bytes = Words()->extent_bytes();
    inputs_ = {Tensor::Foreign(on_.memory().base, Words()),
               Tensor::Foreign(on_.memory().base + bytes, Words())};
    return absl::OkStatus();
  }

  // One recording, in nanoseconds.
  absl::StatusOr<double> Record() {
    FunctionOptions options;
    if (takes_ != Takes::kWritten) options.static_inputs = {0};
    if (takes_ == Takes::kKept) options.kept_outputs = {0};
    const FunctionId function =
        tree_->Register("opaque", options, [this](Launcher& on, Values& inputs) {
          return Body(on, inputs);
        });
    GRAPHTREE_RETURN_IF_ERROR(Call(function));
    GRAPHTREE_RETURN_IF_ERROR(on_.stream().Synchronize());
    const uint64_t recordings = tree_->stats().recordings;
    const double start = NowNs();
    GRAPHTREE_RETURN_IF_ERROR(Call(function));
    const double end = NowNs();
    if (tree_->stats().recordings != recordings + 1) {
      return absl::InternalError("the call was not recorded");
    }
    GRAPHTREE_RETURN_IF_ERROR(on_.stream().Synchronize());
    return end - start;
  }

  // The same by hand.
  absl::StatusOr<double> Capture() { return on_.is_host() ? CaptureOnHost() : CaptureOnCuda(); }

 private:
  Values Body(Launcher& on, Values& inputs) {
    const Tensor data = Tensor::From(inputs[0]);
    const Tensor out = takes_ == Takes::kKept ? on.Empty(Words()) : data;
    if (!on.ok()) return {};
    if (takes_ == Takes::kLaunched) {
      for (uint32_t i = 0; i < kOps; ++i) {
        on.Launch(IncrementKernel(), kShape, {InOut(data), Val(i), Val(kElements)});
      }
      return {};
    }
    if (takes_ == Takes::kCopied) on.Reads(Tensor::From(inputs[1]));
    on.Reads(out);
    on.Writes(out);
    on.Fail(Ops(on.stream(), out.raw_bytes()));
    return takes_ == Takes::kKept ? Values{out} : Values{};
  }

  absl::Status Call(FunctionId function) {
    Values inputs(inputs_.begin(), inputs_.begin() + (takes_ == Takes::kCopied ? 2 : 1));
    Values outputs;
    tree_->BeginStep();
    return tree_->Run(function, absl::MakeSpan(inputs), on_.stream(), &outputs);
  }

  absl::StatusOr<double> CaptureOnHost() {
    const AddressRange data = Tensor::From(inputs_[0]).raw_bytes();
    const double start = NowNs();
    GRAPHTREE_ASSIGN_OR_RETURN(HostGraph made,
                               on_.Capture([&] { return Ops(on_.stream(), data); }));
    GRAPHTREE_RETURN_IF_ERROR(made.executable->Launch(on_.stream()));
    const double end = NowNs();
    GRAPHTREE_RETURN_IF_ERROR(on_.stream().Synchronize());
    return end - start;
  }

  absl::StatusOr<double> CaptureOnCuda() {
    const Address data = inputs_[0].word();
    const uint32_t by = 1;
    const BareLaunch launch = {std::get<CudaSymbol>(IncrementKernel().cuda()).symbol, kShape.grid,
                               kShape.block, {&data, &by, &kElements}};
    const std::vector<BareLaunch> launches(kOps, launch);
    BareGraph* const lender = bare_.empty() ? nullptr : bare_[0].get();
    const double start = NowNs();
    GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<BareGraph> made,
                               BareGraph::Capture(launches, lender));
    made->Launch();
    const double end = NowNs();
    GRAPHTREE_RETURN_IF_ERROR(made->Synchronize());
    if (bare_.empty()) bare_.push_back(std::move(made));
    return end - start;
  }

  void Drain() { on_.stream().Synchronize().IgnoreError(); }

  const Takes takes_;
  BenchDevice on_;
  Values inputs_;
  std::vector<std::unique_ptr<BareGraph>> bare_;  // the first one, for its stream
  std::unique_ptr<Tree> tree_;
};

Outcome Recordings(const char* device, Takes takes) {
  World world(takes);
  if (absl::Status set_up = world.SetUp(device); !set_up.ok()) {
    return Skipped(std::string(set_up.message()));
  }
  std::vector<double> ours, bare;
  for (int round = 0; round < (bench::Smoke() ? 2 : 101); ++round) {
    GRAPHTREE_ASSIGN_OR_RETURN(const double recorded, world.Record());
    GRAPHTREE_ASSIGN_OR_RETURN(const double captured, world.Capture());
    ours.push_back(recorded);
    bare.push_back(captured);
  }
  return Measurement{.ours = bench::Median(ours), .baseline = bench::Median(bare)};
}

struct RowPlan {
  const char* name;
  Takes takes;
  const char* ours;
  const char* cuda_goal;  // on the host device figures are only reported
};

constexpr RowPlan kPlans[] = {
    {"opaque_123", Takes::kStatic, "a recording of 123 opaque ops", "ratio <= 1.5"},
    {"copied_123", Takes::kCopied, "the same, with an input that is copied", "ratio <= 1.5"},
    {"written_123", Takes::kWritten, "the same, with an input that is written", ""},
    {"kept_123", Takes::kKept, "the same, with an output that is kept", ""},
    {"launched_123", Takes::kLaunched, "a recording of 123 launched ops", "ratio <= 1.5"},
};

bool RegisterAll() {
  for (const std::string device : {"host", "cuda"}) {
    for (const RowPlan& plan : kPlans) {
      RegisterRow({.name = absl::StrCat("tree.", device, ".record.", plan.name),
                   .ours = plan.ours,
                   .against = "capture, instantiate, launch",
                   .goal = device == "cuda" ? plan.cuda_goal : ""},
                  [device, &plan] { return Recordings(device.c_str(), plan.takes); });
    }
  }
  return true;
}

[[maybe_unused]] const bool registered = RegisterAll();

}  // namespace
}  // namespace graphtree
