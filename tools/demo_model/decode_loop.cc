// One step after the other.
#include "tools/demo_model/decode_loop.h"

#include <chrono>
#include <cstdint>
#include <utility>

#include "device/base/status_macros.h"
#include "tools/demo_model/functions.h"

namespace graphtree::demo {
namespace {

using Clock = std::chrono::steady_clock;

double NanosecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

class Loop {
 public:
  Loop(Stream& stream, Weights& weights, StepInputs& inputs, Executor& executor)
      : stream_(stream), inputs_(inputs), executor_(executor), decode_inputs_(kEmbedding) {
    for (const Value& value : weights.decode()) decode_inputs_.push_back(value);
    greedy_inputs_ = {Value(), weights.pick()[0], weights.pick()[1]};
    sampled_inputs_ = {Value(), Value(), weights.pick()[0], weights.pick()[1]};
  }

  absl::StatusOr<StepRecord> Step(const Batch& batch) {
    StepRecord record;
    record.rows = batch.rows();
    const Clock::time_point start = Clock::now();
    GRAPHTREE_RETURN_IF_ERROR(inputs_.Send(batch, stream_));
    executor_.BeginStep();
    const uint64_t bodies = executor_.bodies_run();
    const Clock::time_point host_start = Clock::now();
    GRAPHTREE_RETURN_IF_ERROR(Decode(&record));
    if (batch.picks) GRAPHTREE_RETURN_IF_ERROR(Pick(batch, &record));
    record.host_ns = NanosecondsSince(host_start);
    record.replayed = executor_.bodies_run() == bodies;
    if (batch.picks) {
      GRAPHTREE_ASSIGN_OR_RETURN(record.picked,
                                 inputs_.Receive(Tensor::From(outputs_[0]), stream_));
    } else {
      GRAPHTREE_RETURN_IF_ERROR(stream_.Synchronize());
    }
    outputs_.clear();
    record.whole_ns = NanosecondsSince(start);
    return record;
  }

 private:
  absl::Status Decode(StepRecord* record) {
    decode_inputs_[kTokens] = inputs_.tokens();
    decode_inputs_[kPositionsInput] = inputs_.positions();
    decode_inputs_[kSlotsInput] = inputs_.slots();
    record->calls.push_back(ModelFunction::kDecode);
    return executor_.Run(ModelFunction::kDecode, &decode_inputs_, &outputs_);
  }

  absl::Status Pick(const Batch& batch, StepRecord* record) {
    Values* inputs = batch.samples ? &sampled_inputs_ : &greedy_inputs_;
    (*inputs)[0] = std::move(outputs_[0]);
    if (batch.samples) (*inputs)[1] = inputs_.temperatures();
    const ModelFunction function =
        batch.samples ? ModelFunction::kSampled : ModelFunction::kGreedy;
    record->calls.push_back(function);
    const absl::Status status = executor_.Run(function, inputs, &outputs_);
    (*inputs)[0] = Value();
    return status;
  }

  Stream& stream_;
  StepInputs& inputs_;
  Executor& executor_;
  Values decode_inputs_;
  Values greedy_inputs_;
  Values sampled_inputs_;
  Values outputs_;
};

}  // namespace

absl::StatusOr<Day> RunDay(Stream& stream, Weights& weights, StepInputs& inputs,
                           Executor& executor, const LoopOptions& options) {
  GRAPHTREE_RETURN_IF_ERROR(weights.ClearCaches(stream));
  GRAPHTREE_RETURN_IF_ERROR(stream.Synchronize());
  Scheduler scheduler(options.requests, options.most_rows);
  Loop loop(stream, weights, inputs, executor);
  Day day;
  Batch batch;
  while (scheduler.Next(&batch)) {
    GRAPHTREE_ASSIGN_OR_RETURN(StepRecord record, loop.Step(batch));
    const int generated = scheduler.generated();
    scheduler.Take(record.picked);
    record.generated = scheduler.generated() - generated;
    day.steps.push_back(std::move(record));
    options.progress(scheduler.steps());
  }
  day.generated = scheduler.generated();
  return day;
}

}  // namespace graphtree::demo
