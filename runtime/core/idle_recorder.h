// Records what steps want most, a run at a time (runtime/progress.h).
//
//   each lane of the device   Take: which of its shapes is wanted most, and not ready?   GiveBack
//   the lane with the most    Take: one run of that shape (recordings.h)                 GiveBack
//   again while time is left
//
// The lane's last step can still be asked how it ran, so a run of ours leaves no trace there.
//
// Threads: one at a time, beside steps of other lanes.
#ifndef GRAPHTREE_RUNTIME_CORE_IDLE_RECORDER_H_
#define GRAPHTREE_RUNTIME_CORE_IDLE_RECORDER_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "device/stream.h"
#include "runtime/core/dependencies.h"
#include "runtime/core/lane.h"
#include "runtime/core/lanes.h"
#include "runtime/core/program_state.h"
#include "runtime/core/programs.h"
#include "runtime/core/recordings.h"
#include "runtime/core/serving_steps.h"
#include "runtime/progress.h"
#include "runtime/runtime_options.h"

namespace graphtree {

class IdleRecorder {
 public:
  // All of them outlive it.
  IdleRecorder(Lanes& lanes, const Programs& programs, const Dependencies& dependencies,
               Recordings& recordings, ServingSteps& serving, const RuntimeOptions& options)
      : lanes_(lanes),
        programs_(programs),
        dependencies_(dependencies),
        recordings_(recordings),
        serving_(serving),
        options_(options) {}
  IdleRecorder(const IdleRecorder&) = delete;
  IdleRecorder& operator=(const IdleRecorder&) = delete;

  absl::StatusOr<ProgressReport> Run(Stream& stream, const ProgressOptions& options);
  // Of all programs. Threads: as statistics in runtime.h.
  Readiness ReadinessNow() const;
  // An error if a call is under way, whose callbacks may come here: `what` cannot be done then, as
  // programs and shapes are others after it.
  absl::Status CheckNotRunning(absl::string_view what) const;
  // The program goes.
  void Forget(const ProgramState& program) { took_.erase(&program); }

 private:
  // A lane, and its programs; in the order of the lanes' numbers.
  struct LanePrograms {
    Lane* lane = nullptr;
    std::vector<std::pair<ProgramId, ProgramState*>> programs;
  };
  using ProgramsOfLanes = std::vector<LanePrograms>;
  struct Wanted {
    ProgramState* program = nullptr;
    uint32_t index = 0;
    uint64_t wanted = 0;
  };

  ProgramsOfLanes ProgramsOn(const Stream& stream, const std::vector<uint32_t>& lanes) const;
  // Looks into all lanes, and fills in what the report says of them.
  std::optional<Wanted> MostWanted(const ProgramsOfLanes& lanes, const ProgressOptions& options,
                                   ProgressReport* report) const;
  static bool IsBetter(const Wanted& a, const std::optional<Wanted>& b);
  bool MayRecord(const ProgramState& program, const ShapeState& shape) const;
  Readiness ReadinessOf(ProgramState& program) const;
  // A call had nothing to do: that counts for shapes that wait to be tried again, as steps do.
  static void NoteWaited(const ProgramsOfLanes& lanes);
  // False if a step has the lane by now.
  absl::StatusOr<bool> RunOne(const Wanted& wanted, Stream& stream, ProgressReport* report);
  absl::StatusOr<ProgressReport> RunAlone(Stream& stream, const ProgressOptions& options);

  Lanes& lanes_;
  const Programs& programs_;
  const Dependencies& dependencies_;
  Recordings& recordings_;
  ServingSteps& serving_;
  const RuntimeOptions& options_;
  std::atomic<bool> is_running_{false};
  // By program: how long its last two runs took.
  std::map<const ProgramState*, std::pair<int64_t, int64_t>> took_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_CORE_IDLE_RECORDER_H_
