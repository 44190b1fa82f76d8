// How a runtime serves steps: with graphs or without, and how strictly.
//
//   mode       a step that a graph serves       any other step      recordings are made
//   off        runs eagerly                     runs eagerly        no
//   shadow     runs eagerly, and is counted     runs eagerly        no
//   replay     is replayed                      runs eagerly        by Record, and by steps
//   strict     is replayed                      is an error         by Record
//
// What holds for Record here holds for plans and for recording in idle slots, too
// (recording_plan.h, progress.h).
//
// Shadow tells what replaying would bring before anything is recorded: which shapes would have
// served which steps, the time that would have been saved, and the memory that it would take
// (ExplainedShape::shadow).
//
// With parity, one replay in N is compared with runs of its body on the same inputs, which are
// saved for that: outputs, and what the body writes of its caller's. A difference is told, once for
// each shape and op, with the first op that differs, and is counted. What the replay left stays.
// Such a step makes the host wait, and costs at least two more runs of the body.
//
// The mode may change between steps while serving; inside of a step a change is an error.
#ifndef GRAPHTREE_RUNTIME_SERVING_H_
#define GRAPHTREE_RUNTIME_SERVING_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphs/reports/parity.h"

namespace graphtree {

enum class Serving : uint8_t { kOff, kShadow, kReplay, kStrict };

struct ServingMode {
  Serving serving = Serving::kReplay;
  // Every so many replays of a lane one is compared; 0: none. Only where graphs serve.
  uint32_t parity_every = 0;
  // How far apart the two may be.
  Tolerance tolerance = {};
};

// "off".
const char* ServingName(Serving serving);
// An error that names those that there are.
absl::StatusOr<Serving> ServingFrom(absl::string_view name);
// "replay, parity 1 in 100 within 0.001 absolute, 0 relative".
std::string ToString(const ServingMode& mode);
// An error for parity where nothing is replayed, and for a tolerance that is no number.
absl::Status CheckServing(const ServingMode& mode);

// Whether graphs may serve steps.
constexpr bool ServesGraphs(Serving serving) {
  return serving == Serving::kReplay || serving == Serving::kStrict;
}

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_SERVING_H_
