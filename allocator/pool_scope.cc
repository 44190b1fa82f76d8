// Captures that may fail: what a scope remembers, and how the pool goes back to it.
#include <algorithm>
#include <utility>

#include "allocator/left_behind.h"
#include "allocator/pool.h"
#include "device/base/status_macros.h"

namespace graphtree {

absl::StatusOr<std::unique_ptr<CaptureScope>> CaptureScope::Begin(Pool& pool) {
  const ThreadGuard::Entry entry(pool.guard_);
  if (pool.IsUnusual(entry)) GRAPHTREE_RETURN_IF_ERROR(pool.EnterSlow(entry.kind()));
  if (pool.asks_server_) return pool.NotWhileAsking("capture from");
  GRAPHTREE_ASSIGN_OR_RETURN(const CheckpointId start, pool.Take());
  if (pool.parked_) {
    pool.Drop(start).IgnoreError();
    return pool.UsedWhileParked("capturing");
  }
  auto scope = std::unique_ptr<CaptureScope>(new CaptureScope(&pool));
  pool.scopes_.push_back(std::make_unique<Pool::OpenScope>(
      Pool::OpenScope{scope.get(), start, pool.MappedNow(Region::kStep),
                      pool.MappedNow(Region::kKept), pool.ledger_.Watch(), {}}));
  scope->open_ = pool.scopes_.back().get();
  pool.streams_.EnterCapture();
  pool.deferred_.Hold();
  return scope;
}

CaptureScope::~CaptureScope() {
  if (open_ != nullptr) RollBack().IgnoreError();
  if (open_ != nullptr) pool_->Abandon(open_);
}

StreamLives CaptureScope::Commit() {
  if (open_ == nullptr) return {};
  // With two threads inside there is nobody to tell; it is then rolled back by the next call.
  const ThreadGuard::Entry entry(pool_->guard_);
  return entry.ok() ? pool_->Commit(*open_) : StreamLives();
}

StreamLives CaptureScope::Awaited() const {
  return open_ == nullptr ? StreamLives() : pool_->streams_.AwaitedAtLaunch();
}

absl::Status CaptureScope::RollBack() {
  if (pool_ == nullptr) {
    return absl::FailedPreconditionError(
        "a capture's scope is rolled back behind the end of its pool");
  }
  if (open_ == nullptr) return absl::OkStatus();
  const ThreadGuard::Entry entry(pool_->guard_);
  if (!entry.ok()) return ThreadGuard::Entry::TwoThreads();
  if (pool_->asks_server_) return pool_->NotWhileAsking("roll back a capture of");
  return pool_->RollBack(*open_);
}

std::unique_ptr<Pool::OpenScope> Pool::EndInnermost() {
  std::unique_ptr<OpenScope> scope = std::move(scopes_.back());
  scopes_.pop_back();
  const std::lock_guard<std::mutex> lock(queue_mutex_);
  if (scope->handle != nullptr) scope->handle->open_ = nullptr;
  abandoned_.erase(std::remove(abandoned_.begin(), abandoned_.end(), scope.get()),
                   abandoned_.end());
  has_abandoned_.store(!abandoned_.empty(), std::memory_order_release);
  return scope;
}

StreamLives Pool::Commit(const OpenScope& scope) {
  StreamLives awaited;
  for (bool is_last = false; !is_last;) {
    is_last = scopes_.back().get() == &scope;
    const std::unique_ptr<OpenScope> ended = EndInnermost();
    FreeScratch();
    ledger_.EndWatch();
    Drop(ended->start).IgnoreError();
    const StreamLives own = streams_.LeaveCapture();
    awaited.insert(awaited.end(), own.begin(), own.end());
    if (!scopes_.empty()) {
      std::vector<BlockId>& freed = scopes_.back()->freed_elsewhere;
      freed.insert(freed.end(), ended->freed_elsewhere.begin(), ended->freed_elsewhere.end());
    }
    deferred_.LetGo();
  }
  // Not from a callback: an allocation is half done.
  if (!asks_server_) DrainDeferred();
  LeftBehind::Release(device_).IgnoreError();
  return awaited;
}

absl::Status Pool::RollBack(const OpenScope& scope) {
  // While the handles are good: what the capture itself made may be among them.
  GRAPHTREE_RETURN_IF_ERROR(DrainQueuedFrees());
  while (scopes_.back().get() != &scope) GRAPHTREE_RETURN_IF_ERROR(RollBackInnermost());
  return RollBackInnermost();
}

absl::Status Pool::RollBackInnermost() {
  const std::unique_ptr<OpenScope> ended = EndInnermost();
  FreeScratch();
  streams_.LeaveCapture();
  // Kept memory first: what was declared kept meanwhile must not stand in the way of the step's.
  ledger_.UndoWatch(ended->kept_mark, streams_.now(), &plan_.dies, &plan_.wakes);
  AdoptState();
  if (tells_device_) TellDevice(plan_);
  GuardAgain(plan_.wakes);
  const absl::Status restored = RestoreNow(ended->start, {});
  const absl::Status dropped = Drop(ended->start);
  FreeAgain(ended->freed_elsewhere);
  deferred_.LetGo();
  GRAPHTREE_RETURN_IF_ERROR(restored);
  GRAPHTREE_RETURN_IF_ERROR(dropped);
  // The books are as before. Memory that cannot be given back now is nobody's, and a trim finds it.
  const absl::Status returned =
      deferred_.Do("return what a failed capture grew by",
                   [this, step = ended->step, kept = ended->kept] {
                     GRAPHTREE_RETURN_IF_ERROR(ReturnGrowth(Region::kStep, step));
                     return ReturnGrowth(Region::kKept, kept);
                   });
  if (!returned.ok() && first_deferred_failure_.ok()) first_deferred_failure_ = returned;
  return absl::OkStatus();
}

// What other threads freed while the scope was open is nobody's any more: they do not know of the
// capture, and will not free it a second time. It was told and counted before.
void Pool::FreeAgain(const std::vector<BlockId>& freed_elsewhere) {
  for (BlockId id : freed_elsewhere) {
    if (ledger_.Check(id) != FreeOutcome::kFreed) continue;
    const BlockRecord& record = ledger_.record(id.index);
    if (tells_device_) device_.memory().NoteDead(ToldRange(record), words_[record.tag]);
    CountDead(record);
    // The restore brought it back; its free is told a second time, or it would seem to live.
    Log(HistoryAction::kFreeRequested, record);
    Log(HistoryAction::kFreeCompleted, record);
    ledger_.FreeLive(id, streams_.now());
    if (!scopes_.empty()) scopes_.back()->freed_elsewhere.push_back(id);
  }
}

void Pool::Abandon(OpenScope* scope) {
  const std::lock_guard<std::mutex> lock(queue_mutex_);
  scope->handle = nullptr;
  abandoned_.push_back(scope);
  has_abandoned_.store(!abandoned_.empty(), std::memory_order_release);
}

void Pool::EndAbandonedScopes() {
  for (;;) {
    OpenScope* scope = nullptr;
    {
      const std::lock_guard<std::mutex> lock(queue_mutex_);
      if (abandoned_.empty()) break;
      scope = abandoned_.back();
    }
    const absl::Status status = RollBack(*scope);
    if (!status.ok() && first_deferred_failure_.ok()) first_deferred_failure_ = status;
  }
}

}  // namespace graphtree
