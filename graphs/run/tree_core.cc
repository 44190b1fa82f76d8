// Chooses the route of each call.
#include "graphs/run/tree_core.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "allocator/pool.h"
#include "device/base/guarded_call.h"
#include "device/base/insist.h"
#include "device/base/status_macros.h"
#include "device/leftovers.h"
#include "graphs/history/stack_marks.h"
#include "graphs/inputs/clone_watch.h"
#include "graphs/run/check_call.h"
#include "graphs/run/decide.h"
#include "graphs/run/planted_bug.h"

namespace graphtree {
namespace {

bool LiesIn(const Values& values, absl::Span<const Value> inputs) {
  return !inputs.empty() && inputs.data() >= values.data() &&
         inputs.data() < values.data() + values.size();
}

std::optional<Reason> WhyOthersDoNotServe(const MissFacts& facts) {
  if (!facts.sibling.has_value()) return std::nullopt;
  return facts.sibling->against;
}

StackId StackFrom(const void* frame, StepHistory& history) {
  const DoorMark door(frame);
  return history.stacks().Here();
}

}  // namespace

absl::StatusOr<std::unique_ptr<TreeCore>> TreeCore::Create(Device& device,
                                                           const TreeOptions& options) {
  GRAPHTREE_RETURN_IF_ERROR(CheckBudget(options.budget));
  auto history = std::make_shared<StepHistory>();
  auto entrance = std::make_unique<Entrance>(history);
  GRAPHTREE_ASSIGN_OR_RETURN(
      std::unique_ptr<Ground> ground,
      Ground::Make(device, options, std::move(history),
                   [gate = &entrance->gate()] { return gate->is_used_elsewhere(); }));
  auto core = std::unique_ptr<TreeCore>(new TreeCore(std::move(entrance), std::move(ground)));
  GRAPHTREE_RETURN_IF_ERROR(core->books_.Open());
  return core;
}

TreeCore::TreeCore(std::unique_ptr<Entrance> entrance, std::unique_ptr<Ground> ground)
    : entrance_(std::move(entrance)),
      ground_(std::move(ground)),
      books_(*ground_->memory),
      journal_(ground_->options, books_.path()),
      functions_(*ground_, books_, journal_),
      checks_(*ground_, books_, journal_),
      matcher_(*ground_, books_.path()),
      routes_(*entrance_, *ground_, books_, journal_, functions_, checks_, matcher_) {
  ground_->giver->SetGive([this](const MemoryWanted& wanted, const MemoryGiver::Taker& taker) {
    return functions_.keeper().GiveMemory(wanted, taker);
  });
}

// A closed tree whose work is under way, or that went while a capture was open.
class TreeCore::Remains : public Leftover {
 public:
  explicit Remains(std::unique_ptr<TreeCore> core) : core_(std::move(core)) {}
  absl::Status GiveBack() override { return core_->AwaitWork(); }

 private:
  const std::unique_ptr<TreeCore> core_;
};

void TreeCore::Close(std::unique_ptr<TreeCore> core) {
  if (core->entrance_->IsInOwnCall()) {
    TreeCore& running = *core;
    running.closed_inside_.reset(core.release());
    return;
  }
  core->gate().Enter();
  End(std::move(core));
}

// A capture may begin and end between any two questions. So that none is open now does not say that
// the wait was not refused because of one.
void TreeCore::End(std::unique_ptr<TreeCore> core) {
  core->books_.Close();
  core->ground_->foreign->StopGiving();
  const absl::Status awaited = core->AwaitWork();
  core->journal_.SayAllDestroyed(core->books_.root());
  Device& device = core->ground_->device;
  if (awaited.ok() && device.open_captures() == 0) return;
  device.LeaveBehind(std::make_unique<Remains>(std::move(core)));
}

// Of a lost device nobody knows when its work ends. A stream that ended within a capture cannot be
// awaited at all, and the pool gives such streams up, too. A stream that goes on may still be given
// work on outputs that are held: the pool, which lives as long as they do, waits for that.
absl::Status TreeCore::AwaitWork() {
  Pool& pool = ground_->memory->pool();
  StreamOrder& order = ground_->order;
  absl::Status awaited = Insist([&pool] { return pool.streams().WaitAndForgetEnded(); });
  const absl::Status last = order.AwaitLast();
  if (!last.ok() && !order.last()->has_ended()) awaited.Update(last);
  return ground_->device.health().ok() ? awaited : absl::OkStatus();
}

FunctionId TreeCore::Register(std::string name, FunctionOptions options, Body body) {
  const Looking looking(gate());
  return functions_.Register(std::move(name), std::move(options), std::move(body));
}

// Bodies are destroyed after the gate is open again: destructors of their objects may call the
// tree.
absl::Status TreeCore::Unregister(FunctionId id) {
  Closed closed;  // by a destructor of an object that the function held
  std::vector<Body> done;
  const Changing changing(gate());
  if (!changing.is_outermost()) {
    return absl::FailedPreconditionError(
        absl::StrCat(ground_->history->NameOf(id), " was not unregistered: that was asked for ",
                     entrance_->WhereInside(), "; unregister it between calls"));
  }
  Function* function = functions_.Find(id);
  if (function == nullptr) return functions_.NotRegistered(id);
  ground_->foreign->AwaitAllocations();
  const StepMemory::InCall in_call(*ground_->memory);
  functions_.Retire(function);
  if (functions_.anyone_leaves() && books_.path().ForgetDead().empty()) EndPathIfDead();
  // The first one marks, the second one destroys: so where no work is under way all goes now.
  Bury();
  Bury();
  done = functions_.keeper().graveyard().TakeBodies();
  closed = std::move(closed_inside_);
  return absl::OkStatus();
}

void TreeCore::GiveRecordings(const std::function<void(Keeper&)>& give) {
  Closed closed;  // by a destructor of an object that a recording held
  std::vector<Body> done;
  const Changing changing(gate());
  if (!changing.is_outermost()) return;
  ground_->foreign->AwaitAllocations();
  const StepMemory::InCall in_call(*ground_->memory);
  EndPathIfDead();
  books_.LeaveDeadWay();
  give(functions_.keeper());
  Bury();
  Bury();
  done = functions_.keeper().graveyard().TakeBodies();
  closed = std::move(closed_inside_);
}

void TreeCore::GiveUp(const Share& beyond) {
  GiveRecordings([&](Keeper& keeper) { keeper.GiveUp(beyond); });
}

uint64_t TreeCore::GiveMemory(uint64_t bytes, const std::string& for_whom) {
  uint64_t given = 0;
  GiveRecordings([&](Keeper& keeper) { given = keeper.GiveMemoryAway(bytes, for_whom); });
  return given;
}

void TreeCore::EndPause(FunctionId id) {
  const Changing changing(gate());
  Function* const function = functions_.Find(id);
  if (!changing.is_outermost() || function == nullptr) return;
  for (auto& [hash, variants] : function->variants) {
    for (const std::unique_ptr<Variant>& variant : variants) variant->pause = 0;
  }
}

void TreeCore::BeginStep(const void* frame) {
  Closed closed;  // by a destructor of an object that the step let go
  std::vector<Body> done;
  const Entrance::Pass pass(*entrance_);
  if (!pass.entered()) return entrance_->NoteMissedStep();
  StepHistory& history = *ground_->history;
  history.SetStep(books_.step() + 1);
  ground_->order.EndStep();
  books_.BeginStep(functions_.any_checked() ? StackFrom(frame, history) : 0);
  if (functions_.anyone_leaves()) ground_->foreign->AwaitAllocations();
  functions_.LetLeave();
  Graveyard& graveyard = functions_.keeper().graveyard();
  if (!graveyard.empty()) {
    Bury();
    done = graveyard.TakeBodies();
  }
  closed = std::move(closed_inside_);
}

absl::Status TreeCore::Run(FunctionId id, absl::Span<Value> inputs, Stream& stream,
                           Values* outputs, const void* frame, const CompareWith* compared,
                           bool must_replay) {
  Closed closed;  // by the body; destroyed after the pass
  std::vector<Body> done;            // likewise
  const Entrance::Pass pass(*entrance_);
  if (!pass.entered()) return entrance_->WhyBusy(id);
  if (entrance_->has_pending_error()) return entrance_->TakePendingError();
  Function* const function = functions_.Find(id);
  if (function == nullptr) return functions_.NotRegistered(id);
  if (!Functions::MayBeCalled(*function)) return Functions::NotTheOwner(*function);
  std::optional<StepMemory::StaysAwake> awake;
  if (ground_->memory->pool().has_parked_or_will() || outputs == nullptr) {
    GRAPHTREE_RETURN_IF_ERROR(MayBegin(*function, inputs, outputs, &awake));
  }
  if (CloneWatch::any()) {
    GRAPHTREE_RETURN_IF_ERROR(CloneWatch::MayCall(function->name, inputs));
  }
  ++journal_.stats().calls;
  if (!LiesIn(*outputs, inputs)) ground_->LetGo(outputs);
  Call call{*function, nullptr, inputs, stream, outputs};
  call.must_replay = must_replay;
  if (ground_->device.open_captures() > 0) GRAPHTREE_RETURN_IF_ERROR(CheckStream(*ground_, call));
  Node* hit = FindHit(call, &awake);
  if (hit == nullptr && (must_replay || compared != nullptr) && FindBeyond(call) != nullptr) {
    EndDeadPath();
    hit = FindHit(call, &awake);
  }
  if (hit == nullptr && must_replay) {
    return absl::FailedPreconditionError(absl::StrCat(
        "'", function->name, "' was to be replayed, and no recording serves the call"));
  }
  // After the match: another thread tells of a tensor's use before it drops the tensor, so whoever
  // sees the tensor dead is told.
  if (ground_->memory->other_users().any()) {
    GRAPHTREE_RETURN_IF_ERROR(WaitForOtherUsers(*ground_, call));
  }
  const bool calls_nobody = hit != nullptr && hit->cuts.empty() && !functions_.any_checked() &&
                            compared == nullptr;
  absl::Status status;
  if (calls_nobody) {
    status = routes_.replayer().Replay(hit, call);
    if (!status.ok()) {
      const DoorMark door(frame);
      StayAwake(inputs, &awake);
      status = AfterFailedReplay(*hit, call, std::move(status));
    } else if (closed_inside_ == nullptr) {
      return status;
    }
  } else {
    StayAwake(inputs, &awake);
    status = RunInside(frame, hit, call, compared);
    done = functions_.keeper().graveyard().TakeBodies();
  }
  // The call's inputs are its caller's again, who may let go of them while work that reads them, or
  // puts their bytes back, is under way. A stream that the call was refused on has no such work.
  if (!status.ok() && CheckStream(*ground_, call).ok()) ground_->TellOwners(call.inputs, call);
  if (closed_inside_ == nullptr) return status;
  outputs->clear();
  closed = std::move(closed_inside_);
  return Entrance::ClosedInside(call.function);
}

absl::Status TreeCore::Record(FunctionId id, Values inputs, Stream& stream, const void* frame) {
  Closed closed;  // by the body; destroyed after the pass
  std::vector<Body> done;            // likewise
  const Entrance::Pass pass(*entrance_);
  if (!pass.entered()) return entrance_->WhyBusy(id);
  if (entrance_->has_pending_error()) return entrance_->TakePendingError();
  Function* const function = functions_.Find(id);
  if (function == nullptr) return functions_.NotRegistered(id);
  if (!Functions::MayBeCalled(*function)) return Functions::NotTheOwner(*function);
  Values outputs;
  std::optional<StepMemory::StaysAwake> awake;
  GRAPHTREE_RETURN_IF_ERROR(MayBegin(*function, inputs, &outputs, &awake));
  StayAwake(inputs, &awake);
  Call call{*function, nullptr, absl::MakeSpan(inputs), stream, &outputs};
  call.launches = false;
  const DoorMark door(frame);
  ground_->foreign->AwaitAllocations();
  absl::Status status = RunMiss(call);
  done = functions_.keeper().graveyard().TakeBodies();
  if (closed_inside_ == nullptr) return status;
  closed = std::move(closed_inside_);
  return Entrance::ClosedInside(call.function);
}

const Node* TreeCore::FindFor(FunctionId id, absl::Span<Value> inputs, Stream& stream,
                              bool begins_step) {
  const Entrance::Pass pass(*entrance_);
  if (!pass.entered() || entrance_->has_pending_error()) return nullptr;
  Function* const function = functions_.Find(id);
  if (function == nullptr || ground_->memory->pool().has_parked_or_will()) return nullptr;
  if (functions_.IsLeaving(*function) || !Functions::MayBeCalled(*function)) return nullptr;
  Call call{*function, nullptr, inputs, stream, nullptr};
  if (ground_->device.open_captures() > 0 && !CheckStream(*ground_, call).ok()) return nullptr;
  if (begins_step) return FindAtRoot(call);
  const Node* const hit = matcher_.FindHit(call);
  return hit != nullptr ? hit : FindBeyond(call);
}

Node* TreeCore::FindAtRoot(Call& call) {
  Path fresh(&books_.root());
  return Matcher(*ground_, fresh).FindHit(call);
}

Node* TreeCore::FindBeyond(Call& call) {
  const bool is_dead = !books_.path().empty() && books_.path().CountAlive() == 0;
  return is_dead ? FindAtRoot(call) : nullptr;
}

void TreeCore::EndDeadPath() {
  ground_->foreign->AwaitAllocations();
  const StepMemory::InCall in_call(*ground_->memory);
  EndPathIfDead();
}

bool TreeCore::WouldReplayFirst(FunctionId id, absl::Span<Value> inputs, Stream& stream) {
  const Node* const hit = FindFor(id, inputs, stream, /*begins_step=*/true);
  if (hit == nullptr || !hit->cuts.empty() || !hit->section.ingest.empty()) return false;
  // Where there is no room for its executable, or for what it keeps, the body runs at once.
  if (IsEvicted(*hit) || !hit->kept.empty()) return false;
  // Checked mode runs the body before the first replay.
  return hit->replays > 0 || !ground_->options.compare_replays;
}

bool TreeCore::WouldReplay(FunctionId id, absl::Span<Value> inputs, Stream& stream,
                           bool begins_step) {
  return FindFor(id, inputs, stream, begins_step) != nullptr;
}

void TreeCore::StayAwake(absl::Span<const Value> inputs,
                         std::optional<StepMemory::StaysAwake>* awake) {
  if (!awake->has_value()) awake->emplace(*ground_->memory, inputs);
}

// Another thread may park memory between the match and the moment from which it stays awake. So the
// inputs are asked once more.
Node* TreeCore::FindHit(Call& call, std::optional<StepMemory::StaysAwake>* awake) {
  Node* const hit = matcher_.FindHit(call);
  if (hit == nullptr || (!call.brings_others && hit->held.empty())) return hit;
  StayAwake(call.inputs, awake);
  if (!call.brings_others) return hit;
  const bool is_any_parked = absl::c_any_of(call.inputs, [](const Value& input) {
    return input.storage() != nullptr && input.storage()->owner()->is_parked();
  });
  return is_any_parked ? nullptr : hit;
}

absl::Status TreeCore::MayBegin(const Function& function, absl::Span<const Value> inputs,
                                const Values* outputs,
                                std::optional<StepMemory::StaysAwake>* awake) {
  if (outputs == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", function.name, "' was called without a place for its outputs"));
  }
  Pool& pool = ground_->memory->pool();
  if (!pool.has_parked_or_will()) return absl::OkStatus();
  pool.parking().ParkIfDue();
  if (pool.has_parked()) {
    const char* part = pool.is_parked() ? "" : "a part of ";
    return absl::FailedPreconditionError(absl::StrCat(
        "'", function.name, "' was called while ", part, "the tree's memory is parked. Wake it."));
  }
  // What the park waits for may end in the middle of this call.
  StayAwake(inputs, awake);
  return absl::OkStatus();
}

absl::Status TreeCore::RunInside(const void* frame, Node* hit, Call& call,
                                 const CompareWith* compared) {
  const DoorMark door(frame);
  ground_->foreign->AwaitAllocations();
  if (hit == nullptr) return RunMiss(call);
  absl::Status status = compared == nullptr ? routes_.replayer().Replay(hit, call)
                                            : routes_.parity().Replay(hit, call, *compared);
  return status.ok() ? status : AfterFailedReplay(*hit, call, std::move(status));
}

absl::Status TreeCore::AfterFailedReplay(const Node& node, Call& call, absl::Status status) {
  functions_.keeper().Settle();
  const std::optional<Replayer::NotReplayed> why = routes_.replayer().TakeNotReplayed();
  if (!why.has_value()) return status;
  if (call.must_replay) return NothingReplayed(call, why->reason, why->detail);
  ground_->foreign->AwaitAllocations();
  call.variant = node.variant;
  journal_.NoteRoute(CallRoute::kRanEagerly, why->reason);
  return routes_.eager().Run(call, why->reason, {}, why->detail);
}

absl::Status TreeCore::CheckMiss(Call& call) {
  GRAPHTREE_RETURN_IF_ERROR(call.function.options_error);
  GRAPHTREE_RETURN_IF_ERROR(CheckStream(*ground_, call));
  GRAPHTREE_RETURN_IF_ERROR(CheckInputs(*ground_, call));
  if (!checks_.Applies(call.function)) return absl::OkStatus();
  checks_.NoteCaller(&call);
  return checks_.InputsAreLive(call);
}

absl::Status TreeCore::RunMiss(Call& call) {
  const StepMemory::InCall in_call(*ground_->memory);
  const Keeper::SettledAtTheEnd settled{functions_.keeper()};
  GRAPHTREE_RETURN_IF_ERROR(CheckMiss(call));
  functions_.keeper().BeginCall(journal_.stats().calls, ground_->order.last());
  const bool destroys = IsPlanted(PlantedBug::kDestroysInCaptures);
  if (destroys && ground_->device.open_captures() > 0) {
    functions_.keeper().graveyard().DestroyAll();
  }
  books_.path().ForgetDead();  // outputs that died since the last call are let go within this one
  Miss miss = routes_.misses().Begin(&call);
  if (call.variant != nullptr) GRAPHTREE_RETURN_IF_ERROR(CheckPromises(call));
  return TakeRoute(call, &miss);
}

Decision TreeCore::Look(Call& call, bool is_again, Miss* miss) {
  ToldPhase told(journal_.observers(), Phase::kMatch, call.function.name);
  routes_.misses().Look(call, is_again, miss);
  told.Ended(absl::OkStatus()).IgnoreError();
  return Decide(miss->facts);
}

absl::Status TreeCore::TakeRoute(Call& call, Miss* miss) {
  using Route = Decision::Route;
  RecordOutcome recorded;
  const size_t most = Recorder::MostRecordings(call);
  for (size_t recordings = 0; recordings < most;) {
    const bool is_again = recordings > 0;
    const Decision decision = Look(call, is_again, miss);
    const bool may_record = decision.route == Route::kRecord || decision.route == Route::kNewPath;
    if (!call.launches && !may_record) return WhyNotRecorded(call, decision);
    routes_.notes().Note(call, decision, miss);
    switch (decision.route) {
      case Route::kEager:
        journal_.NoteRoute(CallRoute::kRanEagerly, decision.reason);
        return routes_.eager().Run(call, decision.reason, miss->roles.chosen);
      case Route::kWarmUp:
        journal_.NoteRoute(CallRoute::kWarmedUp);
        return routes_.eager().WarmUp(call, miss->roles.own);
      case Route::kReplay: {
        if (ground_->memory->other_users().any()) {
          GRAPHTREE_RETURN_IF_ERROR(WaitForOtherUsers(*ground_, call));
        }
        absl::Status status = routes_.replayer().Replay(miss->match, call);
        return status.ok() ? status : AfterFailedReplay(*miss->match, call, std::move(status));
      }
      case Route::kNewPath:
        EndPathIfDead();
        continue;
      case Route::kRecord:
        break;
    }
    ++recordings;
    if (!is_again) journal_.NoteRoute(CallRoute::kRecorded, WhyOthersDoNotServe(miss->facts));
    recorded = routes_.recorder().Record(call, miss->roles);
    if (recorded.next != RecordOutcome::Next::kAgain) break;
  }
  if (!call.launches && recorded.next != RecordOutcome::Next::kDone) {
    return absl::Status(
        IsLackOfRoom(recorded.reason) ? absl::StatusCode::kResourceExhausted
                                      : absl::StatusCode::kFailedPrecondition,
        absl::StrCat("'", call.function.name, "' was not recorded: ",
                     ReasonSentence(recorded.reason), ": ", recorded.detail));
  }
  switch (recorded.next) {
    case RecordOutcome::Next::kDone:
      return recorded.status;
    case RecordOutcome::Next::kWarmUp:
      journal_.NoteRoute(CallRoute::kWarmedUp);
      return routes_.eager().WarmUp(call, miss->roles.own);
    default:
      journal_.NoteRoute(CallRoute::kRanEagerly, recorded.reason);
      return routes_.eager().Run(call, recorded.reason, miss->roles.chosen, recorded.detail);
  }
}

void TreeCore::Bury() {
  if (entrance_->is_lost()) return;
  Graveyard& graveyard = functions_.keeper().graveyard();
  if (graveyard.empty()) return;
  ToldPhase told(observers(), Phase::kEvict, "");
  graveyard.Tidy(ground_->order.last());
  told.Ended(absl::OkStatus()).IgnoreError();
}

void TreeCore::EndPathIfDead() {
  if (books_.EndPathIfDead()) functions_.LetLeave();
}

std::exception_ptr TreeCore::Inspect(const std::function<void()>& look) {
  Closed closed;  // by `look`
  if (look == nullptr) return nullptr;
  const Looking looking(gate());
  CallbackMark callback;
  std::exception_ptr thrown = Caught([&] {
    callback.Enter();
    look();
  });
  if (looking.is_outermost()) closed = std::move(closed_inside_);
  return thrown;
}

}  // namespace graphtree
