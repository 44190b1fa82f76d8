// The two other ways to record ahead: by a plan, and in idle slots. In which order shapes are
// recorded there the model does not say, so it takes the logs from what it finds.
#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "runtime/plan/ledger.h"
#include "runtime/progress.h"
#include "runtime/recording_plan.h"
#include "tests/runtime/simulation/world.h"

namespace graphtree::runtime_simulation {

absl::Status World::RecordOtherwise(Program& program, bool by_plan, uint32_t stream) {
  program.body.ran.clear();
  ProgramModel& model = *program.model;
  GRAPHTREE_RETURN_IF_ERROR(GoBehindSide(stream));
  bool is_sure = !script_.is_small && !faulted_;
  for (const ShapeModel& shape : model.shapes()) is_sure &= !shape.is_unsure;
  bool is_whole = false;
  const absl::Status said = Call([&] {
    return by_plan ? RecordByPlan(program, stream, &is_whole)
                   : RecordInIdleSlots(program, stream, &is_whole);
  });
  ++lanes_[model.spec().lane].path;
  AdoptWorkspaces();
  const bool was_left = !is_sure && WasLeftAlone(said);
  is_sure &= said.ok() && !faulted_;
  if (!said.ok() && !MayFail(said) && !was_left) return said;
  if (is_sure && !is_whole) return absl::InternalError("some shapes were not recorded");
  for (ShapeModel& shape : model.shapes()) NoteRecordedOtherwise(program, shape, is_sure);
  Count(by_plan ? "recorded by a plan" : "recorded in idle slots");
  GRAPHTREE_RETURN_IF_ERROR(CheckLedger());
  return done_ ? absl::OkStatus() : Adopt();
}

void World::NoteRecordedOtherwise(Program& program, ShapeModel& shape, bool is_sure) {
  ProgramModel& model = *program.model;
  const std::vector<uint64_t> now = GenerationsOf(model.spec());
  if (shape.is_excluded || (is_sure && shape.is_recorded && shape.generations == now)) return;
  if (!is_sure) {
    shape.is_unsure = true;
    shape.MayBe({Why::kHit, Why::kFailed, Why::kNoMemory, Why::kNotRecorded});
    if (model.spec().needs_commit) shape.MayBe({Why::kNotCommitted});
    return;
  }
  shape.is_warm = shape.is_recorded = true;
  shape.generations = now;
  model.NoteRecorded(&shape, /*is_sure=*/true);
}

absl::Status World::RecordByPlan(Program& program, uint32_t stream, bool* is_whole) {
  std::vector<ShapeToRecord> shapes;
  size_t excluded = 0;
  for (const ShapeModel& shape : program.model->shapes()) {
    shapes.push_back({program.id, shape.key, shape.mode});
    excluded += shape.is_excluded;
  }
  GRAPHTREE_ASSIGN_OR_RETURN(const RecordingPlan plan, runtime_->Plan(shapes, 0));
  const size_t told = plan.order.size() + plan.recorded.size() + plan.left_out.size();
  size_t told_excluded = 0;
  for (const OmittedShape& omitted : plan.left_out) {
    told_excluded += omitted.why == LeftOut::kExcluded;
    if (omitted.why == LeftOut::kExcluded) continue;
    if (omitted.why != LeftOut::kNodes || !script_.is_small) {
      return absl::UnknownError(absl::StrCat("a plan leaves a shape out: ", omitted.words));
    }
  }
  if (told != shapes.size() || told_excluded != excluded || plan.words.empty()) {
    return absl::UnknownError(absl::StrCat("of ", shapes.size(), " shapes, ", excluded,
                                           " of them excluded, a plan says: ", plan.words));
  }
  if (plan.order.empty()) {
    *is_whole = true;
    return absl::OkStatus();
  }
  uint64_t told_after = 0;
  GRAPHTREE_ASSIGN_OR_RETURN(
      const PlanResult result,
      runtime_->RecordPlan(plan, *streams_[stream], [&](const PlanResult&) { ++told_after; }));
  if (told_after != 1) return absl::UnknownError("whoever waits for a plan was not told once");
  *is_whole = result.left_out.empty() && result.recorded >= plan.order.size();
  return result.first_failure;
}

absl::Status World::RecordInIdleSlots(Program& program, uint32_t stream, bool* is_whole) {
  ProgressOptions options = {.ends_steps = true, .lanes = {program.model->spec().lane}};
  for (const ShapeModel& shape : program.model->shapes()) {
    options.only.push_back({program.id, shape.key, shape.mode});
  }
  // Each shape takes two runs, and more where workspaces grow.
  constexpr int kMostRuns = 200;
  ProgressReport report;
  for (int run = 0; run < kMostRuns && !report.is_done; ++run) {
    GRAPHTREE_ASSIGN_OR_RETURN(report, runtime_->Progress(*streams_[stream], options));
    if (report.failed > 0) return absl::OkStatus();
    if (report.runs > 1) return absl::UnknownError("without a budget of time there is one run");
  }
  *is_whole = report.is_done;
  return absl::OkStatus();
}

// Whatever is recorded, the ledger adds up to what the trees say.
absl::Status World::CheckLedger() {
  const MemoryLedger ledger = runtime_->ledger();
  uint64_t nodes = 0;
  for (const LaneLedger& lane : ledger.lanes) {
    const TreeStats stats = runtime_->tree(lane.number)->stats();
    nodes += stats.nodes;
    if (lane.mapped() == stats.pool_reserved_bytes) continue;
    return absl::InternalError(absl::StrCat("the ledger has ", lane.mapped(), " bytes in lane ",
                                            lane.number, ", and the tree ",
                                            stats.pool_reserved_bytes));
  }
  if (nodes == ledger.recordings.size()) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("the ledger has ", ledger.recordings.size(),
                                          " recordings of ", nodes));
}

}  // namespace graphtree::runtime_simulation
