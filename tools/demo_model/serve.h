// The demo as a server that stays: graphtree's way alone serves one day after another, with one
// runtime, until somebody ends it. There is no comparison; there is a door to look in.
//
//   cold start |day|day|day| ...          graphtree top DOOR
#ifndef GRAPHTREE_TOOLS_DEMO_MODEL_SERVE_H_
#define GRAPHTREE_TOOLS_DEMO_MODEL_SERVE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "device/device.h"
#include "runtime/explain.h"
#include "runtime/runtime_options.h"
#include "runtime/serving.h"
#include "tools/demo_model/kernels/dims.h"
#include "tools/demo_model/trace.h"

namespace graphtree::demo {

struct ServeOptions {
  std::function<std::vector<Request>(int day)> requests;
  int most_requests = kMostRequests;
  uint64_t budget_bytes = 0;
  bool records_ahead = false;
  bool records_idle = false;
  ServingMode serving = {};
  std::string door;
  RuntimeOptions base = {};  // what else the runtime is told
  // The runtime is open, and so is its door.
  std::function<void()> is_open = [] {};
  // Asked after each step.
  std::function<bool()> ends;
};

struct Served {
  uint64_t steps = 0;
  uint64_t tokens = 0;
  int days = 0;  // that were begun
  Explanation explanation;
};

absl::StatusOr<Served> Serve(Device& device, const ServeOptions& options);

}  // namespace graphtree::demo

#endif  // GRAPHTREE_TOOLS_DEMO_MODEL_SERVE_H_
