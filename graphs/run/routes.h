// Makes the routes that a call can take, and the objects that they share. Each has a header of its
// own.
//
//   Misses        gathers the facts about a call that was no hit
//   MissNotes     notes what follows from the decision
//   Replayer      launches a recording
//   EagerRunner   runs the body now
//   Recorder      captures the body
//   ParityCheck   replays, and compares with runs of the body
#ifndef GRAPHTREE_GRAPHS_RUN_ROUTES_H_
#define GRAPHTREE_GRAPHS_RUN_ROUTES_H_

#include "graphs/run/body_runner.h"
#include "graphs/run/books.h"
#include "graphs/run/call_journal.h"
#include "graphs/run/checked_mode.h"
#include "graphs/run/eager_runner.h"
#include "graphs/run/entrance.h"
#include "graphs/run/executables.h"
#include "graphs/run/functions.h"
#include "graphs/run/ground.h"
#include "graphs/run/kept_outputs.h"
#include "graphs/run/matcher.h"
#include "graphs/run/miss.h"
#include "graphs/run/miss_notes.h"
#include "graphs/run/parity_check.h"
#include "graphs/run/recorder.h"
#include "graphs/run/replay_check.h"
#include "graphs/run/replayer.h"
#include "graphs/run/section_launcher.h"
#include "graphs/run/why_eager.h"

namespace graphtree {

class Routes {
 public:
  // All outlive the routes.
  Routes(Entrance& entrance, Ground& ground, Books& books, CallJournal& journal,
         Functions& functions, CheckedMode& checks, Matcher& matcher);
  Routes(const Routes&) = delete;
  Routes& operator=(const Routes&) = delete;

  const Misses& misses() const { return misses_; }
  MissNotes& notes() { return notes_; }
  Replayer& replayer() { return replayer_; }
  EagerRunner& eager() { return eager_; }
  Recorder& recorder() { return recorder_; }
  ParityCheck& parity() { return parity_; }

 private:
  // Shared by the routes.
  KeptOutputs kept_;
  Executables executables_;
  SectionLauncher launcher_;
  BodyRunner body_;
  WhyEager why_;
  ReplayCheck replay_check_;

  const Misses misses_;
  MissNotes notes_;
  Replayer replayer_;
  EagerRunner eager_;
  Recorder recorder_;
  ParityCheck parity_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_ROUTES_H_
