// Finds the recording at the path's end that serves a call.
//
//   FindHit    tries the child that was taken last; else looks up a hash over the words that the
//              call pins, and among many recordings there one over what is alive (siblings.h); else
//              tries those that take inputs at any address (general_nodes.h)
//   Matches    checks all that a recording asks of a call: the rows of match.h, objects,
//              workspaces, written inputs apart from the others, addresses at home, outputs alive
//              or dead
//   WhyNot     says which of these does not hold, for the counters
//
// The matcher changes two flags of the call (brings_storage, brings_others), the path's list of
// outputs, which forgets the dead ones, and notes that make the next answer cheap: the siblings'
// second hash, pages that are at home, workspaces that were current. The first scan of many
// siblings allocates, and an input at any address on a page that was never seen takes a lock; no
// other match does either.
//
// Threads: the tree's caller.
#ifndef GRAPHTREE_GRAPHS_RUN_MATCHER_H_
#define GRAPHTREE_GRAPHS_RUN_MATCHER_H_

#include "absl/types/span.h"
#include "graphs/match/match.h"
#include "graphs/reason.h"
#include "graphs/recording/node.h"
#include "graphs/recording/path.h"
#include "graphs/run/call.h"
#include "graphs/run/ground.h"

namespace graphtree {

class Matcher {
 public:
  // Both outlive the matcher.
  Matcher(Ground& ground, Path& path) : ground_(ground), path_(path) {}
  Matcher(const Matcher&) = delete;
  Matcher& operator=(const Matcher&) = delete;

  // Null if no recording matches, or if nothing can be replayed in the path's state.
  Node* FindHit(Call& call);
  // The same, but does not try the child that was taken last. `roles` are the inputs' own ones
  // (CallRoles).
  Node* FindByRoles(Call& call, absl::Span<const InputRole> roles);
  // Whether a recording that matched the call still does, after code of the program's has run.
  bool StillMatches(const Node& node, Call& call) { return CanReplay() && Matches(node, call); }
  // REQUIRES: the node does not match the call.
  Reason WhyNot(const Node& node, const Call& call);
  // A replay may begin a path or follow another replay.
  bool CanReplay() const {
    return path_.state() == PathState::kNone || path_.state() == PathState::kReplaying;
  }

 private:
  bool Matches(const Node& node, Call& call);
  // The inputs' own roles are asked for, one by one.
  Node* FindByCall(Call& call);
  Node* FindExactByCall(Call& call);
  // `role_of` returns the role of an input, by its number.
  template <typename RoleOf>
  Node* FindByHash(Call& call, RoleOf role_of);
  // Finds only recordings that pin all inputs that can be pinned.
  template <typename RoleOf>
  Node* FindExact(Call& call, RoleOf role_of);
  static bool MovedOntoWritten(const Node& node, absl::Span<const Value> inputs);
  bool ComesFromElsewhere(const Node& node, absl::Span<const Value> inputs);

  Ground& ground_;
  Path& path_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_MATCHER_H_
