// What a tree counts and tells: statistics and reasons, by tree, function and edge; warnings, once
// for each function and reason; to observers, what becomes of every graph.
//
//   Count(f, reason)        stats().reasons, and the edge from the path's last function to f
//   Warn(f, reason, text)   "'f' runs eagerly: ...", once
//   Say(moment, ...)        to observers; where nobody wants it this costs one load
//
// An observer, an after_launch or a warning that throws changes nothing about a call: the exception
// is counted, and a warning tells of the first one.
//
// Threads: the tree's caller; observers join and leave on any thread.
#ifndef GRAPHTREE_GRAPHS_RUN_CALL_JOURNAL_H_
#define GRAPHTREE_GRAPHS_RUN_CALL_JOURNAL_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "device/graph.h"
#include "device/observer.h"
#include "device/stream.h"
#include "graphs/match/function.h"
#include "graphs/pad/room.h"
#include "graphs/recording/node.h"
#include "graphs/recording/path.h"
#include "graphs/reports/call_counts.h"
#include "graphs/tree_options.h"
#include "graphs/tree_stats.h"

namespace graphtree {

// Whether the caller's options ask for eager runs with this reason: they are no error in strict
// mode.
bool IsWanted(Reason reason);

class CallJournal {
 public:
  // Both outlive the journal.
  CallJournal(const TreeOptions& options, const Path& path) : options_(options), path_(path) {}
  CallJournal(const CallJournal&) = delete;
  CallJournal& operator=(const CallJournal&) = delete;

  TreeStats& stats() { return stats_; }
  CallTally& tally() { return tally_; }
  // What the last call came to, so far.
  LastCall last_call() const {
    if (last_route_ == CallRoute::kReplayed) return {last_route_};
    return {last_route_, last_reason_};
  }
  void NoteRoute(CallRoute route, std::optional<Reason> reason = std::nullopt) {
    last_route_ = route;
    last_reason_ = reason;
  }
  // The same of a hit, in one store.
  void NoteReplayed() { last_route_ = CallRoute::kReplayed; }
  // The edge from the function that is last on the path.
  CallEdge EdgeTo(const Function& function) const;
  CallCounts& On(const Function& function) { return tally_.On(EdgeTo(function)); }
  void Count(const Function& function, Reason reason, uint64_t times = 1);
  // The same for a recording, under the edge that leads to its node.
  void CountOf(const Node& node, Reason reason, uint64_t times);
  void CountPads(const PadCounts& pads) {
    stats_.pads_in_place += pads.in_place;
    stats_.pads_copied += pads.copied;
    stats_.pad_room_bytes += pads.room_bytes;
  }

  // Warns that the function runs eagerly, unless the options ask for that.
  void Warn(Function& function, Reason reason, const std::string& detail);
  // Gives the warning `text`, once for each function and reason.
  void Tell(Function& function, Reason reason, const std::string& text);
  // Warns once of a function that comes in many shapes.
  void TellOfShapes(Function& function);
  // Counts a recording's breaks, and tells once into how many sections it was cut, and why.
  void NoteBreaks(const Node& node);

  Observers& observers() { return observers_; }
  bool is_watched() const { return observers_.wants_graphs(); }
  bool wants_ops() const { return observers_.wants_ops(); }
  // Tells observers what happens to a section's executable, but for its launches (launch_teller.h).
  // REQUIRES: is_watched(), so that callers pay nothing without observers.
  void Say(GraphMoment moment, const Node& node, size_t section, Stream* stream, bool ok = true) {
    Say(moment, node, section, node.SectionAt(section).executable.get(), stream, ok);
  }
  void Say(GraphMoment moment, const Node& node, size_t section, const Executable* executable,
           Stream* stream, bool ok);
  // Tells that executables are gone: one, all of a node, all of a tree.
  void SayDestroyed(const Node& node, size_t section, const Executable& executable);
  void SayDestroyed(const Node& node);
  void SayAllDestroyed(const Node& root);
  // The event of this section's graph.
  GraphEvent EventOf(GraphMoment moment, const Node& node, size_t section,
                     const Executable* executable, Stream* stream, bool ok) const;
  // While the node is recorded, a capture; afterwards a replay.
  RunKind RunOf(const Node& node) const {
    return node.id >= stats_.recordings ? RunKind::kCapture : RunKind::kReplay;
  }

  // Does it, and tells observers when it begins and ends.
  absl::Status Told(Phase phase, const Function& function,
                    absl::FunctionRef<absl::Status()> act) {
    ToldPhase told(observers_, phase, function.name);
    return told.Ended(act());
  }
  // A hook of a function has thrown.
  void CountThrown(const absl::Status& status);
  // Warns of the first exception. What observers throw they count themselves.
  void TellOfThrown(const absl::Status& status);
  // Exceptions of observers, hooks and warnings so far.
  uint64_t thrown() const { return thrown_ + observers_.thrown(); }

 private:

  const TreeOptions& options_;
  const Path& path_;
  TreeStats stats_;
  CallRoute last_route_ = CallRoute::kNone;
  std::optional<Reason> last_reason_;  // means nothing after a replay
  CallTally tally_;
  Observers observers_;
  uint64_t thrown_ = 0;  // by warnings and hooks
  bool told_of_thrown_ = false;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_CALL_JOURNAL_H_
