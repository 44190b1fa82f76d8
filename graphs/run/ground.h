// The ground has the objects that all parts of one tree use. It decides nothing:
//
//   device, options          as the caller gave them
//   memory, foreign          the pool as the tree uses it, and the memory of foreign code
//   giver                    who gives memory up where the pool has none
//   side, capture_stream     the tree's own streams: for runs at once, and for recordings
//   order                    the order of the tree's work on all streams
//   history                  who ran when, for error messages
//   home                     which addresses lie on the tree's device
//   workspaces               memory of libraries
//   scopes                   of the caller, around its calls
//
// The tree has two streams. Other trees, on other threads, may wait for `side` at any time, so it
// never captures. Nobody can wait for a stream that captures, so this tree alone knows
// `capture_stream`.
//
// Threads: the tree's caller, where the header of a member does not allow more.
#ifndef GRAPHTREE_GRAPHS_RUN_GROUND_H_
#define GRAPHTREE_GRAPHS_RUN_GROUND_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "device/device.h"
#include "graphs/history/step_history.h"
#include "graphs/match/function.h"
#include "graphs/memory/foreign_memory.h"
#include "graphs/memory/memory_giver.h"
#include "graphs/memory/step_memory.h"
#include "graphs/memory/stream_order.h"
#include "graphs/run/call.h"
#include "graphs/run/home.h"
#include "graphs/scope.h"
#include "graphs/tree_options.h"
#include "graphs/workspaces.h"

namespace graphtree {

struct Ground {
  // `is_used_elsewhere` returns whether another thread than the one that asks is in a call of the
  // tree, or in Unregister.
  static absl::StatusOr<std::unique_ptr<Ground>> Make(Device& device, const TreeOptions& options,
                                                      std::shared_ptr<StepHistory> history,
                                                      std::function<bool()> is_used_elsewhere);
  Ground(const Ground&) = delete;
  Ground& operator=(const Ground&) = delete;

  WordId TagOf(const Function& function) {
    return function.tag = memory->pool().journal().WordAgain(function.tag, function.name);
  }
  // Memory for one run of the function's body, or of a part of it.
  StepAllocator MemoryFor(const Function& function, Region region);
  // Work that is put on `stream` next runs after all of the tree's work so far, and the pool knows:
  // for calls that take memory before a launch tells it.
  absl::Status ContinueOn(Stream& stream);
  // Tells the pool that the tree goes on with that stream, which has waited for all its work so
  // far. The order of streams does so whenever it changes: what the two take for the last stream
  // must not differ.
  void NoteGoesOn(Stream& stream);
  // Work that is put on `side` next runs after the caller's work on `stream`.
  absl::Status SideAfter(Stream& stream);
  // Tells the pool that work on the stream uses bytes which may be free in its books: the next user
  // of such bytes then waits for the work.
  absl::Status NoteWorkOn(Stream& stream);
  // Takes the tensors of trees out of the caller's hands, but for static ones. Other trees learn of
  // the call's stream.
  void Consume(const Call& call);
  // Other trees learn that the call's stream uses these inputs, now that all of its work is there.
  void TellOwners(absl::Span<const Value> inputs, const Call& call);
  // Drops the values of a caller's vector, within the call: their blocks, as those of kept outputs,
  // are free at once and not by the next call.
  void LetGo(Values* values);

  Device& device;
  const TreeOptions options;
  const bool tells_device;  // the device checks accesses, so it is told which bytes are live
  Home home;
  const std::shared_ptr<StepHistory> history;
  const std::shared_ptr<MemoryGiver> giver;
  const std::unique_ptr<StepMemory> memory;
  const ForeignMemory::Ptr foreign;  // outlives the recordings, which hold its blocks
  const std::unique_ptr<Stream> side;            // never captures
  const std::unique_ptr<Stream> capture_stream;  // known to this tree alone
  StreamOrder order;
  Workspaces workspaces;
  ScopeStack scopes;  // of the tree's caller, around its calls

 private:
  Ground(Device& device, const TreeOptions& options, std::shared_ptr<StepHistory> history,
         std::shared_ptr<MemoryGiver> giver, std::unique_ptr<StepMemory> memory,
         std::unique_ptr<Stream> side,
         std::unique_ptr<Stream> capture_stream, std::unique_ptr<Event> event,
         std::function<bool()> is_used_elsewhere);
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_GROUND_H_
