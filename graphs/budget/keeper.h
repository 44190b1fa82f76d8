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
// Evicted things are taken out of the tree at once and destroyed later (graveyard.h). An eviction
// is counted under the reason of the budget that was full.
//
// Threads: the tree's caller, where a member does not allow more. Cost: finding room where there is
// some is a few comparisons; an eviction looks at every node once.
#ifndef GRAPHTREE_GRAPHS_BUDGET_KEEPER_H_
#define GRAPHTREE_GRAPHS_BUDGET_KEEPER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "allocator/pool_types.h"
#include "device/device.h"
#include "graphs/match/admission.h"
#include "graphs/budget.h"
#include "graphs/call_counts.h"
#include "graphs/match/function.h"
#include "graphs/budget/graveyard.h"
#include "graphs/budget/sharer.h"
#include "graphs/match/keep.h"
#include "graphs/recording/node.h"
#include "graphs/recording/path.h"
#include "graphs/reason.h"
#include "graphs/memory/memory_giver.h"
#include "graphs/memory/step_memory.h"

namespace graphtree {

// What a tree holds now.
struct Holdings {
  uint64_t nodes = 0;
  uint64_t executables = 0;
  uint64_t executable_bytes = 0;
  uint64_t shapes = 0;  // that have a place
};

class Keeper {
 public:
  // None owned; all outlive the keeper. Evictions are counted in `counts` and `tally`. `evicts` is
  // called for every executable that leaves the tree, before it goes, with the number of its
  // section.
  Keeper(const TreeBudget& budget, std::shared_ptr<SharedBudget> shared, Device& device,
         StepMemory* memory, const Path* path, Node* root, ReasonCounts* counts, CallTally* tally,
         std::function<void(const Node&, size_t, const Executable&)> evicts)
      : budget_(budget),
        sharer_(std::move(shared)),
        memory_(memory),
        path_(path),
        root_(root),
        counts_(counts),
        tally_(tally),
        evicts_(std::move(evicts)),
        ghosts_(4 * budget.shapes, budget.half_life),
        graveyard_(device) {}

  const TreeBudget& budget() const { return budget_; }
  const Holdings& held() const { return held_; }

  // A call of the tree begins; `now` counts them.
  void SetNow(uint64_t now) { now_ = now; }
  // The same for a call that is no replay. Destroys evicted things that may be destroyed by now.
  // `last` is the stream with the tree's last work, or null.
  void BeginCall(uint64_t now, StreamLife* last);

  // Notes a call of the variant that is no replay.
  void Called(Variant* variant);
  // A place among the shapes that may be recorded.
  struct Place {
    bool is_there = false;            // the variant has a place, or can take one
    Variant* instead_of = nullptr;    // the shape that has to give its place up; null: none has to
    bool was_full = false;            // all places are taken, and the variant has none
    std::optional<double> least_of_all;  // the uses of the least used shape, if it was looked for
  };
  // Finds a place for the variant, which may be a new one that its function does not have yet.
  // There is one if one is free, or if the variant, with the call that is under way, has earned the
  // place of the least used shape (admission.h). Looks only.
  Place PlaceFor(const Variant& variant) const;
  // Notes what PlaceFor has seen. REQUIRES: PlaceFor has just returned `place` for the variant.
  void NotePlace(Variant* variant, const Place& place);
  // Gives the variant that place. A shape that gives its place up loses all its recordings.
  // REQUIRES: as NotePlace.
  void TakePlace(Variant* variant, const Place& place);
  // The function has a new variant, which may be one that was forgotten: then its earlier uses
  // count. If the function has too many variants, forgets the less used half of those without a
  // place.
  void NewShape(Function* function, Variant* variant);

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

  // NodeMade: a node now hangs in the tree. ExecutablesMade: the node has all its executables now,
  // one for each section.
  void NodeMade() { ++held_.nodes; }
  void ExecutablesMade(const Node& node);

  // Whether a spare for a graph of so many ops fits without an eviction. Then room is taken for it.
  bool HasRoomForSpare(uint64_t ops);
  void SpareMade(const Executable& spare);

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
  void Settle() { sharer_.Settle(Shared(held_)); }
  struct SettledAtTheEnd {
    ~SettledAtTheEnd() { keeper.Settle(); }
    Keeper& keeper;
  };
  // Evicts what is worth the least until the tree holds no more than that, as far as it may go now.
  void GiveUp(const Share& beyond);

  Graveyard& graveyard() { return graveyard_; }

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
  // The same, but bring nothing up to date.
  double SeenUsesOf(const Node& node) const;
  Standing SeenStandingOf(const Variant& variant) const;
  // With the call that is under way, whether that is noted already or not.
  Standing StandingWithThisCall(const Variant& variant) const;
  bool IsFull(const Function& function) const {
    return function.places >= budget_.shapes_of_function;
  }
  // The shape whose place the variant has earned, among its function's shapes or among all.
  Place PlaceOfRival(const Variant& variant, bool of_function) const;
  void Forget(Function* function, absl::Span<Variant* const> variants);
  // Erases what the nodes remember of these variants.
  void ForgetAtNodes(const absl::flat_hash_set<uint32_t>& variants);
  // How much would be gained if the whole node went (AsNode), or its executables alone.
  Candidate AsNode(Node* node, bool pinned);
  Candidate AsExecutables(Node* node, bool pinned);
  double UsesBelow(Node* node);

  void Count(Reason reason, CallEdge edge, uint64_t gone) {
    (*counts_)[static_cast<size_t>(reason)] += gone;
    tally_->Count(edge, reason, gone);
  }
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
  // The path in force, and what is replayed now with all before it.
  NodeSet InForce(const Node* replays) const;
  // Whether that much would be unmapped if all recordings went that may.
  bool HaveRecordings(uint64_t bytes, const Node* replays) const;
  // Up to so many; returns how many went.
  uint64_t GiveUpForMemory(uint64_t most, const Node* replays, const std::string& why);
  bool GiveUpOneForMemory(const Node* replays, const std::string& why);
  void PayRent(const Node& node, const std::string& why);
  absl::Status NoRoomFor(const Variant& variant) const;
  void Evict(const Node& node, size_t section, std::unique_ptr<Executable> executable);
  void EvictSpare(const Node& node, size_t number, Section* section);
  // Evicts all spares, also those on the path in force: they only save time. Returns how many.
  uint64_t DropSpares();
  // Returns how many executables the node had.
  uint64_t EvictExecutables(Node* node);
  void EvictLeaf(Node* node);
  void EvictSubtree(Node* node, Reason reason);
  void EvictShape(Variant* variant);
  void Detach(Node* node);

  // The budget never changes: any thread may read it.
  const TreeBudget budget_;
  Sharer sharer_;
  // Used by the tree's caller only, as is all that follows; `held_` is read by threads that look,
  // too, while no call runs.
  StepMemory* const memory_;
  const Path* const path_;
  Node* const root_;
  ReasonCounts* const counts_;
  CallTally* const tally_;
  const std::function<void(const Node&, size_t, const Executable&)> evicts_;
  uint64_t now_ = 0;
  Holdings held_;
  uint64_t spares_ = 0;  // of the executables
  std::vector<Variant*> placed_;  // the variants that have a place
  Admission admission_;           // to the tree's places
  Ghosts ghosts_;                 // of variants that were forgotten
  Graveyard graveyard_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_BUDGET_KEEPER_H_
