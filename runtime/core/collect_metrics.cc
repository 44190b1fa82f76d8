// Copies counters and figures.
#include "runtime/core/collect_metrics.h"

#include <atomic>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "allocator/pool.h"
#include "graphs/tree.h"
#include "profiler/stats/live_figures.h"
#include "runtime/parking.h"
#include "runtime/watch/explain_watch.h"
#include "runtime/watch/lane_looks.h"

namespace graphtree {
namespace {

std::optional<LaneNow> NowOf(const LaneWatch& lane, const std::vector<WatchedProgram>& programs) {
  const LaneDoing doing = lane.doing();
  if (doing.kind == LaneDoing::Kind::kNothing) return std::nullopt;
  for (const WatchedProgram& program : programs) {
    if (program.number != doing.program) continue;
    LaneNow now = {.program = program.name, .records = doing.kind == LaneDoing::Kind::kRecording};
    if (program.watch == nullptr) return now;
    const ProgramWatch::Shapes shapes = program.watch->shapes();
    if (doing.shape < shapes.size()) now.shape = shapes[doing.shape]->key;
    return now;
  }
  return std::nullopt;
}

LaneMetrics LaneOf(const WatchedLane& watched, const std::vector<WatchedProgram>& programs) {
  const LaneWatch& watch = *watched.watch;
  LaneMetrics lane{.device = watched.device,
                   .lane = watched.lane,
                   .now = NowOf(watch, programs),
                   .steps = watch.counts.steps.get(),
                   .recordings = watch.counts.recordings.get(),
                   .failed_recordings = watch.counts.failed_recordings.get(),
                   .failed_for_commit = watch.counts.failed_for_commit.get(),
                   .padded_tokens = watch.padded_tokens(),
                   .staged_bytes = watch.counts.staged_bytes.get(),
                   .parked_refused = watch.counts.parked_refused.get(),
                   .lent_bytes = watch.lent_bytes.load(std::memory_order_relaxed),
                   .parity_same = watch.counts.parity_same.get(),
                   .parity_differs = watch.counts.parity_differs.get(),
                   .parity_skipped = watch.counts.parity_skipped.get()};
  for (size_t why = 0; why < kWhyCount; ++why) {
    lane.refused[why] = watch.refused(static_cast<Why>(why));
  }
  for (size_t route = 0; route < kRouteCount; ++route) {
    lane.times[route] = watch.times(static_cast<CallRoute>(route));
    for (size_t why = 0; why < kWhyCount; ++why) {
      lane.dispatches[route][why] =
          watch.count(static_cast<CallRoute>(route), static_cast<Why>(why));
    }
  }
  Tree& tree = *watched.tree;
  const auto look = [&tree] {
    LaneFigures figures = {.tree = tree.stats()};
    tree.Inspect([&] { figures.pool = tree.pool().Stats(); });
    return figures;
  };
  const LaneFigures figures = watched.looks->figures.Get(watched.may_wait, look);
  lane.is_from_before = !watched.may_wait;
  lane.tree = figures.tree;
  lane.pool = figures.pool;
  return lane;
}

TagMetrics TagOf(const TagWatch& watch) {
  return {.tag = watch.tag,
          .is_parked = watch.is_parked.get() != 0,
          .contents = static_cast<Contents>(watch.contents.get()),
          .parked_bytes = watch.parked_bytes.get(),
          .saved_bytes = watch.saved_bytes.get(),
          .memory_bytes = watch.memory_bytes.get(),
          .parks = watch.parks.get(),
          .wakes = watch.wakes.get(),
          .failed_wakes = watch.failed_wakes.get(),
          .wake_times = watch.wake_times.get()};
}

ProgramMetrics ProgramOf(const ProgramWatch& watch, const std::vector<LaunchCost>& costs) {
  return {.counts = ExplainProgram(watch, costs),
          .slot_bytes = watch.slot_bytes.get(),
          .staging_bytes = watch.staging_bytes.get(),
          .staging_waits = watch.staging_waits.get(),
          .staging_told = watch.staging_told.get()};
}

}  // namespace

std::vector<LaneAtWork> LanesAtWork(const Watch& watch) {
  std::vector<LaneAtWork> lanes;
  const std::vector<WatchedProgram> programs = watch.programs();
  for (const WatchedLane& lane : watch.lanes()) {
    std::optional<LaneNow> now = NowOf(*lane.watch, programs);
    if (now.has_value()) lanes.push_back({lane.device, lane.lane, *std::move(now)});
  }
  return lanes;
}

Metrics CollectMetrics(const Watch& watch, const Dependencies& dependencies,
                       const RuntimeOptions& options) {
  Metrics metrics{.touches = dependencies.touches(),
                  .workspace_moves = dependencies.moves_with_cost(),
                  .stale_recordings = dependencies.stale_recordings(),
                  .workspace_bytes = dependencies.workspace_bytes(),
                  .pool_budget_bytes = options.pool_bytes,
                  .executable_budget_bytes = options.shared.executable_bytes};
  metrics.plan = watch.plan();
  metrics.profile = trace::LatestFigures();
  const std::vector<WatchedProgram> programs = watch.programs();
  for (const WatchedLane& lane : watch.lanes()) metrics.lanes.push_back(LaneOf(lane, programs));
  for (const auto& tag : watch.tags()) metrics.tags.push_back(TagOf(*tag));
  const std::vector<LaunchCost> costs = watch.launch_costs();
  for (const WatchedProgram& program : programs) {
    if (program.watch == nullptr) continue;
    metrics.programs.push_back(ProgramOf(*program.watch, costs));
    for (const ExplainedShape& shape : metrics.programs.back().counts.shapes) {
      if (shape.usable == Why::kExcluded) continue;
      ++metrics.wanted_shapes;
      if (shape.is_recorded) ++metrics.ready_shapes;
    }
  }
  return metrics;
}

}  // namespace graphtree
