// The door: each call is given to the class of the inside that it is about.
#include "runtime/runtime.h"

#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "device/base/json_writer.h"
#include "device/base/status_macros.h"
#include "device/observer.h"
#include "graphs/reports/outline.h"
#include "runtime/core/collect_metrics.h"
#include "runtime/core/dependencies.h"
#include "runtime/core/describe.h"
#include "runtime/core/idle_recorder.h"
#include "runtime/core/lane.h"
#include "runtime/core/lanes.h"
#include "runtime/core/ledger_rows.h"
#include "runtime/core/lender.h"
#include "runtime/core/parker.h"
#include "runtime/core/plan_maker.h"
#include "runtime/core/plan_runner.h"
#include "runtime/core/program_state.h"
#include "runtime/core/programs.h"
#include "runtime/core/recordings.h"
#include "runtime/core/runtime_core.h"
#include "runtime/core/serving_steps.h"
#include "runtime/core/step_launch.h"
#include "runtime/door/server.h"
#include "runtime/ledger_text.h"
#include "runtime/runtime_pages.h"
#include "runtime/watch/explain_watch.h"
#include "runtime/watch/watch.h"
#include "runtime/watch_json.h"

namespace graphtree {
namespace {

// Staging into a step, which observers of its tree may hear of.
template <typename Act>
absl::Status ToldStaging(const OpenStep& step, Act stage) {
  const ProgramState& program = *step.program;
  ToldPhase told(program.lane().tree->observers(), Phase::kStage, program.name());
  return told.Ended(stage());
}

}  // namespace

// Asked in every call of a step, and small enough to be inlined there.
inline bool Step::is_open() const { return step_->serial == serial_ && step_->is_open; }

absl::Status Step::WhyClosed(absl::string_view what) const {
  return absl::FailedPreconditionError(
      absl::StrCat(what, " a step that is closed: it was run or canceled",
                   step_->serial == serial_ ? "" : ", and a later step was begun in its lane"));
}

absl::Status Step::Stage(SlotId slot, const HostRows& rows) {
  if (!is_open()) return WhyClosed("staging into");
  return ToldStaging(*step_, [&] { return step_->block.Stage(slot, rows); });
}

absl::Status Step::Stage(SlotId slot, const DeviceRows& rows) {
  if (!is_open()) return WhyClosed("staging into");
  return ToldStaging(*step_, [&] { return StageRows(*step_, slot, rows); });
}

absl::Status Step::Stage(SlotId slot, double value) {
  if (!is_open()) return WhyClosed("staging into");
  return ToldStaging(*step_, [&] { return step_->block.Stage(slot, value); });
}

absl::Status Step::Stage(SlotId slot, const Tensor& tensor) {
  if (!is_open()) return WhyClosed("staging into");
  return ToldStaging(*step_, [&] { return StageTensor(*step_, slot, tensor); });
}

absl::StatusOr<void*> Step::Buffer(SlotId slot, int64_t rows) {
  if (!is_open()) return WhyClosed("staging into");
  return step_->block.Buffer(slot, rows);
}

const Choice& Step::choice() const { return step_->choice; }

Why Step::why() const { return step_->choice.why; }

std::string Step::Describe() const {
  return graphtree::Describe(*step_, core_->dependencies());
}

absl::Status Step::Run(Values* outputs) {
  if (!is_open()) return WhyClosed("running");
  return core_->Run(*step_, outputs);
}

void Step::Cancel() {
  if (is_open()) CloseStep(*step_, /*was_launched=*/false);
}

absl::StatusOr<std::unique_ptr<Runtime>> Runtime::Create(Device& device,
                                                         const RuntimeOptions& options) {
  Device* const devices[] = {&device};
  return Create(devices, options);
}

absl::StatusOr<std::unique_ptr<Runtime>> Runtime::Create(absl::Span<Device* const> devices,
                                                         const RuntimeOptions& options) {
  if (devices.empty()) return absl::InvalidArgumentError("a runtime was made over no device");
  std::vector<Device*> all;
  for (Device* const device : devices) {
    if (device == nullptr || absl::c_linear_search(all, device)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "a runtime was made over ", devices.size(), " devices; number ", all.size(),
          device == nullptr ? " is null" : " is there twice"));
    }
    GRAPHTREE_RETURN_IF_ERROR(device->health());
    all.push_back(device);
  }
  auto core = std::make_unique<RuntimeCore>(std::move(all), options);
  GRAPHTREE_RETURN_IF_ERROR(core->serving().Set(options.serving));
  std::unique_ptr<Runtime> runtime(new Runtime(std::move(core)));
  if (!options.door.empty()) GRAPHTREE_RETURN_IF_ERROR(runtime->OpenDoor(options.door));
  return runtime;
}

Runtime::Runtime(std::unique_ptr<RuntimeCore> core) : core_(std::move(core)) {}

// The door may wait for a call that runs, so that is looked at first.
Runtime::~Runtime() {
  core_->CheckNothingRuns();
  door_ = nullptr;
}

absl::StatusOr<ProgramId> Runtime::AddProgram(ProgramOptions options) {
  return core_->AddProgram(std::move(options));
}

absl::Status Runtime::AddShapes(ProgramId program, absl::Span<const Key> keys, Mode mode) {
  return core_->AddShapes(program, keys, mode);
}

absl::Status Runtime::Exclude(ProgramId program, const Key& key, bool excluded) {
  return core_->Exclude(program, key, excluded);
}

absl::Status Runtime::RemoveProgram(ProgramId program) { return core_->RemoveProgram(program); }

absl::Status Runtime::Record(ProgramId id, Stream& stream) {
  GRAPHTREE_ASSIGN_OR_RETURN(ProgramState* const program, core_->programs().Find(id));
  GRAPHTREE_RETURN_IF_ERROR(core_->recordings().MayRecord(*program, stream));
  if (!core_->serving().MayRecord(absl::StrCat("Record of '", program->name(), "'"))) {
    return absl::OkStatus();
  }
  return core_->recordings().Record(*program, stream);
}

absl::StatusOr<RecordingPlan> Runtime::Plan(absl::Span<const ShapeToRecord> shapes,
                                            uint64_t budget) {
  return core_->plan_maker().Make(shapes, budget);
}

absl::StatusOr<PlanResult> Runtime::RecordPlan(const RecordingPlan& plan, Stream& stream,
                                               const AfterPlan& after) {
  // `after` may ask for the ledger.
  const auto show = [&](const PlanResult& result) {
    core_->watch().SetPlan(result, core_->plan_maker().drivers());
    if (after) after(result);
  };
  return core_->plan_runner().Run(plan, stream, show);
}

absl::StatusOr<ProgressReport> Runtime::Progress(Stream& stream, const ProgressOptions& options) {
  return core_->idle_recorder().Run(stream, options);
}

Readiness Runtime::readiness() const { return core_->idle_recorder().ReadinessNow(); }

const PlanResult* Runtime::last_plan() const {
  const std::optional<PlanResult>& last = core_->plan_runner().last();
  return last.has_value() ? &*last : nullptr;
}
absl::Status Runtime::SetServing(const ServingMode& mode) { return core_->serving().Set(mode); }

ServingMode Runtime::serving() const { return core_->serving().mode(); }

absl::Status Runtime::Park(absl::string_view tag, Contents contents) {
  return core_->parker().Park(tag, contents);
}

absl::Status Runtime::Wake(absl::string_view tag) { return core_->parker().Wake(tag); }

absl::StatusOr<AddressRange> Runtime::AddMemory(const MemoryOptions& options) {
  return core_->parker().AddMemory(options);
}

absl::Status Runtime::RemoveMemory(absl::string_view name) {
  return core_->parker().RemoveMemory(name);
}

absl::StatusOr<Loan> Runtime::Lend(const LoanOptions& options, Stream& stream) {
  return core_->lender().Lend(options, stream);
}

absl::StatusOr<DepId> Runtime::DeclareDep(std::string name) {
  return core_->dependencies().Declare(std::move(name), std::nullopt);
}

absl::Status Runtime::Touch(DepId dep) { return core_->dependencies().Touch(dep); }

absl::StatusOr<DepId> Runtime::DeclareWorkspace(std::string name, AddressRange memory) {
  return core_->dependencies().Declare(std::move(name), memory);
}

absl::Status Runtime::MoveWorkspace(DepId workspace, AddressRange memory) {
  return core_->dependencies().Move(workspace, memory);
}

uint64_t Runtime::touches() const { return core_->dependencies().touches(); }

uint64_t Runtime::epoch() const { return core_->recordings().epoch(); }

std::vector<UncommittedShape> Runtime::Uncommitted() const {
  return core_->recordings().Uncommitted();
}

absl::Status Runtime::Commit(uint64_t epoch) { return core_->recordings().Commit(epoch); }

absl::StatusOr<Choice> Runtime::Choose(ProgramId id, const Key& key, Modes allowed) const {
  GRAPHTREE_ASSIGN_OR_RETURN(const ProgramState* const program, core_->programs().Find(id));
  return core_->serving().Choose(*program, key, allowed);
}

absl::StatusOr<Step> Runtime::Begin(ProgramId program, const Key& key, Stream& stream,
                                    const StepOptions& options) {
  GRAPHTREE_ASSIGN_OR_RETURN(OpenStep* const step, core_->Begin(program, key, stream, options));
  return Step(core_.get(), step, step->serial);
}

absl::StatusOr<HostRuns> Runtime::RunsOf(ProgramId id, SlotId slot, const HostRows& rows) const {
  GRAPHTREE_ASSIGN_OR_RETURN(const ProgramState* const program, core_->programs().Find(id));
  return program->RunsOf(slot, rows);
}

absl::StatusOr<bool> Runtime::LeavesOut(ProgramId id, absl::Span<const SlotId> staged) const {
  GRAPHTREE_ASSIGN_OR_RETURN(const ProgramState* const program, core_->programs().Find(id));
  return program->LeavesOut(staged);
}

absl::Status Runtime::CheckAloneInLane(ProgramId id) const {
  GRAPHTREE_ASSIGN_OR_RETURN(const ProgramState* const program, core_->programs().Find(id));
  return core_->programs().CheckAlone(*program);
}

absl::StatusOr<Vote> Runtime::MakeVote(ProgramId id, const Key& key, Modes allowed,
                                       uint32_t round) const {
  GRAPHTREE_ASSIGN_OR_RETURN(const ProgramState* const program, core_->programs().Find(id));
  return program->MakeVote(key, core_->serving().Voted(allowed), round);
}

absl::StatusOr<Agreement> Runtime::Agree(ProgramId id, const Key& key, Modes allowed,
                                         uint32_t round, absl::Span<const Vote> votes) const {
  GRAPHTREE_ASSIGN_OR_RETURN(const ProgramState* const program, core_->programs().Find(id));
  return program->Agree(key, core_->serving().Voted(allowed), round, votes);
}

bool Runtime::CancelStep(uint32_t number, uint32_t device) {
  Lane* const lane = core_->lanes().Find({device, number});
  if (lane == nullptr || !lane->step.is_open) return false;
  CloseStep(lane->step, /*was_launched=*/false);
  return true;
}

const LaunchHistory& Runtime::history(uint32_t number, uint32_t device) const {
  static const auto* const nothing = new LaunchHistory();
  const Lane* const lane = core_->lanes().Find({device, number});
  return lane == nullptr ? *nothing : lane->history;
}

absl::StatusOr<FreeEvents> Runtime::WhenFree(ProgramId id) const {
  GRAPHTREE_ASSIGN_OR_RETURN(const ProgramState* const program, core_->programs().Find(id));
  return program->WhenFree();
}

absl::StatusOr<Tensor> Runtime::SlotWhole(ProgramId id, SlotId slot) const {
  GRAPHTREE_ASSIGN_OR_RETURN(const ProgramState* const program, core_->programs().Find(id));
  return program->SlotWhole(slot);
}

absl::StatusOr<CapturedPointers> Runtime::Pointers(ProgramId id, const Key& key,
                                                   AddressRange range) {
  GRAPHTREE_ASSIGN_OR_RETURN(const ProgramState* const program, core_->programs().Find(id));
  return program->Pointers(key, range);
}

std::vector<Setting> Runtime::Settings() const {
  return SettingsOf(core_->options(), core_->serving().mode());
}

RuntimeStats Runtime::stats() const {
  return StatsOf(core_->lanes(), core_->programs(), core_->dependencies());
}

MemoryLedger Runtime::ledger() const {
  return LedgerOfWatch(core_->watch(), core_->dependencies().workspace_bytes());
}

Explanation Runtime::Explain(const ExplainOptions& options) const {
  return ExplainWatch(core_->watch(), options);
}

Metrics Runtime::metrics() const {
  Metrics metrics = CollectMetrics(core_->watch(), core_->dependencies(), core_->options());
  metrics.serving = core_->serving().mode().serving;
  return metrics;
}

std::string Runtime::DebugJson(const ExplainOptions& options) const {
  JsonWriter json;
  json.BeginObject().Key("settings").BeginObject();
  for (const Setting& setting : Settings()) json.Key(setting.name).String(setting.value);
  json.EndObject().Key("metrics").Raw(MetricsAsJson(metrics()));
  json.Key("explanation").Raw(ExplanationAsJson(Explain(options)));
  json.Key("plan").Raw(PlanAsJson(core_->watch().plan().get()));
  json.Key("ledger").Raw(LedgerAsJson(ledger()));
  json.Key("trees").BeginArray();
  for (const WatchedLane& lane : core_->watch().lanes()) {
    json.BeginObject().Key("device").Unsigned(lane.device).Key("lane").Unsigned(lane.lane);
    json.Key("outline").Raw(lane.may_wait ? OutlineAsJson(lane.tree->outline()) : "null");
    json.EndObject();
  }
  json.EndArray().EndObject();
  return json.text();
}

absl::Status Runtime::OpenDoor(const std::string& path) {
  if (door_ != nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("a door was to be opened at ", path, " while another one is open at ",
                     door_->path(), "; a runtime has one"));
  }
  GRAPHTREE_ASSIGN_OR_RETURN(door_, DoorServer::Open(path, PagesOf(*this, *core_)));
  return absl::OkStatus();
}

absl::Status Runtime::CloseDoor() {
  const Lane* const lane = core_->lanes().InCallOf();
  if (door_ != nullptr && lane != nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("the door at ", door_->path(), " was to be closed by a body of lane ",
                     lane->number, ", which a page may wait for; close it between steps"));
  }
  door_ = nullptr;
  return absl::OkStatus();
}

Tree* Runtime::tree(uint32_t number, uint32_t device) {
  Lane* const lane = core_->lanes().Find({device, number});
  return lane == nullptr ? nullptr : lane->tree.get();
}

}  // namespace graphtree
