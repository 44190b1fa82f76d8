// The tree: functions are run once eagerly, recorded once, and then replayed at the price of a
// launch.
//
//   auto tree = Tree::Create(*device, {});
//   FunctionId decode = (*tree)->Register("decode", {.static_inputs = {1, 2}}, body);
//   while (serving) {
//     (*tree)->BeginStep();                              // last step's path may be forgotten
//     absl::Status status = (*tree)->Run(decode, inputs, *stream, &outputs);
//   }
//
// A call of F after path P:
//   match    among P's children for F: equal static and managed addresses, equal layouts and
//            integers, and nothing alive that the recording leaves no room for
//   hit      patch the op that copies inputs if one has moved, and the ops that take a large input
//            that has; launch, hand out the outputs: no heap allocation, no lock, one launch
//   miss     put the pool's books back to P, then warm up (run in the pool) the first time and
//            record the second
//   full     what is worth the least goes, and comes back when it is called again (budget.h)
//   refused  run eagerly, with a reason, a counter and one warning for each function
// Whatever the route, the function has run and the outputs are the same bytes.
//
// Inputs are values of three kinds. Static ones (declared) and foreign ones stay the caller's. A
// tensor that a tree made, this one or another, is consumed: Run takes the caller's handle out of
// `inputs`, so that it can die inside the function, and what the function allocates after that may
// take its place; pass a copy to keep it. What was consumed is an error where it is passed again. A
// call that fails consumes nothing, but for what a body has dropped in a run that is not recorded
// before it failed, and, in checked mode, what dies inside a recording that was launched and could
// not be awaited.
// Beware of a braced list as the argument: it keeps a copy of every value until the statement ends.
//
// What a failed call has put on streams comes before what its caller puts on its stream next, as
// that of any other call does. Where a device can neither order it nor wait for it, or the pool
// cannot go back to where it was, the tree is lost: every later call is that first error, and
// closing works.
//
// Outputs live until BeginStep, but for those that their function keeps. Used after it they are an
// error that names who made them; their memory belongs to what runs next. Outputs that are held
// keep their bytes within the step, whatever else runs. Outputs of a call that ran eagerly have
// memory of their own and live for as long as they are held.
//
// Functions come and go: Register and Unregister at any time between calls.
//
// Threads: any thread may call, one at a time: a second caller gets an error, and so does a body
// that calls its own tree. Handles may be dropped on any thread. Whatever does not run a function
// (registering, statistics, the outline) may be called on any thread at any time: it waits for the
// call that runs, and makes none fail.
//
// Streams given to Run are their owner's, and may go at any time but while a call runs on them:
// between calls, while outputs are held, before the tree is closed, also on another thread while a
// call runs on another stream. What was queued on one that is gone still comes before all that uses
// its memory next, and closing waits for it. An adopted stream (Device::AdoptStream) goes before
// the native one that it stands for. One that goes within a capture that another stream has begun
// takes with it what was queued before that capture: calls after it are errors that say so.
#ifndef GRAPHTREE_GRAPHS_TREE_H_
#define GRAPHTREE_GRAPHS_TREE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "allocator/snapshot_nodes.h"
#include "device/address.h"
#include "device/device.h"
#include "device/graph.h"
#include "device/observer.h"
#include "graphs/call_counts.h"
#include "graphs/function_options.h"
#include "graphs/outline.h"
#include "graphs/reason.h"
#include "graphs/tensor.h"
#include "graphs/tree_options.h"
#include "graphs/tree_stats.h"
#include "graphs/workspaces.h"

namespace graphtree {

class ForeignAllocator;
class Pool;
class TreeCore;

class Tree {
 public:
  // `device` must outlive the tree and every output of it.
  static absl::StatusOr<std::unique_ptr<Tree>> Create(Device& device, const TreeOptions& options);
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  // Closes, after waiting for all work on the tree's memory and for a call that another thread is
  // still in. Outputs that are still held stay valid, and may outlive the streams too. A body that
  // closes its own tree makes its call fail; the tree goes when that call is over. While a capture
  // is open on the device its graphs and memory stay behind for later
  // (allocator/memory/left_behind.h).
  ~Tree();

  // Messages and outlines name it; a line end in the name is "\\n" there.
  FunctionId Register(std::string name, FunctionOptions options, Body body);
  // The function's recordings go, and what was recorded after them, its shapes, and what its body
  // and its recordings keep alive: at once, or, for what the path in force or work under way needs,
  // when the step ends and the work is over. What it handed out stays good until its step
  // ends, or for as long as it is kept. Calling it then is an error that names it; its id is given
  // to no other. Waits for a call that another thread is in; inside of a body, or of Inspect, it is
  // an error.
  absl::Status Unregister(FunctionId function);

  // `outputs` is replaced; it may be the vector that `inputs` lies in.
  //
  // The stream does not capture: a call there is an error. A capture that was begun with the
  // runtime's own calls, and not with Stream::BeginCapture, is not always noticed.
  absl::Status Run(FunctionId function, absl::Span<Value> inputs, Stream& stream, Values* outputs);
  absl::StatusOr<Values> Run(FunctionId function, Values inputs, Stream& stream);

  // Memory that a library keeps between calls; see workspaces.h. Recordings made with other memory
  // than it has now are not launched, but made again. MoveWorkspace may be called by a body.
  WorkspaceId RegisterWorkspace(std::string name, AddressRange memory);
  absl::Status MoveWorkspace(WorkspaceId id, AddressRange memory);

  // The caller's loop begins another pass: the path ends, and what is still held of it goes stale.
  // While a call runs (in its body, or on another thread) no step begins, and the next call is an
  // error that says so.
  void BeginStep();

  TreeStats stats();
  // The same figures by function, in the order of their ids; and by edge, for each function that
  // came after another one on a path. What was evicted counts; who was unregistered does not.
  std::vector<FunctionStats> function_stats();
  std::vector<EdgeStats> edge_stats();
  // For each recorded root, in order: the number of nodes below it.
  std::vector<uint64_t> descendants() const;
  // Every recording, to look at.
  Outline outline() const;
  // The ops of one recording, by its id in the outline; for export see graph_export.h. Where it is
  // cut an op of kind host stands for the eager part, between the ops of the sections.
  absl::StatusOr<std::vector<Op>> OpsOf(uint64_t recording) const;
  // The memory of each, and who holds it (tree_snapshot.h writes it into a file).
  std::vector<SnapshotNode> memory();
  // The memory that it records into, to look at: snapshots, statistics, history. It is the calls'
  // own: beside them look at it inside Inspect.
  Pool& pool();
  // No call runs on another thread while `look` does; one that comes waits for its end. What it
  // throws comes out of here.
  void Inspect(const std::function<void()>& look);
  const char* state() const;
  // For the allocator callbacks of foreign code that runs inside bodies: a recording may go on
  // using what they gave (foreign_memory.h). Good until the tree is closed, and as long as the
  // foreign code holds blocks.
  ForeignAllocator& foreign_allocator();
  // Whoever joins is told what becomes of its graphs; functions that launch nothing have none.
  Observers& observers();

 private:
  explicit Tree(std::unique_ptr<TreeCore> core);
  std::unique_ptr<TreeCore> core_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_TREE_H_
