// Begins steps, runs them, and says how they ran.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "device/base/status_macros.h"
#include "runtime/core/free_event_calls.h"
#include "runtime/core/runtime_core.h"
#include "runtime/core/why_route.h"

namespace graphtree {
namespace {

absl::Status InStep(const OpenStep& step, absl::string_view doing, const absl::Status& status) {
  return absl::Status(status.code(),
                      absl::StrCat(doing, " a step of '", step.program->name(), "' (",
                                   ToString(step.key), "): ", status.message()));
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
  return graphtree::Agree(program->table(), {program->fingerprint(), epoch, key, allowed}, votes);
}

absl::Status RuntimeCore::CheckDevice(const ProgramState& program, Stream& stream) const {
  if (&stream.device() == &device_) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("'", program.name(), "' was given a stream of another device, ",
                   stream.device().info().name, "; the runtime is on ", device_.info().name));
}

absl::StatusOr<OpenStep*> RuntimeCore::Begin(ProgramId id, const Key& key, Stream& stream,
                                             const StepOptions& options) {
  GRAPHTREE_ASSIGN_OR_RETURN(ProgramState* const program, FindMutable(id));
  const OpenStep& open = program->lane().step;
  if (open.is_under_way()) {
    return absl::FailedPreconditionError(
        absl::StrCat("a step of '", program->name(), "' was begun while one of '",
                     open.program->name(), "' is under way in lane ", program->lane().number,
                     open.is_running ? ", by its own body" : "; run or cancel that one first"));
  }
  GRAPHTREE_RETURN_IF_ERROR(CheckDevice(*program, stream));
  GRAPHTREE_RETURN_IF_ERROR(CheckCall(key));
  Choice choice = program->table().Choose(key, options.modes);
  if (options.is_voted_down) choice = {.why = Why::kVotedDown, .key = key};
  GRAPHTREE_ASSIGN_OR_RETURN(OpenStep* const step, Open(*program, choice, key, stream));
  step->continues = options.continues;
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
  step.is_open = true;
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

absl::Status RuntimeCore::CheckRunnable(OpenStep& step, const Values* outputs) const {
  if (outputs == nullptr) {
    return absl::InvalidArgumentError("there is no place for its outputs");
  }
  return step.memory == nullptr ? absl::OkStatus() : step.block.Finish();
}

absl::Status RuntimeCore::Run(OpenStep& step, Values* outputs) {
  step.is_open = false;
  if (absl::Status refused = CheckRunnable(step, outputs); !refused.ok()) {
    step.choice.why = Why::kFailed;
    return InStep(step, "running", refused);
  }
  if (!step.continues) step.program->lane().tree->BeginStep();
  absl::Status status = Launch(step, outputs);
  NoteRoute(step, status);
  return status.ok() ? status : InStep(step, "running", status);
}

absl::Status RuntimeCore::Launch(OpenStep& step, Values* outputs) {
  Tree& tree = *step.program->lane().tree;
  const ShapePlan& plan = step.shape->plan;
  Value block;
  if (step.memory != nullptr) block = Tensor::Foreign(AddressOf(step.memory), plan.block);
  step.is_running = true;
  absl::Status status =
      tree.Run(step.shape->function, absl::MakeSpan(&block, step.memory == nullptr ? 0 : 1),
               *step.stream, outputs);
  step.is_running = false;
  if (!status.ok()) SetAfterFailure(step.program->free_events(), *step.stream);
  if (step.memory == nullptr) return status;
  if (status.ok()) {
    step.program->ring().Launched(plan.block_bytes, *step.stream);
  } else {
    step.program->ring().Failed(plan.block_bytes, *step.stream);
  }
  return status;
}

void RuntimeCore::NoteRoute(OpenStep& step, const absl::Status& status) {
  Lane& lane = step.program->lane();
  ++lane.stats.steps;
  const bool has_shape = IsReplay(step.choice.why);
  if (has_shape) {
    const LastCall last = lane.tree->last_call();
    if (last.route == CallRoute::kRecorded && status.ok()) NoteRecorded(step);
    if (last.route == CallRoute::kReplayed && status.ok()) {
      lane.history.Record(
          {step.program->fingerprint(), lane.stats.steps, step.choice.index, step.choice.key});
    }
    step.choice.why = status.ok() ? WhyOfRoute(step.choice.why, last) : Why::kFailed;
  } else if (!status.ok()) {
    step.choice.why = Why::kFailed;
  }
  ++lane.stats.why[static_cast<size_t>(step.choice.why)];
}

void RuntimeCore::NoteRecorded(OpenStep& step) {
  ++step.program->lane().stats.recordings;
  step.touched.clear();
  const std::vector<uint32_t> deps = step.program->dependencies();
  const std::vector<uint64_t>& before = step.shape->generations;
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i] != dependencies_.generation(deps[i])) step.touched.push_back(deps[i]);
  }
  step.shape->generations = dependencies_.GenerationsOf(deps);
  step.program->SetRecorded(step.choice.index);
}

absl::Status RuntimeCore::Record(ProgramId id, Stream& stream) {
  GRAPHTREE_ASSIGN_OR_RETURN(ProgramState* const program, FindMutable(id));
  GRAPHTREE_RETURN_IF_ERROR(CheckNoStep(absl::StrCat("'", program->name(), "' was recorded")));
  GRAPHTREE_RETURN_IF_ERROR(CheckDevice(*program, stream));
  if (const auto capture = stream.Capture();
      capture.ok() && capture->state != CaptureState::kNone) {
    return absl::FailedPreconditionError(
        absl::StrCat("'", program->name(), "' was recorded on a stream that captures"));
  }
  // Again, if a workspace has moved: shapes that were recorded before are stale then.
  constexpr int kMostPasses = 3;
  for (int pass = 0; pass < kMostPasses; ++pass) {
    const std::vector<uint64_t> now = dependencies_.GenerationsOf(program->dependencies());
    absl::Status first;
    for (uint32_t i = static_cast<uint32_t>(program->table().size()); i-- > 0;) {
      const ShapeState& shape = program->shape(i);
      if ((shape.is_recorded && shape.generations == now) || shape.is_excluded) continue;
      first.Update(RecordShape(*program, i, stream));
    }
    if (dependencies_.GenerationsOf(program->dependencies()) == now) return first;
  }
  return absl::FailedPreconditionError(
      absl::StrCat("'", program->name(), "' was recorded ", kMostPasses,
                   " times, and each time its bodies moved or touched a dependency that others of "
                   "its recordings have; the recordings that are stale are made again by steps"));
}

absl::Status RuntimeCore::RecordShape(ProgramState& program, uint32_t index, Stream& stream) {
  // A body may ask for more warm-ups than one; the tree bounds them.
  const uint64_t most_runs = 2 + options_.tree.warm_up_limit;
  absl::Status status;
  Why why = Why::kFailed;
  for (uint64_t run = 0; run < most_runs && status.ok(); ++run) {
    const Choice choice = {
        .why = Why::kHit, .index = index, .key = program.table().shape(index).key};
    absl::StatusOr<OpenStep*> step = Open(program, choice, choice.key, stream);
    if (!step.ok()) return step.status();
    (*step)->is_open = false;
    (*step)->block.StageZeros();
    GRAPHTREE_RETURN_IF_ERROR((*step)->memory == nullptr ? absl::OkStatus()
                                                         : (*step)->block.Finish());
    program.lane().tree->BeginStep();
    Values outputs;
    status = Launch(**step, &outputs);
    const LastCall last = program.lane().tree->last_call();
    if (status.ok() && last.route == CallRoute::kRecorded) NoteRecorded(**step);
    // A workspace that grew in the recording has done so now.
    const bool is_once_more = last.reason == Reason::kWorkspaceMoved && run + 1 < most_runs;
    if (status.ok() && last.route == CallRoute::kRanEagerly && !is_once_more) {
      why = WhyOfRoute(choice.why, last);
      status = absl::InternalError(absl::StrCat(
          "it ran eagerly: ", last.reason.has_value() ? ReasonSentence(*last.reason) : "unknown"));
    }
    if (!status.ok()) status = InStep(**step, "recording", status);
    if (last.route == CallRoute::kRecorded || last.route == CallRoute::kReplayed) break;
  }
  if (absl::IsResourceExhausted(status)) why = Why::kNoMemory;
  if (!status.ok()) program.SetFailed(index, why);
  return status;
}

std::string RuntimeCore::DescribeStale(const OpenStep& step) const {
  std::vector<std::string> names;
  for (uint32_t dep : step.touched) {
    names.push_back(absl::StrCat("'", dependencies_.name(dep), "'"));
  }
  return absl::StrCat(WhyName(Why::kStaleDependency), ": ", ToString(step.key), "; touched since ",
                      "its recording: ", absl::StrJoin(names, ", "), ". ",
                      WhySentence(Why::kStaleDependency));
}

std::string RuntimeCore::Describe(const OpenStep& step) const {
  if (step.program == nullptr) return "no step";
  if (step.choice.why == Why::kStaleDependency) return DescribeStale(step);
  if (step.choice.why >= Why::kNotRecorded) {
    return absl::StrCat(WhyName(step.choice.why), ": ", ToString(step.key), "; ",
                        WhySentence(step.choice.why));
  }
  return step.program->table().Describe(step.key, step.choice);
}

}  // namespace graphtree
