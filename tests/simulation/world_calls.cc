// One call: what it brings, how it goes, what comes of it.
#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "device/error.h"
#include "tests/simulation/world.h"

namespace graphtree::simulation {
namespace {

size_t ForeignTensorsIn(const Values& inputs) {
  return std::count_if(inputs.begin(), inputs.end(), [](const Value& input) {
    return input.is_tensor() && input.storage() == nullptr;
  });
}

}  // namespace

bool World::PickArguments(const FunctionSpec& spec, const Action& action, Brought* brought) {
  for (size_t p = 0; p < spec.params.size(); ++p) {
    const uint32_t pick = action.picks[p];
    Seen seen;
    switch (spec.params[p]) {
      case ParamKind::kInteger: seen.handle = Value::Integer(pick % 2); break;
      case ParamKind::kOpaque: seen = PickThing(pick, brought); break;
      case ParamKind::kStatic: seen = PickStatic(p, pick); break;
      case ParamKind::kManaged:
        if (live_.empty()) return false;
        seen = PickTensor(pick, false, brought);
        break;
      case ParamKind::kAny: seen = PickTensor(pick, true, brought); break;
    }
    const bool promised =
        std::find(spec.aligned.begin(), spec.aligned.end(), p) != spec.aligned.end();
    const bool less = promised && seen.handle.word() % kAligned != 0;
    // What is written to is a copy then, and so is what the body stores of it.
    if (less && spec.Mutates()) return false;
    brought->dead |= memory_.IsDead(seen.handle);
    brought->arguments.push_back(std::move(seen));
  }
  return true;
}

void World::LetGo(const Action& action, Brought* brought) {
  for (size_t p = 0; p < brought->arguments.size(); ++p) {
    Value& handle = brought->arguments[p].handle;
    if ((action.keep >> p & 1) != 0 || handle.storage() == nullptr) continue;
    const Storage* storage = handle.storage();
    handle = Value();
    live_.erase(std::remove_if(live_.begin(), live_.end(),
                               [&](const Seen& seen) { return seen.handle.storage() == storage; }),
                live_.end());
  }
  brought->arguments.clear();
}

// What the body that runs now was given, and what it finds: told op by op.
Values World::RunBody(Launcher& on, Values& inputs) {
  for (const auto& [cell, content] : in_hand_.contents) *cell = content;
  in_hand_.model.emplace(*in_hand_.spec, in_hand_.arguments, program_.elements, ++body_runs_);
  for (size_t p = 0; p < inputs.size(); ++p) {
    const bool is_copy = inputs[p].is_tensor() && inputs[p].word() != in_hand_.words[p];
    if (is_copy) in_hand_.model->Copied(p);
  }
  return bodies_.Run(*in_hand_.spec, on, inputs, &*in_hand_.model);
}

// The caller's handles do not stay in it.
void World::TakeInHand(const FunctionSpec& spec, const Brought& brought) {
  in_hand_ = {&spec};
  for (const Seen& argument : brought.arguments) {
    in_hand_.words.push_back(argument.handle.word());
    in_hand_.arguments.push_back(argument);
    Value& handle = in_hand_.arguments.back().handle;
    if (handle.is_opaque()) handle = Value::Integer(KeyOf(handle));
    if (handle.storage() != nullptr) handle = Value();
    if (argument.cell != nullptr) in_hand_.contents.push_back({argument.cell, *argument.cell});
  }
  for (const Stored& stored : bodies_.shelf()) {
    if (stored.empty()) continue;
    in_hand_.contents.push_back({stored.known.cell, *stored.known.cell});
  }
}

absl::Status World::Call(const Action& action) {
  const uint32_t function = action.function % program_.functions.size();
  const FunctionSpec& spec = program_.functions[function];
  Brought brought;
  if (!PickArguments(spec, action, &brought)) return absl::OkStatus();
  TakeInHand(spec, brought);

  Values inputs;
  for (const Seen& argument : brought.arguments) inputs.push_back(argument.handle);
  // A caller that is to be refused keeps everything, to see that it is all there.
  if (!brought.MayBeRefused()) LetGo(action, &brought);
  const size_t own = ForeignTensorsIn(inputs);
  Values outputs;
  const TreeStats before = tree_->stats();
  const uint64_t runs_before = body_runs_;
  const uint64_t faults = plan_ == nullptr ? 0 : plan_->fired();
  last_body_asked_ = false;
  const absl::Status status = RunTree(function, &inputs, action, &outputs);
  Ended ended = HowItEnded(before, status);
  ended.may_lack_memory =
      HasLittleMemory(program_.seed) || (plan_ != nullptr && plan_->fired() > faults);
  SettleShelf(ended, runs_before);
  if (ended.route == Route::kRecorded) witnesses_.Recorded();
  if (WasRefused(brought, status)) return CheckRefused(brought, inputs);
  if (body_runs_ > runs_before && bodies_.used_stale()) return AfterStaleUse(spec, status);
  if (!status.ok()) return AfterFault(spec, inputs, own, status);
  if (brought.stale || brought.dead) {
    return absl::InternalError(absl::StrCat("f", function, " ran on memory that is ",
                                            brought.stale ? "stale" : "dead"));
  }
  GRAPHTREE_RETURN_IF_ERROR(CheckCounted(before));
  if (last_body_asked_ && ended.route == Route::kRecorded) {
    return absl::InternalError("a run that asked for another warm-up was recorded");
  }
  if (body_runs_ == runs_before) GRAPHTREE_RETURN_IF_ERROR(FollowReplay(&ended));
  return TakeOutputs(ended, std::move(outputs));
}

absl::Status World::TakeOutputs(const Ended& ended, Values outputs) {
  const FunctionSpec& spec = *in_hand_.spec;
  if (outputs.size() != spec.outputs.size()) {
    return absl::InternalError(absl::StrCat("the call gave ", outputs.size(),
                                            " outputs instead of ", spec.outputs.size()));
  }
  const std::vector<Seen> expected = OutputsOf(ended, outputs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].is_none() != (expected[i].cell == nullptr)) {
      return absl::InternalError(absl::StrCat("output ", i, " is there or not, wrongly"));
    }
    if (outputs[i].is_none()) continue;
    live_.push_back(expected[i]);
    live_.back().handle = std::move(outputs[i]);
  }
  return absl::OkStatus();
}

absl::Status World::RunTree(uint32_t function, Values* inputs, const Action& action,
                            Values* outputs) {
  if (plan_ == nullptr || action.fail_at == 0) {
    return tree_->Run(function, absl::MakeSpan(*inputs), *streams_[stream_], outputs);
  }
  plan_->FailCall(action.fail_at, ErrorCode::kOutOfMemory);
  const absl::Status status =
      tree_->Run(function, absl::MakeSpan(*inputs), *streams_[stream_], outputs);
  plan_->Clear();
  // What the device did not take back stays: nobody asks it twice.
  done_ |= plan_->fired_in() == "Memory.Release";
  return status;
}

bool World::WasRefused(const Brought& brought, const absl::Status& failure) {
  const auto says = [&](absl::string_view text) {
    return absl::StrContains(failure.message(), text);
  };
  return (brought.stale && absl::IsFailedPrecondition(failure) && says("may not be used")) ||
         (brought.dead && absl::IsFailedPrecondition(failure) && says("is dead memory")) ||
         (brought.lie && absl::IsInvalidArgument(failure) && says("is another object"));
}

absl::Status World::CheckRefused(const Brought& brought, const Values& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].storage() == brought.arguments[i].handle.storage()) continue;
    return absl::InternalError(absl::StrCat("a call that was refused took input ", i));
  }
  return absl::OkStatus();
}

bool World::MayLackMemory(const absl::Status& failure) const {
  return absl::IsResourceExhausted(failure) && (plan_ != nullptr || HasLittleMemory(program_.seed));
}

absl::Status World::AfterFault(const FunctionSpec& spec, const Values& inputs, size_t own,
                               const absl::Status& failure) {
  if (!MayLackMemory(failure)) return failure;
  // A warm-up may have consumed tensors of the tree's; the caller's own stay where they are.
  const size_t left = ForeignTensorsIn(inputs);
  if (left != own) {
    return absl::InternalError(absl::StrCat("a call that failed (", failure.message(), ") took ",
                                            own - left, " inputs that are the caller's own"));
  }
  // Work that was under way may not be ordered before what the caller does next: the tree could
  // not order it, or the body could not join its fork.
  const std::string where = plan_ == nullptr ? "" : plan_->fired_in();
  const bool unordered = where == "Stream.Record" || where == "Stream.Wait";
  // A block that a recording lost when it failed may be gone under the library's hands.
  const bool library = spec.Has(OpSpecKind::kLibrary);
  done_ = spec.Mutates() || spec.Has(OpSpecKind::kFork) || library || unordered;
  return absl::OkStatus();
}

}  // namespace graphtree::simulation
