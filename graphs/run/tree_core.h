// The tree's inside. A call goes through these files:
//
//   Run        entrance.h        one caller at a time; a tree that is lost says so
//     |- hit   matcher.h         a recording that serves the call; replayer.h launches it
//     |
//     `- miss  miss_runner.h     decides, and has the call
//                replayed        replayer.h
//                warmed up, run  eager_runner.h   the body runs now
//                recorded        recorder.h       the body is captured, then launched once
//
//   steps, functions that come and go     between_calls.h
//   would it be replayed?                 foresight.h
//   counts                                figures.h
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
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "device/device.h"
#include "graphs/match/function.h"
#include "graphs/recording/node.h"
#include "graphs/run/awake_call.h"
#include "graphs/run/between_calls.h"
#include "graphs/run/books.h"
#include "graphs/run/call.h"
#include "graphs/run/call_journal.h"
#include "graphs/run/checked_mode.h"
#include "graphs/run/entrance.h"
#include "graphs/run/figures.h"
#include "graphs/run/foresight.h"
#include "graphs/run/functions.h"
#include "graphs/run/ground.h"
#include "graphs/run/matcher.h"
#include "graphs/run/miss_runner.h"
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

  // `frame` is that of the public function that the program called (history/stack_marks.h).
  // `compared`, or null: a replay is compared with runs of its body (parity_check.h). With
  // `must_replay` a call that cannot be replayed is an error, and nothing runs.
  absl::Status Run(FunctionId id, absl::Span<Value> inputs, Stream& stream, Values* outputs,
                   const void* frame, const CompareWith* compared = nullptr,
                   bool must_replay = false);
  // Records the function and launches nothing. The inputs stay the caller's.
  absl::Status Record(FunctionId id, Values inputs, Stream& stream, const void* frame);
  // What `look` threw, or null.
  std::exception_ptr Inspect(const std::function<void()>& look);
  BetweenCalls between_calls() { return {*entrance_, *ground_, books_, journal_, functions_}; }
  Foresight foresight() { return {*entrance_, *ground_, books_, functions_, matcher_}; }
  Figures figures() { return {gate(), *ground_, books_, journal_, functions_}; }
  // For threads that look, while no call runs.
  Gate& gate() { return entrance_->gate(); }
  Books& books() { return books_; }
  Ground& ground() { return *ground_; }
  Observers& observers() { return journal_.observers(); }

 private:
  class Remains;

  TreeCore(std::unique_ptr<Entrance> entrance, std::unique_ptr<Ground> ground);
  // Ends a tree that nobody is in: it goes once its work is over and no capture is open. Else it is
  // left with the device, whole, as the work may use anything that it has.
  static void End(std::unique_ptr<TreeCore> core);
  // Waits for all work on the tree's memory.
  absl::Status AwaitWork();
  // Of a call that wants a replay. Ends the path in force, if nothing of it is held and a recording
  // at the root serves the call, and returns that; else null.
  Node* FindBeyond(Call& call, AwakeCall* awake);
  // A call that may take a stack, or run code of the program's. `hit` may be null.
  absl::Status RunInside(const void* frame, Node* hit, Call& call, const CompareWith* compared);
  // The call's status; or the error of the lost tree, if work on a fork of its body went astray.
  absl::Status LostIfStray(const Call& call, absl::Status status);
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
  MissRunner misses_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_TREE_CORE_H_
