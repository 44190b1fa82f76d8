// Finds the shape, runs it once, looks at the clock.
#include "runtime/core/idle_recorder.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "device/device.h"
#include "graphs/tree.h"
#include "runtime/core/open_step.h"
#include "runtime/core/step_launch.h"
#include "runtime/shapes/cover_index.h"
#include "runtime/watch/clock.h"

namespace graphtree {
namespace {

// Puts back what one can ask of a lane's last step.
class LastStep {
 public:
  explicit LastStep(OpenStep& step) : step_(step), facts_(step) {}
  LastStep(const LastStep&) = delete;
  LastStep& operator=(const LastStep&) = delete;
  ~LastStep() { static_cast<StepFacts&>(step_) = std::move(facts_); }

 private:
  OpenStep& step_;
  StepFacts facts_;
};

bool IsNamed(const ProgressOptions& options, ProgramId id, const ShapeState& shape) {
  if (options.only.empty()) return true;
  return absl::c_linear_search(options.only, ShapeToRecord{id, shape.key, shape.mode});
}

}  // namespace

IdleRecorder::ProgramsOfLanes IdleRecorder::ProgramsOn(
    const Stream& stream, const std::vector<uint32_t>& numbers) const {
  ProgramsOfLanes lanes;
  lanes_.ForEach([&](Lane& lane) {
    const bool is_named = numbers.empty() ||
                          std::find(numbers.begin(), numbers.end(), lane.number) != numbers.end();
    if (is_named && &lane.device == &stream.device()) lanes.push_back({&lane, {}});
  });
  programs_.ForEach([&](ProgramId id, ProgramState& program) {
    for (LanePrograms& one : lanes) {
      if (one.lane == &program.lane()) one.programs.push_back({id, &program});
    }
  });
  // A lane stays when its programs are removed.
  std::erase_if(lanes, [](const LanePrograms& one) { return one.programs.empty(); });
  return lanes;
}

bool IdleRecorder::MayRecord(const ProgramState& program, const ShapeState& shape) const {
  const Why usable = shape.life.usable(options_.records_while_serving);
  // One that waits for a commit may be stale before that comes.
  const bool may = usable == Why::kHit || usable == Why::kNotRecorded ||
                   usable == Why::kNotCommitted;
  if (!may) return false;
  return !(shape.life.is_recorded_first() &&
           shape.life.generations() == dependencies_.GenerationsOf(program));
}

Readiness IdleRecorder::ReadinessOf(ProgramState& program) const {
  Readiness readiness;
  for (uint32_t i = 0; i < program.table().size(); ++i) {
    const ShapeLife& life = program.shape(i).life;
    if (life.is_excluded()) continue;
    const Why usable = life.usable(options_.records_while_serving);
    ++readiness.shapes;
    readiness.not_committed += usable == Why::kNotCommitted;
    readiness.failed += usable == Why::kFailed || usable == Why::kNoMemory;
    readiness.ready += usable == Why::kHit && !MayRecord(program, program.shape(i));
  }
  return readiness;
}

Readiness IdleRecorder::ReadinessNow() const {
  Readiness all;
  programs_.ForEach(
      [&](ProgramId, ProgramState& program) { all = all + ReadinessOf(program); });
  return all;
}

bool IdleRecorder::IsBetter(const Wanted& a, const std::optional<Wanted>& b) {
  if (!b.has_value() || a.wanted != b->wanted) return !b.has_value() || a.wanted > b->wanted;
  return CostsLess(b->program->shape(b->index).key, a.program->shape(a.index).key);
}

std::optional<IdleRecorder::Wanted> IdleRecorder::MostWanted(const ProgramsOfLanes& lanes,
                                                             const ProgressOptions& options,
                                                             ProgressReport* report) const {
  std::optional<Wanted> best;
  report->busy_lanes = report->held_lanes = 0;
  report->readiness = {};
  for (const auto& [lane, programs] : lanes) {
    if (!lane->Take(programs[0].second)) {
      ++report->busy_lanes;
      continue;
    }
    const bool is_held = !options.ends_steps && lane->tree->stats().live_blocks > 0;
    report->held_lanes += is_held;
    for (const auto& [id, program] : programs) {
      report->readiness = report->readiness + ReadinessOf(*program);
      for (uint32_t i = 0; i < program->table().size() && !is_held; ++i) {
        const ShapeState& shape = program->shape(i);
        const Wanted wanted = {program, i, shape.wanted};
        if (!MayRecord(*program, shape) || !IsNamed(options, id, shape)) continue;
        if (!program->parked_by().empty()) continue;
        if (IsBetter(wanted, best)) best = wanted;
      }
    }
    lane->GiveBack();
  }
  return best;
}

void IdleRecorder::NoteWaited(const ProgramsOfLanes& lanes) {
  for (const auto& [lane, programs] : lanes) {
    if (!lane->Take(programs[0].second)) continue;
    for (const auto& [id, program] : programs) {
      for (uint32_t i = 0; i < program->table().size(); ++i) program->NoteWaited(i);
    }
    lane->GiveBack();
  }
}

absl::StatusOr<bool> IdleRecorder::RunOne(const Wanted& wanted, Stream& stream,
                                          ProgressReport* report) {
  ProgramState& program = *wanted.program;
  Lane& lane = program.lane();
  GRAPHTREE_ASSIGN_OR_RETURN(const int64_t begin, LookAt(options_.clock_ns));
  if (!lane.Take(&program)) return false;
  if (!program.CheckAwake().ok()) {
    lane.GiveBack();
    return false;
  }
  absl::StatusOr<bool> recorded = false;
  {
    const LastStep last(lane.step);
    recorded = recordings_.Advance(program, wanted.index, stream);
  }
  lanes_.NoteGivenUp(lane);
  lanes_.AskOthers(lane);
  lane.GiveBack();
  ++report->runs;
  report->recorded += recorded.ok() && *recorded;
  report->failed += !recorded.ok();
  GRAPHTREE_RETURN_IF_ERROR(lane.device.health());
  GRAPHTREE_ASSIGN_OR_RETURN(const int64_t end, LookAt(options_.clock_ns));
  auto& [before, last] = took_[&program];
  before = std::exchange(last, end - begin);
  return true;
}

absl::StatusOr<ProgressReport> IdleRecorder::RunAlone(Stream& stream,
                                                      const ProgressOptions& options) {
  GRAPHTREE_ASSIGN_OR_RETURN(const int64_t begin, LookAt(options_.clock_ns));
  const ProgramsOfLanes lanes = ProgramsOn(stream, options.lanes);
  for (const auto& [lane, programs] : lanes) {
    GRAPHTREE_RETURN_IF_ERROR(CheckStream(*programs[0].second, stream));
  }
  GRAPHTREE_RETURN_IF_ERROR(CheckNoCapture(stream, "Progress was called"));
  ProgressReport report;
  if (!lanes.empty() && !serving_.MayRecord("Progress")) {
    MostWanted(lanes, options, &report);
    report.is_done = true;
    return report;
  }
  while (true) {
    const std::optional<Wanted> wanted = MostWanted(lanes, options, &report);
    report.is_done = !wanted.has_value();
    if (!wanted.has_value()) break;
    if (report.runs > 0) {
      const auto& [before, last] = took_[wanted->program];
      GRAPHTREE_ASSIGN_OR_RETURN(const int64_t now, LookAt(options_.clock_ns));
      if (now - begin + std::max(before, last) > options.budget_ns) break;
    }
    GRAPHTREE_ASSIGN_OR_RETURN(const bool ran, RunOne(*wanted, stream, &report));
    if (!ran) break;
    if (options.budget_ns <= 0) {
      report.is_done = !MostWanted(lanes, options, &report).has_value();
      break;
    }
  }
  if (report.runs == 0) NoteWaited(lanes);
  GRAPHTREE_ASSIGN_OR_RETURN(const int64_t end, LookAt(options_.clock_ns));
  report.spent_ns = end - begin;
  return report;
}

absl::Status IdleRecorder::CheckNotRunning(absl::string_view what) const {
  if (!is_running_.load(std::memory_order_acquire)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(what, " while Progress is under way; wait until it has returned"));
}

absl::StatusOr<ProgressReport> IdleRecorder::Run(Stream& stream, const ProgressOptions& options) {
  if (is_running_.exchange(true, std::memory_order_acquire)) {
    return absl::FailedPreconditionError(
        "Progress was called while another thread is in it; one thread at a time calls it");
  }
  absl::StatusOr<ProgressReport> report = RunAlone(stream, options);
  is_running_.store(false, std::memory_order_release);
  return report;
}

}  // namespace graphtree
