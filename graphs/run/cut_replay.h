// One replay of a recording that is cut: section, part, section, part, section, in one stream's
// order.
//
//   section 0      bytes of the caller's that it writes are saved first
//   part 0         is given this call's addresses, and memory of its own from the lasting region
//   section 1      ...
//
// If one of them fails, random numbers are given back, saved bytes are restored, and the node is as
// good as before; nothing was handed out or consumed. The same is done where a part spoils what
// comes after it, and the call then runs eagerly: the part writes to an input that section 0 has
// copied, so that later sections would read the old copy, or to the copy alone, so that the input
// would stay as it was; or it moves a workspace that the recording points to.
//
// Threads: the tree's caller. Used once.
#ifndef GRAPHTREE_GRAPHS_RUN_CUT_REPLAY_H_
#define GRAPHTREE_GRAPHS_RUN_CUT_REPLAY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graphs/memory/part_runner.h"
#include "graphs/memory/spoilt_ranges.h"
#include "graphs/memory/undo.h"
#include "graphs/random/random_source.h"
#include "graphs/reason.h"
#include "graphs/recording/cut.h"
#include "graphs/recording/node.h"
#include "graphs/run/call.h"
#include "graphs/run/call_journal.h"
#include "graphs/run/ground.h"
#include "graphs/run/launch_watch.h"
#include "graphs/run/section_launcher.h"

namespace graphtree {

class CutReplay {
 public:
  // All outlive the replay. REQUIRES: the node's kept outputs have their places.
  CutReplay(Ground& ground, CallJournal& journal, SectionLauncher& launcher, Node* node,
            Call& call);
  CutReplay(const CutReplay&) = delete;
  CutReplay& operator=(const CutReplay&) = delete;

  // False if a part has spoilt what comes after it. The node does not match such calls any more.
  absl::StatusOr<bool> Launch();
  // REQUIRES: Launch has returned false.
  Reason WhySpoilt() const;
  // How many parts have run so far.
  uint64_t parts_run() const { return parts_run_; }
  // The requests of the parts that ran, such as objects that their work needs until it is done.
  BodyRequests TakeRequests() { return parts_.TakeRequests(); }
  // Takes the call's effects back; a failure says what could not be.
  absl::Status UndoEffects();

 private:
  Address AddressOf(const Place& place) const { return place.In(call_.inputs, node_->places); }
  absl::StatusOr<bool> LaunchAll();
  absl::Status LaunchSection(size_t number, Section* section);
  absl::Status RunPart(Cut* cut);
  bool HasMovedWorkspace() const { return !ground_.workspaces.AreCurrent(node_->workspaces); }
  // Whether the range is memory of the recording itself, and not of an input.
  bool IsRecordings(AddressRange range) const;
  void ShowInputs();
  void SaveOfPart(const PartRunner::Write& write);
  // The part's break does not tell of the write.
  void NoteUntold(const PartRunner::Write& write);
  void ReviveFor(absl::Span<const Tensor> tensors);
  void ReviveInputs();

  Ground& ground_;
  CallJournal& journal_;
  SectionLauncher& launcher_;
  Node* const node_;
  Call& call_;
  EagerRandom taken_;
  SpoiltRanges spoilt_;
  bool shows_inputs_ = false;
  bool overwrote_copied_ = false;
  bool wrote_to_copy_ = false;
  uint64_t parts_run_ = 0;
  Undo undo_;
  PartRunner parts_;
  std::optional<LaunchWatch> watch_;  // of what the parts launch; or nobody wants that
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_CUT_REPLAY_H_
