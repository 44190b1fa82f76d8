// Runs the eager parts of a body, and the parts in these. All parts of all runs go through it: of
// a tree's calls (graphs/memory/part_runner.h) and of a launcher without a tree.
//
//   body --Break--> Run --> part, its launcher --Break--> part in it, with a launcher of its own
//
// All of these launchers put their work on one stream, take memory from one allocator and tell one
// observer.
//
// Threads: as Launcher.
#ifndef GRAPHTREE_GRAPHS_PART_LAUNCHER_H_
#define GRAPHTREE_GRAPHS_PART_LAUNCHER_H_

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "device/stream.h"
#include "graphs/body/access_observer.h"
#include "graphs/body/body_allocator.h"
#include "graphs/body/op_watch.h"
#include "graphs/body/requests.h"
#include "graphs/eager_part.h"
#include "graphs/launcher.h"
#include "graphs/workspaces.h"

namespace graphtree {

class PartLauncher : private Cutter {
 public:
  // As for a Launcher.
  PartLauncher(Stream& stream, BodyAllocator& allocator, AccessObserver* observer,
               RandomSource* random)
      : on_(stream, allocator, observer, random) {
    on_.means().cutter = this;
  }
  PartLauncher(const PartLauncher&) = delete;
  PartLauncher& operator=(const PartLauncher&) = delete;

  void SetWorkspaces(const Workspaces* workspaces) { on_.means().workspaces = workspaces; }
  // The error names the part. Parts that follow one that failed launch nothing.
  absl::Status Run(const BreakRequest& part) { return RunOn(on_, nullptr, part); }
  // For a body that nobody has given a cutter: the part runs where the body breaks.
  static absl::Status RunInPlace(const BreakRequest& part, Launcher& body);
  // May be null; for all parts from here on.
  void SetWatch(OpWatch* watch) { on_.means().watch = watch; }
  // For the observer, which refuses what the part that runs is about to do: that part fails, and so
  // do those that it runs in. Nothing happens if `why` is OK.
  void Fail(const absl::Status& why);
  // What the parts asked for since the last TakeRequests.
  BodyRequests TakeRequests() { return std::exchange(on_.requests(), {}); }

 private:
  // A part breaks.
  absl::Status Cut(BreakRequest request) override;
  // Runs a part with this launcher, which is not the body's own, within the part that has `outer`,
  // or within the body. The error names the part.
  static absl::Status RunOn(Launcher& on, const RunMemory* outer, const BreakRequest& request);

  Launcher on_;
  std::vector<Launcher*> inner_;  // of the parts in parts that run now, each in the one before
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_PART_LAUNCHER_H_
