// Which recording at the path's end serves a call.
//
//   FindHit    the child that was taken last; else by a hash over what the call pins, and among
//              many recordings of it by one over what is alive (siblings.h); else those that serve
//              inputs at any address (general_nodes.h)
//   Matches    all that a recording asks of a call: the rows of match.h, objects, workspaces,
//              written inputs apart from the others, addresses at home, outputs alive or dead
//   WhyNot     which of these stood against it, for the counters
//
// It changes nothing but what the call is known to bring. No heap, no lock.
//
// Threads: the tree's caller.
#ifndef GRAPHTREE_GRAPHS_RUN_MATCHER_H_
#define GRAPHTREE_GRAPHS_RUN_MATCHER_H_

#include "absl/types/span.h"
#include "graphs/reason.h"
#include "graphs/recording/node.h"
#include "graphs/run/books.h"
#include "graphs/run/call.h"
#include "graphs/run/ground.h"

namespace graphtree {

class Matcher {
 public:
  // Both outlive the matcher.
  Matcher(Ground& ground, Books& books) : ground_(ground), path_(books.path()) {}
  Matcher(const Matcher&) = delete;
  Matcher& operator=(const Matcher&) = delete;

  // Null if there is none, or if the path's state lets nothing be replayed.
  Node* FindHit(Call& call);
  // The same without a try of the child that was taken last.
  Node* FindByCall(Call& call);
  // REQUIRES: the node does not match the call.
  Reason WhyNot(const Node& node, const Call& call);
  // Replays are allowed after nothing and after replays.
  bool CanReplay() const {
    return path_.state() == PathState::kNone || path_.state() == PathState::kReplaying;
  }

 private:
  bool Matches(const Node& node, Call& call);
  // Only a recording that was made for the call's own addresses.
  Node* FindExact(Call& call);
  static bool MovedOntoWritten(const Node& node, absl::Span<const Value> inputs);
  bool ComesFromElsewhere(const Node& node, absl::Span<const Value> inputs);

  Ground& ground_;
  Path& path_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_MATCHER_H_
