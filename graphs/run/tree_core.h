// The tree's inside. A call goes through these files:
//
//   Run        entrance.h        one caller at a time; a tree that is lost says so
//     |- hit   matcher.h         a recording that serves the call; replayer.h launches it
//     |
//     `- RunMiss
//          CheckMiss             what the caller brought, and on which stream
//          miss.h                gathers what is known of the call, and changes nothing
//          decide.h              one pure decision
//          miss_notes.h          notes what follows from it
//            replay              replayer.h
//            warm up, eager      eager_runner.h   the body runs now
//            record              recorder.h       the body is captured, then launched once
//            begin a new path    books.h          and decide again
//
// A call that fails leaves everything as it was, or the tree is lost: then every later call is the
// first failure, told in words (pending_errors.h).
//
// Threads: see tree.h. The entrance keeps a second caller out, and a closing thread waits for it.
#ifndef GRAPHTREE_GRAPHS_RUN_TREE_CORE_H_
#define GRAPHTREE_GRAPHS_RUN_TREE_CORE_H_

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "device/device.h"
#include "graphs/match/function.h"
#include "graphs/memory/step_memory.h"
#include "graphs/recording/node.h"
#include "graphs/run/books.h"
#include "graphs/run/call.h"
#include "graphs/run/call_journal.h"
#include "graphs/run/checked_mode.h"
#include "graphs/run/decide.h"
#include "graphs/run/entrance.h"
#include "graphs/run/figures.h"
#include "graphs/run/functions.h"
#include "graphs/run/ground.h"
#include "graphs/run/matcher.h"
#include "graphs/run/parity_check.h"
#include "graphs/run/routes.h"
#include "graphs/tensor.h"
#include "graphs/tree_options.h"

namespace graphtree {

class TreeCore {
 public:
  static absl::StatusOr<std::unique_ptr<TreeCore>> Create(Device& device,
                                                          const TreeOptions& options);
  // Closes the tree: now, or, if this is the body of one of its calls, when that call is over.
  static void Close(std::unique_ptr<TreeCore> core);

  // Ends a tree that nobody is in: it goes once its work is over and no capture is open. Else it is
  // left with the device, whole, as the work may use anything that it has.
  static void End(std::unique_ptr<TreeCore> core);
  struct Ending {
    void operator()(TreeCore* core) const { End(std::unique_ptr<TreeCore>(core)); }
  };
  // A tree that ends when nobody is in it any more.
  using Closed = std::unique_ptr<TreeCore, Ending>;

  FunctionId Register(std::string name, FunctionOptions options, Body body);
  absl::Status Unregister(FunctionId id);
  void GiveUp(const Share& beyond);
  uint64_t GiveMemory(uint64_t bytes, const std::string& for_whom);
  void EndPause(FunctionId id);
  // `frame` is that of the public function that the program called (history/stack_marks.h).
  // `compared`, or null: a replay is compared with runs of its body (parity_check.h). With
  // `must_replay` a call that cannot be replayed is an error, and nothing runs.
  absl::Status Run(FunctionId id, absl::Span<Value> inputs, Stream& stream, Values* outputs,
                   const void* frame, const CompareWith* compared = nullptr,
                   bool must_replay = false);
  // Records the function and launches nothing. The inputs stay the caller's.
  absl::Status Record(FunctionId id, Values inputs, Stream& stream, const void* frame);
  // Whether a call that began a step would be a replay whose first op is the body's.
  bool WouldReplayFirst(FunctionId id, absl::Span<Value> inputs, Stream& stream);
  // Whether a call would be a replay, on the path in force or as the first call of a step.
  bool WouldReplay(FunctionId id, absl::Span<Value> inputs, Stream& stream, bool begins_step);
  void BeginStep(const void* frame);

  // What `look` threw, or null.
  std::exception_ptr Inspect(const std::function<void()>& look);
  Figures figures() { return {gate(), *ground_, books_, journal_, functions_}; }
  // For threads that look, while no call runs.
  Gate& gate() { return entrance_->gate(); }
  Books& books() { return books_; }
  Ground& ground() { return *ground_; }
  Observers& observers() { return journal_.observers(); }

 private:
  class Remains;

  TreeCore(std::unique_ptr<Entrance> entrance, std::unique_ptr<Ground> ground);
  // Waits for all work on the tree's memory.
  absl::Status AwaitWork();

  // Of a call that is to be recorded only, and is decided otherwise.
  static absl::Status WhyNotRecorded(const Call& call, const Decision& decision);
  // An error for a call without a place for its outputs, or while memory is parked. A park that
  // is queued also waits for this call, for as long as `awake` lives.
  absl::Status MayBegin(const Function& function, absl::Span<const Value> inputs,
                        const Values* outputs, std::optional<StepMemory::StaysAwake>* awake);
  // Keeps the memory of the call from being parked, if `awake` does not do so already.
  void StayAwake(absl::Span<const Value> inputs, std::optional<StepMemory::StaysAwake>* awake);
  // The recording that serves the call, or null. Memory of other trees that a replay uses stays
  // awake from here on.
  Node* FindHit(Call& call, std::optional<StepMemory::StaysAwake>* awake);
  // The recording that would serve a call, on the path in force or as a step's first; or null.
  const Node* FindFor(FunctionId id, absl::Span<Value> inputs, Stream& stream, bool begins_step);
  // The recording that would serve a call as a step's first; or null.
  Node* FindAtRoot(Call& call);
  // The same, if the path in force ends with this call, as nothing of it is held.
  Node* FindBeyond(Call& call);
  void EndDeadPath();
  // A call that may take a stack, or run code of the program's. `hit` may be null.
  absl::Status RunInside(const void* frame, Node* hit, Call& call, const CompareWith* compared);
  absl::Status RunMiss(Call& call);
  absl::Status CheckMiss(Call& call);
  Decision Look(Call& call, bool is_again, Miss* miss);
  // Decides, and takes the route; more than once if a path ends, or if a recording has to be made
  // again.
  absl::Status TakeRoute(Call& call, Miss* miss);
  // The error of a call that must be replayed, and cannot be.
  static absl::Status NothingReplayed(const Call& call, Reason reason, const std::string& detail);
  // A replay failed with `status`: returns that, or runs the call eagerly if nothing was replayed.
  absl::Status AfterFailedReplay(const Node& node, Call& call, absl::Status status);
  // Between calls: has `give` take recordings, also those of a path of which nothing is held.
  void GiveRecordings(const std::function<void(Keeper&)>& give);
  // Ends the path if nothing of it is held; functions that waited for that leave.
  void EndPathIfDead();
  // Destroys what was evicted and is needed no more. Of a lost tree nobody knows when its work
  // ends.
  void Bury();

  // The tree itself, once a body of it has closed it: the call takes it out at its end.
  Closed closed_inside_;
  // Used by any thread.
  const std::unique_ptr<Entrance> entrance_;
  // Used by the caller's thread only, as is all that follows.
  const std::unique_ptr<Ground> ground_;
  Books books_;
  CallJournal journal_;
  Functions functions_;
  CheckedMode checks_;
  Matcher matcher_;
  Routes routes_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_TREE_CORE_H_
