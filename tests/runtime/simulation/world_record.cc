// Recording ahead, and what the model makes of it.
#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "device/base/status_macros.h"
#include "tests/runtime/simulation/world.h"

namespace graphtree::runtime_simulation {

std::vector<uint64_t> World::GenerationsOf(const ProgramSpec& spec) const {
  std::vector<uint64_t> generations;
  for (uint32_t dep : spec.deps) generations.push_back(generations_[dep]);
  return generations;
}

absl::Status World::Record(Program& program, uint32_t stream) {
  program.body.ran.clear();
  if (program.model != nullptr) {
    GRAPHTREE_RETURN_IF_ERROR(WaitForReaders(program.model->spec().lane));
  }
  const absl::Status said =
      Call([&] { return runtime_->Record(program.id, *streams_[stream]); });
  if (program.model == nullptr) return ShouldFail("a program that is not there", said);
  ProgramModel& model = *program.model;
  ++lanes_[model.spec().lane].path;
  bool is_sure = !script_.is_small && !faulted_;
  for (const ShapeModel& shape : model.shapes()) is_sure &= !shape.is_unsure;
  // A tree lets a body alone for a while that has failed several times.
  const bool was_left = !is_sure && absl::StrContains(said.message(), "it ran eagerly");
  if (!said.ok() && !MayFail(said) && !was_left) return said;
  is_sure &= said.ok();
  const std::vector<uint64_t> now = GenerationsOf(model.spec());
  // The largest one comes first.
  for (auto index = static_cast<uint32_t>(model.shapes().size()); index-- > 0;) {
    ShapeModel& shape = model.ShapeAt(index);
    const bool is_fresh = shape.is_recorded && shape.generations == now;
    // Small budgets may have evicted what was recorded, and then the recording that failed is its.
    const bool may_be_evicted = !said.ok() && (script_.is_small || faulted_);
    if (shape.is_excluded || (is_fresh && !shape.is_unsure && !may_be_evicted)) continue;
    if (!said.ok()) {
      shape.is_unsure = true;
      shape.MayBe({Why::kHit, Why::kFailed, Why::kNoMemory});
      if (model.spec().needs_commit) shape.MayBe({Why::kNotCommitted});
      continue;
    }
    model.UnpackZeros(shape.key);
    // What is recorded without being launched runs once, at once.
    const bool runs_once = shape.is_warm || model.spec().needs_commit;
    for (int run = runs_once ? 1 : 0; run < 2; ++run) {
      Effects made = model.Compute(shape.key, deps_, program.log, program.sum);
      program.log = made.log;
      program.sum = std::move(made.sum);
    }
    shape.is_warm = shape.is_recorded = true;
    shape.generations = now;
    // A step that went on may have recorded the shape already, and a commit come after that.
    model.NoteRecorded(&shape, !shape.is_unsure);
    Count("recorded ahead");
  }
  return is_sure || done_ ? absl::OkStatus() : Adopt();
}

}  // namespace graphtree::runtime_simulation
