// The streams whose work uses a pool's memory.
//
//   table          every stream that was named in a call, and in what order bytes pass between
//                  them (stream_table.h)
//   guests         streams that were handed over to be forgotten and cannot be forgotten yet,
//                  because they capture or a call failed
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
#include "allocator/order/stream_table.h"
#include "allocator/pool/arena.h"
#include "allocator/pool/door.h"
#include "device/stream.h"

namespace graphtree {

class PoolStreams {
 public:
  PoolStreams(const Arena& arena, Door& door)
      : arena_(arena), door_(door), table_(&arena.device()) {}
  PoolStreams(const PoolStreams&) = delete;
  PoolStreams& operator=(const PoolStreams&) = delete;

  // For the pool's callers.
  //
  // What was put on the stream so far is still awaited. Refused while it captures.
  absl::Status Forget(Stream& stream);
  // The same for a stream that the pool keeps until it can be forgotten.
  void Forget(std::unique_ptr<Stream> stream);
  // Waits for all work on the pool's memory.
  absl::Status Wait();
  // The same, and forgets every stream that could be waited for, and all if the device is lost, so
  // that the pool can outlive them. A stream that could not be waited for stays, and is told.
  absl::Status WaitAndForget();
  // A graph is launched on `stream` that uses memory which is free in the books. Called before the
  // launch, which must not be made if this fails.
  absl::Status NoteLaunch(Stream& stream);

  // For the pool's other parts, inside of a call.
  StreamTable& table() { return table_; }
  const StreamTable& table() const { return table_; }
  // Fails for a stream of another device, which no stream of this one can wait for.
  absl::Status Check(const Stream& stream) const;
  // Waits for all work on the pool's memory that the pool knows of.
  absl::Status Quiesce();
  absl::StatusOr<Stream*> CopyStream();
  absl::Status WaitForCopies();
  // Streams that carry all work there is. Nothing else may be asked of this afterwards.
  std::vector<std::unique_ptr<Stream>> TakeAll();
  // Host memory that copies may still touch stays until they have been awaited.
  void KeepUntilCopied(std::vector<std::unique_ptr<HostBuffer>> buffers);
  std::vector<std::unique_ptr<HostBuffer>> TakeUncopied() { return std::move(unsettled_); }

 private:
  absl::Status ForgetGuests();

  // By the thread inside of the pool.
  const Arena& arena_;
  Door& door_;
  StreamTable table_;
  std::unique_ptr<Stream> copy_stream_;
  std::vector<std::unique_ptr<HostBuffer>> unsettled_;  // that copies under way may touch
  // By any thread.
  std::mutex mutex_;
  std::vector<std::unique_ptr<Stream>> guests_;  // guarded by mutex_
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_POOL_POOL_STREAMS_H_
