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
// `inputs`, so that the tensor can die inside the function, and memory that the function allocates
// after that may take its place; pass a copy of the handle to keep the tensor. Passing a consumed
// value again is an error. A call that fails consumes nothing, with two exceptions: tensors that
// the body dropped in a run that is not recorded, before it failed; and, in checked mode, tensors
// that die inside a recording that was launched and could not be awaited.
// Beware of a braced list as the argument: it keeps a copy of every value until the statement ends.
//
// The work of a failed call comes before what its caller puts on its stream next, as that of any
// other call does. Where a device can neither order that work nor wait for it, or the pool cannot
// go back to where it was, the tree is lost: every later call is that first error, and closing
// works.
//
// Outputs live until BeginStep, but for those that their function keeps. Using one after that is an
// error that names who made it: its memory belongs to what runs next. Outputs that are held keep
// their bytes within the step, whatever else runs. Outputs of a call that ran eagerly have memory
// of their own and live for as long as they are held.
//
// Functions come and go: Register and Unregister at any time between calls.
//
// Threads: any thread may call, one at a time: a second caller gets an error, and so does a body
// that calls its own tree. Handles may be dropped on any thread. Methods that do not run a function
// (registering, statistics, the outline) may be called on any thread at any time: they wait for the
// call that runs, and make no call fail.
//
// An output may be used on the stream of its call without a wait, also after the tree was called
// on another stream, until the next step begins. A step that is called on several streams pays an
// event for each other one of them in each call. An output that another tree has made, and that a
// body hands through, is the other tree's: it is used on the stream of the call that made it.
//
// Streams given to Run are their owner's. The owner may destroy one at any time but while a call
// runs on it: between calls, while outputs are held, before the tree is closed, also on another
// thread while a call runs on another stream. Work that was queued on it still comes before all
// that uses the same memory next, and closing waits for that work. An adopted stream
// (Device::AdoptStream) is destroyed before the native one that it stands for. Where a stream is
// destroyed within a capture that another stream has begun, work that was queued on it before that
// capture cannot be awaited any more: calls after it are errors that say so.
#ifndef GRAPHTREE_GRAPHS_TREE_H_
#define GRAPHTREE_GRAPHS_TREE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "device/address.h"
#include "graphs/function_options.h"
#include "graphs/tensor.h"
#include "graphs/tree_options.h"
#include "graphs/workspaces.h"

namespace graphtree {

// Whoever asks for one of these includes its header: what a tree tells of itself stands in
// tree_stats.h and in reports/, and the others in headers of device/ and allocator/.
class Device;
class ForeignAllocator;
class Observers;
class Pool;
class ScopeStack;
class Stream;
class TreeCore;
struct EdgeStats;
struct FunctionStats;
struct LastCall;
struct Op;
struct OutlineNode;
struct ParityResult;
struct Share;
struct SnapshotNode;
struct Tolerance;
struct TreeStats;

class Tree {
 public:
  // `device` must outlive the tree and every output of it.
  static absl::StatusOr<std::unique_ptr<Tree>> Create(Device& device, const TreeOptions& options);
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  // Closes, after waiting for all work on the tree's memory and for a call that another thread is
  // still in. Outputs that are still held stay valid, and may outlive the streams, too. A body that
  // closes its own tree makes its call fail; the tree goes when that call is over. If a capture is
  // open on the device, or if work cannot be awaited because of one, the tree is left with the
  // device: its graphs and memory, its bodies and what they have captured go after that capture and
  // that work, on any thread: when another tree or pool of the device is made or closed, when the
  // device is closed, or by Device::GiveBackLeftovers.
  ~Tree();

  // Messages and outlines use the name; a line end in it is "\\n" there.
  FunctionId Register(std::string name, FunctionOptions options, Body body);
  // Destroys the function's recordings and those made after them on their paths, its shapes, and
  // what its body and its recordings keep alive: at once, or, where the path in force or work under
  // way needs them, when the step ends and the work is over: in a later call, step or Unregister of
  // the tree, or when it is closed. What the body has captured counts as needed until the work that
  // the tree's calls have put on their streams is over; work that a body hands to a stream which
  // the call's own does not wait for is the body's to await. Outputs that the function handed out
  // stay good until their step ends, or for as long as they are kept. Later calls of the function
  // are errors that name it; its id is given to no other one. Waits for a call that another thread
  // is in. Inside of a body, or of Inspect, it is an error.
  absl::Status Unregister(FunctionId function);

  // Replaces `outputs`, which may be the vector that `inputs` lies in.
  //
  // A call on a stream that captures is an error. A capture that was begun with the runtime's own
  // calls, and not with Stream::BeginCapture, is not always noticed.
  absl::Status Run(FunctionId function, absl::Span<Value> inputs, Stream& stream, Values* outputs);
  absl::StatusOr<Values> Run(FunctionId function, Values inputs, Stream& stream);

  // Run, but only as a replay: where no recording serves the call, or there is no room for what its
  // replay needs, the call is an error that says so, and nothing runs. A recording that is cut may
  // have run some of its parts by then.
  absl::Status RunReplay(FunctionId function, absl::Span<Value> inputs, Stream& stream,
                         Values* outputs);

  // Run, or RunReplay if it `must_replay`, with a check: a call that a recording serves is
  // replayed, and what it leaves is compared with what two runs of its body leave on the same
  // inputs, which are saved for that. What the replay left stays. `result` says what was found and
  // names the first op that differs; of a call that was no replay, or whose body breaks or draws
  // random numbers, it says that nothing was compared. The host waits for the device. Nobody else
  // may write meanwhile to what the body writes.
  absl::Status RunCompared(FunctionId function, absl::Span<Value> inputs, Stream& stream,
                           Values* outputs, const Tolerance& tolerance, ParityResult* result,
                           bool must_replay = false);

  // Records the function after the path in force, and launches nothing: no byte is written and no
  // outputs are handed out. A path of which nothing is held ends first, as it does in Run; else the
  // path stays as it is. A later call that the recording serves replays it. OK without effect if a
  // recording serves already. An error that says why, and nothing is done, if a call with these
  // inputs would not be recorded now: the function has not run yet, say, or its body breaks.
  // ResourceExhausted where there is no memory, or no budget, for the recording.
  // `inputs` are copies, so that they live: a recording in which they die is made by Run alone.
  absl::Status Record(FunctionId function, Values inputs, Stream& stream);
  // Whether Run would do nothing but launch this call's graph, if BeginStep came before it: the
  // first op of the body is then the first work that runs. False where a replay first has to find
  // room, for an executable that was evicted or for outputs that are kept.
  bool WouldReplayFirst(FunctionId function, absl::Span<Value> inputs, Stream& stream);
  // Whether Run would replay a recording, on the path in force, or after BeginStep. A part of its
  // body may still end that (a recording that is cut), and so may a lack of room for an executable
  // that was evicted, or for an output that is kept: RunReplay is an error then.
  bool WouldReplay(FunctionId function, absl::Span<Value> inputs, Stream& stream,
                   bool begins_step);

  // While a Keeping lives what WouldReplay and WouldReplayFirst have said on its thread stays true
  // for the call that follows: on other threads GiveUp and Unregister wait. The tree outlives it.
  class Keeping {
   public:
    explicit Keeping(Tree& tree);
    ~Keeping();
    Keeping(const Keeping&) = delete;
    Keeping& operator=(const Keeping&) = delete;

   private:
    Tree& tree_;
  };

  // Evicts what is worth the least until the tree holds no more than that, as far as it may go now:
  // so that others have room which share a budget with the tree (shared_budget.h). Waits for a call
  // that another thread is in. Does nothing inside of a body, or of Inspect.
  void GiveUp(const Share& beyond);
  // Likewise, so that others have memory: unmaps what nobody uses, and gives recordings up, the
  // least valuable first, until the tree has so many bytes less. Nothing is given up where all of
  // them would not do. `for_whom` is told to who runs eagerly then: "'decode' lacked memory".
  // Returns what was unmapped.
  uint64_t GiveMemory(uint64_t bytes, const std::string& for_whom);
  // What pauses of the function, as its recording has failed or was given up, is recorded by the
  // next calls.
  void EndPause(FunctionId function);

  // Whether this thread is in the tree: in a body of a call, in a look, or in what ends there.
  bool IsInside() const;
  // Whether another thread is. Of two threads that are each in one of two trees, and then ask this
  // of the other one, one at least is told so.
  bool IsOthers() const;

  // Memory that a library keeps between calls; see workspaces.h. Recordings that were made with
  // other memory than the library has now are not launched, but made again. A body may call
  // MoveWorkspace.
  WorkspaceId RegisterWorkspace(std::string name, AddressRange memory);
  absl::Status MoveWorkspace(WorkspaceId id, AddressRange memory);
  // The same for one that is another thing at the same place.
  absl::Status TouchWorkspace(WorkspaceId id);

  // The caller's loop begins another pass: the path ends, and what is still held of it goes stale.
  // While a call runs (this is its body, or another thread) no step begins, and the next call is an
  // error that says so.
  void BeginStep();

  // What the last call came to. For the thread that made it, before its next call.
  LastCall last_call();
  TreeStats stats();
  // The same figures by function, in the order of their ids; and by edge, for each function that
  // came after another one on a path. Recordings that were evicted count; functions that were
  // unregistered do not.
  std::vector<FunctionStats> function_stats();
  std::vector<EdgeStats> edge_stats();
  // For each recorded root, in order: the number of nodes below it.
  std::vector<uint64_t> descendants() const;
  // All recordings, copied out.
  std::vector<OutlineNode> outline() const;
  // The ops of one recording, by its id in the outline, for export (reports/graph_export.h) and to
  // find where the recording points to some memory (reports/captured_pointers.h). Where the
  // recording is cut an op of kind host stands for the eager part, between the sections' ops.
  absl::StatusOr<std::vector<Op>> OpsOf(uint64_t recording) const;
  // The recordings of a function, by their ids in the outline; of an unknown function none.
  std::vector<uint64_t> RecordingsOf(FunctionId function) const;
  // The memory of each recording, and who holds it; reports/tree_snapshot.h writes this into a
  // file.
  std::vector<SnapshotNode> memory_of_nodes();
  // The memory that the tree records into, to look at: snapshots, statistics, history. Calls use
  // the pool without a lock: while another thread may call, look at the pool inside Inspect.
  Pool& pool();
  // Calls `look` while no call runs on another thread; one that comes waits until `look` is over.
  // An exception of `look` comes out of here.
  void Inspect(const std::function<void()>& look);
  const char* state() const;
  // Whether that stream has, or comes after, all work of the tree's calls so far. For the thread
  // that calls the tree.
  bool ComesLast(const Stream& stream) const;
  // Whether a function of this tree made the tensor.
  bool Made(const Tensor& tensor) const;
  // OK if work of this tree's device may read the tensor now: it may be used (MayBeUsed), and lies
  // on that device. For the thread that calls the tree. Cost: two loads, where the page of a
  // caller's memory is known.
  absl::Status MayRead(const Tensor& tensor);
  absl::Status MayRead(Address memory);
  // For the allocator callbacks of foreign code that runs inside bodies: a recording may go on
  // using the blocks that they gave (foreign_memory.h). The reference is good until the tree is
  // closed, and for as long as the foreign code holds blocks.
  ForeignAllocator& foreign_allocator();
  // Observers that join here are told what becomes of the tree's graphs, of ops that run now, and
  // what the tree does in between. A function that launches nothing has no graph.
  Observers& observers();
  // Scopes around calls (scope.h), for the thread that calls the tree.
  ScopeStack& scopes();

 private:
  explicit Tree(std::unique_ptr<TreeCore> core);
  std::unique_ptr<TreeCore> core_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_TREE_H_
