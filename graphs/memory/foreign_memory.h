// Memory for foreign code (another framework, a library) that runs inside bodies of the tree: its
// allocator callbacks come here, and a recording may go on using the blocks that they gave.
//
//   always             blocks lie in the pool's lasting region, which no restore touches: foreign
//                      code does not say how long it means to keep a block, and a temporary looks
//                      like a workspace that it will use for ever
//   while a body is    a block that foreign code frees serves the same recording again, in the
//   recorded           order of its stream; the pool gets it back when the recording goes
//
//   foreign code     malloc A ... free A   malloc B (fits: A's memory) ...  [B stays]
//   recording        A, held as long as it may be replayed
//
// A recording that succeeds holds the blocks that were allocated or freed while it was made, and
// those that it points to: they become free when the foreign code has freed them and the recording
// is gone. A recording that fails is rolled back with the pool. A block that it allocated and that
// the foreign code still has is taken again, at the same address (its bytes may be anything); one
// that was freed meanwhile is forgotten; an older block that was freed meanwhile is freed now.
//
// Foreign code may hold blocks when the tree is closed: their memory goes with the last of them,
// and freeing one waits for its stream.
//
// Threads: callbacks may come from any thread and take turns, but the pool has one caller at a
// time: in a call of the tree, and in Unregister, only its own thread may allocate; another one
// gets an error.
// A block may be freed on any thread, also beside a call and while the tree is closed: the pool's
// next call frees it. Beside a call, who frees on another stream than the block's waits for that
// stream.
#ifndef GRAPHTREE_GRAPHS_MEMORY_FOREIGN_MEMORY_H_
#define GRAPHTREE_GRAPHS_MEMORY_FOREIGN_MEMORY_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "allocator/foreign.h"
#include "allocator/pool.h"
#include "device/graph.h"
#include "device/stream.h"

namespace graphtree {

class ForeignMemory : public ForeignAllocator {
 public:
  // Closes the foreign memory, which goes at once or with the last block that foreign code holds.
  // REQUIRES: all recordings are gone.
  struct Closer {
    void operator()(ForeignMemory* memory) const { memory->Close(); }
  };
  using Ptr = std::unique_ptr<ForeignMemory, Closer>;
  // `is_anothers` returns whether another thread than the one that asks is in a call of the tree,
  // or in Unregister.
  static Ptr Make(std::shared_ptr<Pool> pool, std::function<bool()> is_anothers);

  // The tree is closed, and nobody calls it any more, though its recordings may be there still: no
  // block is given from here on, and freeing one waits for its stream.
  void StopGiving() {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    has_stopped_ = true;
  }

  // This thread's call of the tree is about to take memory, or to let recordings go: returns once
  // nobody allocates beside it. A replay that takes none need not wait.
  void AwaitAllocations() {
    if (!IsVisited()) return;
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
  }

  // For a look at the pool between calls. While the lock is held, callbacks on other threads wait;
  // during a call they get an error instead (Take).
  std::unique_lock<std::recursive_mutex> HoldOff() const { return std::unique_lock(mutex_); }

  // The pool's scope for a recording has begun. Commit, RolledBack or GivenUp ends the recording.
  void BeginRecording();
  // The scope is committed: these graphs are recorded. Returns an object that holds their foreign
  // blocks; null if there are none. Graphs list their ops only if foreign code has memory at all.
  std::shared_ptr<void> Commit(const std::vector<const Graph*>& graphs);
  // The scope is rolled back. Does nothing if no recording is open. Fails if a block that the
  // foreign code has cannot be taken again: it has lost its memory then, and may still be freed.
  // `stream` has the blocks whose own stream is gone.
  absl::Status RolledBack(Stream& stream);
  // The scope could not be rolled back: what the recording allocated counts as lost, as above.
  absl::Status GivenUp();

  // Bytes that recordings hold.
  uint64_t held_bytes() const;

 protected:
  absl::StatusOr<Address> Take(uint64_t bytes, Stream& stream) override;
  absl::Status GiveBack(Address address, Stream& stream) override;
  bool IsOver() const override { return closed_ && pieces_.empty(); }
  void Leave() override;
  absl::Status MayUsePool() const override;

 private:
  struct Piece {
    BlockId id;
    AddressRange range;
    // The stream on which it was allocated, or freed since.
    std::shared_ptr<StreamLife> stream;
    bool in_use = true;        // by the foreign code
    bool fresh = false;        // allocated by the recording that is open
    bool lost = false;         // the pool has no block for it any more
    uint32_t recordings = 0;   // how many hold it
  };
  struct Holding;

  ForeignMemory(std::shared_ptr<Pool> pool, std::function<bool()> is_anothers);
  ~ForeignMemory() override { AwaitCallers(); }
  friend std::default_delete<ForeignMemory>;
  void Close();
  absl::StatusOr<Block> NewBlock(uint64_t bytes, Stream& stream);
  // Frees the block in the pool if neither foreign code nor a recording needs it.
  absl::Status Release(Address address);
  static absl::Status AwaitOnHost(StreamLife& stream, Device& device);
  absl::Status UseAgain(const Piece& piece);
  absl::Status Retake(Piece* piece, Stream& other);
  void NotePointedTo(const Graph& graph);
  void NoteOpen(Address address);
  void LetGo(const std::vector<Address>& pieces);

  const std::shared_ptr<Pool> owner_;
  const std::function<bool()> is_anothers_;
  const WordId tag_;
  bool recording_ = false;
  bool has_stopped_ = false;
  bool closed_ = false;
  std::vector<Address> open_;  // of the open recording: allocated or freed by it
  std::unordered_map<Address, Piece> pieces_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_MEMORY_FOREIGN_MEMORY_H_
