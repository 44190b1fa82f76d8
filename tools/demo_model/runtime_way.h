// The runtime: a step is one launch, which brings the batch in, prepares, runs the layers and picks
// tokens. What a server of one's own would look like; the rest of the demo is there to compare.
//
//   program "prefill"    slots of batch_slots.h    shapes: the ladder's rungs that read prompts
//   program "decode"     the same                  ... and those that decode
//
// Unless `records_ahead` says so, nothing is recorded at the start: a shape is warmed up by the
// first step that needs it, recorded by the second, and replayed from then on. With `records_idle`
// no step does so: shapes are recorded between steps, what steps wanted most first. Each step says
// why it ran as it did, and how many shapes were ready behind it is kept.
#ifndef GRAPHTREE_TOOLS_DEMO_MODEL_RUNTIME_WAY_H_
#define GRAPHTREE_TOOLS_DEMO_MODEL_RUNTIME_WAY_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/device.h"
#include "device/stream.h"
#include "graphs/tensor.h"
#include "runtime/recording_plan.h"
#include "runtime/runtime.h"
#include "runtime/runtime_options.h"
#include "runtime/serving.h"
#include "tools/demo_model/ladder.h"
#include "tools/demo_model/way.h"
#include "tools/demo_model/weights.h"

namespace graphtree::demo {

struct RuntimeWayOptions {
  std::vector<Rung> ladder;
  uint64_t budget_bytes = 0;  // that graphs may hold
  // All shapes are recorded at the start, instead of while serving.
  bool records_ahead = false;
  // Or between steps.
  bool records_idle = false;
  ServingMode serving = {};
  std::string door = {};     // where tools may look in; empty: nowhere
  RuntimeOptions base = {};  // what the runtime is told beside all that
};

// Of the runtime that is made.
RuntimeOptions RuntimeOptionsFrom(const RuntimeWayOptions& options);

// What came of recording, in a mode in which graphs serve.
struct Recorded {
  std::vector<double> ready;  // after each step, which part of the shapes
  // Of all shapes, as soon as something was recorded of both programs; and what the device gave.
  PlanEstimate estimate;
  uint64_t device_bytes = 0;
};

class RuntimeWay : public Way {
 public:
  static absl::StatusOr<std::unique_ptr<RuntimeWay>> Create(Device& device, Stream& stream,
                                                            const Weights& weights,
                                                            const RuntimeWayOptions& options);

  absl::StatusOr<Submitted> Submit(const Batch& batch) override;
  absl::Status Idle() override;
  std::string Describe() const override { return step_.has_value() ? step_->Describe() : ""; }
  WayGraphs graphs() const override;

  Runtime& runtime() { return *runtime_; }
  Recorded recorded() const;

 private:
  RuntimeWay(Stream& stream, std::unique_ptr<Runtime> runtime, bool records_idle)
      : stream_(stream), runtime_(std::move(runtime)), records_idle_(records_idle) {}
  absl::Status RecordAhead();
  absl::Status NoteReadiness();
  absl::Status AddProgram(const ModelWeights& weights, bool is_prefill,
                          const std::vector<Rung>& ladder);

  Stream& stream_;
  const std::unique_ptr<Runtime> runtime_;
  const bool records_idle_;
  Recorded recorded_;
  uint64_t told_after_ = 0;  // recordings, when it was last asked what all will take
  std::array<ProgramId, 2> programs_;  // decode, prefill
  Values outputs_;                     // of the last step; they go before the runtime
  std::optional<Step> step_;
};

}  // namespace graphtree::demo

#endif  // GRAPHTREE_TOOLS_DEMO_MODEL_RUNTIME_WAY_H_
