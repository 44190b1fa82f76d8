// Steps of graphtree.h: begin, stage, run.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/c/entry.h"
#include "runtime/c/keys.h"
#include "runtime/c/runtime_objects.h"
#include "runtime/c/texts.h"
#include "runtime/c/values.h"
#include "runtime/runtime.h"

namespace graphtree::c {
namespace {

// One thread begins a step of a program at a time; a second one is told so.
class Beginning {
 public:
  explicit Beginning(std::atomic<bool>& flag) : flag_(flag), has_(!flag.exchange(true)) {}
  ~Beginning() {
    if (has_) flag_.store(false);
  }
  Beginning(const Beginning&) = delete;
  Beginning& operator=(const Beginning&) = delete;
  bool has() const { return has_; }

 private:
  std::atomic<bool>& flag_;
  const bool has_;
};

StepOptions OptionsOf(const gt_step_options& options) {
  const gt_modes allowed = GT_ALLOW_ALL & ~options.forbidden;
  return {.modes = ModesOf(allowed),
          .is_voted_down = options.is_voted_down != 0,
          .continues = options.continues != 0};
}

// Where the last step of the program still has its handle, that ends now.
absl::StatusOr<Handle> OpenStep(const Step& step, Ref<ProgramObject> program,
                                Ref<StreamObject> stream) {
  ProgramObject& of = *program;
  const uint64_t number = of.mark().begun.fetch_add(1, std::memory_order_relaxed) + 1;
  if (const Handle old = of.step_handle().exchange(0); old != 0) EndHandle(old);
  if (!of.step().is_free()) {
    Step(step).Cancel();
    return absl::FailedPreconditionError("another thread still uses the program's last step");
  }
  const Handle handle = of.step().Open(step, std::move(program), std::move(stream), number);
  if (handle == 0) return Entry::NoHandle();
  of.step_handle().store(handle);
  return handle;
}

gt_error Begin(Entry& entry, Ref<ProgramObject> program, Ref<StreamObject> stream, const Key& key,
               const StepOptions& options, gt_step* out) {
  // Outlives the program's reference, which the step takes.
  const std::shared_ptr<OpenedRuntime> opened = program->opened();
  const Beginning beginning(program->is_beginning());
  if (!beginning.has()) {
    return entry.Return(absl::FailedPreconditionError(
        "another thread begins a step of this program at this moment"));
  }
  const absl::StatusOr<Step> step =
      opened->runtime().Begin(program->id(), key, stream->stream(), options);
  if (!step.ok()) return entry.Return(step.status());
  const absl::StatusOr<Handle> handle = OpenStep(*step, std::move(program), std::move(stream));
  if (!handle.ok()) return entry.Return(handle.status());
  *out = AsPointer<gt_step>(*handle);
  return nullptr;
}

// A function of one step, which is of one thread.
template <typename Do>
gt_error OnStep(const char* call, gt_step step, const Do& act) {
  return Within(call, [&](Entry& entry) -> gt_error {
    const Ref<StepObject> of = entry.GetAlone<StepObject>(step, "step");
    if (!entry.ok()) return entry.Failed();
    entry.InFunction(of->program().name());
    return entry.Return(act(*of, entry));
  });
}

absl::Status NotLast() {
  return absl::FailedPreconditionError("a later step was begun in the step's lane");
}

absl::Status Stage(Step& step, SlotId slot, const gt_rows& rows) {
  absl::Status known = CheckEnum("dtype", rows.dtype, GT_F64);
  if (!known.ok()) return known;
  const auto type = static_cast<DType>(rows.dtype);
  if (rows.on_device != 0) {
    return step.Stage(slot, DeviceRows{rows.address, type, rows.rows, rows.row_stride,
                                       rows.piece_stride});
  }
  return step.Stage(slot, HostRows{PointerTo<const void>(rows.address), type, rows.rows,
                                   rows.row_stride, rows.piece_stride});
}

}  // namespace
}  // namespace graphtree::c

using graphtree::c::Entry;
using graphtree::c::OnStep;
using graphtree::c::ProgramObject;
using graphtree::c::Ref;
using graphtree::c::StepObject;
using graphtree::c::StreamObject;
using graphtree::c::Within;

gt_error gt_step_begin(gt_program program, const gt_key* key, gt_stream stream,
                       const gt_step_options* options, gt_step* out) noexcept {
  return Within("gt_step_begin", [&](Entry& entry) -> gt_error {
    Ref<ProgramObject> of = entry.Get<ProgramObject>(program, "program");
    Ref<StreamObject> on = entry.Get<StreamObject>(stream, "stream");
    gt_step_options read;
    entry.Read(options, "gt_step_options", &read);
    entry.Fail(graphtree::c::CheckModes(read.forbidden));
    if (entry.Has(key, "key")) entry.Fail(graphtree::c::CheckKey(*key));
    if (!entry.Sets(out, "out") || !entry.ok()) return entry.Failed();
    const graphtree::Key asked = graphtree::c::KeyOf(*key);
    return graphtree::c::Begin(entry, std::move(of), std::move(on), asked,
                               graphtree::c::OptionsOf(read), out);
  });
}

gt_error gt_step_stage(gt_step step, uint32_t slot, const gt_rows* rows) noexcept {
  return OnStep("gt_step_stage", step, [&](StepObject& of, Entry& entry) {
    entry.AtInput(slot);
    if (!entry.Has(rows, "rows")) return entry.status();
    return graphtree::c::Stage(of.step(), slot, *rows);
  });
}

gt_error gt_step_stage_number(gt_step step, uint32_t slot, double number) noexcept {
  return OnStep("gt_step_stage_number", step, [&](StepObject& of, Entry& entry) {
    entry.AtInput(slot);
    return of.step().Stage(slot, number);
  });
}

gt_error gt_step_stage_value(gt_step step, uint32_t slot, const gt_value* tensor) noexcept {
  return OnStep("gt_step_stage_value", step, [&](StepObject& of, Entry& entry) {
    graphtree::Tensor staged;
    entry.AtInput(slot);
    if (!graphtree::c::CopyTensor(tensor, "tensor", &entry, &staged)) return entry.status();
    return of.step().Stage(slot, staged);
  });
}

gt_error gt_step_buffer(gt_step step, uint32_t slot, int64_t rows, void** out) noexcept {
  return OnStep("gt_step_buffer", step, [&](StepObject& of, Entry& entry) {
    entry.AtInput(slot);
    if (!entry.Sets(out, "out")) return entry.status();
    const absl::StatusOr<void*> memory = of.step().Buffer(slot, rows);
    if (memory.ok()) *out = *memory;
    return memory.status();
  });
}

gt_error gt_step_run(gt_step step, gt_value* outputs, size_t capacity, size_t* count) noexcept {
  return OnStep("gt_step_run", step, [&](StepObject& of, Entry& entry) {
    if (!entry.HasArray(outputs, capacity, "outputs")) return entry.status();
    graphtree::c::CallScratch& scratch = of.program().scratch();
    absl::Status status = of.step().Run(&scratch.outputs);
    of.LetStreamGo();
    if (!status.ok()) scratch.outputs.clear();
    status.Update(graphtree::c::HandOut(&scratch, {outputs, capacity, count}));
    return status;
  });
}

gt_error gt_step_cancel(gt_step step) noexcept {
  return OnStep("gt_step_cancel", step, [](StepObject& of, Entry&) {
    of.step().Cancel();
    return absl::OkStatus();
  });
}

gt_error gt_step_look(gt_step step, gt_choice* out) noexcept {
  return OnStep("gt_step_look", step, [&](StepObject& of, Entry&) {
    if (!of.is_last()) return graphtree::c::NotLast();
    return graphtree::c::WriteFigures(graphtree::c::ChoiceOf(of.step().choice()), "gt_choice", out);
  });
}

gt_error gt_step_describe(gt_step step, gt_text* out) noexcept {
  return Within("gt_step_describe", [&](Entry& entry) -> gt_error {
    const Ref<StepObject> of = entry.Get<StepObject>(step, "step");
    if (!entry.Sets(out, "out") || !entry.ok()) return entry.Failed();
    if (!of->is_last()) return entry.Return(graphtree::c::NotLast());
    return graphtree::c::GiveText(entry, of->step().Describe(), out);
  });
}
