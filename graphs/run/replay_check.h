// Checked mode's comparison of a recording's first replay with two runs of its body on the same
// inputs (TreeOptions::compare_replays): a value that the body computes on the host, and that has
// changed since it was recorded, shows there.
//
//   Digest     before the replay: the body runs twice, its own memory painted with two different
//              bytes before; what both runs leave alike is what the body computes
//   Compare    after the replay: that, with what the replay left
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

// What a run of a body leaves, and the inputs that it was given.
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

  // Nothing where a replay and the body are not compared.
  std::optional<BodyDigest> Digest(const Node& node, Call& call);
  // An error leaves the call its inputs, and nothing of the outputs.
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
