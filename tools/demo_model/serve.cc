// Days over a way that is kept.
#include "tools/demo_model/serve.h"

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "device/base/status_macros.h"
#include "device/stream.h"
#include "tools/demo_model/day.h"
#include "tools/demo_model/kernels/kernels.h"
#include "tools/demo_model/ladder.h"
#include "tools/demo_model/runtime_way.h"
#include "tools/demo_model/way.h"
#include "tools/demo_model/weights.h"

namespace graphtree::demo {
namespace {

// A day owns its way; this one goes with the day, and the way behind it stays.
class Lent : public Way {
 public:
  explicit Lent(Way& way) : way_(way) {}
  absl::StatusOr<Submitted> Submit(const Batch& batch) override { return way_.Submit(batch); }
  absl::Status Idle() override { return way_.Idle(); }
  std::string Describe() const override { return way_.Describe(); }
  WayGraphs graphs() const override { return way_.graphs(); }

 private:
  Way& way_;
};

}  // namespace

absl::StatusOr<Served> Serve(Device& device, const ServeOptions& options) {
  GRAPHTREE_ASSIGN_OR_RETURN(const std::unique_ptr<Stream> stream, device.NewStream());
  GRAPHTREE_ASSIGN_OR_RETURN(const std::unique_ptr<Weights> weights,
                             Weights::Load(device, *stream, 1));
  for (const Kernel* kernel : ModelKernels()) GRAPHTREE_RETURN_IF_ERROR(device.Load(*kernel));
  GRAPHTREE_ASSIGN_OR_RETURN(
      const std::unique_ptr<RuntimeWay> way,
      RuntimeWay::Create(device, *stream, *weights,
                         {.ladder = LadderUnder(options.budget_bytes, options.most_requests),
                          .budget_bytes = options.budget_bytes,
                          .records_ahead = options.records_ahead,
                          .records_idle = options.records_idle,
                          .serving = options.serving,
                          .door = options.door,
                          .base = options.base}));
  options.is_open();
  Served served;
  bool is_over = false;
  while (!is_over) {
    DayOptions day = {.requests = options.requests(served.days++),
                      .most_requests = options.most_requests};
    if (day.requests.empty()) return absl::InvalidArgumentError("a day without requests");
    day.ends = [&] { return is_over = options.ends(); };
    const auto lend = [&]() -> absl::StatusOr<std::unique_ptr<Way>> {
      return std::make_unique<Lent>(*way);
    };
    GRAPHTREE_ASSIGN_OR_RETURN(const Day done, RunDay(*stream, *weights, lend, day));
    served.steps += done.steps.size();
    served.tokens += static_cast<uint64_t>(done.generated);
  }
  served.explanation = way->runtime().Explain({.steps = 0, .trees = false});
  return served;
}

}  // namespace graphtree::demo
