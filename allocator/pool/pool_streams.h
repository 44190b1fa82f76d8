// The streams whose work uses a pool's memory.
//
//   table          every stream that was named in a call, and in what order bytes pass between
//                  them (stream_table.h)
//   guests         streams that the pool owns, as they were handed over to be forgotten and cannot
//                  be yet: they capture, or a call failed
//   copy stream    the pool's own, made when contents are first copied to the host or back
//
//   Forget(stream) --> the table carries its work on, and the stream may go
//                  \-> it captures: a guest --(the capture has ended)--> the table carries it on
//
// Threads: as the pool. A stream may be handed over from any thread.
#ifndef GRAPHTREE_ALLOCATOR_POOL_POOL_STREAMS_H_
#define GRAPHTREE_ALLOCATOR_POOL_POOL_STREAMS_H_

#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "allocator/books/block_record.h"
#include "allocator/memory/estate.h"
#include "allocator/order/set_aside.h"
#include "allocator/order/stream_table.h"
#include "allocator/pool/arena.h"
#include "allocator/pool/door.h"
#include "device/stream.h"
#include "device/stream_life.h"

namespace graphtree {

// Where the block lies, with its guards.
inline Quanta QuantaOf(const BlockRecord& record) {
  return {record.offset, record.offset + record.length};
}

class PoolStreams {
 public:
  PoolStreams(const Arena& arena, Door& door)
      : arena_(arena), door_(door), table_(&arena.device()) {}
  PoolStreams(const PoolStreams&) = delete;
  PoolStreams& operator=(const PoolStreams&) = delete;

  // For the pool's callers.
  //
  // The stream may be destroyed afterwards; its work so far is still awaited. Refused while it
  // captures.
  absl::Status Forget(Stream& stream);
  // The same for a stream that the pool takes over, and keeps until it can be forgotten.
  void Forget(std::unique_ptr<Stream> stream);
  // Waits for all work on the pool's memory.
  absl::Status Wait();
  // The same, and forgets every stream that could be waited for (all streams if the device is
  // lost). Returns an error about those that could not, which stay.
  absl::Status WaitAndForget() { return WaitAndForget(StreamTable::Forgets::kAll); }
  // The same, but a stream that has not ended stays: whoever holds a block may give it more work on
  // the block's bytes, which the pool's end then waits for.
  absl::Status WaitAndForgetEnded() { return WaitAndForget(StreamTable::Forgets::kEnded); }
  // Call before launching, on `stream`, a graph that uses memory which is free in the books. The
  // stream has waited for all work on the stream that was noted before it. If this fails the graph
  // must not be launched.
  absl::Status NoteLaunch(Stream& stream);
  // The same without a launch: what goes on there need wait for that work no more. Called at the
  // time of that wait, and not later: it covers what was on the other stream until now. An error,
  // and nothing is noted, while another thread is in the pool.
  absl::Status NoteContinuesOn(Stream& stream);

  // For the pool's other parts, inside of a call.
  StreamTable& table() { return table_; }
  const StreamTable& table() const { return table_; }
  // Fails for a stream of another device, which no stream of this one can wait for.
  absl::Status Check(const Stream& stream) const;
  // Work on these streams may use any bytes of the pool's.
  void NoteUsers(const StreamLives& users);
  // Waits for all work on the pool's memory that the pool knows of, without entering the door: also
  // for that of streams which other threads have named and no call has noted yet.
  absl::Status Quiesce();
  absl::StatusOr<Stream*> CopyStream();
  absl::Status WaitForCopies();
  // Leaves all work there is, and what it uses. Afterwards nothing may be asked of the object.
  void LeaveTo(Estate* estate);
  // Keeps host memory that copies may still touch until those have been awaited.
  void KeepUntilCopied(std::vector<std::unique_ptr<HostBuffer>> buffers);

 private:
  absl::Status WaitAndForget(StreamTable::Forgets whom);
  absl::Status ForgetGuests();

  // For the thread inside of the pool.
  const Arena& arena_;
  Door& door_;
  StreamTable table_;
  std::unique_ptr<Stream> copy_stream_;
  std::vector<std::unique_ptr<HostBuffer>> unsettled_;  // that copies under way may touch
  // For any thread.
  std::mutex mutex_;
  std::vector<std::unique_ptr<Stream>> guests_;  // guarded by mutex_
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_POOL_POOL_STREAMS_H_
