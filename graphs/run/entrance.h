// The entrance lets one call or step into a tree at a time, and gives all others an error.
//
//   Pass     keeps a call or a step in for as long as it lives; a second one is refused (gate.h)
//   Running  notes the function whose body or part runs now, which those errors name
//   Lose     the tree is lost: every later call gets the first failure (pending_errors.h)
//   Close    a body has closed its own tree: the call takes the tree out, and ends it at its end
//
// Threads: any, but for a tree that is closed inside: the caller's. Cost of a pass: one atomic
// operation.
#ifndef GRAPHTREE_GRAPHS_RUN_ENTRANCE_H_
#define GRAPHTREE_GRAPHS_RUN_ENTRANCE_H_

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graphs/history/step_history.h"
#include "graphs/match/function.h"
#include "graphs/run/gate.h"
#include "graphs/run/planted_bug.h"
#include "graphs/run/pending_errors.h"

namespace graphtree {

class TreeCore;

// A tree that ends with this pointer.
struct EndTree {
  void (*end)(TreeCore* core) = nullptr;
  void operator()(TreeCore* core) const { end(core); }
};
using ClosedTree = std::unique_ptr<TreeCore, EndTree>;

class Entrance {
 public:
  // Tries to enter. If it entered, keeps other callers out for as long as it lives.
  class Pass {
   public:
    explicit Pass(Entrance& entrance)
        : gate_(entrance.gate_), entered_(gate_.TryEnter() || IsPlanted(PlantedBug::kLetsAllIn)) {}
    ~Pass() {
      if (entered_) gate_.Leave();
    }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;
    bool entered() const { return entered_; }

   private:
    Gate& gate_;
    const bool entered_;
  };

  // Lives while the function's body, or a part of it, runs.
  class Running {
   public:
    Running(Entrance& entrance, const Function& function) : running_(entrance.running_) {
      running_.store(function.permanent_name, std::memory_order_release);
    }
    ~Running() { running_.store(nullptr, std::memory_order_release); }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    std::atomic<const std::string*>& running_;
  };

  explicit Entrance(std::shared_ptr<const StepHistory> names) : names_(std::move(names)) {}
  Entrance(const Entrance&) = delete;
  Entrance& operator=(const Entrance&) = delete;

  Gate& gate() { return gate_; }
  // Is this thread in a call of the tree already, or in one of its bodies?
  bool IsInOwnCall() const { return gate_.is_mine(); }
  bool IsInOwnBody() const {
    return running_.load(std::memory_order_acquire) != nullptr && IsInOwnCall();
  }

  // Whether the next call is refused, and with which error (pending_errors.h).
  bool has_pending_error() const { return pending_errors_.any(); }
  bool is_lost() { return pending_errors_.any() && pending_errors_.is_lost(); }
  absl::Status TakePendingError() { return pending_errors_.Take(); }
  // The error of a call of the function that could not enter.
  absl::Status WhyBusy(FunctionId id) const;
  // BeginStep could not enter: the next call gets an error.
  void NoteMissedStep();
  // The tree is lost because of `why`. Returns the error that every later call gets.
  absl::Status Lose(const Function& function, absl::string_view what, const absl::Status& why);
  // The tree is closed by a body of its own call, or by an object that the call let go. That call
  // takes the tree out while it is inside, and lets it end when it has left.
  void CloseInside(ClosedTree tree) { closed_inside_ = std::move(tree); }
  bool is_closed_inside() const { return closed_inside_ != nullptr; }
  ClosedTree TakeClosed() { return std::move(closed_inside_); }
  // The error of a call whose body closed its tree.
  static absl::Status ClosedInside(const Function& function);
  // For the error of a request that is allowed between calls only: "inside of a body of its tree".
  const char* WhereInside() const;

 private:
  const std::shared_ptr<const StepHistory> names_;
  Gate gate_;
  PendingErrors pending_errors_;
  std::atomic<const std::string*> running_{nullptr};
  ClosedTree closed_inside_;  // used by the thread that is in the tree
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_ENTRANCE_H_
