// Two programs, and one step after the other.
#include "tools/demo_model/runtime_way.h"

#include <utility>

#include "device/base/status_macros.h"
#include "graphs/launcher.h"
#include "runtime/progress.h"
#include "runtime/recording_plan.h"
#include "runtime/serving.h"
#include "tools/demo_model/batch_slots.h"
#include "tools/demo_model/model.h"

namespace graphtree::demo {
namespace {

StepSizes SizesOf(const ProgramInputs& in) {
  return {in.key().tokens, in.key().requests, in.key().context};
}

BatchTensors SlotsOf(const ProgramInputs& in) {
  BatchTensors slots;
  for (SlotId slot = 0; slot < kBatchSlots; ++slot) slots[slot] = in.slot(slot);
  return slots;
}

Values PrepareBody(Launcher& on, const ProgramInputs& in) {
  const Prepared prepared = EmptyPrepared(on, SizesOf(in));
  Prepare(on, SlotsOf(in), SizesOf(in), prepared);
  return prepared.AsValues();
}

Values StepBody(const ModelWeights& weights, Launcher& on, const ProgramInputs& in) {
  const BatchTensors slots = SlotsOf(in);
  const Prepared prepared = Prepared::From(in.prepared());
  const Tensor hidden = RunLayers(on, weights, slots, prepared, SizesOf(in));
  return {PickTokens(on, weights, slots, prepared, SizesOf(in), hidden)};
}

}  // namespace

RuntimeOptions RuntimeOptionsFrom(const RuntimeWayOptions& options) {
  RuntimeOptions made = options.base;
  made.tree.budget.executable_bytes = options.budget_bytes;
  if (options.records_idle) made.records_while_serving = false;
  made.serving = options.serving;
  made.door = options.door;
  return made;
}

absl::Status RuntimeWay::AddProgram(const ModelWeights& weights, bool is_prefill,
                                    const std::vector<Rung>& ladder) {
  ProgramId& program = programs_[is_prefill];
  GRAPHTREE_ASSIGN_OR_RETURN(
      program, runtime_->AddProgram({.name = is_prefill ? "prefill" : "decode",
                                     .slots = BatchSlotSpecs(),
                                     .prepare = PrepareBody,
                                     .body = [&weights](Launcher& on, const ProgramInputs& in) {
                                       return StepBody(weights, on, in);
                                     }}));
  std::vector<Key> shapes;
  for (const Rung& rung : ladder) {
    if (rung.is_prefill == is_prefill) shapes.push_back(rung.key);
  }
  return runtime_->AddShapes(program, shapes);
}

absl::StatusOr<std::unique_ptr<RuntimeWay>> RuntimeWay::Create(Device& device, Stream& stream,
                                                               const Weights& weights,
                                                               const RuntimeWayOptions& options) {
  GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<Runtime> runtime,
                             Runtime::Create(device, RuntimeOptionsFrom(options)));
  std::unique_ptr<RuntimeWay> way(
      new RuntimeWay(stream, std::move(runtime), options.records_idle));
  for (bool is_prefill : {false, true}) {
    GRAPHTREE_RETURN_IF_ERROR(way->AddProgram(weights.model(), is_prefill, options.ladder));
  }
  if (options.records_ahead) GRAPHTREE_RETURN_IF_ERROR(way->RecordAhead());
  return way;
}

// By a plan, which learns from its first recordings what all of them will take.
absl::Status RuntimeWay::RecordAhead() {
  GRAPHTREE_ASSIGN_OR_RETURN(const RecordingPlan plan, runtime_->Plan({}, 0));
  GRAPHTREE_ASSIGN_OR_RETURN(const PlanResult result, runtime_->RecordPlan(plan, stream_));
  recorded_.estimate = result.estimate;
  return result.first_failure;
}

absl::StatusOr<Submitted> RuntimeWay::Submit(const Batch& batch) {
  // Lengths come in two classes, so that steps of one size and class have one key.
  const Key key = {.tokens = batch.tokens(),
                   .requests = batch.requests(),
                   .context = batch.context() <= kShortContext ? kShortContext : kLongContext};
  GRAPHTREE_ASSIGN_OR_RETURN(Step step,
                             runtime_->Begin(programs_[batch.is_prefill], key, stream_));
  for (SlotId slot = 0; slot < kBatchSlots; ++slot) {
    if (absl::Status staged = step.Stage(slot, RowsOf(batch, static_cast<BatchSlot>(slot)));
        !staged.ok()) {
      step.Cancel();
      return staged;
    }
  }
  GRAPHTREE_RETURN_IF_ERROR(step.Run(&outputs_));
  step_ = step;
  const bool is_replay = IsReplay(step.why());
  return Submitted{.tokens = outputs_[0].word(),
                   .submissions = is_replay ? 1 : 1 + kStepLaunches,
                   .padded_tokens = step.choice().key.tokens,
                   .is_replay = is_replay,
                   .why = step.why()};
}

absl::Status RuntimeWay::Idle() {
  if (records_idle_) {
    // The tokens were read, so the step's outputs may end.
    outputs_.clear();
    const ProgressOptions options = {.budget_ns = 500'000, .ends_steps = true};
    GRAPHTREE_RETURN_IF_ERROR(runtime_->Progress(stream_, options).status());
  }
  return ServesGraphs(runtime_->serving().serving) ? NoteReadiness() : absl::OkStatus();
}

absl::Status RuntimeWay::NoteReadiness() {
  recorded_.ready.push_back(runtime_->readiness().ratio());
  const uint64_t recordings = runtime_->stats().recordings;
  if (recorded_.estimate.is_known || recordings == told_after_) return absl::OkStatus();
  told_after_ = recordings;
  GRAPHTREE_ASSIGN_OR_RETURN(const RecordingPlan plan, runtime_->Plan({}, 0));
  recorded_.estimate = plan.estimate;
  return absl::OkStatus();
}

Recorded RuntimeWay::recorded() const {
  Recorded recorded = recorded_;
  const MemoryLedger ledger = runtime_->ledger();
  recorded.device_bytes = ledger.device() - ledger.slots;
  return recorded;
}

WayGraphs RuntimeWay::graphs() const {
  const TreeStats stats = runtime_->tree()->stats();
  return {.count = stats.executables, .bytes = stats.executable_bytes};
}

}  // namespace graphtree::demo
