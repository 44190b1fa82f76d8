// One launch for each step.
#include "runtime/core/step_launch.h"

#include <atomic>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "device/base/status_macros.h"
#include "device/device.h"
#include "graphs/tree.h"
#include "graphs/tree_stats.h"
#include "runtime/core/free_event_calls.h"
#include "runtime/core/lane.h"
#include "runtime/slots/planted_bug.h"
#include "runtime/slots/slot_plan.h"
#include "runtime/slots/staging_ring.h"
#include "runtime/slots/tensor_rows.h"
#include "runtime/why.h"

namespace graphtree {
namespace {

absl::Status Refused(const SlotSpec& slot, absl::string_view doing, const absl::Status& why) {
  return absl::Status(why.code(),
                      absl::StrCat("slot '", slot.name, "' ", doing, " ", why.message()));
}

// A replay launches the unpack op before anything else, and until then nobody writes to what the
// last step has left. Any other call may give that memory away first. Where all tensors outlive
// their steps nobody needs to know how the call is going to run.
absl::Status CarryTensors(OpenStep& step, absl::Span<Value> block) {
  const Lane& lane = step.program->lane();
  if (!step.tensors.AnyEnds() ||
      lane.tree->WouldReplayFirst(step.shape->function, block, *step.stream)) {
    return absl::OkStatus();
  }
  return step.tensors.Carry(*lane.tree, lane.carry, *step.stream, &step.block);
}

// Any other run may have launched the op more often than once, and put bytes back in between.
bool MovesCursor(const OpenStep& step) {
  return step.shape->plan.launch_blocks > 0 && !step.shape->needs_blocks_address &&
         step.program->lane().tree->last_call().route == CallRoute::kReplayed;
}

absl::Status RunOn(Tree& tree, OpenStep& step, absl::Span<Value> inputs, bool must_replay,
                   Values* outputs) {
  const FunctionId function = step.shape->function;
  if (step.is_compared) {
    return tree.RunCompared(function, inputs, *step.stream, outputs, step.tolerance, &step.parity,
                            must_replay);
  }
  return must_replay ? tree.RunReplay(function, inputs, *step.stream, outputs)
                     : tree.Run(function, inputs, *step.stream, outputs);
}

absl::Status CarryAndRun(OpenStep& step, Values* outputs) {
  Tree& tree = *step.program->lane().tree;
  const ShapePlan& plan = step.shape->plan;
  auto& ring = step.program->ring();
  Value block;
  if (step.memory != nullptr) {
    const Address named = AddressOf(step.memory);
    // Runs of the body beside a replay read the block, too, and leave the cursor where it was.
    const bool is_named = step.shape->needs_blocks_address || step.is_compared;
    const Address address = is_named ? named : ring.AddressFor(plan.block_bytes);
    step.shape->is_by_cursor = address != named;
    block = Tensor::Foreign(address, plan.block);
  }
  const absl::Span<Value> inputs = absl::MakeSpan(&block, step.memory == nullptr ? 0 : 1);
  if (step.tensors.any()) {
    GRAPHTREE_RETURN_IF_ERROR(step.tensors.Check(step.program->options().slots));
  }
  const LaneCalls::Calling calling(step.program->lane().calls);
  // From the question how the call is going to run up to the call.
  std::optional<Tree::Keeping> keeping;
  if (step.tensors.any() || step.is_strict) keeping.emplace(tree);
  const bool asks = step.is_strict && !IsPlanted(RuntimeBug::kStrictLetsRun);
  if (asks && !tree.WouldReplay(step.shape->function, inputs, *step.stream,
                                          /*begins_step=*/!step.continues)) {
    step.is_refused = true;
    return absl::FailedPreconditionError("it would run eagerly");
  }
  if (!step.continues || IsPlanted(RuntimeBug::kEndsContinued)) {
    if (step.tensors.any()) GRAPHTREE_RETURN_IF_ERROR(CarryTensors(step, inputs));
    std::atomic<bool>& is_beginning = step.program->lane().is_beginning;
    is_beginning = step.tensors.any() || step.is_strict;
    tree.BeginStep();
    is_beginning = false;
  }
  absl::Status status = RunOn(tree, step, inputs, /*must_replay=*/asks, outputs);
  if (step.memory == nullptr) return status;
  if (status.ok()) {
    ring.Launched(plan.block_bytes, *step.stream, MovesCursor(step));
  } else {
    ring.Failed(plan.block_bytes, *step.stream);
  }
  return status;
}

}  // namespace

absl::Status CheckStream(ProgramState& program, Stream& stream) {
  Device& device = program.lane().device;
  if (&stream.device() != &device) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", program.name(), "' was given a stream of another device, ",
                     stream.device().info().name, "; the program is on ", device.info().name));
  }
  if (device.open_captures() == 0 || !stream.IsCapturing()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("'", program.name(), "' was given a stream that captures: its steps are "
                   "launched as graphs of their own, and cannot be part of another's. Begin them "
                   "on another stream, or after the capture"));
}

absl::Status CheckNoCapture(Stream& stream, absl::string_view what) {
  if (!stream.IsCapturing()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(what, " on a stream that captures"));
}

absl::StatusOr<OpenStep*> OpenOn(ProgramState& program, const Choice& choice, const Key& key,
                                 Stream& stream) {
  ShapeState* shape = nullptr;
  if (choice.index != kNoShape && IsReplay(choice.why)) {
    shape = &program.shape(choice.index);
  } else {
    GRAPHTREE_ASSIGN_OR_RETURN(shape, program.PlanEagerly(key));
  }
  uint8_t* memory = nullptr;
  if (shape->plan.block_bytes > 0) {
    GRAPHTREE_ASSIGN_OR_RETURN(memory, program.ring().Next(shape->plan.block_bytes));
  }
  OpenStep& step = program.lane().step;
  ++step.serial;
  step.continues = false;
  step.is_strict = step.is_refused = step.is_compared = false;
  step.program = &program;
  step.shape = shape;
  step.stream = &stream;
  step.key = key;
  step.choice = choice;
  step.memory = memory;
  step.block.Begin(program.options().slots, shape->plan, memory);
  return &step;
}

absl::Status StageRows(OpenStep& step, SlotId slot, const DeviceRows& rows) {
  const absl::Span<const SlotSpec> slots = step.program->options().slots;
  if (slot >= slots.size()) return step.block.Stage(slot, rows);
  const absl::Status may = step.program->lane().tree->MayRead(rows.address);
  if (!may.ok()) return Refused(slots[slot], "was staged with rows:", may);
  GRAPHTREE_RETURN_IF_ERROR(step.program->CheckNoneOfItsSlots(slot, rows));
  return step.block.Stage(slot, rows);
}

absl::Status StageTensor(OpenStep& step, SlotId slot, const Tensor& tensor) {
  const absl::Span<const SlotSpec> slots = step.program->options().slots;
  if (slot >= slots.size()) return step.block.Stage(slot, DeviceRows());
  GRAPHTREE_ASSIGN_OR_RETURN(const DeviceRows rows, RowsOfTensor(slots[slot], tensor));
  if (absl::Status may = step.program->lane().tree->MayRead(tensor); !may.ok()) {
    return Refused(slots[slot], "was staged with a tensor:", may);
  }
  GRAPHTREE_RETURN_IF_ERROR(step.program->CheckNoneOfItsSlots(slot, rows));
  GRAPHTREE_RETURN_IF_ERROR(step.block.Stage(slot, rows));
  if (tensor.storage() == nullptr) return absl::OkStatus();
  step.tensors.Add(slot, tensor);
  return absl::OkStatus();
}

absl::Status CheckRunnable(OpenStep& step, const Values* outputs) {
  if (outputs == nullptr) {
    return absl::InvalidArgumentError("there is no place for its outputs");
  }
  return step.memory == nullptr ? absl::OkStatus() : step.block.Finish();
}

absl::Status LaunchStep(OpenStep& step, Values* outputs) {
  const absl::Status status = CarryAndRun(step, outputs);
  if (status.ok() || step.is_refused) return status;
  // A step that failed before the tree went on to its stream has put nothing there, and that stream
  // knows nothing of the step before, for which the events stand.
  if (step.program->lane().tree->ComesLast(*step.stream)) {
    SetAfterFailure(step.program->free_events(), *step.stream);
  }
  return status;
}

absl::Status RecordApart(OpenStep& step) {
  Tree& tree = *step.program->lane().tree;
  const LaneCalls::Calling calling(step.program->lane().calls);
  step.shape->is_by_cursor = false;
  Values inputs;
  if (step.memory != nullptr) {
    inputs.push_back(Tensor::Foreign(AddressOf(step.memory), step.shape->plan.block));
  }
  return tree.Record(step.shape->function, std::move(inputs), *step.stream);
}

void CloseStep(OpenStep& step, bool was_launched) {
  Lane& lane = step.program->lane();
  if (step.tensors.any()) {
    if (was_launched) {
      step.tensors.LetGoAfter(*lane.tree, *step.stream);
    } else {
      step.tensors.LetGo();
    }
  }
  step.is_open = false;
  lane.GiveBack();
}

}  // namespace graphtree
