// The server's loop: batches from the scheduler, through the model, tokens back to the scheduler.
//
//   Send batch -> DecodeStep -> PickGreedy or PickSampled (if a row needs a token) -> Receive
//                 |----------- host time of a step ---------|
//   |---------------------------------- its whole time ---------------------------------------|
//
// Host time is what the calling thread pays to put the model's work on the stream. Sending the
// batch and waiting for its tokens cost the same whichever way the functions run, and are left out.
#ifndef GRAPHTREE_TOOLS_DEMO_MODEL_DECODE_LOOP_H_
#define GRAPHTREE_TOOLS_DEMO_MODEL_DECODE_LOOP_H_

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "device/stream.h"
#include "tools/demo_model/executor.h"
#include "tools/demo_model/scheduler.h"
#include "tools/demo_model/step_inputs.h"
#include "tools/demo_model/weights.h"

namespace graphtree::demo {

struct StepRecord {
  int rows = 0;
  std::vector<int> picked;  // empty if nothing was
  std::vector<ModelFunction> calls;
  bool replayed = false;  // no body ran
  int generated = 0;      // tokens that requests wanted, of the picked ones
  double host_ns = 0;
  double whole_ns = 0;
};

struct Day {
  std::vector<StepRecord> steps;
  int generated = 0;

};

struct LoopOptions {
  std::vector<Request> requests;
  int most_rows = 0;
  // Called after each step with the steps done so far.
  std::function<void(int)> progress = [](int) {};
};

// The caches are emptied first, so that every day starts the same.
absl::StatusOr<Day> RunDay(Stream& stream, Weights& weights, StepInputs& inputs,
                           Executor& executor, const LoopOptions& options);

}  // namespace graphtree::demo

#endif  // GRAPHTREE_TOOLS_DEMO_MODEL_DECODE_LOOP_H_
