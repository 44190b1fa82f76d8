// A family for each figure.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graphs/reason.h"
#include "runtime/metrics.h"
#include "runtime/metrics_estimates.h"
#include "runtime/metrics_parking.h"
#include "runtime/metrics_profile.h"
#include "runtime/watch/prometheus_text.h"

namespace graphtree {
namespace {

using Labels = PrometheusText::Labels;

constexpr CallRoute kRoutes[] = {CallRoute::kReplayed, CallRoute::kRecorded, CallRoute::kWarmedUp,
                                 CallRoute::kRanEagerly, CallRoute::kNone};

// The words of the format, which stay as they are whatever people are told.
const char* ModeLabel(CallRoute route) {
  switch (route) {
    case CallRoute::kNone:
      return "failed";
    case CallRoute::kReplayed:
      return "replay";
    case CallRoute::kRecorded:
      return "record";
    case CallRoute::kWarmedUp:
      return "warm";
    case CallRoute::kRanEagerly:
      return "eager";
  }
  return "?";
}

Labels LabelsOf(const LaneMetrics& lane) {
  return {{"device", absl::StrCat(lane.device)}, {"lane", absl::StrCat(lane.lane)}};
}

Labels LabelsOf(const ProgramMetrics& program) {
  return {{"program", program.counts.name},
          {"device", absl::StrCat(program.counts.device)},
          {"lane", absl::StrCat(program.counts.lane)}};
}

template <typename Of>
Labels With(const Of& of, absl::string_view name, std::string value) {
  Labels labels = LabelsOf(of);
  labels.emplace_back(name, std::move(value));
  return labels;
}

void AddDispatches(const Metrics& metrics, PrometheusText* text) {
  text->Family("graphtree_dispatch_total", "counter", "Steps, by how they ran and why.");
  for (const LaneMetrics& lane : metrics.lanes) {
    for (const CallRoute route : kRoutes) {
      const WhyCounts& counts = lane.dispatches[static_cast<size_t>(route)];
      for (size_t i = 0; i < kWhyCount; ++i) {
        if (counts[i] == 0) continue;
        Labels labels = With(lane, "mode", ModeLabel(route));
        labels.emplace_back("reason", WhyName(static_cast<Why>(i)));
        text->Sample(labels, counts[i]);
      }
    }
  }
  text->Family("graphtree_dispatch_host_seconds", "histogram",
               "Host time of Step::Run; of replays, one in 15 or so is timed.");
  for (const LaneMetrics& lane : metrics.lanes) {
    for (const CallRoute route : kRoutes) {
      text->Histogram(With(lane, "mode", ModeLabel(route)),
                      lane.times[static_cast<size_t>(route)]);
    }
  }
}

// Where a step records, or a plan does, or an evicted executable comes back.
void AddRecordingTimes(const Metrics& metrics, PrometheusText* text) {
  const struct {
    const char* name;
    const char* help;
    DurationCounts TreeStats::*times;
  } families[] = {
      {"graphtree_capture_seconds", "Host time of a section's capture, its body included.",
       &TreeStats::captures},
      {"graphtree_instantiate_seconds", "Host time of making an executable.",
       &TreeStats::instantiations},
      {"graphtree_update_seconds",
       "Host time of updating an evicted executable to another graph, instead of making one.",
       &TreeStats::updates},
  };
  for (const auto& family : families) {
    text->Family(family.name, "histogram", family.help);
    for (const LaneMetrics& lane : metrics.lanes) {
      text->Histogram(LabelsOf(lane), lane.tree.*family.times);
    }
  }
}

struct LaneFamily {
  const char* name;
  const char* type;
  const char* help;
  uint64_t (*value)(const LaneMetrics&);
};

constexpr LaneFamily kLaneFamilies[] = {
    {"graphtree_recordings_total", "counter", "Shapes that were recorded.",
     [](const LaneMetrics& lane) { return lane.recordings; }},
    {"graphtree_padding_tokens_total", "counter",
     "Tokens by which steps were larger than what was asked for.",
     [](const LaneMetrics& lane) { return lane.padded_tokens; }},
    {"graphtree_copied_bytes_total", "counter", "Bytes that steps staged for the device.",
     [](const LaneMetrics& lane) { return lane.staged_bytes; }},
    {"graphtree_copied_inputs_total", "counter", "Inputs that recordings were made to copy.",
     [](const LaneMetrics& lane) { return lane.tree.copied_inputs; }},
    {"graphtree_patched_inputs_total", "counter", "Inputs that recordings were made to patch.",
     [](const LaneMetrics& lane) { return lane.tree.patched_inputs; }},
    {"graphtree_instantiated_again_total", "counter", "Evicted executables that came back.",
     [](const LaneMetrics& lane) { return lane.tree.instantiated_again; }},
    {"graphtree_pool_restores_total", "counter", "Times the pool's books went to another node.",
     [](const LaneMetrics& lane) { return lane.tree.restores; }},
    {"graphtree_out_of_memory_total", "counter", "Allocations that the pool could not serve.",
     [](const LaneMetrics& lane) { return lane.pool.out_of_memory; }},
    {"graphtree_graphs_live", "gauge", "Recordings.",
     [](const LaneMetrics& lane) { return lane.tree.nodes; }},
    {"graphtree_execs_live", "gauge", "Executables.",
     [](const LaneMetrics& lane) { return lane.tree.executables; }},
    {"graphtree_exec_bytes_estimate", "gauge", "Device memory of executables.",
     [](const LaneMetrics& lane) { return lane.tree.executable_bytes; }},
    {"graphtree_kept_bytes", "gauge", "Outputs that outlive their steps.",
     [](const LaneMetrics& lane) { return lane.tree.kept_bytes; }},
};

void AddLanes(const Metrics& metrics, PrometheusText* text) {
  for (const LaneFamily& family : kLaneFamilies) {
    text->Family(family.name, family.type, family.help);
    for (const LaneMetrics& lane : metrics.lanes) {
      text->Sample(LabelsOf(lane), family.value(lane));
    }
  }
  text->Family("graphtree_parity_total", "counter",
               "Replays that were compared with runs of their bodies, or could not be.");
  for (const LaneMetrics& lane : metrics.lanes) {
    text->Sample(With(lane, "result", "same"), lane.parity_same);
    text->Sample(With(lane, "result", "differs"), lane.parity_differs);
    text->Sample(With(lane, "result", "skipped"), lane.parity_skipped);
  }
  text->Family("graphtree_strict_refused_total", "counter",
               "Steps that mode strict has refused, by the reason why they would be eager.");
  for (const LaneMetrics& lane : metrics.lanes) {
    for (size_t i = 0; i < kWhyCount; ++i) {
      if (lane.refused[i] == 0) continue;
      text->Sample(With(lane, "reason", WhyName(static_cast<Why>(i))), lane.refused[i]);
    }
  }
  text->Family("graphtree_lane_now", "gauge",
               "1 for what a lane does at the moment; nothing between steps.");
  for (const LaneMetrics& lane : metrics.lanes) {
    if (!lane.now.has_value()) continue;
    Labels labels = With(lane, "doing", lane.now->records ? "record" : "run");
    labels.emplace_back("program", lane.now->program);
    labels.emplace_back("shape", lane.now->shape.has_value() ? ToString(*lane.now->shape) : "");
    text->Sample(labels, uint64_t{1});
  }
  text->Family("graphtree_pool_bytes", "gauge",
               "Physical memory of the pool: live in its books, mapped beside that, or parked.");
  for (const LaneMetrics& lane : metrics.lanes) {
    const uint64_t live = std::min(lane.pool.live_bytes, lane.pool.mapped_bytes);
    text->Sample(With(lane, "state", "live"), live);
    text->Sample(With(lane, "state", "cached"), lane.pool.mapped_bytes - live);
    text->Sample(With(lane, "state", "parked"), lane.pool.parked_bytes);
  }
}

// Why calls of the tree were eager, recorded again, or lost what they had: three families, as they
// are asked for apart.
enum class ReasonKind : uint8_t { kEager, kRerecord, kEvict, kOther };

ReasonKind KindOf(Reason reason) {
  if (reason <= Reason::kRecordedApart) return ReasonKind::kEager;
  if (reason <= Reason::kConsumerDiffers || reason == Reason::kWorkspaceMoved) {
    return ReasonKind::kRerecord;
  }
  return reason <= Reason::kSpareDropped ? ReasonKind::kEvict : ReasonKind::kOther;
}

void AddReasons(const Metrics& metrics, PrometheusText* text) {
  const struct {
    ReasonKind kind;
    const char* name;
    const char* help;
  } families[] = {
      {ReasonKind::kEager, "graphtree_tree_eager_total", "Eager calls of trees, by reason."},
      {ReasonKind::kRerecord, "graphtree_rerecord_total",
       "Functions that were recorded again at a place, by reason."},
      {ReasonKind::kEvict, "graphtree_evict_total",
       "Recordings and executables that went to make room, by reason."},
      {ReasonKind::kOther, "graphtree_body_findings_total", "What was found of bodies, by kind."},
  };
  for (const auto& family : families) {
    text->Family(family.name, "counter", family.help);
    for (const LaneMetrics& lane : metrics.lanes) {
      for (size_t i = 0; i < kReasonCount; ++i) {
        const Reason reason = static_cast<Reason>(i);
        if (KindOf(reason) != family.kind || lane.tree.reasons[i] == 0) continue;
        text->Sample(With(lane, "reason", ReasonName(reason)), lane.tree.reasons[i]);
      }
    }
  }
}

// The reasons that a tree counts once for each recording that failed, but for those that were not
// to be launched.
constexpr Reason kFailures[] = {Reason::kRecordFailed, Reason::kForbiddenCall,
                                Reason::kUnjoinedFork, Reason::kOutOfDevice,
                                Reason::kCaptureBroken};

void AddFailures(const Metrics& metrics, PrometheusText* text) {
  text->Family("graphtree_capture_fail_total", "counter",
               "Recordings that were tried and failed, by reason.");
  for (const LaneMetrics& lane : metrics.lanes) {
    for (const Reason reason : kFailures) {
      text->Sample(With(lane, "reason", ReasonName(reason)),
                   lane.tree.reasons[static_cast<size_t>(reason)]);
    }
    text->Sample(With(lane, "reason", "for_commit"), lane.failed_for_commit);
  }
}

uint64_t StepsOf(const ExplainedShape& shape) {
  uint64_t steps = 0;
  for (const uint64_t count : shape.why) steps += count;
  return steps;
}

void AddShapes(const Metrics& metrics, PrometheusText* text) {
  text->Family("graphtree_shape_steps_total", "counter",
               "Steps that a shape served, of the most used shapes of each program.");
  for (const ProgramMetrics& program : metrics.programs) {
    std::vector<const ExplainedShape*> shapes;
    for (const ExplainedShape& shape : program.counts.shapes) shapes.push_back(&shape);
    std::stable_sort(shapes.begin(), shapes.end(),
                     [](const ExplainedShape* a, const ExplainedShape* b) {
                       return StepsOf(*a) > StepsOf(*b);
                     });
    if (shapes.size() > kMostLabelledShapes) shapes.resize(kMostLabelledShapes);
    for (const ExplainedShape* shape : shapes) {
      Labels labels = With(program, "shape", ToString(shape->key));
      labels.emplace_back("cut", ModeName(shape->mode));
      text->Sample(labels, StepsOf(*shape));
    }
  }
}

struct ProgramFamily {
  const char* name;
  const char* type;
  const char* help;
  uint64_t (*value)(const ProgramMetrics&);
};

constexpr ProgramFamily kProgramFamilies[] = {
    {"graphtree_program_steps_total", "counter", "Steps of a program.",
     [](const ProgramMetrics& program) { return program.counts.steps; }},
    {"graphtree_program_replays_total", "counter", "Steps of a program that were replayed.",
     [](const ProgramMetrics& program) { return program.counts.replays; }},
    {"graphtree_staging_waits_total", "counter",
     "Waits for the device, before a block could be written.",
     [](const ProgramMetrics& program) { return program.staging_waits; }},
    {"graphtree_staging_told_total", "counter",
     "Steps whose graph had to be told where its block is.",
     [](const ProgramMetrics& program) { return program.staging_told; }},
    {"graphtree_slot_bytes", "gauge", "Device memory of a program's slots.",
     [](const ProgramMetrics& program) { return program.slot_bytes; }},
    {"graphtree_staging_bytes", "gauge", "Page-locked memory of a program's blocks.",
     [](const ProgramMetrics& program) { return program.staging_bytes; }},
};

void AddPrograms(const Metrics& metrics, PrometheusText* text) {
  for (const ProgramFamily& family : kProgramFamilies) {
    text->Family(family.name, family.type, family.help);
    for (const ProgramMetrics& program : metrics.programs) {
      text->Sample(LabelsOf(program), family.value(program));
    }
  }
  text->Family("graphtree_program_not_replayed_total", "counter",
               "Steps of a program that were not replayed, by reason.");
  for (const ProgramMetrics& program : metrics.programs) {
    for (const ExplainedReason& reason : program.counts.reasons) {
      text->Sample(With(program, "reason", WhyName(reason.why)), reason.steps);
    }
  }
  AddShapes(metrics, text);
}

void AddRuntime(const Metrics& metrics, PrometheusText* text) {
  text->Family("graphtree_serving_mode", "gauge", "1 for the mode that is in force.");
  for (const Serving serving : {Serving::kOff, Serving::kShadow, Serving::kReplay,
                                Serving::kStrict}) {
    text->Sample({{"mode", ServingName(serving)}}, uint64_t{serving == metrics.serving});
  }
  text->Family("graphtree_touches_total", "counter", "Dependencies that were touched or moved.");
  text->Sample({}, metrics.touches);
  text->Family("graphtree_workspace_moves_total", "counter",
               "Moves of workspaces that made recordings stale.");
  text->Sample({}, metrics.workspace_moves);
  text->Family("graphtree_stale_detected_total", "counter",
               "Recordings that moves of workspaces made stale.");
  text->Sample({}, metrics.stale_recordings);
  text->Family("graphtree_workspace_bytes", "gauge", "Memory of dependencies that have memory.");
  text->Sample({}, metrics.workspace_bytes);
  text->Family("graphtree_budget_bytes", "gauge",
               "Memory that lanes of a device may have together; 0 is no limit.");
  text->Sample({{"of", "pool"}}, metrics.pool_budget_bytes);
  text->Sample({{"of", "executables"}}, metrics.executable_budget_bytes);
  text->Family("graphtree_ready_ratio", "gauge",
               "Shapes that are recorded, of all that are not excluded.");
  text->Sample({}, metrics.ready_ratio());
}

}  // namespace

std::string MetricsAsPrometheus(const Metrics& metrics) {
  PrometheusText text;
  AddRuntime(metrics, &text);
  AddDispatches(metrics, &text);
  AddRecordingTimes(metrics, &text);
  AddLanes(metrics, &text);
  AddReasons(metrics, &text);
  AddFailures(metrics, &text);
  AddPrograms(metrics, &text);
  AddEstimates(metrics, &text);
  AddParking(metrics, &text);
  AddProfile(metrics, &text);
  return text.text();
}

}  // namespace graphtree
