// Runs a call that no recording serves, and one whose replay could not be done.
//
//   Run
//     Check       what the caller brought, and on which stream       check_call.h
//     TakeRoute
//       Look      gathers what is known of the call                  miss.h
//                 one pure decision                                  decide.h
//                 notes what follows from it                         miss_notes.h
//       Take      replay, warm up, run at once                       replayer.h, eager_runner.h
//                 begin a new path: look again
//                 record: look again if the recording has shown more, a bounded number of times
//                                                                    recorder.h
//   AfterFailedReplay
//                 nothing was replayed: the body runs now
//
// Threads: the tree's caller.
#ifndef GRAPHTREE_GRAPHS_RUN_MISS_RUNNER_H_
#define GRAPHTREE_GRAPHS_RUN_MISS_RUNNER_H_

#include <string>

#include "absl/status/status.h"
#include "graphs/reason.h"
#include "graphs/recording/node.h"
#include "graphs/run/books.h"
#include "graphs/run/call.h"
#include "graphs/run/call_journal.h"
#include "graphs/run/checked_mode.h"
#include "graphs/run/decide.h"
#include "graphs/run/functions.h"
#include "graphs/run/ground.h"
#include "graphs/run/miss.h"
#include "graphs/run/recorder.h"
#include "graphs/run/routes.h"

namespace graphtree {

class MissRunner {
 public:
  // All outlive it.
  MissRunner(Ground& ground, Books& books, CallJournal& journal, Functions& functions,
             CheckedMode& checks, Routes& routes)
      : ground_(ground),
        books_(books),
        journal_(journal),
        functions_(functions),
        checks_(checks),
        routes_(routes) {}
  MissRunner(const MissRunner&) = delete;
  MissRunner& operator=(const MissRunner&) = delete;

  absl::Status Run(Call& call);
  // A replay of the recording failed with `status`: returns that, or runs the call eagerly if
  // nothing was replayed.
  absl::Status AfterFailedReplay(const Node& node, Call& call, absl::Status status);

 private:
  absl::Status Check(Call& call);
  // Decides, and takes the route; more than once if a path ends, or if a recording has to be made
  // again.
  absl::Status TakeRoute(Call& call, Miss* miss);
  Decision Look(Call& call, bool is_again, Miss* miss);
  // REQUIRES: the route is neither to record nor to begin a new path.
  absl::Status Take(const Decision& decision, const Miss& miss, Call& call);
  absl::Status AfterRecording(const RecordOutcome& recorded, const Miss& miss, Call& call);

  Ground& ground_;
  Books& books_;
  CallJournal& journal_;
  Functions& functions_;
  CheckedMode& checks_;
  Routes& routes_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_MISS_RUNNER_H_
