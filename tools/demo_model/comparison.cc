// Runs the three days and compares them.
#include "tools/demo_model/comparison.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "device/base/check.h"
#include "device/base/status_macros.h"
#include "tools/demo_model/device_block.h"
#include "tools/demo_model/eager_way.h"
#include "tools/demo_model/engine_way.h"
#include "tools/demo_model/kernels/kernels.h"
#include "tools/demo_model/step_arena.h"

namespace graphtree::demo {
namespace {

// What all days share.
struct Stage {
  Device& device;
  const DemoOptions& options;
  std::unique_ptr<Stream> stream;
  std::unique_ptr<Weights> weights;
  // In which the model computes where it has no pool. Mapped ahead, as an engine's allocator has
  // memory at hand; the runtime's pool maps its own while the clock runs.
  std::unique_ptr<DeviceBlock> memory;

  absl::Status Set() {
    GRAPHTREE_ASSIGN_OR_RETURN(stream, device.NewStream());
    GRAPHTREE_ASSIGN_OR_RETURN(weights, Weights::Load(device, *stream, 1));
    GRAPHTREE_ASSIGN_OR_RETURN(memory, DeviceBlock::Map(device, 2 * kStepArenaBytes));
    for (const Kernel* kernel : ModelKernels()) {
      GRAPHTREE_RETURN_IF_ERROR(device.Load(*kernel));
    }
    return WarmUp();
  }

  absl::StatusOr<std::unique_ptr<Way>> MakeEager() {
    return EagerWay::Create(device, *stream, *weights, memory->range());
  }

  // So that the first way does not pay for what any first one would.
  absl::Status WarmUp() {
    const Request request = {.prompt = 8, .output = 3};
    const auto make = [this] { return MakeEager(); };
    return RunDay(*stream, *weights, make, {{request}, 1}).status();
  }

  absl::StatusOr<Day> Run(WayNumber number, const WayMaker& make,
                          std::function<absl::Status(Way&)> at_the_end) {
    DayOptions day = {options.requests, options.most_requests};
    day.progress = [this, number](int step) { options.progress(WayName(number), step); };
    day.at_the_end = std::move(at_the_end);
    return RunDay(*stream, *weights, make, day);
  }
};

absl::Status Checked(const DemoOptions& options) {
  if (options.requests.empty()) return absl::InvalidArgumentError("a day without requests");
  if (options.most_requests < 1 || options.most_requests > kMostRequests) {
    return absl::InvalidArgumentError(absl::StrCat(
        options.most_requests, " requests in one step; from 1 to ", kMostRequests));
  }
  for (size_t i = 0; i < options.requests.size(); ++i) {
    const absl::Status status = CheckRequest(options.requests[i]);
    if (status.ok()) continue;
    return absl::InvalidArgumentError(absl::StrCat("request ", i, ": ", status.message()));
  }
  if (options.budget_bytes >= RungBytes()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("a budget of ", options.budget_bytes,
                                                 " bytes for graphs holds none: one takes ",
                                                 RungBytes()));
}

absl::Status RunAll(Stage& stage, Comparison* comparison) {
  const auto nothing = [](Way&) { return absl::OkStatus(); };
  const auto eager = [&] { return stage.MakeEager(); };
  GRAPHTREE_ASSIGN_OR_RETURN(comparison->days[kEager], stage.Run(kEager, eager, nothing));
  const auto engine = [&] {
    return EngineWay::Create(stage.device, *stage.stream, *stage.weights, stage.memory->range(),
                             comparison->ladder);
  };
  GRAPHTREE_ASSIGN_OR_RETURN(comparison->days[kEngine], stage.Run(kEngine, engine, nothing));
  const auto graphtree = [&]() -> absl::StatusOr<std::unique_ptr<Way>> {
    GRAPHTREE_ASSIGN_OR_RETURN(
        std::unique_ptr<RuntimeWay> way,
        RuntimeWay::Create(stage.device, *stage.stream, *stage.weights,
                           {.ladder = comparison->ladder,
                            .budget_bytes = stage.options.budget_bytes,
                            .records_ahead = stage.options.records_ahead,
                            .records_idle = stage.options.records_idle,
                            .serving = stage.options.serving,
                            .door = stage.options.door,
                            .base = stage.options.base}));
    GRAPHTREE_RETURN_IF_ERROR(stage.options.at_the_start(way->runtime()));
    return way;
  };
  const auto at_the_end = [&](Way& way) {
    Runtime& runtime = static_cast<RuntimeWay&>(way).runtime();
    if (ServesGraphs(stage.options.serving.serving)) {
      comparison->recorded = static_cast<RuntimeWay&>(way).recorded();
    }
    comparison->runtime = runtime.stats();
    comparison->explanation = runtime.Explain({.steps = 0, .trees = false});
    comparison->tree = runtime.tree()->stats();
    comparison->outline = runtime.tree()->outline();
    return stage.options.at_the_end(*runtime.tree());
  };
  GRAPHTREE_ASSIGN_OR_RETURN(comparison->days[kGraphtree],
                             stage.Run(kGraphtree, graphtree, at_the_end));
  return absl::OkStatus();
}

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

}  // namespace

const char* WayName(int way) {
  constexpr const char* kNames[] = {"eager", "engine's way", "graphtree"};
  GRAPHTREE_CHECK(way >= 0 && way < kWays) << "way " << way;
  return kNames[way];
}

std::optional<Difference> FirstDifference(const Day& eager, const Day& other) {
  const size_t steps = std::min(eager.steps.size(), other.steps.size());
  for (size_t i = 0; i < steps; ++i) {
    const StepRecord& a = eager.steps[i];
    const StepRecord& b = other.steps[i];
    if (a.numbers != b.numbers || a.picked.size() != b.picked.size()) return Difference{i};
    const auto [at, bt] = std::mismatch(a.picked.begin(), a.picked.end(), b.picked.begin());
    if (at == a.picked.end()) continue;
    return Difference{i, a.numbers[at - a.picked.begin()], *at, *bt};
  }
  if (eager.steps.size() != other.steps.size()) return Difference{steps};
  return std::nullopt;
}

Figures FiguresOf(const Comparison& comparison, int way) {
  const Day& day = comparison.days[way];
  const std::vector<StepRecord>& judged = comparison.days[kGraphtree].steps;
  const bool is_any = std::any_of(judged.begin(), judged.end(),
                                  [](const StepRecord& step) { return step.is_replay; });
  std::vector<double> host, whole, submissions;
  Figures figures;
  double rows = 0, padded_rows = 0;
  for (size_t i = 0; i < day.steps.size(); ++i) {
    const StepRecord& step = day.steps[i];
    rows += step.tokens;
    padded_rows += step.padded_tokens;
    figures.slowest_ns = std::max(figures.slowest_ns, step.whole_ns);
    figures.replays += step.is_replay;
    if (is_any && !(i < judged.size() && judged[i].is_replay)) continue;
    host.push_back(step.host_ns);
    whole.push_back(step.whole_ns);
    submissions.push_back(step.submissions);
  }
  figures.host_ns = Median(std::move(host));
  figures.whole_ns = Median(std::move(whole));
  figures.submissions = Median(std::move(submissions));
  if (padded_rows > 0) figures.padding = 1 - rows / padded_rows;
  if (day.serving_ns > 0) figures.tokens_per_second = day.generated * 1e9 / day.serving_ns;
  return figures;
}

std::vector<Reasons> ReasonsOf(const Day& day) {
  std::vector<Reasons> reasons;
  for (size_t i = 0; i < kWhyCount; ++i) {
    Reasons steps = {static_cast<Why>(i), {}};
    for (size_t step = 0; step < day.steps.size(); ++step) {
      const StepRecord& record = day.steps[step];
      if (!record.is_replay && record.why == steps.why) steps.steps.push_back(step);
    }
    if (!steps.steps.empty()) reasons.push_back(std::move(steps));
  }
  return reasons;
}

absl::StatusOr<Comparison> Compare(Device& device, const DemoOptions& options) {
  GRAPHTREE_RETURN_IF_ERROR(Checked(options));
  Comparison comparison;
  comparison.device = device.info();
  comparison.requests = options.requests;
  comparison.most_requests = options.most_requests;
  comparison.budget_bytes = options.budget_bytes;
  comparison.records_ahead = options.records_ahead;
  comparison.records_idle = options.records_idle;
  comparison.records_while_serving = options.base.records_while_serving;
  comparison.serving = options.serving;
  comparison.ladder = LadderUnder(options.budget_bytes, options.most_requests);
  Stage stage = {device, options, nullptr, nullptr, nullptr};
  GRAPHTREE_RETURN_IF_ERROR(stage.Set());
  comparison.weight_bytes = stage.weights->weight_bytes();
  comparison.cache_bytes = stage.weights->cache_bytes();
  GRAPHTREE_RETURN_IF_ERROR(RunAll(stage, &comparison));
  for (int way : {kEngine, kGraphtree}) {
    comparison.differences[way] = FirstDifference(comparison.days[kEager], comparison.days[way]);
  }
  return comparison;
}

}  // namespace graphtree::demo
