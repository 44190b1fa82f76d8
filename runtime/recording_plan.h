// A plan of which shapes are to be recorded: in which order, what they will take, and what is left
// out. Runtime::Plan makes one, Runtime::RecordPlan follows it.
//
//   RecordingPlan plan = *runtime->Plan({}, budget);         // all shapes
//   std::cout << plan.words;                                 // "102 shapes, 812.0 MiB +- 12.3 ..."
//   PlanResult made = *runtime->RecordPlan(plan, *stream);
//   kv_cache.Resize(made.bytes_left);
//
//   not known     Plan                RecordPlan: largest, smallest, some between
//   learned       `-- estimate          `-- the same plan again, now with an estimate
//                                            `-- the rest, the largest first; then the truth
//
// In modes off and shadow (serving.h) nothing is recorded, as by Runtime::Record: the result says
// that all of it was left out.
//
// What nobody has recorded yet nobody can tell: a first plan says so in words. RecordPlan then
// records a quarter of each program's shapes, but three at least and twelve at most, and plans the
// rest with what these took. Where there is a budget these are of the smaller half, as nobody knows
// whether the largest fits.
#ifndef GRAPHTREE_RUNTIME_RECORDING_PLAN_H_
#define GRAPHTREE_RUNTIME_RECORDING_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/plan/estimate.h"
#include "runtime/plan/guess.h"
#include "runtime/program.h"
#include "runtime/shapes/key.h"
#include "runtime/shapes/mode.h"

namespace graphtree {

// One shape of the runtime's.
struct ShapeToRecord {
  ProgramId program;
  Key key;
  Mode mode = Mode::kFull;
  friend bool operator==(const ShapeToRecord&, const ShapeToRecord&) = default;
};

struct PlannedShape {
  ShapeToRecord shape;
  RecordingGuess takes;
  uint64_t wanted = 0;  // steps that came and would have been served best by it
};

enum class LeftOut : uint8_t {
  kBudget,    // others are worth more, and it does not fit beside them
  kExcluded,  // the caller excluded it
  kFailed,    // its recording failed
  kMode,      // in the mode of serving nothing is recorded
  kNodes,     // trees may not hold so many recordings, and others are worth more
  kEvicted,   // it was recorded, and has made room for others since
  kStale,     // it was recorded, and bodies have moved or touched what it depends on since; the
              // last one: kLeftOutCount counts up to it
};
constexpr size_t kLeftOutCount = static_cast<size_t>(LeftOut::kStale) + 1;
// "budget": for counters and scripts.
const char* LeftOutName(LeftOut why);

struct OmittedShape {
  ShapeToRecord shape;
  LeftOut why = LeftOut::kBudget;
  std::string words = {};  // with figures
};

// Of all shapes of the plan together, those that are recorded already included.
struct PlanEstimate {
  Guess pool_alone;   // used by one recording alone, or by none: eager runs, kept outputs
  Guess pool_shared;  // by several, one after another; each byte once
  Guess executables;  // as the driver will hold them
  Guess code;
  Guess workspaces;  // as they will be when all is recorded
  Guess host;
  size_t learned_from = 0;  // recordings
  // False: of some program nothing is recorded yet, so its shapes are not in the figures.
  bool is_known = false;

  // What the device will have given, but for workspaces, which are the caller's.
  Guess device() const { return pool_alone + pool_shared + executables + code; }
};

struct RecordingPlan {
  std::vector<PlannedShape> order;  // to be recorded, the largest first
  std::vector<ShapeToRecord> recorded;  // already
  std::vector<OmittedShape> left_out;
  PlanEstimate estimate;
  uint64_t budget = 0;  // bytes of the device; 0: no limit
  std::string words;    // for people
};

// What a plan came to.
struct PlanResult {
  uint64_t recorded = 0;  // by this plan, and there now
  std::vector<OmittedShape> left_out;
  // Of a shape, which is then left out. Also where recordings are stale in the end.
  absl::Status first_failure;
  // As it was before the rest was recorded, and what the device has given in the end.
  PlanEstimate estimate;
  uint64_t device_bytes = 0;
  // Of these:
  uint64_t pool_bytes = 0;
  uint64_t executable_bytes = 0;  // by the device's own figure
  // Whether the device could be asked before and after. If not, device_bytes is pool and
  // executables by their own figures.
  bool is_measured = false;
  // How far off the estimate was, as a part of device_bytes.
  double error = 0;
  // Of the budget; without one, of the device. A server sizes its KV cache by that.
  uint64_t bytes_left = 0;
  int64_t nanoseconds = 0;
};

// Called when a plan's shapes are recorded, on the thread that records, with no step under way. It
// may add programs and call the runtime. An exception of it is an error of RecordPlan, which names
// it; the result stays in Runtime::last_plan.
using AfterPlan = std::function<void(const PlanResult&)>;

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_RECORDING_PLAN_H_
