// Makes a plan (runtime/recording_plan.h): looks at what is recorded, learns from that what the
// rest will take, and chooses what fits. Looks only; plan_runner.h records.
//
//   ledger_rows.h   what each recording takes now
//        |  plan/estimate.h: a line for each program and mode
//        v
//   a guess for each shape   -- plan/selection.h, within the budget -->  order, left out, estimate
//                               plan/places.h, as many as trees may hold
//
// What is known of the driver (executables, code) is kept here from one plan to the next, since
// only the runs of the past have shown that.
//
// Threads: as statistics in runtime.h.
#ifndef GRAPHTREE_RUNTIME_CORE_PLAN_MAKER_H_
#define GRAPHTREE_RUNTIME_CORE_PLAN_MAKER_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/core/dependencies.h"
#include "runtime/core/programs.h"
#include "runtime/core/recordings.h"
#include "runtime/plan/estimate.h"
#include "runtime/plan/ledger.h"
#include "runtime/plan/line_fit.h"
#include "runtime/plan/selection.h"
#include "runtime/recording_plan.h"
#include "runtime/runtime_options.h"
#include "runtime/watch/watch.h"

namespace graphtree {

class PlanMaker {
 public:
  // What the pools map at a time, most often.
  static constexpr uint64_t kPiece = 2 << 20;

  // All of them outlive it.
  PlanMaker(const Watch& watch, const Programs& programs, const Dependencies& dependencies,
            const Recordings& recordings, const RuntimeOptions& options)
      : watch_(watch),
        programs_(programs),
        dependencies_(dependencies),
        recordings_(recordings),
        options_(options) {}
  PlanMaker(const PlanMaker&) = delete;
  PlanMaker& operator=(const PlanMaker&) = delete;

  // No shapes: all of the runtime's. An error if one is not there, if they lie on several devices,
  // or if the budget is less than what a program needs.
  absl::StatusOr<RecordingPlan> Make(absl::Span<const ShapeToRecord> shapes, uint64_t budget);

  // What was seen of the device with that number, and of a program's code and workspaces.
  DriverModel& driver(uint32_t device) { return drivers_[device]; }
  const std::map<uint32_t, DriverModel>& drivers() const { return drivers_; }
  DriverModel& code(ProgramId program) { return codes_[program.index]; }
  LineFit& workspaces(ProgramId program) { return workspaces_[program.index]; }

 private:
  struct Row {
    ShapeToRecord shape;
    ProgramState* program = nullptr;
    uint32_t index = 0;
    bool is_recorded = false;
    RecordingGuess takes = {};
    uint64_t own_bytes = 0;   // at most
    uint64_t pool_bytes = 0;  // at most, in whole pieces
  };
  // Now: what is recorded, and a model for each program and mode of it.
  struct Known {
    LedgerInput input;
    MemoryLedger ledger;
    std::vector<ProgramId> programs;  // by their places in `input`
    std::map<std::pair<uint32_t, Mode>, CostModel> costs;
    size_t recordings = 0;  // that the models have learned from
  };

  std::vector<ShapeToRecord> AllShapes() const;
  absl::StatusOr<std::vector<Row>> Resolve(absl::Span<const ShapeToRecord> shapes) const;
  Known Learn() const;
  void Price(const Known& known, Row* row);
  void Choose(const Known& known, RecordingPlan* plan, std::vector<Row>* rows) const;
  void ChooseByNodes(const Known& known, RecordingPlan* plan, std::vector<Row>* rows) const;
  absl::Status CheckNeeds(const std::vector<Row>& rows, uint64_t budget) const;
  // A lane of the plan's device, as it is.
  struct LaneNow {
    uint32_t number = 0;
    uint64_t step_bytes = 0;     // of the pool, where recordings lie
    uint64_t lasting_bytes = 0;  // of the pool, for eager runs and kept outputs
    uint64_t other_executables = 0;  // of recordings beside the plan's
  };
  std::vector<LaneNow> LanesNow(const Known& known, const std::vector<Row>& rows) const;
  PlanEstimate Estimate(const Known& known, const std::vector<Row>& chosen);
  Guess Workspaces(const std::vector<Row>& chosen);
  std::string Words(const RecordingPlan& plan, const std::vector<Row>& chosen) const;

  const Watch& watch_;
  const Programs& programs_;
  const Dependencies& dependencies_;
  const Recordings& recordings_;
  const RuntimeOptions& options_;
  std::map<uint32_t, DriverModel> drivers_;
  std::map<uint32_t, DriverModel> codes_;
  std::map<uint32_t, LineFit> workspaces_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_CORE_PLAN_MAKER_H_
