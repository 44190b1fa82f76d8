// Sums over shapes, and the figures of a plan.
#include "runtime/metrics_estimates.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/plan/guess.h"
#include "runtime/recording_plan.h"

namespace graphtree {
namespace {

using Labels = PrometheusText::Labels;

// Of the shapes that would have served steps. Recordings run in the same memory one after another,
// so the largest one's counts.
struct Shadow {
  uint64_t steps = 0;
  double eager_seconds = 0;
  double replay_seconds = 0;
  uint64_t executable_bytes = 0;
  uint64_t pool_bytes = 0;
};

Shadow ShadowOf(const ExplainedProgram& program) {
  Shadow sum;
  for (const ExplainedShape& shape : program.shapes) {
    const ShadowEstimate& one = shape.shadow;
    if (one.steps == 0) continue;
    const auto steps = static_cast<double>(one.steps);
    sum.steps += one.steps;
    sum.eager_seconds += steps * one.eager_us / 1e6;
    sum.replay_seconds += steps * one.replay_us / 1e6;
    sum.executable_bytes += one.executable_bytes;
    sum.pool_bytes = std::max(sum.pool_bytes, one.pool_bytes);
  }
  return sum;
}

Labels LabelsOf(const ProgramMetrics& program) {
  return {{"program", program.counts.name},
          {"device", absl::StrCat(program.counts.device)},
          {"lane", absl::StrCat(program.counts.lane)}};
}

Labels With(const ProgramMetrics& program, absl::string_view name, std::string value) {
  Labels labels = LabelsOf(program);
  labels.emplace_back(name, std::move(value));
  return labels;
}

void AddShadow(const Metrics& metrics, PrometheusText* text) {
  text->Family("graphtree_shadow_steps_total", "counter",
               "Eager steps of mode shadow that a graph would have served.");
  for (const ProgramMetrics& program : metrics.programs) {
    text->Sample(LabelsOf(program), ShadowOf(program.counts).steps);
  }
  text->Family("graphtree_shadow_host_seconds", "gauge",
               "Host time of these steps: as they ran, and as replays are estimated.");
  for (const ProgramMetrics& program : metrics.programs) {
    const Shadow shadow = ShadowOf(program.counts);
    text->Sample(With(program, "as", "eager"), shadow.eager_seconds);
    text->Sample(With(program, "as", "replay"), shadow.replay_seconds);
  }
  text->Family("graphtree_shadow_bytes", "gauge",
               "Device memory that the graphs of these steps would take, at most.");
  for (const ProgramMetrics& program : metrics.programs) {
    const Shadow shadow = ShadowOf(program.counts);
    text->Sample(With(program, "of", "executables"), shadow.executable_bytes);
    text->Sample(With(program, "of", "pool"), shadow.pool_bytes);
  }
}

struct Part {
  const char* name;
  Guess guess;
};

void AddPlanBytes(const PlanResult* plan, PrometheusText* text) {
  std::vector<Part> parts;
  if (plan != nullptr && plan->estimate.is_known) {
    const PlanEstimate& told = plan->estimate;
    parts = {{"pool_alone", told.pool_alone}, {"pool_shared", told.pool_shared},
             {"executables", told.executables}, {"code", told.code},
             {"workspaces", told.workspaces}, {"host", told.host}};
  }
  text->Family("graphtree_plan_estimated_bytes", "gauge",
               "What the last plan told that its recordings would take.");
  const auto is_unknown = [](const Part& part) { return !part.guess.is_known(); };
  parts.erase(std::remove_if(parts.begin(), parts.end(), is_unknown), parts.end());
  for (const Part& part : parts) text->Sample({{"of", part.name}}, part.guess.bytes);
  text->Family("graphtree_plan_error_bar_bytes", "gauge", "By how much that may be off.");
  for (const Part& part : parts) text->Sample({{"of", part.name}}, part.guess.error);
  text->Family("graphtree_plan_device_bytes", "gauge",
               "What the device has given for them, workspaces and host left out.");
  if (plan != nullptr) text->Sample({}, plan->device_bytes);
  text->Family("graphtree_plan_error_ratio", "gauge",
               "How far off the estimate was, as a part of what the device has given.");
  if (plan != nullptr && plan->estimate.is_known) text->Sample({}, plan->error);
  text->Family("graphtree_plan_left_bytes", "gauge", "What the plan has left of its budget.");
  if (plan != nullptr) text->Sample({}, plan->bytes_left);
}

void AddPlan(const PlanResult* plan, PrometheusText* text) {
  AddPlanBytes(plan, text);
  text->Family("graphtree_plan_recorded_shapes", "gauge", "Shapes that the last plan recorded.");
  if (plan != nullptr) text->Sample({}, plan->recorded);
  text->Family("graphtree_plan_left_out_shapes", "gauge", "Shapes that it left out, by reason.");
  if (plan != nullptr) {
    std::array<uint64_t, kLeftOutCount> left_out = {};
    for (const OmittedShape& shape : plan->left_out) ++left_out[static_cast<size_t>(shape.why)];
    for (size_t why = 0; why < kLeftOutCount; ++why) {
      text->Sample({{"reason", LeftOutName(static_cast<LeftOut>(why))}}, left_out[why]);
    }
  }
  text->Family("graphtree_plan_seconds", "gauge", "How long it took to record them.");
  if (plan != nullptr) text->Sample({}, static_cast<double>(plan->nanoseconds) / 1e9);
}

}  // namespace

void AddEstimates(const Metrics& metrics, PrometheusText* text) {
  AddShadow(metrics, text);
  AddPlan(metrics.plan.get(), text);
}

}  // namespace graphtree
