// Begins steps, runs them, and notes how they ran.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "runtime/core/free_event_calls.h"
#include "runtime/core/in_step.h"
#include "runtime/core/runtime_core.h"
#include "runtime/core/why_route.h"
#include "runtime/slots/planted_bug.h"
#include "runtime/slots/tensor_rows.h"

namespace graphtree {
namespace {

absl::Status Refused(const SlotSpec& slot, absl::string_view doing, const absl::Status& why) {
  return absl::Status(why.code(),
                      absl::StrCat("slot '", slot.name, "' ", doing, " ", why.message()));
}

}  // namespace

absl::StatusOr<Choice> RuntimeCore::Choose(ProgramId id, const Key& key, Modes allowed) const {
  GRAPHTREE_ASSIGN_OR_RETURN(const ProgramState* const program, Find(id));
  return program->table().Choose(key, allowed);
}

absl::StatusOr<Vote> RuntimeCore::MakeVote(ProgramId id, const Key& key, Modes allowed,
                                           uint32_t epoch) const {
  GRAPHTREE_ASSIGN_OR_RETURN(const ProgramState* const program, Find(id));
  return graphtree::MakeVote(program->table(), {program->fingerprint(), epoch, key, allowed});
}

absl::StatusOr<Agreement> RuntimeCore::Agree(ProgramId id, const Key& key, Modes allowed,
                                             uint32_t epoch, absl::Span<const Vote> votes) const {
  GRAPHTREE_ASSIGN_OR_RETURN(const ProgramState* const program, Find(id));
  GRAPHTREE_ASSIGN_OR_RETURN(
      Agreement agreed,
      graphtree::Agree(program->table(), {program->fingerprint(), epoch, key, allowed}, votes));
  if (agreed.outcome == VoteOutcome::kAgreed &&
      !IsReplay(program->table().Choose(agreed.key, agreed.modes).why)) {
    // Every rank finds this alike. What they agreed on may be more than slots hold.
    agreed.outcome = VoteOutcome::kNoGraph;
    agreed.key = key;
  }
  return agreed;
}

absl::Status RuntimeCore::CheckDevice(ProgramState& program, Stream& stream) {
  Device& device = program.lane().device;
  if (&stream.device() == &device) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("'", program.name(), "' was given a stream of another device, ",
                   stream.device().info().name, "; the program is on ", device.info().name));
}

absl::StatusOr<OpenStep*> RuntimeCore::Begin(ProgramId id, const Key& key, Stream& stream,
                                             const StepOptions& options) {
  GRAPHTREE_ASSIGN_OR_RETURN(ProgramState* const program, FindMutable(id));
  GRAPHTREE_RETURN_IF_ERROR(CheckDevice(*program, stream));
  GRAPHTREE_RETURN_IF_ERROR(CheckCall(key));
  Lane& lane = program->lane();
  if (!lane.Take(program)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "a step of '", program->name(), "' was begun while one is under way in lane ", lane.number,
        "; run or cancel that one first, or wait for its body, or for the thread that has it"));
  }
  Choice choice = program->table().Choose(key, options.modes);
  if (options.is_voted_down) choice = {.why = Why::kVotedDown, .key = key};
  absl::StatusOr<OpenStep*> step = Open(*program, choice, key, stream);
  if (!step.ok()) {
    lane.GiveBack();
    return step;
  }
  (*step)->is_open = true;
  (*step)->continues = options.continues;
  return step;
}

absl::StatusOr<OpenStep*> RuntimeCore::Open(ProgramState& program, const Choice& choice,
                                            const Key& key, Stream& stream) {
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
  step.program = &program;
  step.shape = shape;
  step.stream = &stream;
  step.key = key;
  step.choice = choice;
  step.memory = memory;
  step.block.Begin(program.options().slots, shape->plan, memory);
  return &step;
}

absl::Status RuntimeCore::StageRows(OpenStep& step, SlotId slot, const DeviceRows& rows) {
  const absl::Span<const SlotSpec> slots = step.program->options().slots;
  const absl::Status may = step.program->lane().tree->MayRead(rows.address);
  if (!may.ok() && slot < slots.size()) return Refused(slots[slot], "was staged with rows:", may);
  return step.block.Stage(slot, rows);
}

absl::Status RuntimeCore::StageTensor(OpenStep& step, SlotId slot, const Tensor& tensor) {
  const absl::Span<const SlotSpec> slots = step.program->options().slots;
  if (slot >= slots.size()) return step.block.Stage(slot, DeviceRows());
  GRAPHTREE_ASSIGN_OR_RETURN(const DeviceRows rows, RowsOfTensor(slots[slot], tensor));
  if (absl::Status may = step.program->lane().tree->MayRead(tensor); !may.ok()) {
    return Refused(slots[slot], "was staged with a tensor:", may);
  }
  GRAPHTREE_RETURN_IF_ERROR(step.block.Stage(slot, rows));
  if (tensor.storage() == nullptr) return absl::OkStatus();
  step.tensors.Add(slot, tensor);
  return absl::OkStatus();
}

void RuntimeCore::Close(OpenStep& step, bool was_launched) {
  Lane& lane = step.program->lane();
  if (step.tensors.any()) {
    // No op says that it reads them, so a device that poisons what is freed must not see them go.
    StagingRing* const ring =
        lane.device.info().checks_accesses ? &step.program->ring() : nullptr;
    if (was_launched) {
      step.tensors.LetGoAfter(*lane.tree, *step.stream, ring);
    } else {
      step.tensors.LetGo();
    }
  }
  step.is_open = false;
  lane.GiveBack();
}

absl::Status RuntimeCore::CheckRunnable(OpenStep& step, const Values* outputs) const {
  if (outputs == nullptr) {
    return absl::InvalidArgumentError("there is no place for its outputs");
  }
  return step.memory == nullptr ? absl::OkStatus() : step.block.Finish();
}

absl::Status RuntimeCore::Run(OpenStep& step, Values* outputs) {
  step.is_open = false;  // also for a body that has the handle
  absl::Status status = CheckRunnable(step, outputs);
  const bool is_launched = status.ok();
  if (is_launched) {
    status = Launch(step, outputs);
    NoteRoute(step, status);
  } else {
    step.choice.why = Why::kFailed;
    if (IsPlanted(RuntimeBug::kCountsRefused)) ++step.program->lane().stats.steps;
  }
  Close(step, is_launched);
  return status.ok() ? status : InStep(step, "running", status);
}

absl::Status RuntimeCore::Launch(OpenStep& step, Values* outputs) {
  Tree& tree = *step.program->lane().tree;
  const ShapePlan& plan = step.shape->plan;
  auto& ring = step.program->ring();
  Value block;
  if (step.memory != nullptr) {
    const Address named = AddressOf(step.memory);
    const Address address =
        step.shape->copies_block ? named : ring.AddressFor(plan.block_bytes);
    step.shape->is_by_cursor = address != named;
    block = Tensor::Foreign(address, plan.block);
  }
  const absl::Span<Value> inputs = absl::MakeSpan(&block, step.memory == nullptr ? 0 : 1);
  if (step.tensors.any()) {
    GRAPHTREE_RETURN_IF_ERROR(step.tensors.Check(step.program->options().slots));
  }
  if (!step.continues || IsPlanted(RuntimeBug::kEndsContinued)) {
    if (step.tensors.any()) GRAPHTREE_RETURN_IF_ERROR(CarryTensors(step, inputs));
    tree.BeginStep();
  }
  step.is_running = true;
  absl::Status status = tree.Run(step.shape->function, inputs, *step.stream, outputs);
  step.is_running = false;
  if (!status.ok()) SetAfterFailure(step.program->free_events(), *step.stream);
  if (step.memory == nullptr) return status;
  if (status.ok()) {
    ring.Launched(plan.block_bytes, *step.stream, MovesCursor(step));
  } else {
    ring.Failed(plan.block_bytes, *step.stream);
  }
  return status;
}

// A replay launches the unpack op before anything else, and until then nobody writes to what the
// last step has left. Any other call may give that memory away first. Where all tensors outlive
// their steps nobody needs to know how the call is going to run.
absl::Status RuntimeCore::CarryTensors(OpenStep& step, absl::Span<Value> block) {
  const Lane& lane = step.program->lane();
  if (!step.tensors.AnyEnds() ||
      lane.tree->WouldReplayFirst(step.shape->function, block, *step.stream)) {
    return absl::OkStatus();
  }
  return step.tensors.Carry(*lane.tree, lane.carry, *step.stream, &step.block);
}

// Any other run may have launched the op more often than once, and put bytes back in between.
bool RuntimeCore::MovesCursor(const OpenStep& step) {
  return step.shape->plan.launch_blocks > 0 && !step.shape->copies_block &&
         step.program->lane().tree->last_call().route == CallRoute::kReplayed;
}

void RuntimeCore::NoteRoute(OpenStep& step, const absl::Status& status) {
  Lane& lane = step.program->lane();
  ++lane.stats.steps;
  const bool has_shape = IsReplay(step.choice.why);
  if (status.ok()) {
    // Ranks run the same collectives in a graph and eagerly, recorded yet or not.
    // What runs eagerly is as large as each rank's own call.
    const uint32_t shape = has_shape ? step.choice.index : kNoShape;
    const Key key = has_shape ? step.choice.key : Key();
    lane.history.Record({step.program->fingerprint(), lane.done++, shape, key});
  }
  if (!status.ok()) {
    step.choice.why = Why::kFailed;
  } else if (has_shape) {
    const LastCall last = lane.tree->last_call();
    if (last.route != CallRoute::kReplayed) {
      NoteMiss(step, last);
    } else if (!step.continues) {
      step.shape->life.Hit();
    }
  }
  if (!IsReplay(step.choice.why)) ShareMemory(lane);
  ++lane.stats.why[static_cast<size_t>(step.choice.why)];
}

void RuntimeCore::NoteMiss(OpenStep& step, const LastCall& last) {
  step.touched = TouchedSince(step);
  const bool is_gone = step.shape->life.Missed(last, /*is_first=*/!step.continues);
  step.choice.why = WhyOfRoute(step.choice.why, last,
                               !step.touched.empty() ? Before::kStale
                               : is_gone             ? Before::kEvicted
                                                     : Before::kNothing);
  if (last.route == CallRoute::kRecorded) NoteRecorded(step);
  if (last.route == CallRoute::kRanEagerly && last.reason == Reason::kRecordedApart) {
    RecordWhileServing(step);
  }
}

std::vector<uint32_t> RuntimeCore::TouchedSince(const OpenStep& step) const {
  std::vector<uint32_t> touched;
  const std::vector<uint32_t> deps = step.program->dependencies();
  const std::vector<uint64_t>& before = step.shape->life.generations();
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i] != dependencies_.generation(deps[i])) touched.push_back(deps[i]);
  }
  return touched;
}

void RuntimeCore::NoteRecorded(OpenStep& step) {
  ++step.program->lane().stats.recordings;
  const uint64_t epoch = step.program->options().needs_commit ? epoch_ : 0;
  step.program->SetRecorded(step.choice.index, /*is_first=*/!step.continues,
                            dependencies_.GenerationsOf(step.program->dependencies()), epoch);
}

}  // namespace graphtree
