// The path: the chain of nodes from the root to the one that ran last, and what of it is still
// held.
//
//   states   kNone --warm-up--> kWarmUp        kNone --record--> kRecording
//            kNone --replay--> kReplaying      any --End--> kNone
//            kReplaying --warm-up/record--> kWarmUp / kRecording (after the pool was restored)
//            kRecording --warm-up--> kWarmUp   kRecording --record--> kRecording
//            kReplaying --replay--> kReplaying
//            kWarmUp only grows warm-ups: nothing can be recorded behind what is not pinned.
//
// Held() lists the outputs that were handed out on this path and may still be alive, a few entries
// however long the path is: those that died are forgotten when it is next looked at. What a body
// has stored somewhere without returning it is listed behind its outputs.
//
// A replay writes an output whether anybody holds it or not, and a later one may need its bytes
// (Node::needs). They stay until the pool's books are restored without the output:
//
//   replay makes o    o dies         a replay needs o: there
//   replay makes o    o dies    the books are restored, and that call fails    it is gone
//
// Pure bookkeeping: no device. Threads: the tree's caller only; handles may die meanwhile.
#ifndef GRAPHTREE_GRAPHS_RECORDING_PATH_H_
#define GRAPHTREE_GRAPHS_RECORDING_PATH_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "graphs/recording/node.h"

namespace graphtree {

enum class PathState : uint8_t { kNone, kWarmUp, kRecording, kReplaying };

const char* PathStateName(PathState state);

// An output that was handed out. Holds the storage inside, so that the pointer stays good.
struct HeldOutput {
  Storage* storage;
  OutputRef output;
  OutputSlot* slot;  // of the node that was replayed; null for a warm-up or a recording
};

class Path {
 public:
  explicit Path(Node* root) : root_(root), current_(root) {}
  Path(const Path&) = delete;
  Path& operator=(const Path&) = delete;
  ~Path() { Clear(); }

  PathState state() const { return state_; }
  // The root where the path is empty.
  Node* current() const { return current_; }
  bool empty() const { return current_ == root_; }
  uint32_t next_level() const { return empty() ? 0 : current_->level + 1; }

  // The path goes on with `node`, whose parent is current().
  void Append(Node* node, PathState state) {
    current_ = node;
    state_ = state;
  }
  // Warm-up nodes belong to the path.
  Node* AppendWarmUp(std::unique_ptr<Node> node);

  void Hold(Storage* storage, OutputRef output, OutputSlot* slot) {
    storage->AddInside();
    held_.push_back({storage, output, slot});
  }
  bool Holds(const Storage& storage) const;
  // Null if it was never handed out, or was forgotten.
  Storage* Find(OutputRef output) const;
  // The dead ones among them, too; for who only looks.
  const std::vector<HeldOutput>& listed() const { return held_; }
  // How many of them are alive; nothing is forgotten.
  size_t CountAlive() const;
  // Forgets the outputs that nobody holds any more; what is left is alive.
  const std::vector<HeldOutput>& Held();

  // The LiveHash of what is alive.
  uint64_t HashOfAlive();

  // Takes the dead ones among `storages` out, with the path's hold on them: whoever has them now
  // lets go of it.
  std::vector<HeldOutput> TakeDead(absl::Span<Storage* const> storages);
  // Back on the path.
  void PutBack(const HeldOutput& held) { held_.push_back(held); }

  // The pool's books were restored under a path that replays: what is held owns its block from
  // here on, and what is not has lost its bytes, as whoever runs next may be given them.
  void BecameOwning();
  // The path goes on replaying. What is listed has its bytes, also when nobody holds it any more.
  void BecameViews();
  // Whether the bytes of an output may be somebody else's by now.
  bool IsGone(OutputRef output) const;

  // Is anything alive that `node` leaves no room for, or gone that it needs? kFits, or what stands
  // against it. `inputs` are the call's: a consumed input must be held by nothing else.
  enum class Fit : uint8_t { kFits, kAliveButWasDead, kHeldElsewhere, kGone };
  Fit Fits(const Node& node, absl::Span<const Value> inputs);

  // Everything on the path that is still held goes stale. The path is empty after it.
  // `at` is where from: a stack, or 0.
  void EndStale(uint64_t step, uint32_t at);
  // REQUIRES: nothing is held.
  void EndDead();
  // Forgets what is held without a word: the tree is closed, and its outputs live on.
  void EndAlive() { Reset(); }

 private:
  void Clear();
  void Reset();
  // Whether an output is dead already, or dies with the call's own handles.
  bool DiesWith(OutputRef output, const Node& node, absl::Span<const Value> inputs) const;

  Node* const root_;
  Node* current_;
  PathState state_ = PathState::kNone;
  std::vector<HeldOutput> held_;
  // The books were last restored when the next node was of this level, and then these outputs had
  // their bytes.
  uint32_t restored_level_ = 0;
  std::vector<OutputRef> survivors_;
  std::vector<std::unique_ptr<Node>> warm_ups_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RECORDING_PATH_H_
