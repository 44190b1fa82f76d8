// Copies counters, and puts steps into words.
#include "runtime/watch/explain_watch.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "device/executable_bytes.h"
#include "graphs/tree.h"
#include "runtime/watch/advice.h"
#include "runtime/watch/lane_looks.h"
#include "runtime/watch/shape_watch.h"
#include "runtime/watch/step_log.h"

namespace graphtree {
namespace {

// A program as it is put together, with its steps among the last ones.
struct Draft {
  ExplainedProgram program;
  std::vector<LoggedStep> steps;
};
// By the program's number. Of a program that was removed only the name is known, or not even that.
using Drafts = std::map<uint32_t, Draft>;

ExplainedTimes TimesOf(const ShapeWatch& watch) {
  ExplainedTimes times;
  static_assert(std::tuple_size_v<ExplainedTimes> == kRouteCount);
  for (size_t i = 0; i < kRouteCount; ++i) {
    times[i] = {watch.times[i].timed.get(), watch.times[i].ns.get()};
  }
  return times;
}

// Null if nobody has measured it.
const LaunchCost* CostOf(const ProgramWatch& program, const std::vector<LaunchCost>& costs) {
  return program.device < costs.size() ? &costs[program.device] : nullptr;
}

ShadowEstimate EstimateOf(const ShadowCounts& counts, const LaunchCost* cost) {
  ShadowEstimate estimate{.steps = counts.steps.get(), .ops = counts.ops.get()};
  if (estimate.steps == 0) return estimate;
  estimate.eager_us = static_cast<double>(counts.eager_ns.get()) / 1e3 / estimate.steps;
  estimate.replay_us = cost == nullptr ? estimate.eager_us : cost->OfOps(estimate.ops) / 1e3;
  estimate.executable_bytes = ExecutableBytes(estimate.ops);
  estimate.pool_bytes = counts.asked_bytes.get();
  return estimate;
}

ExplainedParity ParityOf(const ParityWatch& watch) {
  const std::lock_guard<std::mutex> lock(watch.mutex);
  return {watch.same.get(), watch.differs.get(), watch.last_op, watch.last_text};
}

// Adds to the program's sums.
WhyCounts CountsOf(const ShapeWatch& watch, WhyCounts* all) {
  WhyCounts counts;
  for (size_t i = 0; i < kWhyCount; ++i) (*all)[i] += counts[i] = watch.why[i].get();
  return counts;
}

Drafts DraftsOf(const Watch& watch) {
  Drafts drafts;
  const std::vector<LaunchCost> costs = watch.launch_costs();
  for (const WatchedProgram& program : watch.programs()) {
    ExplainedProgram& draft = drafts[program.number].program;
    draft.name = program.name;
    if (program.watch == nullptr) continue;
    draft = ExplainProgram(*program.watch, costs);
  }
  return drafts;
}

Draft Forgotten() {
  Draft draft;
  draft.program.name = "(removed)";
  return draft;
}

void Advise(Draft* draft) {
  for (ExplainedReason& reason : draft->program.reasons) {
    std::vector<LoggedStep> steps;
    std::copy_if(draft->steps.begin(), draft->steps.end(), std::back_inserter(steps),
                 [&](const LoggedStep& step) { return step.why == reason.why; });
    reason.advice = AdviceFor(reason.why, steps, draft->program.shapes);
  }
  std::stable_sort(draft->program.reasons.begin(), draft->program.reasons.end(),
                   [](const ExplainedReason& a, const ExplainedReason& b) {
                     return a.steps > b.steps;
                   });
}

ExplainedStep StepOf(const WatchedLane& lane, const LoggedStep& logged, const Draft& draft) {
  ExplainedStep step{.device = lane.device,
                     .lane = lane.lane,
                     .number = logged.number,
                     .at_ns = logged.at_ns,
                     .program = draft.program.name,
                     .key = logged.key,
                     .why = logged.why,
                     .field = logged.field,
                     .route = logged.route,
                     .reason = logged.reason,
                     .ran_ns = logged.ran_ns,
                     .sentence = SentenceFor(logged, draft.program.shapes)};
  if (logged.shape < draft.program.shapes.size()) {
    step.shape = draft.program.shapes[logged.shape].key;
  }
  return step;
}

// Whether the warning names the program, or a shape of it: 'decode', 'decode[tokens=8]'. Every one
// does where no program is asked for.
bool Names(const std::string& warning, const std::string& program) {
  return program.empty() || absl::StrContains(warning, absl::StrCat("'", program, "'")) ||
         absl::StrContains(warning, absl::StrCat("'", program, "["));
}

ExplainedTree TreeOf(const WatchedLane& lane) {
  ExplainedTree tree{
      .device = lane.device, .lane = lane.lane, .is_from_before = !lane.may_wait};
  const auto look = [&lane]() -> LaneCallers {
    return {lane.tree->function_stats(), lane.tree->edge_stats()};
  };
  LaneCallers callers = lane.looks->callers.Get(lane.may_wait, look);
  tree.functions = std::move(callers.functions);
  tree.edges = std::move(callers.edges);
  return tree;
}

}  // namespace

ExplainedProgram ExplainProgram(const ProgramWatch& watch,
                                const std::vector<LaunchCost>& costs) {
  const LaunchCost* const cost = CostOf(watch, costs);
  ExplainedProgram program{.name = watch.name, .device = watch.device, .lane = watch.lane};
  WhyCounts all = {};
  for (const std::shared_ptr<ShapeWatch>& shape : watch.shapes()) {
    program.shapes.push_back({.key = shape->key,
                              .mode = shape->mode,
                              .is_recorded = shape->is_recorded.load(std::memory_order_relaxed),
                              .usable = shape->usable.load(std::memory_order_relaxed),
                              .why = CountsOf(*shape, &all),
                              .times = TimesOf(*shape),
                              .shadow = EstimateOf(shape->shadow, cost),
                              .parity = ParityOf(shape->parity)});
  }
  program.parked_by = watch.parked_by();
  CountsOf(*watch.eager, &all);
  program.eager_times = TimesOf(*watch.eager);
  for (size_t i = 0; i < kWhyCount; ++i) {
    const Why why = static_cast<Why>(i);
    program.steps += all[i];
    if (IsReplay(why)) {
      program.replays += all[i];
    } else if (all[i] > 0) {
      program.reasons.push_back({why, all[i], ""});
    }
  }
  return program;
}

Explanation ExplainWatch(const Watch& watch, const ExplainOptions& options) {
  Explanation explanation;
  const std::vector<WatchedLane> lanes = watch.lanes();
  std::vector<std::vector<LoggedStep>> logs;
  for (const WatchedLane& lane : lanes) logs.push_back(lane.watch->log().Last());
  // The programs after the steps, so that each step's program is there.
  Drafts drafts = DraftsOf(watch);
  const auto is_wanted = [&](const ExplainedProgram& program) {
    return options.program.empty() || program.name == options.program;
  };
  for (size_t i = 0; i < lanes.size(); ++i) {
    const size_t first = explanation.steps.size();
    for (const LoggedStep& step : logs[i]) {
      Draft& draft = drafts.try_emplace(step.program, Forgotten()).first->second;
      draft.steps.push_back(step);
      if (is_wanted(draft.program)) explanation.steps.push_back(StepOf(lanes[i], step, draft));
    }
    const size_t added = explanation.steps.size() - first;
    const size_t over = added - std::min(added, options.steps);
    explanation.steps.erase(explanation.steps.begin() + first,
                            explanation.steps.begin() + first + over);
  }
  for (const WatchedProgram& program : watch.programs()) {
    const auto found = drafts.find(program.number);
    if (program.watch == nullptr || found == drafts.end()) continue;
    Draft& draft = found->second;
    if (!is_wanted(draft.program)) continue;
    Advise(&draft);
    explanation.programs.push_back(std::move(draft.program));
  }
  for (const WatchedLane& lane : lanes) {
    if (!options.trees) break;
    explanation.trees.push_back(TreeOf(lane));
  }
  for (std::string& warning : watch.warnings->get()) {
    if (Names(warning, options.program)) explanation.warnings.push_back(std::move(warning));
  }
  return explanation;
}

}  // namespace graphtree
