// Keeps a tree within its budgets (budget.h): before something is made, finds room for it, and
// evicts what is worth the least (keep.h) where there is none.
//
//   path in force     root - A - B            pinned: their executables, and they themselves
//   other nodes              |   `- C         C may go whole; so may D and E, E first
//                            `- D - E         the executables of any of C, D, E may go alone
//   spares (section.h)                        of A to E: go before any of these
//
// What goes is taken out of the tree at once and destroyed later (graveyard.h). An eviction for a
// cause is counted under that cause's reason.
//
// Threads: the tree's caller only. Cost: finding room where there is some is a few comparisons; an
// eviction looks at every node once.
#ifndef GRAPHTREE_GRAPHS_BUDGET_KEEPER_H_
#define GRAPHTREE_GRAPHS_BUDGET_KEEPER_H_

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "device/device.h"
#include "graphs/match/admission.h"
#include "graphs/budget.h"
#include "graphs/call_counts.h"
#include "graphs/match/function.h"
#include "graphs/budget/graveyard.h"
#include "graphs/match/keep.h"
#include "graphs/recording/node.h"
#include "graphs/recording/path.h"
#include "graphs/reason.h"
#include "graphs/memory/step_memory.h"

namespace graphtree {

// What a tree holds now.
struct Held {
  uint64_t nodes = 0;
  uint64_t executables = 0;
  uint64_t executable_bytes = 0;
  uint64_t shapes = 0;  // that have a place
};

class Keeper {
 public:
  // None owned; all outlive the keeper. Evictions are counted in `counts` and `tally`; `evicts` is
  // told of every executable that leaves the tree, while it is there, with the number of its
  // section.
  Keeper(const TreeBudget& budget, Device& device, StepMemory* memory, const Path* path, Node* root,
         ReasonCounts* counts, CallTally* tally,
         std::function<void(const Node&, size_t, const Executable&)> evicts)
      : budget_(budget),
        device_(device),
        memory_(memory),
        path_(path),
        root_(root),
        counts_(counts),
        tally_(tally),
        evicts_(std::move(evicts)),
        ghosts_(4 * budget.shapes, budget.half_life),
        graveyard_(device) {}

  const TreeBudget& budget() const { return budget_; }
  const Held& held() const { return held_; }

  // A call of the tree begins; `now` counts them.
  void SetNow(uint64_t now) { now_ = now; }
  // The same for a call that is no replay: what may be destroyed by now is. `last` has the tree's
  // last work.
  void BeginCall(uint64_t now, StreamLife* last);

  // The variant is called, on another route than a replay.
  void Called(Variant* variant);
  // A place among the shapes that may be recorded.
  struct Place {
    bool is_there = false;            // the variant has one, or can take one
    Variant* instead_of = nullptr;    // of this one, which has to go for it
  };
  // There is one for the variant if one is free, or if the variant has earned that of the least
  // used one that has a place (admission.h). Nothing goes yet.
  Place PlaceFor(Variant* variant);
  // REQUIRES: it was found for the variant, and nothing happened since. Whoever had the place loses
  // all its recordings.
  void TakePlace(Variant* variant, const Place& place);
  // The function has a new variant: it counts what it was used before it was forgotten. Forgets the
  // less used half of those that have no place, if there are too many.
  void NewShape(Function* function, Variant* variant);

  // The function is not recorded any more: all of its recordings go, and what lies behind them, but
  // for those on the path in force. If there are none its shapes are forgotten, too, and nothing
  // refers to them any more; false if there are.
  bool EvictFunction(Function* function);

  // Room for one recording of the variant behind the path's end. ResourceExhausted, with the
  // figures, where what may go would not do.
  absl::Status RoomForNode(const Variant& variant);
  // The same for an executable of a graph of that many ops, one of `node`'s. Those that it has
  // already are not counted yet, and do not go.
  absl::Status RoomForExecutable(uint64_t ops, const Node& node);

  // The node now hangs in the tree, or has all of its executables: one for each section.
  void NodeMade() { ++held_.nodes; }
  void ExecutablesMade(const Node& node);

  // Whether a spare fits without that anything goes.
  bool HasRoomForSpare(uint64_t ops) const;
  void SpareMade(const Executable& spare);

  // Evicts the spares, or else the executables of a node that may go, the least valuable; false if
  // there is none. For a device that is out of memory while it makes one of `node`'s: those that
  // it has already are not counted yet, and do not go.
  bool EvictOneExecutable(Reason reason, const Node& node);

  Graveyard& graveyard() { return graveyard_; }
  // The tree goes, and a capture is open: graphs and executables may be destroyed behind it alone.
  void LeaveGraphsBehind();

 private:
  // By how much something is over a budget.
  struct Excess {
    uint64_t executables = 0;
    uint64_t bytes = 0;
    bool any() const { return executables > 0 || bytes > 0; }
  };
  using NodeSet = absl::flat_hash_set<const Node*>;

  std::vector<Node*> AllNodes(Node* from) const;  // parents before children
  NodeSet OnPath() const;
  double UsesOf(Node* node);
  Standing StandingOf(Variant* variant);
  bool IsFull(const Function& function) const {
    return function.places >= budget_.shapes_of_function;
  }
  // Whose place the variant has earned, of its function's alone or of all; null if no one's.
  Variant* RivalOf(Variant* variant, bool of_function);
  void Forget(Function* function, absl::Span<Variant* const> variants);
  // What the nodes remember of these variants.
  void ForgetAtNodes(const absl::flat_hash_set<uint32_t>& variants);
  // Kept by node: what a whole node, or its executable alone, would give back.
  Kept AsNode(Node* node, bool pinned);
  Kept AsExecutables(Node* node, bool pinned);
  double UsesBelow(Node* node);

  void Count(Reason reason, CallEdge edge, uint64_t gone) {
    (*counts_)[static_cast<size_t>(reason)] += gone;
    tally_->Count(edge, reason, gone);
  }
  // With one executable of so many bytes more.
  Excess ExcessWith(const Held& held, uint64_t bytes) const;
  void Evict(const Node& node, size_t section, std::unique_ptr<Executable> executable);
  void EvictSpare(const Node& node, size_t number, Section* section);
  // All there are: what only saves time goes first, also on the path in force. Returns how many.
  uint64_t DropSpares();
  // Returns how many there were.
  uint64_t EvictExecutables(Node* node);
  void EvictLeaf(Node* node);
  void EvictSubtree(Node* node, Reason reason);
  void EvictShape(Variant* variant);
  void Detach(Node* node);

  const TreeBudget budget_;
  Device& device_;
  StepMemory* const memory_;
  const Path* const path_;
  Node* const root_;
  ReasonCounts* const counts_;
  CallTally* const tally_;
  const std::function<void(const Node&, size_t, const Executable&)> evicts_;
  uint64_t now_ = 0;
  Held held_;
  uint64_t spares_ = 0;  // of the executables
  std::vector<Variant*> placed_;  // the variants that have a place
  Admission admission_;           // to the tree's places
  Ghosts ghosts_;                 // of variants that were forgotten
  Graveyard graveyard_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_BUDGET_KEEPER_H_
