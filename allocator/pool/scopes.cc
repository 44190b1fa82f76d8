// Beginning and ending scopes.
#include "allocator/pool/scopes.h"

#include <algorithm>
#include <utility>

#include "device/base/status_macros.h"

namespace graphtree {

Scopes::Scopes(const Arena& arena, Door& door, Ledger& ledger, PoolStreams& streams,
               Growth& growth, Blocks& blocks, Checkpoints& checkpoints)
    : arena_(arena),
      door_(door),
      ledger_(ledger),
      streams_(streams),
      growth_(growth),
      blocks_(blocks),
      checkpoints_(checkpoints) {}

absl::StatusOr<std::unique_ptr<CaptureScope>> Scopes::Begin() {
  const Door::Entry entry(door_.guard());
  GRAPHTREE_RETURN_IF_ERROR(door_.Enter(entry));
  if (door_.is_asking()) return door_.NotWhileAsking("capture from");
  GRAPHTREE_ASSIGN_OR_RETURN(const CheckpointId start, checkpoints_.Take());
  if (door_.is_parked()) {
    checkpoints_.Drop(start).IgnoreError();
    return door_.UsedWhileParked("capturing");
  }
  auto scope = std::unique_ptr<CaptureScope>(new CaptureScope(this));
  scopes_.push_back(std::make_unique<OpenScope>(
      OpenScope{scope.get(), start, growth_.MappedNow(Region::kStep),
                growth_.MappedNow(Region::kLasting), ledger_.Watch(), {}}));
  scope->open_ = scopes_.back().get();
  ListQueuedFrees();
  streams_.table().EnterCapture();
  door_.waiting().deferred().Hold();
  return scope;
}

CaptureScope::~CaptureScope() {
  if (open_ != nullptr) RollBack().IgnoreError();
  if (open_ != nullptr) scopes_->Abandon(open_);
}

StreamLives CaptureScope::Commit() {
  if (open_ == nullptr) return {};
  // A destructor cannot report that another thread is inside: the next call rolls the scope back.
  const Door::Entry entry(scopes_->door_.guard());
  return entry.ok() ? scopes_->Commit(*open_) : StreamLives();
}

StreamLives CaptureScope::Awaited() const {
  return open_ == nullptr ? StreamLives() : scopes_->streams_.table().AwaitedAtLaunch();
}

absl::Status CaptureScope::RollBack() {
  if (scopes_ == nullptr) {
    return absl::FailedPreconditionError(
        "a capture's scope is rolled back after the end of its pool");
  }
  if (open_ == nullptr) return absl::OkStatus();
  const Door::Entry entry(scopes_->door_.guard());
  if (!entry.ok()) return Door::Entry::TwoThreads();
  if (scopes_->door_.is_asking()) {
    return scopes_->door_.NotWhileAsking("roll back a capture of");
  }
  return scopes_->RollBack(*open_);
}

// Frees of other threads are listed in the innermost scope.
void Scopes::ListQueuedFrees() {
  blocks_.ListQueuedFreesIn(scopes_.empty() ? nullptr : &scopes_.back()->freed_elsewhere);
}

std::unique_ptr<Scopes::OpenScope> Scopes::EndInnermost() {
  std::unique_ptr<OpenScope> scope = std::move(scopes_.back());
  scopes_.pop_back();
  ListQueuedFrees();
  const std::lock_guard<std::mutex> lock(mutex_);
  if (scope->handle != nullptr) scope->handle->open_ = nullptr;
  abandoned_.erase(std::remove(abandoned_.begin(), abandoned_.end(), scope.get()),
                   abandoned_.end());
  door_.waiting().SetHasAbandoned(!abandoned_.empty());
  return scope;
}

StreamLives Scopes::Commit(const OpenScope& scope) {
  StreamLives awaited;
  for (bool is_last = false; !is_last;) {
    is_last = scopes_.back().get() == &scope;
    const std::unique_ptr<OpenScope> ended = EndInnermost();
    ledger_.EndWatch();
    checkpoints_.Drop(ended->start).IgnoreError();
    const StreamLives own = streams_.table().LeaveCapture();
    awaited.insert(awaited.end(), own.begin(), own.end());
    if (!scopes_.empty()) {
      std::vector<BlockId>& freed = scopes_.back()->freed_elsewhere;
      freed.insert(freed.end(), ended->freed_elsewhere.begin(), ended->freed_elsewhere.end());
    }
    door_.waiting().deferred().LetGo();
  }
  // Not from a callback: an allocation is half done.
  if (!door_.is_asking()) door_.waiting().DrainDeferred();
  arena_.device().GiveBackLeftovers().IgnoreError();
  return awaited;
}

absl::Status Scopes::RollBack(const OpenScope& scope) {
  // While the handles are good: what the capture itself made may be among them.
  GRAPHTREE_RETURN_IF_ERROR(blocks_.FreeQueued());
  while (scopes_.back().get() != &scope) GRAPHTREE_RETURN_IF_ERROR(RollBackInnermost());
  return RollBackInnermost();
}

absl::Status Scopes::RollBackInnermost() {
  const std::unique_ptr<OpenScope> ended = EndInnermost();
  streams_.table().LeaveCapture();
  // The lasting region first: undoing it also takes back declarations of step blocks as kept, and
  // the restore would leave a block alive that is declared so.
  checkpoints_.UndoWatched(ended->watch_mark);
  const absl::Status restored = checkpoints_.RestoreNow(ended->start, {});
  const absl::Status dropped = checkpoints_.Drop(ended->start);
  blocks_.FreeAgain(ended->freed_elsewhere);
  DeferredQueue& deferred = door_.waiting().deferred();
  deferred.LetGo();
  GRAPHTREE_RETURN_IF_ERROR(restored);
  GRAPHTREE_RETURN_IF_ERROR(dropped);
  // The books are as before. Memory that cannot be given back now is nobody's, and a trim finds it.
  door_.waiting().KeepFailure(
      deferred.Do("return what a failed capture grew by",
                  [this, step = ended->step, lasting = ended->lasting] {
                    GRAPHTREE_RETURN_IF_ERROR(growth_.ReturnSince(Region::kStep, step));
                    return growth_.ReturnSince(Region::kLasting, lasting);
                  }));
  return absl::OkStatus();
}

void Scopes::Abandon(OpenScope* scope) {
  const std::lock_guard<std::mutex> lock(mutex_);
  scope->handle = nullptr;
  abandoned_.push_back(scope);
  door_.waiting().SetHasAbandoned(true);
}

void Scopes::EndAbandoned() {
  for (;;) {
    OpenScope* scope = nullptr;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (abandoned_.empty()) break;
      scope = abandoned_.back();
    }
    door_.waiting().KeepFailure(RollBack(*scope));
  }
}

void Scopes::LetGo() {
  for (const std::unique_ptr<OpenScope>& scope : scopes_) {
    if (scope->handle == nullptr) continue;
    scope->handle->open_ = nullptr;
    scope->handle->scopes_ = nullptr;
  }
}

}  // namespace graphtree
