// Adds what steps run on: programs, shapes, lanes; and takes it away.
#include "runtime/core/runtime_core.h"

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "device/base/check.h"
#include "device/base/status_macros.h"
#include "runtime/core/program_state.h"
#include "runtime/shapes/shape_table.h"
#include "runtime/watch/clock.h"
#include "runtime/watch/lane_watch.h"
#include "runtime/watch/last_warnings.h"

namespace graphtree {
namespace {

// So that a handle of another runtime is told from one of this.
uint32_t NextNumber() {
  static std::atomic<uint32_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

// There is a clock, the trees' warnings go to the log, and whoever looks in finds the last ones.
RuntimeOptions Completed(RuntimeOptions options, const std::shared_ptr<LastWarnings>& warnings) {
  if (!options.clock_ns) options.clock_ns = SteadyClockNs;
  options.tree.warn = [warn = options.tree.warn, log = options.log,
                       warnings](const std::string& text) {
    warnings->Add(text);
    if (warn) {
      warn(text);
    } else if (log) {
      log(LogLevel::kWarning, text);
    }
  };
  if (!options.log) return options;
  options.log = [log = options.log, warnings](LogLevel level, const std::string& text) {
    if (level == LogLevel::kWarning) warnings->Add(text);
    log(level, text);
  };
  return options;
}

}  // namespace

RuntimeCore::RuntimeCore(std::vector<Device*> devices, const RuntimeOptions& options)
    : options_(Completed(options, watch_.warnings)),
      number_(NextNumber()),
      lanes_(std::move(devices), options_),
      programs_(number_),
      dependencies_(number_, lanes_, programs_, options_),
      recordings_(lanes_, programs_, dependencies_, options_),
      plan_maker_(watch_, programs_, dependencies_, recordings_, options_),
      serving_(lanes_, dependencies_, watch_, options_),
      plan_runner_(lanes_, programs_, dependencies_, recordings_, plan_maker_, serving_, options_),
      idle_recorder_(lanes_, programs_, dependencies_, recordings_, serving_, options_),
      parker_(lanes_, programs_, watch_, options_),
      lender_(lanes_, programs_) {}

void RuntimeCore::CheckNothingRuns() const {
  GRAPHTREE_CHECK(!lanes_.AnyRuns())
      << "a runtime was closed " << lanes_.WhoRuns()
      << ": its memory is in use. Close it once Step::Run or Record has returned";
}

// Trees close first and wait for their work, as programs own the memory that it uses.
RuntimeCore::~RuntimeCore() {
  CheckNothingRuns();
  lender_.EndAll();
  lanes_.CloseTrees();
  programs_.LeaveBehind();
  parker_.LeaveBehind();
}

absl::Status RuntimeCore::CheckAtRest(absl::string_view what) const {
  GRAPHTREE_RETURN_IF_ERROR(lanes_.CheckNoStep(what));
  return idle_recorder_.CheckNotRunning(what);
}

absl::StatusOr<Lane*> RuntimeCore::LaneFor(Lanes::Place place, bool* is_new) {
  Lane* const found = lanes_.Find(place);
  *is_new = found == nullptr;
  if (found != nullptr) return found;
  GRAPHTREE_ASSIGN_OR_RETURN(Lane* const lane, lanes_.Add(place));
  dependencies_.RegisterIn(*lane);
  return lane;
}

absl::StatusOr<ProgramId> RuntimeCore::AddProgram(ProgramOptions options) {
  GRAPHTREE_RETURN_IF_ERROR(CheckAtRest(absl::StrCat("program '", options.name, "' was added")));
  GRAPHTREE_RETURN_IF_ERROR(programs_.CheckName(options.name));
  for (const DepId& dep : options.deps) {
    if (dependencies_.IsOurs(dep)) continue;
    return absl::InvalidArgumentError(absl::StrCat("program '", options.name,
                                                   "' depends on something that DeclareDep of this "
                                                   "runtime did not return"));
  }
  if (options.device >= lanes_.devices()) {
    return absl::InvalidArgumentError(
        absl::StrCat("program '", options.name, "' is for device ", options.device,
                     " of the runtime's ", lanes_.devices(), ", numbered from 0"));
  }
  GRAPHTREE_RETURN_IF_ERROR(parker_.CheckProgram(options));
  const Lanes::Place place = {options.device, options.lane};
  bool is_new = false;
  GRAPHTREE_ASSIGN_OR_RETURN(Lane* const lane, LaneFor(place, &is_new));
  absl::StatusOr<std::unique_ptr<ProgramState>> program = lanes_.MakeBeside(
      [&] { return ProgramState::Create(*lane, options, options_.records_while_serving); });
  if (!program.ok()) {
    if (is_new) lanes_.Remove(place);
    return program.status();
  }
  const std::shared_ptr<ProgramWatch> watch = (*program)->watch();
  watch->workspace_bytes.Set(dependencies_.WorkspaceBytes(**program));
  const ProgramId id = programs_.Add(*std::move(program));
  if (is_new) {
    watch_.AddLane({place.first, place.second, lane->watch, lane->tree.get()});
  }
  watch_.AddProgram(id.index, watch);
  return id;
}

absl::Status RuntimeCore::AddShapes(ProgramId id, absl::Span<const Key> keys, Mode mode) {
  GRAPHTREE_ASSIGN_OR_RETURN(ProgramState* const program, programs_.Find(id));
  GRAPHTREE_RETURN_IF_ERROR(
      CheckAtRest(absl::StrCat("shapes were added to '", program->name(), "'")));
  OpenStep& last = program->lane().step;
  const bool is_told = last.program == program;
  const uint64_t index = is_told ? program->IdOf(last.choice.index) : kNoShape;
  const uint64_t better = is_told ? program->IdOf(last.choice.better) : kNoShape;
  GRAPHTREE_RETURN_IF_ERROR(program->AddShapes(keys, mode));
  if (!is_told) return absl::OkStatus();
  // The last step can still say how it ran, and indices are others now.
  last.choice.index = program->table().IndexOf(index);
  last.choice.better = program->table().IndexOf(better);
  return absl::OkStatus();
}

absl::Status RuntimeCore::Exclude(ProgramId id, const Key& key, bool excluded) {
  GRAPHTREE_ASSIGN_OR_RETURN(ProgramState* const program, programs_.Find(id));
  bool is_there = false;
  for (uint32_t i = 0; i < program->table().size(); ++i) {
    if (!(program->table().shape(i).key == key)) continue;
    is_there = true;
    program->SetExcluded(i, excluded);
  }
  if (is_there) return absl::OkStatus();
  return absl::NotFoundError(
      absl::StrCat("program '", program->name(), "' has no shape ", ToString(key)));
}

absl::Status RuntimeCore::RemoveProgram(ProgramId id) {
  GRAPHTREE_ASSIGN_OR_RETURN(ProgramState* const program, programs_.Find(id));
  GRAPHTREE_RETURN_IF_ERROR(CheckAtRest(absl::StrCat("'", program->name(), "' was removed")));
  // Its work cannot be awaited then, and reads memory that would go.
  Device& device = program->lane().device;
  if (device.open_captures() > 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("'", program->name(), "' was removed while a capture is open on ",
                     device.info().name, "; end that capture first"));
  }
  // Objects that its recordings hold end there, and may call the runtime.
  std::unique_ptr<ProgramState> leaving = programs_.Take(id);
  if (absl::Status left = leaving->Leave(); !left.ok()) {
    programs_.PutBack(id, std::move(leaving));
    return left;
  }
  OpenStep& last = leaving->lane().step;
  if (last.program == leaving.get()) last.program = nullptr;
  watch_.RemoveProgram(id.index);
  idle_recorder_.Forget(*leaving);
  lanes_.GiveBack(leaving->lane());
  return absl::OkStatus();
}

}  // namespace graphtree
