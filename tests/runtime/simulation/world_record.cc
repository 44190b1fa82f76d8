// Recording ahead, and what the model makes of it.
#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "device/base/status_macros.h"
#include "tests/runtime/simulation/world.h"

namespace graphtree::runtime_simulation {

absl::Status World::Record(Program& program, uint32_t stream) {
  program.body.ran.clear();
  GRAPHTREE_RETURN_IF_ERROR(GoBehindSide(stream));
  const absl::Status said =
      Call([&] { return runtime_->Record(program.id, *streams_[stream]); });
  if (program.model == nullptr) return ShouldFail("a program that is not there", said);
  ProgramModel& model = *program.model;
  ++lanes_[model.spec().lane].path;
  bool is_sure = !script_.is_small && !faulted_;
  for (const ShapeModel& shape : model.shapes()) is_sure &= !shape.is_unsure;
  const bool was_left = !is_sure && WasLeftAlone(said);
  if (!said.ok() && !MayFail(said) && !was_left) return said;
  is_sure &= said.ok();
  if (!is_sure) AdoptWorkspaces();
  // Once more, if a workspace has grown: what was recorded before that is stale.
  bool is_settled = false;
  while (!is_settled) {
    const std::vector<uint64_t> now = GenerationsOf(model.spec());
    // The largest one comes first.
    for (auto index = static_cast<uint32_t>(model.shapes().size()); index-- > 0;) {
      NoteRecorded(program, model.ShapeAt(index), now, said.ok(), is_sure);
    }
    is_settled = GenerationsOf(model.spec()) == now;
    if (!is_settled) Count("recorded once more");
  }
  return is_sure || done_ ? absl::OkStatus() : Adopt();
}

void World::NoteRecorded(Program& program, ShapeModel& shape, const std::vector<uint64_t>& now,
                         bool is_ok, bool is_sure) {
  ProgramModel& model = *program.model;
  const bool is_fresh = shape.is_recorded && shape.generations == now;
  // Small budgets may have evicted what was recorded, and then the recording that failed is its.
  const bool may_be_evicted = !is_ok && (script_.is_small || faulted_);
  if (shape.is_excluded || (is_fresh && !shape.is_unsure && !may_be_evicted)) return;
  if (!is_ok) {
    shape.is_unsure = true;
    shape.MayBe({Why::kHit, Why::kFailed, Why::kNoMemory});
    if (model.spec().needs_commit) shape.MayBe({Why::kNotCommitted});
    return;
  }
  model.UnpackPadding(shape.key);
  const bool grows = is_sure && Grow(model.spec(), shape.key);
  // A recording in which a workspace grows runs at once instead, and is made again. What is
  // recorded without being launched runs once, at once.
  const bool runs_once = (shape.is_warm && !grows) || model.spec().needs_commit;
  for (int run = runs_once ? 1 : 0; run < 2; ++run) {
    Effects made = model.Compute(shape.key, deps_, program.log, program.sum);
    program.log = made.log;
    program.sum = std::move(made.sum);
  }
  if (shape.is_warm && grows) Count("workspaces moved in a recording ahead");
  shape.is_warm = shape.is_recorded = true;
  shape.generations = GenerationsOf(model.spec());
  // A step that went on may have recorded the shape already, and a commit come after that.
  model.NoteRecorded(&shape, !shape.is_unsure);
  Count("recorded ahead");
}

}  // namespace graphtree::runtime_simulation
