// Runs the two days and compares them.
#include "tools/demo_model/comparison.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "graphs/random/generator.h"
#include "tools/demo_model/eager_executor.h"
#include "tools/demo_model/tree_executor.h"

namespace graphtree::demo {
namespace {

// What both days share.
struct Stage {
  std::unique_ptr<Stream> stream;
  std::unique_ptr<Weights> weights;
  std::unique_ptr<StepInputs> inputs;
  std::vector<Request> requests;
  int most_rows;

  static absl::StatusOr<Stage> Set(Device& device, const DemoOptions& options) {
    Stage stage;
    stage.most_rows = options.most_rows;
    GRAPHTREE_ASSIGN_OR_RETURN(stage.stream, device.NewStream());
    GRAPHTREE_ASSIGN_OR_RETURN(stage.weights, Weights::Load(device, *stage.stream, 1));
    GRAPHTREE_ASSIGN_OR_RETURN(stage.inputs, StepInputs::Create(device));
    stage.requests = MakeRequests(options.seed, options.steps, options.most_rows);
    if (!options.sampled) {
      for (Request& request : stage.requests) request.temperature = 0;
    }
    return stage;
  }

  absl::StatusOr<Day> Run(Executor& executor, const DemoOptions& options,
                          const std::string& way) {
    return RunDay(*stream, *weights, *inputs, executor,
                  {requests, most_rows, [&](int step) { options.progress(way, step); }});
  }
};

absl::Status RunEagerly(Device& device, Stage& stage, const DemoOptions& options,
                        Comparison* comparison) {
  GRAPHTREE_ASSIGN_OR_RETURN(
      const std::unique_ptr<EagerExecutor> executor,
      EagerExecutor::Create(device, *stage.stream, std::make_shared<Generator>(options.seed)));
  GRAPHTREE_ASSIGN_OR_RETURN(comparison->eager, stage.Run(*executor, options, "eager"));
  for (int i = 0; i < kModelFunctions; ++i) {
    comparison->kernels[i] = executor->launches(static_cast<ModelFunction>(i));
  }
  return absl::OkStatus();
}

absl::Status RunThroughTree(Device& device, Stage& stage, const DemoOptions& options,
                            Comparison* comparison) {
  GRAPHTREE_ASSIGN_OR_RETURN(
      const std::unique_ptr<TreeExecutor> executor,
      TreeExecutor::Create(device, *stage.stream, std::make_shared<Generator>(options.seed), {}));
  GRAPHTREE_ASSIGN_OR_RETURN(comparison->tree, stage.Run(*executor, options, "tree"));
  comparison->stats = executor->tree().stats();
  comparison->outline = executor->tree().outline();
  return options.at_the_end(executor->tree());
}

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

// Over the steps at these places. A function launches its kernels, or one graph if it is replayed.
Figures FiguresOf(const Day& day, const std::vector<size_t>& places,
                  const std::array<uint64_t, kModelFunctions>& launches) {
  std::vector<double> counts, host;
  double generated = 0, whole_ns = 0;
  for (size_t place : places) {
    const StepRecord& step = day.steps[place];
    uint64_t count = 0;
    for (ModelFunction call : step.calls) count += launches[static_cast<int>(call)];
    counts.push_back(static_cast<double>(count));
    host.push_back(step.host_ns);
    generated += step.generated;
    whole_ns += step.whole_ns;
  }
  return {Median(std::move(counts)), Median(std::move(host)),
          whole_ns > 0 ? generated * 1e9 / whole_ns : 0};
}

}  // namespace

std::optional<size_t> FirstDifference(const Day& a, const Day& b) {
  const size_t steps = std::min(a.steps.size(), b.steps.size());
  for (size_t i = 0; i < steps; ++i) {
    if (a.steps[i].picked != b.steps[i].picked) return i;
  }
  if (a.steps.size() != b.steps.size()) return steps;
  return std::nullopt;
}

absl::StatusOr<Comparison> Compare(Device& device, const DemoOptions& options) {
  Comparison comparison;
  comparison.device = device.info();
  GRAPHTREE_ASSIGN_OR_RETURN(Stage stage, Stage::Set(device, options));
  comparison.requests = static_cast<int>(stage.requests.size());
  comparison.model_bytes = stage.weights->bytes();
  GRAPHTREE_RETURN_IF_ERROR(RunEagerly(device, stage, options, &comparison));
  GRAPHTREE_RETURN_IF_ERROR(RunThroughTree(device, stage, options, &comparison));
  comparison.first_difference = FirstDifference(comparison.eager, comparison.tree);
  return comparison;
}

Summary Summarise(const Comparison& comparison) {
  Summary summary;
  std::vector<size_t> replayed;
  const std::vector<StepRecord>& steps = comparison.tree.steps;
  for (size_t i = 0; i < steps.size() && i < comparison.eager.steps.size(); ++i) {
    if (steps[i].replayed) {
      replayed.push_back(i);
    } else {
      summary.other_host_ns += steps[i].host_ns;
    }
  }
  summary.replayed_steps = replayed.size();
  summary.eager = FiguresOf(comparison.eager, replayed, comparison.kernels);
  summary.tree = FiguresOf(comparison.tree, replayed, {1, 1, 1});
  return summary;
}

}  // namespace graphtree::demo
