// The path: the chain of nodes from the root to the one that ran last, and the outputs on it that
// are still held.
//
//   states   kNone --warm-up--> kWarmUp        kNone --record--> kRecording
//            kNone --replay--> kReplaying      any --End--> kNone
//            kReplaying --warm-up/record--> kWarmUp / kRecording (after the pool was restored)
//            kRecording --warm-up--> kWarmUp   kRecording --record--> kRecording
//            kReplaying --replay--> kReplaying
//            kWarmUp only grows warm-ups: nothing is recorded after outputs that are not pinned.
//
// The path lists the outputs that were handed out on it and may still be alive. The list is short
// however long the path is: ForgetDead() takes the outputs off that died. A tensor that a
// body has stored somewhere without returning it is listed after the body's outputs.
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

// An output that was handed out. The path holds the storage, so that the pointer stays good.
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
  // The node that ran last; the root where the path is empty.
  Node* current() const { return current_; }
  bool empty() const { return current_ == root_; }
  uint32_t next_level() const { return empty() ? 0 : current_->level + 1; }

  // The path goes on with `node`, whose parent is current().
  void Append(Node* node, PathState state) {
    current_ = node;
    state_ = state;
  }
  // The path owns the nodes of warm-ups.
  Node* AppendWarmUp(std::unique_ptr<Node> node);

  void Hold(Storage* storage, OutputRef output, OutputSlot* slot) {
    storage->AddInside();
    held_.push_back({storage, output, slot});
  }
  bool Holds(const Storage& storage) const;
  // The storage of an output; null if the path never handed it out, or has forgotten it.
  Storage* Find(OutputRef output) const;
  // The whole list, also dead outputs: for callers that must change nothing.
  const std::vector<HeldOutput>& listed() const { return held_; }
  // How many outputs are alive; nothing is forgotten.
  size_t CountAlive() const;
  // Forgets the outputs that nobody holds any more; what is left is alive.
  const std::vector<HeldOutput>& ForgetDead();

  // The LiveHash of what is alive.
  uint64_t HashOfAlive();

  // Takes the dead ones among `storages` off the list. The path's hold on them goes to the caller,
  // who must drop it or put the output back.
  std::vector<HeldOutput> TakeDead(absl::Span<Storage* const> storages);
  // Puts an output back on the list, with the hold.
  void PutBack(const HeldOutput& held) { held_.push_back(held); }

  // The pool's books were restored under a path that replays. An output that is held owns its block
  // from here on. An output that nobody holds has lost its bytes: whoever runs next may get them.
  void BecameOwning();
  // The path goes on replaying: listed outputs have their bytes, held or not.
  void BecameViews();
  // Whether the bytes of an output may be somebody else's by now.
  bool IsGone(OutputRef output) const;

  // Whether the node may be replayed now, as far as liveness goes. kAliveButWasDead: an output is
  // alive that the node leaves no room for. kHeldElsewhere: an input of the call that dies inside
  // the node is held by somebody else, too. kGone: an output that the node needs has lost its
  // bytes.
  enum class Fit : uint8_t { kFits, kAliveButWasDead, kHeldElsewhere, kGone };
  Fit Fits(const Node& node, absl::Span<const Value> inputs);

  // Ends the path: everything on it that is still held goes stale. `at` is the stack of the call
  // that ends it, or 0.
  void EndStale(uint64_t step, uint32_t at);
  // REQUIRES: nothing is held.
  void EndDead();
  // Ends the path, and nothing goes stale: the tree is closed, and its outputs live on.
  void EndAlive() { Reset(); }

 private:
  void Clear();
  void Reset();
  // Whether an output is dead already, or dies when the node consumes the call's handles.
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
