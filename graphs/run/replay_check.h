// Compares a recording's first replay with two runs of its body on the same inputs, in checked mode
// (TreeOptions::compare_replays). This finds values that the body computes on the host and that
// have changed since it was recorded.
//
//   Digest     before the replay: the body runs twice, its own memory filled with two different
//              bytes beforehand; output bytes that are the same after both runs are the body's work
//              (Replayer::MatchAgain: these runs may have moved a workspace)
//   Compare    after the replay: compares these bytes with those that the replay left
//
// Threads: the tree's caller.
#ifndef GRAPHTREE_GRAPHS_RUN_REPLAY_CHECK_H_
#define GRAPHTREE_GRAPHS_RUN_REPLAY_CHECK_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "graphs/budget/keeper.h"
#include "graphs/check/run_digest.h"
#include "graphs/recording/node.h"
#include "graphs/run/body_runner.h"
#include "graphs/run/books.h"
#include "graphs/run/call.h"
#include "graphs/run/call_journal.h"
#include "graphs/run/checked_mode.h"
#include "graphs/run/ground.h"
#include "graphs/tensor.h"

namespace graphtree {

// The outputs that a body leaves, as digests, and the inputs that it was given.
struct BodyDigest {
  RunDigest left;
  Values inputs;
};

class ReplayCheck {
 public:
  // All outlive it.
  ReplayCheck(Ground& ground, Books& books, CallJournal& journal, CheckedMode& checks,
              Keeper& keeper, BodyRunner& body)
      : ground_(ground),
        books_(books),
        journal_(journal),
        checks_(checks),
        keeper_(keeper),
        body_(body) {}
  ReplayCheck(const ReplayCheck&) = delete;
  ReplayCheck& operator=(const ReplayCheck&) = delete;

  // Nothing if this replay is not to be compared.
  std::optional<BodyDigest> Digest(const Node& node, Call& call);
  // If this is an error the call has its inputs back, and no outputs.
  absl::Status Compare(const BodyDigest& body, Call& call);

 private:
  std::optional<RunDigest> RunPainted(const Values& given, uint8_t paint, Call& call);

  Ground& ground_;
  Books& books_;
  CallJournal& journal_;
  CheckedMode& checks_;
  Keeper& keeper_;
  BodyRunner& body_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_REPLAY_CHECK_H_
