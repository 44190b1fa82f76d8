// Plans and recording in idle slots, of graphtree.h.
#include <utility>
#include <vector>

#include "runtime/c/entry.h"
#include "runtime/c/keys.h"
#include "runtime/c/runtime_objects.h"
#include "runtime/c/texts.h"
#include "runtime/runtime.h"

namespace graphtree::c {
namespace {

// An error, too, if one of the programs is another runtime's.
std::vector<ShapeToRecord> ShapesOf(const gt_shape* shapes, size_t count, Entry* entry) {
  std::vector<ShapeToRecord> made;
  if (!entry->HasArray(shapes, count, "shapes")) return made;
  entry->Own([&] { made.reserve(count); });
  for (size_t i = 0; i < count && entry->ok(); ++i) {
    entry->AtInput(i);
    entry->Fail(CheckEnum("mode", shapes[i].mode, GT_FULL));
    entry->Fail(CheckReserved("gt_shape", shapes[i].reserved));
    entry->Fail(CheckKey(shapes[i].key));
    const Ref<ProgramObject> program =
        entry->Get<ProgramObject>(shapes[i].program, "the program of a shape");
    if (!entry->ok()) return made;
    made.push_back({program->id(), KeyOf(shapes[i].key), static_cast<Mode>(shapes[i].mode)});
  }
  entry->NoInput();
  return made;
}

gt_plan_result ResultOf(const PlanResult& result) {
  gt_plan_result made = {.size = sizeof(gt_plan_result),
                         .recorded = result.recorded,
                         .left_out = result.left_out.size(),
                         .failed = 0,
                         .device_bytes = result.device_bytes,
                         .pool_bytes = result.pool_bytes,
                         .executable_bytes = result.executable_bytes,
                         .bytes_left = result.bytes_left,
                         .error = result.error,
                         .nanoseconds = result.nanoseconds,
                         .is_measured = result.is_measured ? 1 : 0,
                         .reserved = 0};
  for (const OmittedShape& omitted : result.left_out) {
    made.failed += omitted.why == LeftOut::kFailed ? 1 : 0;
  }
  return made;
}

}  // namespace
}  // namespace graphtree::c

using graphtree::c::Entry;
using graphtree::c::NewObject;
using graphtree::c::PlanObject;
using graphtree::c::Ref;
using graphtree::c::RuntimeObject;
using graphtree::c::StreamObject;
using graphtree::c::Within;

gt_error gt_plan_new(gt_runtime runtime, const gt_shape* shapes, size_t count, uint64_t budget,
                     gt_plan* out) noexcept {
  return Within("gt_plan_new", [&](Entry& entry) -> gt_error {
    const Ref<RuntimeObject> of = entry.Get<RuntimeObject>(runtime, "runtime");
    const std::vector<graphtree::ShapeToRecord> read =
        graphtree::c::ShapesOf(shapes, count, &entry);
    if (!entry.Sets(out, "out") || !entry.ok()) return entry.Failed();
    absl::StatusOr<graphtree::RecordingPlan> plan = of->runtime().Plan(read, budget);
    if (!plan.ok()) return entry.Return(plan.status());
    return graphtree::c::GiveRuntimesOwn(
        entry, NewObject<PlanObject>(of->opened(), *std::move(plan)), out);
  });
}

gt_error gt_plan_describe(gt_plan plan, gt_text* out) noexcept {
  return Within("gt_plan_describe", [&](Entry& entry) -> gt_error {
    const Ref<PlanObject> of = entry.Get<PlanObject>(plan, "plan");
    if (!entry.Sets(out, "out") || !entry.ok()) return entry.Failed();
    return graphtree::c::GiveText(entry, of->plan().words, out);
  });
}

gt_error gt_plan_look(gt_plan plan, gt_plan_info* out) noexcept {
  return Within("gt_plan_look", [&](Entry& entry) -> gt_error {
    const Ref<PlanObject> of = entry.Get<PlanObject>(plan, "plan");
    if (!entry.ok()) return entry.Failed();
    const graphtree::RecordingPlan& made = of->plan();
    const graphtree::Guess device = made.estimate.device();
    const gt_plan_info found = {.size = sizeof(gt_plan_info),
                                .to_record = made.order.size(),
                                .recorded = made.recorded.size(),
                                .left_out = made.left_out.size(),
                                .budget = made.budget,
                                .is_known = made.estimate.is_known ? 1 : 0,
                                .reserved = 0,
                                .device_bytes = device.bytes,
                                .device_error = device.error,
                                .workspace_bytes = made.estimate.workspaces.bytes,
                                .host_bytes = made.estimate.host.bytes};
    return entry.Return(graphtree::c::WriteFigures(found, "gt_plan_info", out));
  });
}

gt_error gt_plan_record(gt_plan plan, gt_stream stream,
                        void (*after)(void* context, const gt_plan_result* result),
                        void* context, gt_plan_result* out) noexcept {
  return Within("gt_plan_record", [&](Entry& entry) -> gt_error {
    const Ref<PlanObject> of = entry.Get<PlanObject>(plan, "plan");
    const Ref<StreamObject> on = entry.Get<StreamObject>(stream, "stream");
    if (!entry.ok()) return entry.Failed();
    graphtree::AfterPlan told;
    if (after != nullptr) {
      told = [&](const graphtree::PlanResult& result) {
        const gt_plan_result shown = graphtree::c::ResultOf(result);
        after(context, &shown);
      };
    }
    const absl::StatusOr<graphtree::PlanResult> result =
        of->runtime().RecordPlan(of->plan(), on->stream(), told);
    if (!result.ok()) return entry.Return(result.status());
    if (out == nullptr) return nullptr;
    return entry.Return(
        graphtree::c::WriteFigures(graphtree::c::ResultOf(*result), "gt_plan_result", out));
  });
}

gt_error gt_runtime_progress(gt_runtime runtime, gt_stream stream,
                             const gt_progress_options* options,
                             gt_progress_report* out) noexcept {
  return Within("gt_runtime_progress", [&](Entry& entry) -> gt_error {
    const Ref<RuntimeObject> of = entry.Get<RuntimeObject>(runtime, "runtime");
    const Ref<StreamObject> on = entry.Get<StreamObject>(stream, "stream");
    gt_progress_options read;
    entry.Read(options, "gt_progress_options", &read);
    graphtree::ProgressOptions made;
    if (entry.ok() && entry.HasArray(read.lanes, read.lane_count, "lanes")) {
      made.budget_ns = read.budget_ns;
      made.ends_steps = read.ends_steps != 0;
      entry.Own([&] { made.lanes.assign(read.lanes, read.lanes + read.lane_count); });
      made.only = graphtree::c::ShapesOf(read.only, read.only_count, &entry);
    }
    if (!entry.ok()) return entry.Failed();
    const absl::StatusOr<graphtree::ProgressReport> report =
        of->runtime().Progress(on->stream(), made);
    if (!report.ok()) return entry.Return(report.status());
    if (out == nullptr) return nullptr;
    const gt_progress_report found = {.size = sizeof(gt_progress_report),
                                      .runs = report->runs,
                                      .recorded = report->recorded,
                                      .failed = report->failed,
                                      .spent_ns = report->spent_ns,
                                      .busy_lanes = report->busy_lanes,
                                      .held_lanes = report->held_lanes,
                                      .shapes = report->readiness.shapes,
                                      .ready = report->readiness.ready,
                                      .is_done = report->is_done ? 1 : 0,
                                      .reserved = 0};
    return entry.Return(graphtree::c::WriteFigures(found, "gt_progress_report", out));
  });
}

gt_error gt_runtime_readiness(gt_runtime runtime, gt_readiness* out) noexcept {
  return Within("gt_runtime_readiness", [&](Entry& entry) -> gt_error {
    const Ref<RuntimeObject> of = entry.Get<RuntimeObject>(runtime, "runtime");
    if (!entry.ok()) return entry.Failed();
    const graphtree::Readiness now = of->runtime().readiness();
    const gt_readiness found = {sizeof(gt_readiness), now.shapes, now.ready, now.not_committed,
                                now.failed};
    return entry.Return(graphtree::c::WriteFigures(found, "gt_readiness", out));
  });
}
