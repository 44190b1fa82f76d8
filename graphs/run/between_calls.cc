// Has functions and recordings leave, and ends what was closed meanwhile.
#include "graphs/run/between_calls.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device/observer.h"
#include "graphs/history/stack_marks.h"

namespace graphtree {
namespace {

StackId StackFrom(const void* frame, StepHistory& history) {
  const DoorMark door(frame);
  return history.stacks().Here();
}

}  // namespace

void BetweenCalls::BeginStep(const void* frame) {
  ClosedTree closed;  // by a destructor of an object that the step let go
  std::vector<Body> done;
  const Entrance::Pass pass(entrance_);
  if (!pass.entered()) return entrance_.NoteMissedStep();
  StepHistory& history = *ground_.history;
  history.SetStep(books_.step() + 1);
  ground_.order.EndStep();
  books_.BeginStep(functions_.any_checked() ? StackFrom(frame, history) : 0);
  if (functions_.anyone_leaves()) ground_.foreign->AwaitAllocations();
  functions_.LetLeave();
  Graveyard& graveyard = functions_.keeper().graveyard();
  if (!graveyard.empty()) {
    Bury();
    done = graveyard.TakeBodies();
  }
  closed = entrance_.TakeClosed();
}

FunctionId BetweenCalls::Register(std::string name, FunctionOptions options, Body body) {
  const Looking looking(entrance_.gate());
  return functions_.Register(std::move(name), std::move(options), std::move(body));
}

absl::Status BetweenCalls::Unregister(FunctionId id) {
  ClosedTree closed;  // by a destructor of an object that the function held
  std::vector<Body> done;
  const Changing changing(entrance_.gate());
  if (!changing.is_outermost()) {
    return absl::FailedPreconditionError(
        absl::StrCat(ground_.history->NameOf(id), " was not unregistered: that was asked for ",
                     entrance_.WhereInside(), "; unregister it between calls"));
  }
  Function* function = functions_.Find(id);
  if (function == nullptr) return functions_.NotRegistered(id);
  ground_.foreign->AwaitAllocations();
  const StepMemory::InCall in_call(*ground_.memory);
  functions_.Retire(function);
  if (functions_.anyone_leaves() && books_.path().ForgetDead().empty()) EndPathIfDead();
  // The first one marks, the second one destroys: so where no work is under way all goes now.
  Bury();
  Bury();
  done = functions_.keeper().graveyard().TakeBodies();
  closed = entrance_.TakeClosed();
  return absl::OkStatus();
}

void BetweenCalls::GiveUp(const Share& beyond) {
  GiveRecordings([&](Keeper& keeper) { keeper.GiveUp(beyond); });
}

uint64_t BetweenCalls::GiveMemory(uint64_t bytes, const std::string& for_whom) {
  uint64_t given = 0;
  GiveRecordings([&](Keeper& keeper) { given = keeper.GiveMemoryAway(bytes, for_whom); });
  return given;
}

void BetweenCalls::EndPause(FunctionId id) {
  const Changing changing(entrance_.gate());
  Function* const function = functions_.Find(id);
  if (!changing.is_outermost() || function == nullptr) return;
  for (auto& [hash, variants] : function->variants) {
    for (const std::unique_ptr<Variant>& variant : variants) variant->pause = 0;
  }
}

void BetweenCalls::GiveRecordings(const std::function<void(Keeper&)>& give) {
  ClosedTree closed;  // by a destructor of an object that a recording held
  std::vector<Body> done;
  const Changing changing(entrance_.gate());
  if (!changing.is_outermost()) return;
  ground_.foreign->AwaitAllocations();
  const StepMemory::InCall in_call(*ground_.memory);
  EndPathIfDead();
  books_.LeaveDeadWay();
  give(functions_.keeper());
  Bury();
  Bury();
  done = functions_.keeper().graveyard().TakeBodies();
  closed = entrance_.TakeClosed();
}

void BetweenCalls::EndPathIfDead() {
  if (books_.EndPathIfDead()) functions_.LetLeave();
}

void BetweenCalls::Bury() {
  if (entrance_.is_lost()) return;
  Graveyard& graveyard = functions_.keeper().graveyard();
  if (graveyard.empty()) return;
  ToldPhase told(journal_.observers(), Phase::kEvict, "");
  graveyard.Tidy(ground_.order.last());
  told.Ended(absl::OkStatus()).IgnoreError();
}

}  // namespace graphtree
