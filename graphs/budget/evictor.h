// Takes what goes out of the tree, and counts what the tree holds.
//
//   Leaf         a recording without others below it, with its executables
//   Subtree      a recording and all below it, the lowest first
//   Executables  those of one recording, which stays and is instantiated again when it is called
//   AllSpares    second executables that only save time (section.h), of all recordings
//
// What goes is gone from the tree at once, and destroyed later (graveyard.h).
//
// Threads: the tree's caller; `held` is read by threads that look, too, while no call runs.
#ifndef GRAPHTREE_GRAPHS_BUDGET_EVICTOR_H_
#define GRAPHTREE_GRAPHS_BUDGET_EVICTOR_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "device/device.h"
#include "graphs/budget/graveyard.h"
#include "graphs/budget/node_worth.h"
#include "graphs/memory/step_memory.h"
#include "graphs/reason.h"
#include "graphs/recording/node.h"
#include "graphs/reports/call_counts.h"

namespace graphtree {

// What a tree holds now.
struct Holdings {
  uint64_t nodes = 0;
  uint64_t executables = 0;
  uint64_t executable_bytes = 0;
  uint64_t shapes = 0;  // that have a place
};

class Evictor {
 public:
  // Told of every executable that leaves the tree, before it goes, with the number of its section.
  using Listener = std::function<void(const Node&, size_t, const Executable&)>;

  // None owned; all outlive it. What goes is counted in `counts` and `tally`.
  Evictor(Device& device, StepMemory* memory, NodeWorth& nodes, ReasonCounts* counts,
          CallTally* tally, Listener listener)
      : memory_(memory),
        nodes_(nodes),
        counts_(counts),
        tally_(tally),
        listener_(std::move(listener)),
        graveyard_(device) {}
  Evictor(const Evictor&) = delete;
  Evictor& operator=(const Evictor&) = delete;

  const Holdings& held() const { return held_; }
  // NodeMade: a node now hangs in the tree. ExecutablesMade: the node has all its executables now,
  // one for each section. SpareMade: a section has a second one.
  void NodeMade() { ++held_.nodes; }
  void ExecutablesMade(const Node& node);
  void SpareMade(const Executable& spare);
  void SetShapes(uint64_t shapes) { held_.shapes = shapes; }

  // Not counted under a reason: whoever calls these does that.
  void Leaf(Node* node);
  // Returns how many executables the node had.
  uint64_t Executables(Node* node);
  // Counted here.
  void Subtree(Node* node, Reason reason);
  // Also those on the path in force. Returns how many.
  uint64_t AllSpares();

  void Count(Reason reason, CallEdge edge, uint64_t gone) {
    (*counts_)[static_cast<size_t>(reason)] += gone;
    tally_->Count(edge, reason, gone);
  }
  uint64_t counted(Reason reason) const { return (*counts_)[static_cast<size_t>(reason)]; }

  Graveyard& graveyard() { return graveyard_; }

 private:
  void Evict(const Node& node, size_t section, std::unique_ptr<Executable> executable);
  void Spare(const Node& node, size_t number, Section* section);
  void Detach(Node* node);

  StepMemory* const memory_;
  const NodeWorth& nodes_;
  ReasonCounts* const counts_;
  CallTally* const tally_;
  const Listener listener_;
  Holdings held_;
  uint64_t spares_ = 0;  // of the executables
  Graveyard graveyard_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_BUDGET_EVICTOR_H_
