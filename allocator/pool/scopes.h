// A capture that allocates from the pool runs in a scope, which notes how the pool was, so that the
// pool can go back if the capture fails.
//
//   Begin      takes a checkpoint of the step region, opens a watch on the lasting region, notes
//              what is mapped, holds the pool's deferred work
//      |       ... allocations and frees of the captured function ...
//      |       ... frees by other threads: listed, as they stay done
//   Commit     gives up the checkpoint and the watch; returns the earlier users of memory that the
//              graph may use, streams for which whoever launches the graph waits
//   RollBack   undoes the lasting region, then restores the step region; does the frees of other
//              threads again; unmaps the memory that the pool grew by
//
// Scopes nest, and a scope that ends also ends those that began inside of it. Work that waits for
// captures waits for scopes, too, and is done by the end of the last.
//
// A scope that is destroyed while it cannot be rolled back, since its pool is asking the server for
// memory or another thread is inside, is abandoned: the pool's next call rolls it back.
//
// Threads: as the pool; a scope may be destroyed on any thread.
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
  // The pool is being destroyed: open scopes end as they are.
  void LetGo();

 private:
  friend class CaptureScope;
  struct OpenScope {
    CaptureScope* handle;  // null if the scope was abandoned; guarded by mutex_
    CheckpointId start;
    MappedThen step;
    MappedThen lasting;
    uint32_t watch_mark;                   // of the watch on the lasting region
    std::vector<BlockId> freed_elsewhere;  // by other threads, since it began
  };

  StreamLives Commit(const OpenScope& scope);
  absl::Status RollBack(const OpenScope& scope);
  absl::Status RollBackInnermost();
  std::unique_ptr<OpenScope> EndInnermost();
  void ListQueuedFrees();
  void Abandon(OpenScope* scope);

  // For the thread inside of the pool.
  const Arena& arena_;
  Door& door_;
  Ledger& ledger_;
  PoolStreams& streams_;
  Growth& growth_;
  Blocks& blocks_;
  Checkpoints& checkpoints_;
  std::vector<std::unique_ptr<OpenScope>> scopes_;  // innermost last
  // For any thread.
  std::mutex mutex_;
  std::vector<OpenScope*> abandoned_;  // guarded by mutex_
};

// A capture whose allocations come from a pool. If the scope is not committed, the pool goes back
// to what it was. (A checking device has then poisoned the bytes that were freed meanwhile.)
//
// Threads: as the pool.
class CaptureScope {
 public:
  ~CaptureScope();
  CaptureScope(const CaptureScope&) = delete;
  CaptureScope& operator=(const CaptureScope&) = delete;

  // Ends the scope. Returns the streams whose earlier work used memory that the graph may use, the
  // pool's courier among them, which the pool destroys with itself. To launch the graph before the
  // work that was queued meanwhile is done, hold the pool's deferred() across Commit.
  StreamLives Commit();
  // The same streams as known so far, for a graph that is launched inside the scope.
  StreamLives Awaited() const;
  // Ends the scope, and the pool goes back; the destructor does so where Commit was not called.
  // Memory that cannot be given back stays mapped.
  absl::Status RollBack();

 private:
  friend class Scopes;
  explicit CaptureScope(Scopes* scopes) : scopes_(scopes) {}

  Scopes* scopes_;                     // null once the pool is gone
  Scopes::OpenScope* open_ = nullptr;  // null once it has ended
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_POOL_SCOPES_H_
