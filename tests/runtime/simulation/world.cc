// Opens, acts, closes.
#include "tests/runtime/simulation/world.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "tests/kernels/kernels.h"
#include "tests/simulation/crash_note.h"

namespace graphtree::runtime_simulation {
namespace {

RuntimeOptions OptionsOf(const Script& script) {
  RuntimeOptions options;
  options.records_while_serving = script.records_while_serving;
  options.tree.check = script.is_checked;
  options.tree.pool_bytes = script.is_small ? 4 << 20 : 64 << 20;
  options.tree.spare_after = script.seed % 4 == 1 ? 2 : 1;
  if (script.is_small) {
    options.tree.budget = {.nodes = 4 + script.seed % 4,
                           .executables = 2 + script.seed / 3 % 4,
                           .executable_bytes = uint64_t{400} << 10,
                           .siblings = 1 + script.seed % 2,
                           .shapes_of_function = 1 + script.seed % 2,
                           .shapes = 3,
                           .half_life = 8,
                           .retry_after = 4};
  }
  return options;
}

Bytes RandomBytes(uint32_t seed, uint64_t count) {
  Bytes bytes(count);
  for (uint64_t i = 0; i < count; ++i) bytes[i] = PatternWord(seed, i);
  return bytes;
}

}  // namespace

World::World(Device& device, FaultPlan* plan, const Script& script, Reached* reached)
    : device_(device),
      plan_(plan),
      script_(script),
      reached_(reached),
      memory_(device),
      programs_(script.programs.size()),
      library_(memory_, [this](uint32_t workspace, AddressRange memory) {
        return runtime_->MoveWorkspace(dep_ids_[kDeps + workspace], memory);
      }) {}

World::~World() = default;

absl::Status World::OpenAll() {
  GRAPHTREE_RETURN_IF_ERROR(memory_.Open());
  for (uint32_t i = 0; i < kStreams; ++i) {
    GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<Stream> stream, device_.NewStream());
    streams_.push_back(std::move(stream));
  }
  GRAPHTREE_ASSIGN_OR_RETURN(side_, device_.NewStream());
  GRAPHTREE_ASSIGN_OR_RETURN(side_done_, device_.NewEvent({}));
  for (uint32_t i = 0; i < kSources; ++i) {
    sources_.push_back(RandomBytes(i, kSourceBytes));
    GRAPHTREE_RETURN_IF_ERROR(memory_.Write(memory_.source(i), sources_[i].data(), kSourceBytes));
  }
  for (uint32_t i = 0; i < programs_.size(); ++i) {
    programs_[i].body = {.log = memory_.log(i),
                         .sum = memory_.sum(i),
                         .deps = &dep_at_,
                         .library = &library_};
  }
  GRAPHTREE_RETURN_IF_ERROR(library_.Settle());
  GRAPHTREE_ASSIGN_OR_RETURN(runtime_, Runtime::Create(device_, OptionsOf(script_)));
  for (uint32_t i = 0; i < kDeps; ++i) {
    GRAPHTREE_ASSIGN_OR_RETURN(dep_ids_[i], runtime_->DeclareDep(absl::StrCat("dep", i)));
    GRAPHTREE_RETURN_IF_ERROR(Move(i, 0));
  }
  for (uint32_t i = 0; i < kWorkspaces; ++i) {
    GRAPHTREE_ASSIGN_OR_RETURN(
        dep_ids_[kDeps + i],
        runtime_->DeclareWorkspace(absl::StrCat("workspace", i), library_.memory(i)));
    deps_[kDeps + i] = HeadOf(i, 0);
  }
  return absl::OkStatus();
}

// What is held outlives its runtime.
absl::Status World::CloseAll() {
  for (Program& program : programs_) {
    program.ahead = nullptr;
    program.events = {};
  }
  runtime_ = nullptr;
  absl::Status status;
  if (!done_) {
    status = Wait();
    for (const Held& held : held_) {
      if (held.is_kept && status.ok()) status = CheckHeld(held);
    }
  }
  held_.clear();
  streams_.clear();
  side_done_ = nullptr;
  side_ = nullptr;
  status.Update(memory_.Close());
  return status;
}

absl::Status World::Run() {
  absl::Status status = OpenAll();
  for (size_t i = 0; status.ok() && i < script_.actions.size() && !done_; ++i) {
    simulation::CrashNote::AtAction(i);
    status = Do(script_.actions[i]);
    if (!status.ok()) {
      status = absl::InternalError(absl::StrCat("action ", i, ": ", status.message()));
    }
  }
  if (status.ok() && !done_) status = CheckAll();
  const absl::Status closed = CloseAll();
  return status.ok() ? closed : status;
}

absl::Status World::Do(const Action& action) {
  fail_in_ = action.fail_at;
  faulted_ = false;
  const absl::Status status = Act(action);
  fail_in_ = 0;
  // A lost order or lost memory says so, and then everything may be.
  if (!status.ok() || done_) return status;
  GRAPHTREE_RETURN_IF_ERROR(CheckFigures());
  return action.look ? CheckAll() : absl::OkStatus();
}

absl::Status World::Act(const Action& action) {
  const uint32_t number = action.program % programs_.size();
  Program& program = programs_[number];
  const ProgramSpec& spec = script_.programs[number];
  switch (action.kind) {
    case ActionKind::kAdd: return Add(program, spec, number);
    case ActionKind::kRemove: return Remove(program);
    case ActionKind::kShapes: return AddShapes(program, spec, action.pick);
    case ActionKind::kExclude: return Exclude(program, spec, action.pick);
    case ActionKind::kRecord: return RecordSomehow(program, action.pick);
    case ActionKind::kStep: return DoStep(action.steps[0]);
    case ActionKind::kPair: return Pair(action);
    case ActionKind::kVote: return Vote(action);
    case ActionKind::kMove: return Move(action.pick % kAllDeps, action.pick / kAllDeps);
    case ActionKind::kTouch: return Touch(action.pick % kAllDeps);
    case ActionKind::kRewrite: return Rewrite(action.pick);
    case ActionKind::kDrop:
      if (!held_.empty()) held_.erase(held_.begin() + action.pick % held_.size());
      return absl::OkStatus();
    case ActionKind::kWrong: return DoWrong(program, action.pick);
    case ActionKind::kCapture: return Capture(action);
    case ActionKind::kCommit: return Commit(action.pick);
    case ActionKind::kPrepare: return Prepare(program, action.steps[0]);
    case ActionKind::kTake: return Take(program, action);
    case ActionKind::kMode: return InMode(action);
    case ActionKind::kPark: return ParkAndStep(action);
    case ActionKind::kLend: return LendAndStep(action);
  }
  return absl::OkStatus();
}

absl::Status World::Add(Program& program, const ProgramSpec& spec, uint32_t number) {
  ProgramOptions options;
  options.name = absl::StrCat("program", number);
  options.slots = spec.slots;
  options.rules = spec.rules;
  options.lane = spec.lane;
  options.tag = TagOf(spec);
  options.kept_outputs = spec.kept;
  options.needs_commit = spec.needs_commit;
  options.tells_when_free = spec.tells_when_free;
  for (uint32_t dep : spec.deps) options.deps.push_back(dep_ids_[dep]);
  if (spec.prepares) {
    options.prepare = [&spec, &body = program.body](Launcher& on, const ProgramInputs& in) {
      return RunPrepare(spec, body, on, in);
    };
  }
  options.body = [&spec, &body = program.body](Launcher& on, const ProgramInputs& in) {
    return RunBody(spec, body, on, in);
  };
  const absl::StatusOr<ProgramId> id = Call([&] { return runtime_->AddProgram(options); });
  if (program.model != nullptr) return ShouldFail("a name that is taken", id.status());
  if (!id.ok()) return MayFail(id.status()) ? absl::OkStatus() : id.status();
  program.id = *id;
  program.model = std::make_unique<ProgramModel>(spec, script_.records_while_serving);
  program.was_there = true;
  program.body.slots.clear();
  for (SlotId i = 0; i < spec.slots.size(); ++i) {
    GRAPHTREE_ASSIGN_OR_RETURN(const Tensor slot, runtime_->SlotWhole(program.id, i));
    program.body.slots.push_back(slot.word());
  }
  if (spec.plans) {
    program.ahead = std::make_unique<Ahead>(*runtime_, program.id);
    program.expected = {};
  }
  Count("programs added");
  const absl::StatusOr<FreeEvents> events = runtime_->WhenFree(program.id);
  if (!spec.tells_when_free) return ShouldFail("asking what is not told", events.status());
  GRAPHTREE_RETURN_IF_ERROR(events.status());
  program.events = *events;
  return absl::OkStatus();
}

absl::Status World::Remove(Program& program) {
  GRAPHTREE_RETURN_IF_ERROR(EndSide());
  const absl::Status said = Call([&] { return runtime_->RemoveProgram(program.id); });
  if (program.model == nullptr) return ShouldFail("a program that is not there", said);
  // Another server may be recording.
  const bool is_captured = script_.shares_device && absl::StrContains(said.message(), "capture");
  if (!said.ok()) return MayFail(said) || is_captured ? absl::OkStatus() : said;
  program.model = nullptr;
  program.ahead = nullptr;
  program.guess = std::nullopt;
  program.events = {};
  Count("programs removed");
  return absl::OkStatus();
}

absl::Status World::AddShapes(Program& program, const ProgramSpec& spec, uint32_t pick) {
  std::vector<Key> keys;
  for (size_t i = 0; i < spec.shapes.size(); ++i) {
    if ((pick >> i & 1) != 0) keys.push_back(spec.shapes[i]);
  }
  const bool is_cut = (pick >> 8 & 3) == 0;
  if (is_cut && spec.needs_commit && program.model != nullptr && !keys.empty()) {
    GRAPHTREE_RETURN_IF_ERROR(ShouldFail(
        "segmented shapes that need commits",
        runtime_->AddShapes(program.id, absl::MakeSpan(keys).subspan(0, 1), Mode::kSegmented)));
  }
  const Mode mode = is_cut && !spec.needs_commit ? Mode::kSegmented : Mode::kFull;
  // All at once, or one by one: then what makes no sense does not keep the others out.
  const bool is_one_by_one = (pick >> 10 & 3) != 0;
  for (size_t at = 0; at < keys.size(); at += is_one_by_one ? 1 : keys.size()) {
    const auto some = absl::MakeSpan(keys).subspan(at, is_one_by_one ? 1 : keys.size());
    const absl::Status said = Call([&] { return runtime_->AddShapes(program.id, some, mode); });
    if (program.model == nullptr || !program.model->MayAdd(some, mode)) {
      GRAPHTREE_RETURN_IF_ERROR(ShouldFail("shapes that make no sense", said));
      Count("shapes refused");
    } else if (said.ok()) {
      program.model->Add(some, mode);
    } else if (!MayFail(said)) {
      return said;
    }
  }
  return absl::OkStatus();
}

absl::Status World::Exclude(Program& program, const ProgramSpec& spec, uint32_t pick) {
  const Key& key = spec.shapes[pick % spec.shapes.size()];
  const bool excluded = (pick >> 8 & 3) == 0;
  const absl::Status said = runtime_->Exclude(program.id, key, excluded);
  if (program.model == nullptr || !program.model->Exclude(key, excluded)) {
    return ShouldFail("a shape that is not there", said);
  }
  return said;
}

absl::Status World::Commit(uint32_t pick) {
  const uint64_t epoch = runtime_->epoch();
  GRAPHTREE_RETURN_IF_ERROR(
      ShouldFail("another epoch", runtime_->Commit(pick % 2 == 0 ? epoch - 1 : epoch + 1)));
  GRAPHTREE_RETURN_IF_ERROR(runtime_->Commit(epoch));
  if (!runtime_->Uncommitted().empty()) {
    return absl::InternalError("a recording waits for an epoch that has just begun");
  }
  for (Program& program : programs_) {
    if (program.model != nullptr) program.model->Commit();
  }
  Count("commits");
  return absl::OkStatus();
}

absl::Status World::Rewrite(uint32_t pick) {
  GRAPHTREE_RETURN_IF_ERROR(Wait());
  const uint32_t source = pick % kSources;
  sources_[source] = RandomBytes(pick, kSourceBytes);
  return memory_.Write(memory_.source(source), sources_[source].data(), kSourceBytes);
}

absl::Status World::DoWrong(Program& program, uint32_t pick) {
  ProgramOptions options;
  options.name = "wrong";
  options.body = [](Launcher&, const ProgramInputs&) -> Values { return {}; };
  const Key key = {.tokens = 1};
  switch (pick % 9) {
    case 0: return ShouldFail("an unknown dependency", runtime_->Touch({}));
    case 1: return ShouldFail("no program", runtime_->Begin({}, key, *streams_[0]).status());
    case 2:
      return ShouldFail("no program", runtime_->Choose({program.id.runtime, 999}, key).status());
    case 3: return ShouldFail("no program", runtime_->Record({}, *streams_[0]));
    case 4: return ShouldFail("no program", runtime_->RemoveProgram({program.id.runtime, 999}));
    case 5: options.body = nullptr; break;
    case 6: options.slots = {{.name = "one"}, {.name = "one"}}; break;
    case 7: options.deps = {{}}; break;
    case 8: options.rules.tokens = {.covers = Covers::kAtMost, .most_ratio = 0.5}; break;
  }
  return ShouldFail("a program that makes no sense", runtime_->AddProgram(options).status());
}

absl::Status World::Capture(const Action& action) {
  const StepSpec& spec = action.steps[0];
  Program& program = programs_[spec.program];
  if (program.model == nullptr || script_.shares_device) return absl::OkStatus();
  Stream& stream = *streams_[spec.stream];
  GRAPHTREE_RETURN_IF_ERROR(Wait());
  GRAPHTREE_RETURN_IF_ERROR(stream.BeginCapture(CaptureMode::kThreadLocal));
  GRAPHTREE_RETURN_IF_ERROR(
      ShouldFail("a recording on a stream that captures", runtime_->Record(program.id, stream)));
  GRAPHTREE_RETURN_IF_ERROR(
      ShouldFail("a removal in a capture", runtime_->RemoveProgram(program.id)));
  absl::StatusOr<Step> step = runtime_->Begin(program.id, spec.call, stream);
  if (step.ok()) {
    for (SlotId i = 0; i < spec.staging.size(); ++i) {
      GRAPHTREE_RETURN_IF_ERROR(step->Stage(i, 1.0));
    }
    Values outputs;
    program.body.ran.clear();
    GRAPHTREE_RETURN_IF_ERROR(
        ShouldFail("a step on a stream that captures", step->Run(&outputs)));
    if (!program.body.ran.empty()) Grow(program.model->spec(), program.body.ran[0].key);
    ++steps_;
    ++whys_[static_cast<size_t>(Why::kFailed)];
    ++lanes_[program.model->spec().lane].path;
  }
  GRAPHTREE_ASSIGN_OR_RETURN(const std::unique_ptr<Graph> graph, stream.EndCapture());
  Count("captures");
  if (graph->op_count() == 0) return absl::OkStatus();
  return absl::InternalError("a step went into its caller's capture");
}

absl::Status World::Vote(const Action& action) {
  const StepSpec& spec = action.steps[0];
  const StepSpec& other = action.steps[1];
  Program& program = programs_[spec.program];
  const uint32_t epoch = action.pick;
  const Modes modes[] = {Modes::FromBits(spec.modes), Modes::FromBits(other.modes)};
  const Key calls[] = {spec.call, other.call};
  std::vector<graphtree::Vote> votes;
  for (int i = 0; i < 2; ++i) {
    const auto vote = runtime_->MakeVote(program.id, calls[i], modes[i], epoch);
    if (program.model == nullptr) return ShouldFail("a vote for no program", vote.status());
    GRAPHTREE_RETURN_IF_ERROR(vote.status());
    votes.push_back(*vote);
  }
  Agreement agreed[2];
  for (int i = 0; i < 2; ++i) {
    GRAPHTREE_ASSIGN_OR_RETURN(
        agreed[i], runtime_->Agree(program.id, calls[i], modes[i], epoch, votes));
  }
  const bool is_agreed = agreed[0].outcome == VoteOutcome::kAgreed;
  Count(is_agreed ? "votes that agree" : "votes that do not");
  if (agreed[0].outcome != agreed[1].outcome || !(agreed[0].modes == agreed[1].modes)) {
    return absl::InternalError("two ranks come to different ends");
  }
  if (is_agreed) {
    GRAPHTREE_ASSIGN_OR_RETURN(const Choice first,
                               runtime_->Choose(program.id, agreed[0].key, agreed[0].modes));
    GRAPHTREE_ASSIGN_OR_RETURN(const Choice second,
                               runtime_->Choose(program.id, agreed[1].key, agreed[1].modes));
    if (first.index != second.index || first.why != second.why) {
      return absl::InternalError("two ranks that agree choose different shapes");
    }
  }
  Open open;
  const Key& key = is_agreed ? agreed[0].key : spec.call;
  GRAPHTREE_RETURN_IF_ERROR(Begin(spec, key, agreed[0].modes, !is_agreed, &open));
  GRAPHTREE_RETURN_IF_ERROR(StageAll(open));
  return Finish(open);
}

absl::Status World::Pair(const Action& action) {
  const StepSpec& first = action.steps[0];
  const StepSpec& second = action.steps[1];
  const uint32_t lanes[] = {script_.programs[first.program].lane,
                            script_.programs[second.program].lane};
  if (lanes[0] == lanes[1]) {
    GRAPHTREE_RETURN_IF_ERROR(DoStep(first));
    return done_ ? absl::OkStatus() : DoStep(second);
  }
  Open one, two;
  GRAPHTREE_RETURN_IF_ERROR(
      Begin(first, first.call, Modes::FromBits(first.modes), first.is_voted_down, &one));
  GRAPHTREE_RETURN_IF_ERROR(
      Begin(second, second.call, Modes::FromBits(second.modes), second.is_voted_down, &two));
  GRAPHTREE_RETURN_IF_ERROR(StageAll(one));
  GRAPHTREE_RETURN_IF_ERROR(StageAll(two));
  GRAPHTREE_RETURN_IF_ERROR(Finish(one));
  Count("pairs");
  return Finish(two);
}

}  // namespace graphtree::runtime_simulation
