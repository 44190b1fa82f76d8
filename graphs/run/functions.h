// The functions of a tree and their shapes, with the keeper of their recordings.
//
//   Register ---> Function ---> Variant (one shape) ---> recordings, executables (keeper.h)
//   Retire   ---> the function leaves: its recordings go as soon as no path needs them
//
//   path in force   root - A - B       A leaves: A and B stay until the path ends
//   other nodes          |   `- A'     A' goes at once, and so do D and E
//                        `- D(A) - E
//
// A function whose sizes vary, and whose options say not to record it then, leaves in the same way,
// but can still be called.
//
// Threads: the tree's caller, or a thread that looks while no call runs (gate.h).
#ifndef GRAPHTREE_GRAPHS_RUN_FUNCTIONS_H_
#define GRAPHTREE_GRAPHS_RUN_FUNCTIONS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graphs/budget/keeper.h"
#include "graphs/match/function.h"
#include "graphs/match/function_table.h"
#include "graphs/reports/call_counts.h"
#include "graphs/run/books.h"
#include "graphs/run/call.h"
#include "graphs/run/call_journal.h"
#include "graphs/run/decide.h"
#include "graphs/run/ground.h"

namespace graphtree {

// What is known of a call from its sizes.
struct Shape {
  SizeVerdict size = SizeVerdict::kMayBeRecorded;
  Variant* variant = nullptr;         // null for a size that may not be recorded
  std::unique_ptr<Variant> newcomer;  // the variant, until the function has it; null if it has
  bool doubts_hidden = false;         // Variant::DoubtHidden is due
};

class Functions {
 public:
  // All outlive the functions.
  Functions(Ground& ground, Books& books, CallJournal& journal);
  Functions(const Functions&) = delete;
  Functions& operator=(const Functions&) = delete;

  FunctionId Register(std::string name, FunctionOptions options, Body body);
  // Null if no function has this id, or if the one that had it was unregistered.
  Function* Find(FunctionId id) const { return table_.Find(id); }
  absl::Status NotRegistered(FunctionId id) const;
  // Whether the function may be called now (FunctionOptions::owners_thread).
  static bool MayBeCalled(const Function& function) {
    const std::atomic<std::thread::id>* const owners = function.options.owners_thread;
    if (owners == nullptr) return true;
    return owners->load(std::memory_order_relaxed) == std::this_thread::get_id();
  }
  static absl::Status NotTheOwner(const Function& function);
  // Unregisters the function. Its body waits for the tree's work (graveyard.h), which may use what
  // the body has captured.
  void Retire(Function* function);
  // Evicts the functions that are leaving, as far as the path does not need them.
  void LetLeave();
  bool anyone_leaves() const { return !table_.leaving().empty(); }
  // Whether its recordings go with the path in force.
  bool IsLeaving(Function& function) const {
    return absl::c_linear_search(table_.leaving(), &function);
  }
  // Whether some function is checked, or all are.
  bool any_checked() const { return checked_ > 0; }

  // Looks only.
  Shape ShapeOf(const Call& call) const;
  // Notes a call that is no replay: a new variant becomes its function's, and a function that is
  // found to vary leaves. Says once that a function comes in many shapes. REQUIRES: ShapeOf has
  // just returned `shape` for the call.
  void NoteShape(const Call& call, Shape* shape);
  // A warm-up is over. If it did not ask for another one (`asked` is empty) the variant is warm;
  // too many that ask in a row are remembered.
  void NoteWarmUp(const std::string& asked, Variant* variant);
  // The variant's recording failed: after a few failures it pauses, for longer each time.
  void NoteFailure(Variant* variant, absl::string_view why) const;

  Keeper& keeper() { return keeper_; }
  const Keeper& keeper() const { return keeper_; }
  // By function, from the counts of all edges.
  std::vector<FunctionStats> PerFunction(const std::vector<EdgeStats>& edges) const;

 private:
  SizeVerdict JudgeSize(const Call& call) const;
  void NoteSize(const Call& call);
  // Whether the function is not to be recorded once its sizes vary.
  bool SkipsVaryingSizes(const Function& function) const;

  Ground& ground_;
  CallJournal& journal_;
  FunctionTable table_;
  uint32_t next_variant_ = 0;
  uint64_t checked_;  // registered functions whose options ask for checks; one more if all are
  Keeper keeper_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_FUNCTIONS_H_
