// Who may come into a tree, who is in, and what everybody else is told.
//
//   Pass     a call or a step is in for as long as it lives; a second one is turned away (gate.h)
//   Running  the function whose body or part runs now, for the sentences that turn somebody away
//   Lose     no call is of use any more: every later one is told the first failure (refusals.h)
//
// Threads: any. Cost of a pass: one atomic operation.
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
#include "graphs/run/refusals.h"

namespace graphtree {

class Entrance {
 public:
  // Keeps a second caller out for as long as it lives, if it was let in itself.
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

  // While it lives the function's body, or a part of it, runs.
  class Running {
   public:
    Running(Entrance& entrance, const Function& function) : running_(entrance.running_) {
      running_.store(function.lasting_name, std::memory_order_release);
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

  // What the next call is told before it does anything, if there is something.
  bool has_refusal() const { return refusals_.any(); }
  absl::Status TakeRefusal() { return refusals_.Take(); }
  // A call of the function was turned away: why.
  absl::Status WhyBusy(FunctionId id) const;
  // BeginStep was turned away; the next call is told.
  void RefuseStep();
  // What is said of the first failure, which every later call is told.
  absl::Status Lose(const Function& function, absl::string_view what, const absl::Status& why);
  // The call that runs lost its tree under its feet.
  static absl::Status ClosedInside(const Function& function);
  // Whatever is asked for between calls alone was asked for here: "inside of a body of its tree".
  const char* WhereInside() const;

 private:
  const std::shared_ptr<const StepHistory> names_;
  Gate gate_;
  Refusals refusals_;
  std::atomic<const std::string*> running_{nullptr};
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_ENTRANCE_H_
