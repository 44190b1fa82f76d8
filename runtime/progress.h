// Recording in idle slots: a server is ready at once, and its graphs come while it serves.
//
//   runtime = Runtime::Create(device, {.records_while_serving = false});
//   while (serving) {
//     ... a step: in its graph if that is ready, else in one that covers it, else eagerly
//     if (nothing_waits) runtime->Progress(*stream, {.budget_ns = 2'000'000});
//   }
//
//   step   | idle            | step  | idle    | step             idle slots
//          | warm-up  record |       | warm-up |       record
//             tokens=64                tokens=8        tokens=8   the most wanted shape first
//
// A shape is wanted once for each step that it would have served best (RuntimeStats counts them as
// not_recorded or cover). Of shapes that are wanted alike the largest comes first, as it covers the
// others. What fails is tried again after a while, as a recording that fails while serving is.
//
// Time is looked at between runs: a shape takes a warm-up or more, then its recording. The first
// run of a call is always made, so that each call gets further; another one only if what its
// program took lately still fits.
//
// In modes off and shadow (serving.h) nothing is recorded, as by Runtime::Record: a call runs
// nothing and says that it is done.
//
// Progress runs bodies on slots of padding, as Record does, in steps of its own. Such a step ends
// the lane's last one, so a lane in which outputs of the last step are held is passed over, unless
// the caller allows that (`ends_steps`).
//
// Threads: Progress takes each of its lanes as steps do, also to look what is wanted there. A lane
// that has a step is passed over, and a step that is begun meanwhile is refused. So a server calls
// it between steps on the thread that steps. A thread of its own, beside steps of other lanes,
// names the lanes that are its own (`lanes`). One thread at a time calls it, and no programs,
// shapes and dependencies are added meanwhile. The stream is of the device whose lanes are meant.
#ifndef GRAPHTREE_RUNTIME_PROGRESS_H_
#define GRAPHTREE_RUNTIME_PROGRESS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/recording_plan.h"

namespace graphtree {

// How many shapes have their graphs.
struct Readiness {
  uint64_t shapes = 0;  // that are not excluded
  uint64_t ready = 0;   // recorded, with all dependencies as they are, and committed
  uint64_t not_committed = 0;
  uint64_t failed = 0;  // the last try to record them did

  // 1 where there are no shapes.
  double ratio() const {
    return shapes == 0 ? 1 : static_cast<double>(ready) / static_cast<double>(shapes);
  }
  std::string ToString() const {
    std::string text = absl::StrCat(ready, " of ", shapes, " shapes are ready");
    if (not_committed > 0) absl::StrAppend(&text, ", ", not_committed, " wait for a commit");
    if (failed > 0) absl::StrAppend(&text, ", ", failed, " failed");
    return text;
  }
  friend Readiness operator+(const Readiness& a, const Readiness& b) {
    return {a.shapes + b.shapes, a.ready + b.ready, a.not_committed + b.not_committed,
            a.failed + b.failed};
  }
};

struct ProgressOptions {
  int64_t budget_ns = 0;  // 0: one run
  bool ends_steps = false;
  std::vector<uint32_t> lanes = {};       // of the stream's device; empty: all
  std::vector<ShapeToRecord> only = {};  // those of a plan, for example; empty: all shapes
};

struct ProgressReport {
  uint64_t runs = 0;      // warm-ups and recordings
  uint64_t recorded = 0;
  uint64_t failed = 0;
  int64_t spent_ns = 0;
  uint64_t busy_lanes = 0;  // passed over: a step had them
  uint64_t held_lanes = 0;  // passed over: outputs of their last step are held
  Readiness readiness = {};  // of the lanes that were looked at, in the end
  // Nothing is left to do in these lanes now.
  bool is_done = false;
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_PROGRESS_H_
