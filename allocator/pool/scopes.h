// Captures that may fail: what a scope remembers while a capture allocates from the pool, and how
// the pool goes back to it.
//
//   Begin      a checkpoint of the step region, a mark in the watch on the lasting region, what is
//              mapped; the pool's deferred work is held
//      |       ... allocations and frees of the captured function ...
//      |       ... frees by other threads: listed, as they stay done
//   Commit     the checkpoint and the marks go; whoever launches the graph waits for the returned
//              streams, the earlier users of the memory that it may use
//   RollBack   lasting region, then step region go back, silently like a restore; frees of other
//              threads are done again; the memory that the pool grew by is returned
//
// Scopes nest. One that ends takes those along that began inside of it. What must wait for captures
// waits for scopes too, and is done by the end of the last.
//
// A scope that goes while it cannot be rolled back, as its pool asks the server for memory or
// another thread is inside, is abandoned: the pool's next call rolls it back.
//
// Threads: as the pool; a scope may be abandoned on any.
#ifndef GRAPHTREE_ALLOCATOR_POOL_SCOPES_H_
#define GRAPHTREE_ALLOCATOR_POOL_SCOPES_H_

#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "allocator/books/block_record.h"
#include "allocator/books/checkpoint_tree.h"
#include "allocator/books/ledger.h"
#include "allocator/pool/arena.h"
#include "allocator/pool/blocks.h"
#include "allocator/pool/checkpoints.h"
#include "allocator/pool/door.h"
#include "allocator/pool/growth.h"
#include "allocator/pool/pool_streams.h"
#include "device/stream.h"
#include "device/stream_life.h"

namespace graphtree {

class CaptureScope;

class Scopes {
 public:
  Scopes(const Arena& arena, Door& door, Ledger& ledger, PoolStreams& streams, Growth& growth,
         Blocks& blocks, Checkpoints& checkpoints);
  Scopes(const Scopes&) = delete;
  Scopes& operator=(const Scopes&) = delete;

  // For the pool's callers. Begins a scope; before the device's BeginCapture:
  //
  //   GRAPHTREE_ASSIGN_OR_RETURN(auto scope, pool->scopes().Begin());
  //   ... BeginCapture, the function, EndCapture ...
  //   StreamLives first = scope->Commit();   // launches of the graph wait for these
  absl::StatusOr<std::unique_ptr<CaptureScope>> Begin();

  // For the pool's other parts, inside of a call.
  bool empty() const { return scopes_.empty(); }
  void EndAbandoned();
  // The pool goes: scopes that are open end as they are.
  void LetGo();

 private:
  friend class CaptureScope;
  struct OpenScope {
    CaptureScope* handle;  // null if it went without an end; guarded by mutex_
    CheckpointId start;
    MappedThen step;
    MappedThen kept;
    uint32_t kept_mark;                    // of the watch on kept memory
    std::vector<BlockId> freed_elsewhere;  // by other threads, since it began
  };

  StreamLives Commit(const OpenScope& scope);
  absl::Status RollBack(const OpenScope& scope);
  absl::Status RollBackInnermost();
  std::unique_ptr<OpenScope> EndInnermost();
  void ListQueuedFrees();
  void Abandon(OpenScope* scope);

  // By the thread inside of the pool.
  const Arena& arena_;
  Door& door_;
  Ledger& ledger_;
  PoolStreams& streams_;
  Growth& growth_;
  Blocks& blocks_;
  Checkpoints& checkpoints_;
  std::vector<std::unique_ptr<OpenScope>> scopes_;  // innermost last
  // By any thread.
  std::mutex mutex_;
  std::vector<OpenScope*> abandoned_;  // guarded by mutex_
};

// A capture whose allocations come from a pool. If it is not committed, the pool goes back to what
// it was. (A device that checks has poisoned the bytes of what was freed meanwhile.)
//
// Threads: as the pool.
class CaptureScope {
 public:
  ~CaptureScope();
  CaptureScope(const CaptureScope&) = delete;
  CaptureScope& operator=(const CaptureScope&) = delete;

  // The streams whose earlier work used memory that the graph may use. Hold the pool's deferred()
  // to launch the graph before what was queued meanwhile is done. They may be the pool's own, which
  // goes with it.
  StreamLives Commit();
  // Those so far, of a scope that goes on: for a graph of it that is launched inside of it.
  StreamLives Awaited() const;
  // What the destructor does where Commit was not called. Memory that cannot be given back stays.
  absl::Status RollBack();

 private:
  friend class Scopes;
  explicit CaptureScope(Scopes* scopes) : scopes_(scopes) {}

  Scopes* scopes_;                     // null once the pool is gone
  Scopes::OpenScope* open_ = nullptr;  // null once it has ended
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_POOL_SCOPES_H_
