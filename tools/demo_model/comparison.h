// The demo: one day of requests served three ways on one device, one after another, and the tokens
// of every step compared.
//
//   eager          |step|step|step| ...     every kernel launched one by one
//   engine's way   |step|step|step| ...     inputs one by one, then a graph for the padded size
//   graphtree      |step|step|step| ...     one launch
//                   =    =    =             equal tokens, or the first step where they differ
#ifndef GRAPHTREE_TOOLS_DEMO_MODEL_COMPARISON_H_
#define GRAPHTREE_TOOLS_DEMO_MODEL_COMPARISON_H_

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/device.h"
#include "graphs/reports/outline.h"
#include "graphs/tree.h"
#include "runtime/explain.h"
#include "runtime/runtime.h"
#include "runtime/runtime_options.h"
#include "runtime/serving.h"
#include "tools/demo_model/day.h"
#include "tools/demo_model/kernels/dims.h"
#include "tools/demo_model/ladder.h"
#include "tools/demo_model/runtime_way.h"
#include "tools/demo_model/trace.h"

namespace graphtree::demo {

enum WayNumber { kEager, kEngine, kGraphtree, kWays };
// "eager", "engine's way", "graphtree".
const char* WayName(int way);

inline constexpr uint64_t kDefaultBudget = 3 << 20;

struct DemoOptions {
  std::vector<Request> requests;
  int most_requests = kMostRequests;
  uint64_t budget_bytes = kDefaultBudget;  // that graphs may hold, in each way
  bool records_ahead = false;              // graphtree does, before the first request
  bool records_idle = false;               // or between steps
  ServingMode serving = {};                // of graphtree
  std::string door = {};                   // where tools may look into graphtree; empty: nowhere
  RuntimeOptions base = {};                // what else graphtree's runtime is told
  // Which way is running, and the steps that it has done.
  std::function<void(const char* way, int step)> progress = [](const char*, int) {};
  // Called when the runtime is open, before its first step.
  std::function<absl::Status(Runtime& runtime)> at_the_start = [](Runtime&) {
    return absl::OkStatus();
  };
  // Called while the runtime is still open, behind its last step.
  std::function<absl::Status(Tree& tree)> at_the_end = [](Tree&) { return absl::OkStatus(); };
};

// Where a way first picked another token than eager. Nothing but the step is known if the step has
// other requests.
struct Difference {
  size_t step = 0;
  int request = -1;  // its number in the trace
  int eager_token = -1;
  int token = -1;
};

struct Comparison {
  DeviceInfo device;
  std::vector<Request> requests;
  int most_requests = 0;
  uint64_t budget_bytes = 0;
  bool records_ahead = false;
  bool records_idle = false;
  bool records_while_serving = true;
  std::optional<Recorded> recorded;  // of graphtree, where graphs serve
  ServingMode serving = {};
  Explanation explanation;  // of graphtree, without trees and single steps
  std::vector<Rung> ladder;
  uint64_t weight_bytes = 0;
  uint64_t cache_bytes = 0;
  std::array<Day, kWays> days;
  std::array<std::optional<Difference>, kWays> differences;  // from eager
  RuntimeStats runtime;
  TreeStats tree;
  Outline outline;

  bool tokens_are_equal() const { return !differences[kEngine] && !differences[kGraphtree]; }
};

// A way's figures. Medians are taken over the steps that graphtree replayed, the same for every
// way; over all steps if it replayed none. All else is over all steps.
struct Figures {
  double tokens_per_second = 0;
  double host_ns = 0;      // median
  double whole_ns = 0;     // median
  double submissions = 0;  // median
  double slowest_ns = 0;   // the whole time of the slowest step
  double padding = 0;  // of the rows for which layers were launched, that part was nobody's
  size_t replays = 0;
};

// Steps of one reason.
struct Reasons {
  Why why;
  std::vector<size_t> steps;  // their numbers
};

std::optional<Difference> FirstDifference(const Day& eager, const Day& other);
Figures FiguresOf(const Comparison& comparison, int way);
// Of the steps that were no replay, in the order of Why.
std::vector<Reasons> ReasonsOf(const Day& day);

// InvalidArgument if the budget holds no graph, or a request is none.
absl::StatusOr<Comparison> Compare(Device& device, const DemoOptions& options);

}  // namespace graphtree::demo

#endif  // GRAPHTREE_TOOLS_DEMO_MODEL_COMPARISON_H_
