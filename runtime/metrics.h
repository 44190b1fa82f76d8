// What a runtime counts and holds, as a struct, as Prometheus text and as JSON.
//
//   # HELP graphtree_dispatch_total Steps, by how they ran and why.
//   # TYPE graphtree_dispatch_total counter
//   graphtree_dispatch_total{device="0",lane="0",mode="replay",reason="hit"} 5012
//
// Nothing is labelled by request. Shapes are labelled, for the most used ones of each program
// alone, so the number of series is bounded by programs and not by traffic. Names of counters end
// in _total; bytes and seconds are in the names.
//
// Plain data, copied out: it shows the moment at which it was taken, and counts of one moment may
// differ by the steps that ran meanwhile.
#ifndef GRAPHTREE_RUNTIME_METRICS_H_
#define GRAPHTREE_RUNTIME_METRICS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "allocator/pool_types.h"
#include "graphs/tree_stats.h"
#include "profiler/stats/live_figures.h"
#include "runtime/explain.h"
#include "runtime/parking.h"
#include "runtime/recording_plan.h"
#include "runtime/serving.h"
#include "runtime/shapes/key.h"
#include "runtime/watch/durations.h"
#include "runtime/why.h"

namespace graphtree {

// What a lane does at this moment.
struct LaneNow {
  std::string program;
  std::optional<Key> shape = std::nullopt;  // none: it runs eagerly, for a size that no shape has
  bool records = false;                     // a warm-up, too
};

struct LaneMetrics {
  uint32_t device = 0;
  uint32_t lane = 0;
  std::optional<LaneNow> now = std::nullopt;  // none: between steps
  uint64_t steps = 0;
  uint64_t recordings = 0;
  uint64_t failed_recordings = 0;  // by Runtime::Progress, and by steps for a commit
  uint64_t failed_for_commit = 0;  // of programs that need commits, whoever tried them
  uint64_t padded_tokens = 0;  // by which steps were larger than what their callers asked for
  uint64_t staged_bytes = 0;   // that steps brought to the device
  uint64_t parked_refused = 0;  // steps that were begun while their program was parked
  uint64_t lent_bytes = 0;      // idle memory that is lent (lending.h)
  // Replays that were compared with runs of their bodies, or were to be.
  uint64_t parity_same = 0;
  uint64_t parity_differs = 0;
  uint64_t parity_skipped = 0;
  WhyCounts refused = {};  // by mode strict
  std::array<WhyCounts, 5> dispatches = {};  // by CallRoute
  std::array<DurationCounts, 5> times = {};  // by CallRoute; of replays one in 15 or so
  // The two below were found when somebody last looked: a body has asked, which does not wait for a
  // lane that is in a call of another thread.
  bool is_from_before = false;
  TreeStats tree = {};
  PoolStats pool = {};
};

// What has a tag (parking.h).
struct TagMetrics {
  std::string tag;
  bool is_parked = false;
  Contents contents = Contents::kDrop;  // as it was parked last
  uint64_t parked_bytes = 0;  // of the device, that left, and come back at a wake
  uint64_t saved_bytes = 0;   // contents on the host
  uint64_t memory_bytes = 0;  // of Runtime::AddMemory: what the device gave, now
  uint64_t parks = 0;
  uint64_t wakes = 0;
  uint64_t failed_wakes = 0;
  DurationCounts wake_times = {};
};

struct ProgramMetrics {
  ExplainedProgram counts;  // without advice
  uint64_t slot_bytes = 0;
  uint64_t staging_bytes = 0;
  uint64_t staging_waits = 0;
  uint64_t staging_told = 0;
};

struct Metrics {
  std::vector<LaneMetrics> lanes = {};
  std::vector<ProgramMetrics> programs = {};
  std::vector<TagMetrics> tags = {};
  Serving serving = Serving::kReplay;
  uint64_t touches = 0;
  uint64_t workspace_moves = 0;
  uint64_t stale_recordings = 0;
  uint64_t workspace_bytes = 0;          // of dependencies with memory, now
  uint64_t pool_budget_bytes = 0;        // of all lanes of a device; 0: none
  uint64_t executable_budget_bytes = 0;  // likewise
  // Shapes that are recorded, and all that are not excluded.
  uint64_t ready_shapes = 0;
  uint64_t wanted_shapes = 0;
  // What the last plan that was recorded came to. Null if there was none.
  std::shared_ptr<const PlanResult> plan = nullptr;
  // Of the profile with figures that runs, or ran last. Null if there was none.
  trace::SharedFigures profile = nullptr;

  double ready_ratio() const {
    return wanted_shapes == 0 ? 1 : static_cast<double>(ready_shapes) / wanted_shapes;
  }
};

// Of each program, shapes that have a series of their own.
inline constexpr size_t kMostLabelledShapes = 16;

// "runs decode, tokens=8", "records decode, tokens=64".
std::string ToString(const LaneNow& now);

// Text format 0.0.4.
std::string MetricsAsPrometheus(const Metrics& metrics);
std::string MetricsAsJson(const Metrics& metrics);

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_METRICS_H_
