// The keeper holds a tree to its budgets (budget.h). Before something is made it looks for room,
// and where there is none it evicts what is worth the least (keep.h).
//
//   path in force     root - A - B            pinned: their executables, and they themselves
//   other nodes              |   `- C         C may go whole; so may D and E, E first
//                            `- D - E         the executables of any of C, D, E may go alone
//   spares (section.h)                        of A to E: go before any of these
//
// Where a run lacks the pool's memory, recordings go whole, too, as they hold some.
//
//   shape_places   who has a place among the shapes that may be recorded
//   node_worth     the recordings that there are, and how much each was used
//   evictor        takes out of the tree what goes, at once; graveyard.h destroys it later
//
// An eviction is counted under the reason of the budget that was full.
//
// Threads: the tree's caller, where a member does not allow more. Cost: finding room where there is
// some is a few comparisons; an eviction looks at every node once.
#ifndef GRAPHTREE_GRAPHS_BUDGET_KEEPER_H_
#define GRAPHTREE_GRAPHS_BUDGET_KEEPER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "device/device.h"
#include "graphs/budget.h"
#include "graphs/budget/evictor.h"
#include "graphs/budget/graveyard.h"
#include "graphs/budget/node_worth.h"
#include "graphs/budget/shape_places.h"
#include "graphs/budget/sharer.h"
#include "graphs/match/function.h"
#include "graphs/memory/memory_giver.h"
#include "graphs/memory/step_memory.h"
#include "graphs/reason.h"
#include "graphs/recording/node.h"
#include "graphs/recording/path.h"
#include "graphs/reports/call_counts.h"

namespace graphtree {

class Keeper {
 public:
  // None owned; all outlive the keeper. Evictions are counted in `counts` and `tally`. `evicts` is
  // called for every executable that leaves the tree, before it goes, with the number of its
  // section.
  Keeper(const TreeBudget& budget, std::shared_ptr<SharedBudget> shared, Device& device,
         StepMemory* memory, const Path* path, Node* root, ReasonCounts* counts, CallTally* tally,
         Evictor::Listener evicts)
      : budget_(budget),
        sharer_(std::move(shared)),
        memory_(memory),
        nodes_(budget.half_life, *path, *root),
        evictor_(device, memory, nodes_, counts, tally, std::move(evicts)),
        shapes_(budget_, nodes_, evictor_) {}
  const TreeBudget& budget() const { return budget_; }
  const Holdings& held() const { return evictor_.held(); }

  // A call of the tree begins; `now` counts them.
  void SetNow(uint64_t now) { nodes_.SetNow(now); }
  // The same for a call that is no replay. Destroys evicted things that may be destroyed by now.
  // `last` is the stream with the tree's last work, or null.
  void BeginCall(uint64_t now, StreamLife* last);

  ShapePlaces& shapes() { return shapes_; }
  const ShapePlaces& shapes() const { return shapes_; }

  // The function is not recorded any more: all of its recordings go, and the nodes below them, but
  // for those on the path in force. True if none of its recordings is on that path: then its shapes
  // are forgotten, too, and nothing refers to them any more.
  bool EvictFunction(Function* function);

  // Makes room for one recording of the variant at the path's end. ResourceExhausted, with the
  // figures, where there would not be enough room if all went that may go.
  absl::Status RoomForNode(const Variant& variant);
  // The same for an executable of a graph of that many ops, which will be `node`'s. Executables
  // that the node has already are not counted yet, and do not go.
  absl::Status RoomForExecutable(uint64_t ops, const Node& node);

  // Whether so much could be made for the node if all went that may. Nothing goes, so that what can
  // never fit costs others nothing. ResourceExhausted, with the figures, if it could not.
  absl::Status FitsBesidePath(const Share& wanted, const Node& node);

  // NodeMade: a node now hangs in the tree. ExecutablesMade: the node has all its executables now,
  // one for each section.
  void NodeMade() { evictor_.NodeMade(); }
  void ExecutablesMade(const Node& node) { evictor_.ExecutablesMade(node); }

  // Whether a spare for a graph of so many ops fits without an eviction. Then room is taken for it.
  bool HasRoomForSpare(uint64_t ops);
  void SpareMade(const Executable& spare) { evictor_.SpareMade(spare); }

  // Evicts all spares or, where there are none, the executables of the least valuable node that may
  // lose them. False if nothing may go. Called when the device runs out of memory while it makes an
  // executable for `node`; those that the node has already are not counted yet, and do not go.
  bool EvictOneExecutable(Reason reason, const Node& node);

  // A run lacks memory of the pool's: gives up recordings, the least valuable first, and never one
  // on the path in force or that is replayed now. False if that would not help, or none may go. A
  // shape pays for what was given up of it before it is recorded again (given_up.h).
  bool GiveMemory(const MemoryWanted& wanted, const MemoryGiver::Taker& taker);
  // Between calls: unmaps what nobody uses, and gives recordings up, until so many bytes fewer are
  // mapped. None goes where all of them would not do. Returns what was unmapped.
  uint64_t GiveMemoryAway(uint64_t bytes, const std::string& why);

  // A call of the tree is over: of a budget that others share it keeps what it holds.
  void Settle() { sharer_.Settle(Shared(held())); }
  struct SettledAtTheEnd {
    ~SettledAtTheEnd() { keeper.Settle(); }
    Keeper& keeper;
  };
  // Evicts what is worth the least until the tree holds no more than that, as far as it may go now.
  void GiveUp(const Share& beyond);

  Graveyard& graveyard() { return evictor_.graveyard(); }

 private:
  // By how much something is over a budget.
  struct Excess {
    uint64_t executables = 0;
    uint64_t bytes = 0;
    bool any() const { return executables > 0 || bytes > 0; }
  };

  // The excess if one more executable of `bytes` bytes were made.
  Excess ExcessWith(const Holdings& held, uint64_t bytes) const;
  static Share Shared(const Holdings& held) {
    return {held.nodes, held.executables, held.executable_bytes};
  }
  // By the tree's own budget, and by what others have left.
  Share Limits() const;
  // Takes room for one more node than are held, unless the limits are reached.
  bool TakeRoomForNode();
  // Evicts the recording without others below it that is worth the least. False if none may go.
  bool EvictOneLeaf();
  // Whether that much would be unmapped if all recordings went that may.
  bool HaveRecordings(uint64_t bytes, const Node* replays) const;
  // Up to so many; returns how many went.
  uint64_t GiveUpForMemory(uint64_t most, const Node* replays, const std::string& why);
  bool GiveUpOneForMemory(const Node* replays, const std::string& why);
  void PayRent(const Node& node, const std::string& why);
  absl::Status NoRoomFor(const Variant& variant) const;
  // The budget never changes: any thread may read it.
  const TreeBudget budget_;
  Sharer sharer_;
  // Used by the tree's caller only, as is all that follows; what is held is read by threads that
  // look, too, while no call runs.
  StepMemory* const memory_;
  NodeWorth nodes_;
  Evictor evictor_;
  ShapePlaces shapes_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_BUDGET_KEEPER_H_
