// Lets a call in, and on its way.
#include "graphs/run/tree_core.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "allocator/pool.h"
#include "device/base/guarded_call.h"
#include "device/base/insist.h"
#include "device/base/status_macros.h"
#include "device/leftovers.h"
#include "graphs/history/stack_marks.h"
#include "graphs/inputs/clone_watch.h"
#include "graphs/run/check_call.h"

namespace graphtree {
namespace {

bool LiesIn(const Values& values, absl::Span<const Value> inputs) {
  return !inputs.empty() && inputs.data() >= values.data() &&
         inputs.data() < values.data() + values.size();
}

absl::Status NoPlaceForOutputs(const Function& function) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", function.name, "' was called without a place for its outputs"));
}

absl::Status NoRecordingServes(const Function& function) {
  return absl::FailedPreconditionError(absl::StrCat(
      "'", function.name, "' was to be replayed, and no recording serves the call"));
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
      routes_(*entrance_, *ground_, books_, journal_, functions_, checks_, matcher_),
      misses_(*ground_, books_, journal_, functions_, checks_, routes_) {
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
    Entrance& entrance = *core->entrance_;
    const EndTree end{[](TreeCore* closed) { End(std::unique_ptr<TreeCore>(closed)); }};
    return entrance.CloseInside(ClosedTree(core.release(), end));
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
  awaited.Update(ground_->memory->stray_forks().Await());
  const absl::Status last = order.AwaitLast();
  if (!last.ok() && !order.last()->has_ended()) awaited.Update(last);
  return ground_->device.health().ok() ? awaited : absl::OkStatus();
}

absl::Status TreeCore::Run(FunctionId id, absl::Span<Value> inputs, Stream& stream,
                           Values* outputs, const void* frame, const CompareWith* compared,
                           bool must_replay) {
  ClosedTree closed;       // by the body; destroyed after the pass
  std::vector<Body> done;  // likewise
  const Entrance::Pass pass(*entrance_);
  if (!pass.entered()) return entrance_->WhyBusy(id);
  if (entrance_->has_pending_error()) return entrance_->TakePendingError();
  Function* const function = functions_.Find(id);
  if (function == nullptr) return functions_.NotRegistered(id);
  if (!Functions::MayBeCalled(*function)) return Functions::NotTheOwner(*function);
  if (outputs == nullptr) return NoPlaceForOutputs(*function);
  AwakeCall awake(*ground_->memory);
  if (ground_->memory->pool().parking().has_parked_or_will()) {
    GRAPHTREE_RETURN_IF_ERROR(awake.MayBegin(*function, inputs));
  }
  if (CloneWatch::any()) {
    GRAPHTREE_RETURN_IF_ERROR(CloneWatch::MayCall(function->name, inputs));
  }
  ++journal_.stats().calls;
  if (!LiesIn(*outputs, inputs)) ground_->LetGo(outputs);
  Call call{*function, nullptr, inputs, stream, outputs};
  call.must_replay = must_replay;
  if (ground_->device.open_captures() > 0) GRAPHTREE_RETURN_IF_ERROR(CheckStream(*ground_, call));
  Node* hit = awake.Keep(matcher_.FindHit(call), call);
  if (hit == nullptr && (must_replay || compared != nullptr)) hit = FindBeyond(call, &awake);
  if (hit == nullptr && must_replay) return NoRecordingServes(*function);
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
      awake.StayAwake(inputs);
      status = misses_.AfterFailedReplay(*hit, call, std::move(status));
    } else if (!entrance_->is_closed_inside()) {
      return status;
    }
  } else {
    awake.StayAwake(inputs);
    status = RunInside(frame, hit, call, compared);
    done = functions_.keeper().graveyard().TakeBodies();
  }
  status = LostIfStray(call, std::move(status));
  // The call's inputs are its caller's again, who may let go of them while work that reads them, or
  // puts their bytes back, is under way. A stream that the call was refused on has no such work.
  if (!status.ok() && CheckStream(*ground_, call).ok()) ground_->TellOwners(call.inputs, call);
  if (!entrance_->is_closed_inside()) return status;
  outputs->clear();
  closed = entrance_->TakeClosed();
  return Entrance::ClosedInside(call.function);
}

absl::Status TreeCore::Record(FunctionId id, Values inputs, Stream& stream, const void* frame) {
  ClosedTree closed;       // by the body; destroyed after the pass
  std::vector<Body> done;  // likewise
  const Entrance::Pass pass(*entrance_);
  if (!pass.entered()) return entrance_->WhyBusy(id);
  if (entrance_->has_pending_error()) return entrance_->TakePendingError();
  Function* const function = functions_.Find(id);
  if (function == nullptr) return functions_.NotRegistered(id);
  if (!Functions::MayBeCalled(*function)) return Functions::NotTheOwner(*function);
  Values outputs;
  AwakeCall awake(*ground_->memory);
  GRAPHTREE_RETURN_IF_ERROR(awake.MayBegin(*function, inputs));
  awake.StayAwake(inputs);
  Call call{*function, nullptr, absl::MakeSpan(inputs), stream, &outputs};
  call.launches = false;
  const DoorMark door(frame);
  ground_->foreign->AwaitAllocations();
  const absl::Status status = LostIfStray(call, misses_.Run(call));
  done = functions_.keeper().graveyard().TakeBodies();
  if (!entrance_->is_closed_inside()) return status;
  closed = entrance_->TakeClosed();
  return Entrance::ClosedInside(call.function);
}

absl::Status TreeCore::LostIfStray(const Call& call, absl::Status status) {
  const absl::Status& why = ground_->memory->stray_forks().why();
  if (why.ok() || entrance_->is_lost()) return status;
  std::string what =
      "work that its body has put on a stream that it forked can be neither ordered before what "
      "comes after it nor awaited";
  const bool is_told = status.ok() || absl::StrContains(status.message(), why.message());
  if (!is_told) absl::StrAppend(&what, ": ", why.message());
  return entrance_->Lose(call.function, what, status.ok() ? why : status);
}

Node* TreeCore::FindBeyond(Call& call, AwakeCall* awake) {
  if (foresight().FindBeyond(call) == nullptr) return nullptr;
  ground_->foreign->AwaitAllocations();
  const StepMemory::InCall in_call(*ground_->memory);
  if (books_.EndPathIfDead()) functions_.LetLeave();
  return awake->Keep(matcher_.FindHit(call), call);
}

absl::Status TreeCore::RunInside(const void* frame, Node* hit, Call& call,
                                 const CompareWith* compared) {
  const DoorMark door(frame);
  ground_->foreign->AwaitAllocations();
  if (hit == nullptr) return misses_.Run(call);
  absl::Status status = compared == nullptr ? routes_.replayer().Replay(hit, call)
                                            : routes_.parity().Replay(hit, call, *compared);
  return status.ok() ? status : misses_.AfterFailedReplay(*hit, call, std::move(status));
}

std::exception_ptr TreeCore::Inspect(const std::function<void()>& look) {
  ClosedTree closed;  // by `look`
  if (look == nullptr) return nullptr;
  const Looking looking(gate());
  const auto no_callbacks = ground_->foreign->HoldOff();
  CallbackMark callback;
  std::exception_ptr thrown = Caught([&] {
    callback.Enter();
    look();
  });
  if (looking.is_outermost()) closed = entrance_->TakeClosed();
  return thrown;
}

}  // namespace graphtree
