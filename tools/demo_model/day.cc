// One step after the other.
#include "tools/demo_model/day.h"

#include <chrono>
#include <cstring>
#include <utility>

#include "device/base/status_macros.h"
#include "device/device.h"
#include "device/memory.h"
#include "tools/demo_model/scheduler.h"

namespace graphtree::demo {
namespace {

using Clock = std::chrono::steady_clock;

double NanosecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

class Loop {
 public:
  Loop(Stream& stream, Way& way, HostBuffer& landing)
      : stream_(stream), way_(way), landing_(landing) {}

  absl::StatusOr<StepRecord> Step(const Batch& batch) {
    StepRecord record;
    const Clock::time_point start = Clock::now();
    GRAPHTREE_ASSIGN_OR_RETURN(const Submitted submitted, way_.Submit(batch));
    record.host_ns = NanosecondsSince(start);
    const uint64_t bytes = batch.requests() * sizeof(int);
    GRAPHTREE_RETURN_IF_ERROR(stream_.Copy(landing_.range().base, submitted.tokens, bytes));
    GRAPHTREE_RETURN_IF_ERROR(stream_.Synchronize());
    record.picked.resize(batch.requests());
    std::memcpy(record.picked.data(), landing_.data(), bytes);
    record.is_prefill = batch.is_prefill;
    record.tokens = batch.tokens();
    record.requests = batch.requests();
    record.context = batch.context();
    record.numbers = batch.numbers;
    record.is_replay = submitted.is_replay;
    record.why = submitted.why;
    record.submissions = submitted.submissions;
    record.padded_tokens = submitted.padded_tokens;
    if (!record.is_replay) record.description = way_.Describe();
    return record;
  }

 private:
  Stream& stream_;
  Way& way_;
  HostBuffer& landing_;
};

}  // namespace

absl::StatusOr<Day> RunDay(Stream& stream, Weights& weights, const WayMaker& make,
                           const DayOptions& options) {
  GRAPHTREE_RETURN_IF_ERROR(weights.ClearCaches(stream));
  GRAPHTREE_ASSIGN_OR_RETURN(const std::unique_ptr<HostBuffer> landing,
                             stream.device().memory().AllocateHost(kMostRequests * sizeof(int)));
  GRAPHTREE_RETURN_IF_ERROR(stream.Synchronize());
  Scheduler scheduler(options.requests, options.most_requests);
  Day day;
  const Clock::time_point start = Clock::now();
  GRAPHTREE_ASSIGN_OR_RETURN(const std::unique_ptr<Way> way, make());
  day.start_ns = NanosecondsSince(start);
  Loop loop(stream, *way, *landing);
  Batch batch;
  for (;;) {
    const Clock::time_point step_start = Clock::now();
    if (!scheduler.Next(&batch)) break;
    GRAPHTREE_ASSIGN_OR_RETURN(StepRecord record, loop.Step(batch));
    scheduler.Take(record.picked);
    record.whole_ns = NanosecondsSince(step_start);
    if (day.steps.empty()) day.first_token_ns = NanosecondsSince(start);
    day.generated += record.requests;
    day.serving_ns += record.whole_ns;
    day.steps.push_back(std::move(record));
    GRAPHTREE_RETURN_IF_ERROR(way->Idle());
    options.progress(static_cast<int>(day.steps.size()));
    if (options.ends()) break;
  }
  day.graphs = way->graphs();
  GRAPHTREE_RETURN_IF_ERROR(options.at_the_end(*way));
  return day;
}

}  // namespace graphtree::demo
