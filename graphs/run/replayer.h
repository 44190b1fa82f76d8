// Replays a recording for a call that it matches: the hot path. No heap, no lock, one launch, and a
// patch if an input moved.
//
//   order      the call's stream is ordered after the tree's last one: free if it is the same
//   launch     section_launcher.h, or cut_replay.h if the recording is cut
//   go on      the path goes on with the node
//   hand out   outputs.h
//
// In checked mode the call's inputs are checked first, and the work is waited for. Where that fails
// what the recording writes of its caller's is put back.
//
// Threads: the tree's caller.
#ifndef GRAPHTREE_GRAPHS_RUN_REPLAYER_H_
#define GRAPHTREE_GRAPHS_RUN_REPLAYER_H_

#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/stream.h"
#include "graphs/budget/keeper.h"
#include "graphs/recording/node.h"
#include "graphs/run/books.h"
#include "graphs/run/call.h"
#include "graphs/run/call_journal.h"
#include "graphs/run/checked_mode.h"
#include "graphs/run/entrance.h"
#include "graphs/run/executables.h"
#include "graphs/run/ground.h"
#include "graphs/run/kept_outputs.h"
#include "graphs/run/matcher.h"
#include "graphs/run/outputs.h"
#include "graphs/run/planted_bug.h"
#include "graphs/run/replay_check.h"
#include "graphs/run/section_launcher.h"

namespace graphtree {

class CutReplay;

class Replayer {
 public:
  // What a replayer uses; all outlive it.
  struct Needs {
    Ground& ground;
    Entrance& entrance;
    Books& books;
    CallJournal& journal;
    CheckedMode& checks;
    Keeper& keeper;
    Executables& executables;
    KeptOutputs& kept;
    Matcher& matcher;
    SectionLauncher& launcher;
    ReplayCheck& replay_check;
  };
  explicit Replayer(const Needs& needs) : needs_(needs), outputs_(needs.ground, needs.books) {}
  Replayer(const Replayer&) = delete;
  Replayer& operator=(const Replayer&) = delete;

  // Why a call was not replayed although a recording matched: the recording's executables were
  // evicted and the budget has no room for them now, the pool had no memory for its kept outputs,
  // one of its parts wrote over an input that was copied before, or moved a workspace, or a run of
  // its body beside the replay did. The call has its inputs back, and may run eagerly.
  struct NotReplayed {
    Reason reason = Reason::kOverBudget;
    std::string detail;
  };
  // REQUIRES: the node matches the call. A failure may mean that nothing was
  // done: see TakeNotReplayed.
  absl::Status Replay(Node* node, Call& call) {
    const bool holds = node->keeps_inputs || !node->held.empty();
    return holds ? ReplayHolding(node, call) : ReplayChosen(node, call);
  }
  // After a run of the body beside a replay: an error if the recording does not match the call any
  // more, since that run has moved a workspace, say. Counts as a Replay that did nothing.
  absl::Status MatchAgain(const Node& node, Call& call);
  // Why the last Replay did nothing, if that is what its failure means.
  std::optional<NotReplayed> TakeNotReplayed() {
    return std::exchange(not_replayed_, std::nullopt);
  }

 private:
  // For a recording that uses tensors without being given them: checks that they may be used, and
  // tells their owners of the stream.
  absl::Status ReplayHolding(Node* node, Call& call);
  absl::Status ReplayChosen(Node* node, Call& call);
  // Checks those tensors, and the inputs that the recording hands out as kept outputs.
  absl::Status CheckWhatIsHeld(const Node& node, const Call& call) const;
  absl::Status CheckFirst(const Node& node, Call& call);
  absl::Status BringBack(Node* node);
  // Where the pool has no memory for kept outputs a run at once may have what this recording holds.
  absl::Status PlaceKept(Node* node, Call& call);
  absl::Status ReplayChecked(Node* node, Call& call);
  absl::Status ReplayCut(Node* node, Call& call);
  absl::StatusOr<bool> LaunchCut(Node* node, Call& call, CutReplay* replay);
  // Work that is put on `stream` next runs after all of the tree's work so far.
  absl::Status ContinueOn(Stream& stream) {
    if (IsPlanted(PlantedBug::kForgetsStreamOrder)) return absl::OkStatus();
    if (IsPlanted(PlantedBug::kMixesOrders) && !CameLast(&needs_.ground)) return absl::OkStatus();
    return needs_.ground.order.ContinueOn(stream);
  }
  // REQUIRES: the node is not cut, and kept outputs have their places.
  absl::Status Launch(Node* node, Call& call) {
    if (node->section.executable == nullptr) return absl::OkStatus();
    return needs_.launcher.LaunchNode(node, call.inputs, call.stream);
  }
  // The path goes on with the node, and the call has its outputs.
  void GoOn(Node* node, Call& call);

  const Needs needs_;
  Outputs outputs_;
  std::optional<NotReplayed> not_replayed_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_REPLAYER_H_
