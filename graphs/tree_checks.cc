// What checked mode looks at, what a body's requests lead to, and errors that name.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "device/base/guarded_call.h"
#include "device/base/status_macros.h"
#include "graphs/body_check.h"
#include "graphs/planted_bug.h"
#include "graphs/tree_core.h"

namespace graphtree {
namespace {

const char* Verb(Access access) {
  switch (access) {
    case Access::kRead: return "reads";
    case Access::kWrite: return "writes";
    default: return "reads and writes";
  }
}

absl::Status Reworded(const absl::Status& status, absl::string_view text) {
  absl::Status reworded(status.code(), text);
  status.ForEachPayload([&reworded](absl::string_view url, const absl::Cord& payload) {
    reworded.SetPayload(url, payload);
  });
  return reworded;
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

}  // namespace

// The same failure, with where it happened before it.
absl::Status TreeCore::Placed(const absl::Status& status, absl::string_view where) {
  return status.ok() ? status : Reworded(status, absl::StrCat(where, ": ", status.message()));
}

void TreeCore::NoteCaller(Call* call) {
  if (call->from == 0) call->from = history_->stacks().Here();
}

absl::Status TreeCore::WithStacks(const absl::Status& status, const Call& call,
                                  absl::Span<const OpSite> sites) const {
  if (status.ok() || call.from == 0) return status;
  std::vector<OpSite> named;
  for (const OpSite& site : sites) {
    if (absl::StrContains(status.message(), site.op)) named.push_back(site);
  }
  return Reworded(status, absl::StrCat(status.message(), history_->stacks().Told(named),
                                       ToldCaller(call)));
}

std::string TreeCore::ToldCaller(const Call& call) const {
  return history_->stacks().Told(absl::StrCat("'", call.function.name, "' was called at"),
                                 call.from);
}

void TreeCore::SetRunning(const Function* function) {
  running_.store(function == nullptr ? nullptr : function->lasting_name,
                 std::memory_order_release);
}

Values TreeCore::RunBody(Function& function, Launcher& on, Values& inputs) {
  SetRunning(&function);
  on.SetWorkspaces(&workspaces_);
  on.SetInputs(&inputs);
  Values outputs;
  on.Fail(Guarded([&] { outputs = function.body(on, inputs); }));
  on.EndScratch();
  SetRunning(nullptr);
  if (outputs.size() > function.options.most_outputs) {
    on.Fail(absl::InvalidArgumentError(
        absl::StrCat("it returned ", outputs.size(), " outputs and declared at most ",
                     function.options.most_outputs)));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].is_tensor() && !outputs[i].layout()->possible()) {
      on.Fail(absl::InvalidArgumentError(absl::StrCat(
          "it returned as output ", i, ": ", outputs[i].layout()->Check().message())));
    }
    const Storage* storage = outputs[i].storage();
    if (storage == nullptr || !storage->stale()) continue;
    on.Fail(absl::FailedPreconditionError(absl::StrCat(
        "it returned as output ", i, " what may not be used: ",
        storage->owner()->WhyStale(*storage))));
  }
  return outputs;
}

absl::Status TreeCore::BodyStatus(const Function& function, const Launcher& on) {
  return Placed(on.status(), absl::StrCat("'", function.name, "', ", on.Place()));
}

absl::Status TreeCore::WhyBusy(FunctionId id) const {
  const std::string name = history_->NameOf(id);
  const std::string* running = running_.load(std::memory_order_acquire);
  if (gate_.is_looked_at() && IsInOwnCall()) {
    return absl::FailedPreconditionError(absl::StrCat(
        name, " was not run: what is passed to Tree::Inspect called it; call it behind that"));
  }
  if (running == nullptr && IsInOwnCall()) {
    return absl::FailedPreconditionError(absl::StrCat(
        name, " was not run: a call of its tree was running, and what that call told or let go "
        "(a warning, an object's end) called the tree again; call it behind that"));
  }
  if (running == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat(name, " was not run: the tree is running a call already, a second thread "
                     "entered; a tree serves one caller at a time"));
  }
  if (IsInOwnBody()) {
    return absl::FailedPreconditionError(absl::StrCat(
        name, " was not run: the body of '", *running,
        "' called its own tree; call the other function behind it, or register it with another "
        "tree"));
  }
  return absl::FailedPreconditionError(
      absl::StrCat(name, " was not run: a second thread entered while '", *running,
                   "' runs; a tree serves one caller at a time"));
}

bool TreeCore::IsInOwnCall() const { return gate_.is_mine(); }

bool TreeCore::IsInOwnBody() const {
  return running_.load(std::memory_order_acquire) != nullptr && IsInOwnCall();
}

void TreeCore::RefuseStep() {
  const std::string* running = running_.load(std::memory_order_acquire);
  const std::string whose = running == nullptr ? "a call" : absl::StrCat("'", *running, "'");
  const std::string when =
      gate_.is_looked_at()
          ? "by what is passed to Tree::Inspect"
          : absl::StrCat("while ", whose, " was running",
                         IsInOwnBody()   ? ", by its own body"
                         : IsInOwnCall() ? ", by what it told or let go"
                                         : ", on another thread");
  refusals_.RefuseStep(absl::StrCat("BeginStep was called ", when,
                                    ": no step began; begin steps between calls"));
}

absl::Status TreeCore::Lose(const Function& function, absl::string_view what,
                            const absl::Status& why) {
  const absl::Status lost = Placed(
      why, absl::StrCat("the tree is lost since a call of '", function.name, "' failed (", what,
                        "); close it and make another one"));
  refusals_.Lose(lost);
  return lost;
}

absl::Status TreeCore::AfterUndo(const absl::Status& why, const absl::Status& undone) {
  if (undone.ok()) return why;
  return Placed(why, absl::StrCat("what the call had written before it failed could not be taken "
                                  "back (", undone.message(), ")"));
}

absl::Status TreeCore::ClosedInside(const Function& function) {
  return absl::FailedPreconditionError(
      absl::StrCat("the body of '", function.name, "' closed its own tree, or what the call told "
                   "or let go did: what the call made is gone with it; close a tree when none of "
                   "its functions runs"));
}

// A first warm-up looks at what is doubtful and cheap, in checked mode or not.
absl::Status TreeCore::BeginCheck(const Call& call, bool is_warm_up,
                                  absl::Span<const Value> inputs, Stream& stream, AccessLog* log,
                                  std::unique_ptr<BodyCheck>* check) {
  if (IsChecked(call.function)) {
    GRAPHTREE_ASSIGN_OR_RETURN(*check, BodyCheck::Begin(device_, *memory_, stream, inputs, log,
                                                        &history_->stacks()));
  } else if (is_warm_up && !call.variant->warm && !IsPlanted(PlantedBug::kTrustsReads)) {
    *check = BodyCheck::OfDoubts(device_, *memory_, stream, inputs, log);
  }
  return absl::OkStatus();
}

// An input that was found to be written counts as mutated from here on, said or not.
absl::Status TreeCore::EndCheck(Call& call, Stream& stream, BodyCheck* check) {
  if (check == nullptr) return absl::OkStatus();
  GRAPHTREE_RETURN_IF_ERROR(AwaitChecked(call, check->log().sites(), stream));
  GRAPHTREE_ASSIGN_OR_RETURN(const std::vector<UndeclaredWrite> writes,
                             check->End(call.function.options.mutated_inputs));
  // A write that is declared may hide another one of the same bytes, at any other place.
  if (call.variant != nullptr && IsChecked(call.function)) {
    call.variant->mutates_somewhere = call.variant->mutates;
  }
  if (writes.empty()) return absl::OkStatus();
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
    absl::StrAppend(&text, history_->stacks().Told(write.sites));
  }
  absl::StrAppend(&text, ToldCaller(call));
  Count(call.function, Reason::kUndeclaredWrite);
  if (options_.strict) return absl::FailedPreconditionError(text);
  Tell(call.function, Reason::kUndeclaredWrite, text);
  return absl::OkStatus();
}

// Memory of the caller's that is gone, named before anything runs on it.
absl::Status TreeCore::CheckInputsLive(const Call& call) {
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const Value& input = call.inputs[i];
    if (!input.is_tensor() || input.storage() != nullptr) continue;
    if (IsPlanted(PlantedBug::kForgetsDead)) continue;
    GRAPHTREE_RETURN_IF_ERROR(CheckHome(call, i));
    const AddressRange range = RangeOf(input);
    const absl::Status live = device_.memory().CheckLive(range);
    if (live.ok()) {
      history_->NoteAlive(range, {call.function.id, step_, call.from});
      continue;
    }
    return absl::FailedPreconditionError(
        absl::StrCat("input ", i, " of '", call.function.name, "', ",
                     call.function.IsStatic(i) ? "a static one, " : "", "is dead memory: ",
                     live.message(), ToldCaller(call), history_->ToldAlive(range)));
  }
  return absl::OkStatus();
}

absl::Status TreeCore::CheckOutsideLive(const Node& node, const Call& call) {
  for (const OutsideUse& use : node.outside) {
    const absl::Status live = device_.memory().CheckLive(use.range);
    if (live.ok()) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("'", node.variant->function->name, "' was not launched: '", use.op, "' ",
                     Verb(use.access), " memory outside of the tree that is dead: ",
                     live.message(), history_->stacks().Told({{use.op, use.at}}),
                     ToldCaller(call)));
  }
  return absl::OkStatus();
}

// What its ops point to outside of the step's memory, each range once, but for inputs that may be
// elsewhere at the next call.
void TreeCore::NoteOutside(const OpLog& log, Draft* draft) {
  draft->node->sites = log.sites();
  std::vector<OutsideUse>& outside = draft->node->outside;
  for (const LoggedAccess& access : log.accesses()) {
    bool known = access.range.empty() || memory_->InStepRegion(access.range);
    for (const OutsideUse& use : outside) known |= use.range == access.range;
    for (const MarkedInput& moving : draft->marked) {
      known |= moving.mark.raw_bytes().Overlaps(access.range);
    }
    if (!known) outside.push_back({access.op, access.access, access.range, access.at});
  }
}

// In checked mode a failure of the device comes to light in the call that caused it. What refuses a
// launch is told there and then, with the op (Launcher::Place); what kills a device is told by the
// next call that waits, on whatever stream, and a GPU does not say which kernel it was. So a call
// that is waited for names the ops that it ran, and for one that is not nothing can be named: its
// failure may come to light many calls later.
absl::Status TreeCore::AwaitChecked(const Call& call, absl::Span<const OpSite> sites,
                                    Stream& stream) {
  if (!IsChecked(call.function)) return absl::OkStatus();
  const absl::Status failed = stream.Synchronize();
  if (failed.ok()) return failed;
  const std::string where = absl::StrCat("the device failed in '", call.function.name, "'",
                                         Suspects(failed.message(), sites));
  return WithStacks(Placed(failed, where), call, sites);
}

// A run that asks is no warm-up that counts. What was asked is forgotten when a recording comes to
// be, or when a run behind the limit does not ask.
void TreeCore::NoteWarmUp(Call& call, const std::string& asked) {
  Variant& variant = *call.variant;
  if (asked.empty()) {
    variant.warm = true;
    return;
  }
  Count(call.function, Reason::kWarmUpAsked);
  if (++variant.asked_warm_ups > options_.warm_up_limit) variant.warm_up_asked_last = asked;
}

void TreeCore::TellObservers(GraphMoment moment, const Node& node, size_t section,
                             const Executable* executable, Stream* stream, bool ok) {
  GraphEvent event;
  event.moment = moment;
  event.function = node.variant->function->name;
  event.recording = node.id;
  event.section = section;
  event.ok = ok;
  event.stream = stream;
  event.graph = node.SectionAt(section).graph.get();
  event.executable = executable;
  NoteThrown(observers_.Tell(event));
}

void TreeCore::NoteThrown(const absl::Status& status) {
  if (status.ok() || ++stats_.thrown > 1 || !options_.warn) return;
  const std::string text = absl::StrCat(
      "an observer or the warning callback failed, which changes nothing: ", status.message());
  if (!Guarded([&] { options_.warn(text); }).ok()) ++stats_.thrown;
}

void TreeCore::TellOfDestruction(const Node& node, size_t section, const Executable& executable) {
  if (!observers_.any() || IsPlanted(PlantedBug::kForgetsDestroy)) return;
  TellObservers(GraphMoment::kDestroy, node, section, &executable, nullptr, true);
}

void TreeCore::TellOfDestruction(const Node& node) {
  size_t number = 0;
  node.VisitSections([&](const Section& section) {
    if (section.executable != nullptr) TellOfDestruction(node, number, *section.executable);
    if (section.spare != nullptr) TellOfDestruction(node, number, *section.spare->executable);
    ++number;
  });
}

// A stack of its own: paths may be hundreds of levels deep.
void TreeCore::TellOfTheEnd() {
  if (!observers_.any()) return;
  std::vector<const Node*> open = {&root_};
  while (!open.empty()) {
    const Node& node = *open.back();
    open.pop_back();
    TellOfDestruction(node);
    for (const std::unique_ptr<Node>& child : node.children) open.push_back(child.get());
  }
}

bool TreeCore::TakeRequests(Call& call, BodyRequests* requests, Draft* draft) {
  if (!requests->warm_up.empty() && !IsPlanted(PlantedBug::kRecordsUnsettled)) {
    NoteWarmUp(call, requests->warm_up);
    draft->status = absl::AbortedError(requests->warm_up);
    draft->reason = Reason::kWarmUpAsked;
    return false;
  }
  if (!workspaces_.AreCurrent(requests->workspaces)) {
    draft->status = absl::AbortedError("the workspace moved while the body ran");
    draft->reason = Reason::kWorkspaceMoved;
    return false;
  }
  draft->node->workspaces = std::move(requests->workspaces);
  if (IsPlanted(PlantedBug::kForgetsKeepAlive)) requests->keep_alive.clear();
  draft->node->keep_alive = std::move(requests->keep_alive);
  return true;
}

}  // namespace graphtree
