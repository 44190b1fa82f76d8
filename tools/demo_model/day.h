// The server's loop: batches from the scheduler, through a way of serving, tokens back to the
// scheduler.
//
//   Next | Submit               | copy tokens, wait | Take
//        |--- host time --------|
//   |--------------- whole time of a step ----------------|
//
// Host time is what the calling thread pays to bring a step's batch in and to put its work on the
// stream. The wait for its tokens is the same whichever way serves.
#ifndef GRAPHTREE_TOOLS_DEMO_MODEL_DAY_H_
#define GRAPHTREE_TOOLS_DEMO_MODEL_DAY_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/stream.h"
#include "runtime/why.h"
#include "tools/demo_model/trace.h"
#include "tools/demo_model/way.h"
#include "tools/demo_model/weights.h"

namespace graphtree::demo {

struct StepRecord {
  bool is_prefill = false;
  int tokens = 0;
  int requests = 0;
  int context = 0;
  std::vector<int> numbers;  // of the requests in the trace
  std::vector<int> picked;   // a token for each
  bool is_replay = false;
  std::optional<Why> why;
  std::string description;  // of a step that was no replay, by a way that can say
  int submissions = 0;
  int padded_tokens = 0;
  double host_ns = 0;
  double whole_ns = 0;
};

struct Day {
  std::vector<StepRecord> steps;
  int generated = 0;
  double start_ns = 0;        // until the way was ready for its first request
  double first_token_ns = 0;  // until the first token was there, with that
  double serving_ns = 0;      // of all steps together
  WayGraphs graphs;           // at the end
};

struct DayOptions {
  std::vector<Request> requests;
  int most_requests = 0;
  // Called after each step with the steps done so far.
  std::function<void(int)> progress = [](int) {};
  // Asked after each step: true ends the day early.
  std::function<bool()> ends = [] { return false; };
  // Called with the way still open, behind the last step.
  std::function<absl::Status(Way& way)> at_the_end = [](Way&) { return absl::OkStatus(); };
};

using WayMaker = std::function<absl::StatusOr<std::unique_ptr<Way>>()>;

// The caches are emptied first, so that every day starts the same. `make` makes a way that stands
// on the same stream and weights; making it is part of the time to the first token.
absl::StatusOr<Day> RunDay(Stream& stream, Weights& weights, const WayMaker& make,
                           const DayOptions& options);

}  // namespace graphtree::demo

#endif  // GRAPHTREE_TOOLS_DEMO_MODEL_DAY_H_
