// Runs the checks, and writes their errors.
#include "graphs/run/checked_mode.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "device/base/status_macros.h"
#include "graphs/check/host_values.h"
#include "graphs/run/located.h"
#include "graphs/run/planted_bug.h"

namespace graphtree {
namespace {

const char* Verb(Access access) {
  switch (access) {
    case Access::kRead:
      return "reads";
    case Access::kWrite:
      return "writes";
    default:
      return "reads and writes";
  }
}

// ", in one of its ops 'norm', 'attend'"; nothing if the message names one itself.
std::string Suspects(absl::string_view message, absl::Span<const OpSite> sites) {
  constexpr size_t kMostNamed = 8;
  std::vector<std::string> ops;
  for (const OpSite& site : sites) {
    if (absl::StrContains(message, site.op)) return "";
    const std::string op = absl::StrCat("'", site.op, "'");
    if (std::find(ops.begin(), ops.end(), op) == ops.end()) ops.push_back(op);
  }
  if (ops.empty()) return "";
  const size_t more = ops.size() - std::min(ops.size(), kMostNamed);
  ops.resize(ops.size() - more);
  return absl::StrCat(ops.size() == 1 ? ", in its op " : ", in one of its ops ",
                      absl::StrJoin(ops, ", "),
                      more == 0 ? "" : absl::StrCat(" and ", more, " more"));
}

// The bytes of a call's inputs cannot be read.
absl::Status CannotLook(const Call& call, const char* when, const absl::Status& why) {
  return Located(why, absl::StrCat("'", call.function.name, "', comparing its inputs' bytes ",
                                   when));
}

}  // namespace

void CheckedMode::NoteCaller(Call* call) {
  if (call->from == 0) call->from = ground_.history->stacks().Here();
}

absl::Status CheckedMode::WithStacks(const absl::Status& status, const Call& call,
                                     absl::Span<const OpSite> sites) const {
  if (status.ok() || call.from == 0) return status;
  std::vector<OpSite> named;
  for (const OpSite& site : sites) {
    if (absl::StrContains(status.message(), site.op)) named.push_back(site);
  }
  return Reworded(status, absl::StrCat(status.message(), ground_.history->stacks().Told(named),
                                       ToldCaller(call)));
}

std::string CheckedMode::ToldCaller(const Call& call) const {
  return ground_.history->stacks().Told(absl::StrCat("'", call.function.name, "' was called at"),
                                        call.from);
}

absl::Status CheckedMode::Begin(const Call& call, bool is_warm_up, absl::Span<const Value> inputs,
                                const std::vector<bool>& copied, Stream& stream, AccessLog* log,
                                std::unique_ptr<BodyCheck>* check) {
  if (Applies(call.function)) {
    absl::StatusOr<std::unique_ptr<BodyCheck>> begun = BodyCheck::Begin(
        ground_.device, *ground_.memory, stream, inputs, log, &ground_.history->stacks());
    if (!begun.ok()) return CannotLook(call, "before its body runs", begun.status());
    *check = *std::move(begun);
  } else if (is_warm_up && !call.variant->warm && !IsPlanted(PlantedBug::kTrustsReads)) {
    *check = BodyCheck::OfDoubts(ground_.device, *ground_.memory, stream, inputs, copied, log);
  }
  return absl::OkStatus();
}

absl::Status CheckedMode::End(Call& call, Stream& stream, BodyCheck* check,
                              std::vector<bool>* written) {
  if (check == nullptr) return absl::OkStatus();
  GRAPHTREE_RETURN_IF_ERROR(Await(call, check->log().sites(), stream));
  const absl::StatusOr<std::vector<UndeclaredWrite>> found =
      check->End(call.function.options.mutated_inputs);
  if (!found.ok()) return CannotLook(call, "after its body has run", found.status());
  const std::vector<UndeclaredWrite>& writes = *found;
  if (call.variant != nullptr && Applies(call.function)) {
    call.variant->last_launches = check->log().launches();
    call.variant->last_launches_at = ground_.workspaces.changes();
  }
  // A declared write may hide another write to the same bytes, by any other op.
  if (call.variant != nullptr && Applies(call.function)) {
    call.variant->mutates_somewhere = call.variant->mutates;
  }
  if (writes.empty()) return absl::OkStatus();
  for (const UndeclaredWrite& write : writes) {
    if (write.input != kNotGiven) (*written)[write.input] = true;
  }
  return TellOfWrites(call, writes);
}

absl::Status CheckedMode::TellOfWrites(Call& call, absl::Span<const UndeclaredWrite> writes) {
  std::string text = absl::StrCat("'", call.function.name, "' ");
  for (const UndeclaredWrite& write : writes) {
    const bool is_input = write.input != kNotGiven;
    if (is_input && call.variant != nullptr && !IsPlanted(PlantedBug::kForgetsSecretWrite)) {
      call.variant->mutates[write.input] = true;
      call.variant->mutates_somewhere[write.input] = true;
      if (write.ops.empty()) call.variant->uses[write.input].opaque = true;
    }
    absl::StrAppend(&text, is_input ? "writes to an input" : "writes to its caller's memory",
                    " without declaring it: ", ToString(write), "; ");
  }
  absl::StrAppend(&text, "declare it with Out, InOut or Launcher::Writes");
  for (const UndeclaredWrite& write : writes) {
    absl::StrAppend(&text, ground_.history->stacks().Told(write.sites));
  }
  absl::StrAppend(&text, ToldCaller(call));
  journal_.Count(call.function, Reason::kUndeclaredWrite);
  if (ground_.options.strict) return absl::FailedPreconditionError(text);
  journal_.Tell(call.function, Reason::kUndeclaredWrite, text);
  return absl::OkStatus();
}

absl::Status CheckedMode::HostValuesAgree(const Call& call, const OpLog& log) {
  // A body may give its ops the size of a workspace, for example; a recording from before a move is
  // not replayed after it.
  if (call.variant->last_launches_at != ground_.workspaces.changes()) return absl::OkStatus();
  const std::optional<HostValue> found =
      FindHostValue(call.variant->last_launches, log.launches());
  if (!found.has_value()) return absl::OkStatus();
  const std::string text = absl::StrCat(
      "'", call.function.name, "' computes on the host what a replay does not compute again: in ",
      "its recording ", found->text, ". ", ReasonSentence(Reason::kHostValue),
      ground_.history->stacks().Told({found->site}), ToldCaller(call));
  journal_.Count(call.function, Reason::kHostValue);
  if (ground_.options.strict) return absl::FailedPreconditionError(text);
  journal_.Tell(call.function, Reason::kHostValue, text);
  return absl::OkStatus();
}

absl::Status CheckedMode::InputsAreLive(const Call& call) {
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const Value& input = call.inputs[i];
    if (!input.is_tensor() || input.storage() != nullptr) continue;
    if (IsPlanted(PlantedBug::kForgetsDead)) continue;
    GRAPHTREE_RETURN_IF_ERROR(ground_.home.CheckInput(call, i));
    const AddressRange range = RangeOf(input);
    const absl::Status live = ground_.device.memory().CheckLive(range);
    if (live.ok()) {
      ground_.history->NoteAlive(range, {call.function.id, books_.step(), call.from});
      continue;
    }
    return absl::FailedPreconditionError(absl::StrCat(
        "input ", i, " of '", call.function.name, "', ",
        call.function.IsStatic(i) ? "a static one, " : "", "is dead memory: ", live.message(),
        ToldCaller(call), ground_.history->ToldAlive(range)));
  }
  return absl::OkStatus();
}

absl::Status CheckedMode::OutsideIsLive(const Node& node, const Call& call) {
  for (const OutsideUse& use : node.outside) {
    const absl::Status live = ground_.device.memory().CheckLive(use.range);
    if (live.ok()) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("'", node.variant->function->name, "' was not launched: '", use.op, "' ",
                     Verb(use.access), " memory outside of the tree that is dead: ", live.message(),
                     ground_.history->stacks().Told({{use.op, use.at}}), ToldCaller(call)));
  }
  return absl::OkStatus();
}

void CheckedMode::NoteOutside(const OpLog& log, absl::Span<const MarkedInput> marked, Node* node) {
  node->sites = log.sites();
  for (const LoggedAccess& access : log.accesses()) {
    bool known = access.range.empty() || ground_.memory->InStepRegion(access.range);
    for (const OutsideUse& use : node->outside) known |= use.range == access.range;
    for (const MarkedInput& moving : marked) {
      known |= moving.mark.raw_bytes().Overlaps(access.range);
    }
    if (!known) node->outside.push_back({access.op, access.access, access.range, access.at});
  }
}

// In checked mode a failure of the device shows in the call that caused it. A launch that is
// refused returns its error at once, with the op (Launcher::Place). A kernel that kills the device
// shows in the next call that waits, on any stream, and a GPU does not say which kernel it was. So
// a call that is waited for names the ops that it ran. Without the wait nothing could be named: the
// failure may show many calls later.
absl::Status CheckedMode::Await(const Call& call, absl::Span<const OpSite> sites, Stream& stream) {
  if (!Applies(call.function)) return absl::OkStatus();
  const absl::Status failed = stream.Synchronize();
  if (failed.ok()) return failed;
  const std::string where = absl::StrCat("the device failed in '", call.function.name, "'",
                                         Suspects(failed.message(), sites));
  return WithStacks(Located(failed, where), call, sites);
}

}  // namespace graphtree
