// Where a tree stands: its path, and what the pool's books show of the memory on that path.
//
//   the path holds         the books                       its outputs
//   warm-ups, recordings   are true                        own their blocks
//   replays                show some earlier moment: a     are views
//                          replay changes bytes, and
//                          never books
//
//   Restore()       before a warm-up or a recording after replays: the books are undone and redone
//                   until they show what they showed when the path's last node had been recorded,
//                   less the outputs that have died since; those that live own their blocks again
//   BackToViews()   the call for which Restore was made failed, and the path goes on replaying
//   BeginStep()     the path ends; what is still held of it goes stale
//
// Threads: the tree's caller.
#ifndef GRAPHTREE_GRAPHS_RUN_BOOKS_H_
#define GRAPHTREE_GRAPHS_RUN_BOOKS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "graphs/inputs/pointer_log.h"
#include "graphs/memory/step_memory.h"
#include "graphs/recording/node.h"
#include "graphs/recording/path.h"
#include "graphs/run/call.h"

namespace graphtree {

class Books {
 public:
  // `memory` outlives the books.
  explicit Books(StepMemory& memory) : memory_(memory), path_(&root_) {}
  Books(const Books&) = delete;
  Books& operator=(const Books&) = delete;

  // REQUIRES: once, before anything else.
  absl::Status Open();
  // Outputs of replays that are held get their blocks back, so that they can outlive the tree.
  void Close();

  Node& root() { return root_; }
  Path& path() { return path_; }
  const Path& path() const { return path_; }
  // The number of the step, from 1 on.
  uint64_t step() const { return step_; }
  // How often the books were restored to a node of the tree.
  uint64_t restores() const { return restores_; }

  absl::Status Restore();
  // Cheap where nothing owns a block.
  void BackToViews() {
    if (owns_in_replay_) TakeBlocksAway();
  }
  // `at` is the stack of the call that begins the step, or 0.
  void BeginStep(StackId at);
  // Ends the path if nothing of it is held. True if it ended now.
  bool EndPathIfDead();
  // Once the path has ended, restores the books, so that memory of a warm-up is free for others.
  // Restore does that, too. Not called before a replay: its first op may read what the last step
  // has left (Tree::WouldReplayFirst).
  void LeaveDeadWay() {
    if (is_away_ && path_.empty()) is_away_ = !Restore().ok();
  }

  // The path holds the outputs that the run hands out, and tensors that its body has stored
  // somewhere: the caller may use both until the step ends.
  void HoldOutputs(const Call& call, Node* node, const Values& outputs,
                   const StepAllocator& allocator);
  // Makes the tensors stale that a body has stored whose run failed, or whose recording was given
  // up: both those that it made and the marks of inputs. `has_blocks`: the books still have the
  // blocks of the former, which are freed.
  void MakeStale(const Call& call, const StepAllocator& allocator,
                 absl::Span<const MarkedInput> marked, bool has_blocks);

 private:
  void TakeBlocksAway();
  // Of a recording that is cut: a part may have taken it along.
  void NoteRemade(Storage* storage, Node* node) const;
  void HoldMade(const Call& call, const Node& node, Storage* storage, uint32_t number,
                uint32_t output);

  StepMemory& memory_;
  Node root_;
  Path path_;
  // The path replays, and its outputs own blocks, since the books were restored for a call.
  bool owns_in_replay_ = false;
  bool is_away_ = false;  // something was warmed up or recorded since LeaveDeadWay
  uint64_t step_ = 1;
  uint64_t restores_ = 0;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_BOOKS_H_
