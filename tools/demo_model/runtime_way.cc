// Two programs, and one step after the other.
#include "tools/demo_model/runtime_way.h"

#include <utility>

#include "device/base/status_macros.h"
#include "graphs/launcher.h"
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
  RuntimeOptions runtime_options;
  runtime_options.tree.budget.executable_bytes = options.budget_bytes;
  runtime_options.records_while_serving = !options.records_idle;
  runtime_options.serving = options.serving;
  runtime_options.door = options.door;
  GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<Runtime> runtime,
                             Runtime::Create(device, runtime_options));
  std::unique_ptr<RuntimeWay> way(
      new RuntimeWay(stream, std::move(runtime), options.records_idle));
  for (bool is_prefill : {false, true}) {
    GRAPHTREE_RETURN_IF_ERROR(way->AddProgram(weights.model(), is_prefill, options.ladder));
  }
  if (!options.records_ahead) return way;
  for (const ProgramId& program : way->programs_) {
    GRAPHTREE_RETURN_IF_ERROR(way->runtime_->Record(program, stream));
  }
  return way;
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
  if (!records_idle_) return absl::OkStatus();
  // The tokens were read, so the step's outputs may end.
  outputs_.clear();
  const ProgressOptions options = {.budget_ns = 500'000, .ends_steps = true};
  GRAPHTREE_ASSIGN_OR_RETURN(const ProgressReport report, runtime_->Progress(stream_, options));
  idle_.ready.push_back(report.readiness.ratio());
  if (!idle_.estimate.is_known && report.recorded > 0) {
    GRAPHTREE_ASSIGN_OR_RETURN(const RecordingPlan plan, runtime_->Plan({}, 0));
    idle_.estimate = plan.estimate;
  }
  return absl::OkStatus();
}

IdleRecordings RuntimeWay::idle_recordings() const {
  IdleRecordings idle = idle_;
  const MemoryLedger ledger = runtime_->ledger();
  idle.device_bytes = ledger.device() - ledger.slots;
  return idle;
}

WayGraphs RuntimeWay::graphs() const {
  const TreeStats stats = runtime_->tree()->stats();
  return {.count = stats.executables, .bytes = stats.executable_bytes};
}

}  // namespace graphtree::demo
