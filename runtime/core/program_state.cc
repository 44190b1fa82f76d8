// Makes a program's memory, and gives its shapes to the tree.
#include "runtime/core/program_state.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "device/base/guarded_call.h"
#include "device/base/status_macros.h"
#include "runtime/core/free_event_calls.h"
#include "runtime/core/slot_outputs.h"
#include "runtime/slots/block_cursor.h"
#include "runtime/slots/planted_bug.h"
#include "runtime/slots/unpack.h"

namespace graphtree {
namespace {

absl::Status Checked(const ProgramOptions& options) {
  if (options.name.empty()) return absl::InvalidArgumentError("a program has no name");
  if (options.body == nullptr) return absl::InvalidArgumentError("it has no body");
  GRAPHTREE_RETURN_IF_ERROR(CheckSlots(options.slots));
  return CheckRules(options.rules);
}

absl::Status Named(absl::string_view program, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat("program '", program, "': ", status.message()));
}

// The greatest key that fits into the slots decides how large a block can be: every slot whole.
uint64_t GreatestBlock(absl::Span<const SlotSpec> slots) {
  uint64_t bytes = slots.size() * sizeof(unpack::Staged);
  for (const SlotSpec& slot : slots) {
    const uint64_t piece =
        static_cast<uint64_t>(GreatestRows(slot)) * RowElementsOf(slot) * BytesOf(slot.type);
    bytes += uint64_t{unpack::UnitsOf(piece)} * unpack::kUnitBytes * PiecesOf(slot);
  }
  return bytes;
}

// FNV-1a: the same on every machine.
uint64_t FingerprintOf(absl::string_view name) {
  uint64_t hash = 0xcbf29ce484222325;
  for (char c : name) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace

ProgramState::ProgramState(Lane& lane, ProgramOptions options, bool records_while_serving)
    : lane_(lane),
      kept_options_(std::make_shared<const ProgramOptions>(std::move(options))),
      options_(*kept_options_),
      records_while_serving_(records_while_serving),
      fingerprint_(FingerprintOf(options_.name)),
      watch_(std::make_shared<ProgramWatch>(options_.name, lane.device_number, lane.number)) {
  eager_.watch = watch_->eager;
}

absl::StatusOr<std::unique_ptr<ProgramState>> ProgramState::Create(Lane& lane,
                                                                   ProgramOptions options,
                                                                   bool records_while_serving) {
  const std::string name = options.name;
  GRAPHTREE_RETURN_IF_ERROR(Named(name, Checked(options)));
  std::unique_ptr<ProgramState> program(
      new ProgramState(lane, std::move(options), records_while_serving));
  const absl::Span<const SlotSpec> slots = program->options_.slots;
  program->arena_ = PlanArena(slots);
  absl::StatusOr<std::unique_ptr<SlotMemory>> memory =
      SlotMemory::Create(lane.device, slots, program->arena_);
  if (!memory.ok()) return Named(name, memory.status());
  program->memory_ = *std::move(memory);
  absl::StatusOr<std::unique_ptr<StagingRing>> ring =
      StagingRing::Create(lane.device, GreatestBlock(slots));
  if (!ring.ok()) return Named(name, ring.status());
  program->ring_ = *std::move(ring);
  if (program->options_.tells_when_free) {
    absl::StatusOr<FreeEvents> events = NewFreeEvents(lane.device);
    if (!events.ok()) return Named(name, events.status());
    program->free_events_ = *std::move(events);
  }
  GRAPHTREE_ASSIGN_OR_RETURN(program->table_, ShapeTable::Make(program->options_.rules, {}));
  program->TellSlots();
  program->watch_->staging_bytes.Set(program->ring_->memory().bytes);
  program->eager_.mode = Mode::kEager;
  program->eager_.function = program->RegisterShape(&program->eager_, name, /*is_eager=*/true);
  return program;
}

std::vector<uint32_t> ProgramState::dependencies() const {
  std::vector<uint32_t> indices;
  for (const DepId& dep : options_.deps) indices.push_back(dep.index);
  return indices;
}

FunctionId ProgramState::RegisterShape(ShapeState* shape, std::string name, bool is_eager) {
  FunctionOptions options;
  options.kept_outputs = options_.kept_outputs;
  options.unseen_writes = options_.unseen_writes;
  options.check = options_.check;
  options.exclude = is_eager;
  options.recorded_apart = options_.needs_commit;
  options.input_names = {"staged"};
  options.owners_thread = &lane_.calls.thread();
  return lane_.tree->Register(std::move(name), std::move(options),
                              [this, shape, kept = kept_options_](Launcher& on, Values&) {
                                return RunBody(shape, on);
                              });
}

// The tree lets nobody but us call it, and we may be in a call of another of the lane's functions.
bool ProgramState::IsStepOf(const ShapeState* shape) const {
  return lane_.under_way.load(std::memory_order_relaxed) == this && lane_.step.shape == shape;
}

Values ProgramState::RunBody(ShapeState* shape, Launcher& on) const {
  if (!IsStepOf(shape)) {
    on.Fail(absl::FailedPreconditionError(absl::StrCat(
        "it is a shape of program '", name(), "', which runs in steps alone: Runtime::Begin")));
    return {};
  }
  std::vector<AddressRange> workspaces;
  for (const DepId& dep : options_.deps) {
    workspaces.push_back(on.Workspace(lane_.workspaces[dep.index]));
  }
  const Address base = memory_->range().base;
  const bool is_early = IsPlanted(RuntimeBug::kFreesRowsEarly);
  if (is_early && free_events_.are_told()) on.SetEvent(*free_events_.rows);
  if (shape->plan.launch_blocks > 0) {
    const Tensor arena = Tensor::Foreign(
        base, Layout::Of(DType::kU8, {static_cast<int64_t>(memory_->range().bytes)}));
    unpack::Ring ring = ring_->ring();
    ring.cursor_unit = static_cast<uint32_t>(arena_.cursor / unpack::kUnitBytes);
    const Tensor block = on.Input(0);
    const bool is_copy = on.ok() && !ring_->memory().Contains(block.word());
    shape->needs_blocks_address |= is_copy;
    if (is_copy && shape->is_by_cursor) {
      // Only a recording is given copies: this call runs at once instead, which reads the block.
      on.Fail(absl::AbortedError("its block is at the cursor, and the recording would copy it"));
      return {};
    }
    LaunchUnpack(on, shape->plan, ring, block, arena);
  }
  if (!is_early && free_events_.are_told()) on.SetEvent(*free_events_.rows);
  std::vector<Tensor> slots;
  for (size_t i = 0; i < shape->plan.layouts.size(); ++i) {
    slots.push_back(Tensor::Foreign(base + arena_.offsets[i], shape->plan.layouts[i]));
    const SlotFill& fill = options_.slots[i].fill;
    if (fill == nullptr || !on.ok()) continue;
    on.Fail(GuardedBy("`fill` of a slot", [&] { fill(on, shape->key, slots.back()); }));
  }
  ProgramInputs in(shape->key, shape->mode, std::move(slots));
  in.SetWorkspaces(std::move(workspaces));
  in.SetFreeEvents(free_events_);
  if (!Prepare(shape, on, &in)) return {};
  if (IsPlanted(RuntimeBug::kFreesSlotsEarly)) {
    in.SlotsAreFree(on);
    in.SetFreeEvents({});
  }
  Values outputs;
  on.Fail(Guarded([&] { outputs = options_.body(on, in); }));
  if (on.ok()) {
    const bool are_free = in.slots_are_free() && free_events_.are_told();
    CopySlotsAmong(memory_->range(), are_free, on, &outputs);
  }
  if (!in.slots_are_free()) in.SlotsAreFree(on);
  shape->ops = on.progress().ops();
  shape->asked_bytes = on.memory().asked_bytes();
  if (on.ok()) CheckOutputs(outputs, shape, on);
  return outputs;
}

bool ProgramState::Prepare(ShapeState* shape, Launcher& on, ProgramInputs* in) const {
  if (options_.prepare != nullptr && on.ok()) {
    on.Fail(GuardedBy("`prepare`", [&] { in->SetPrepared(options_.prepare(on, *in)); }));
  }
  if (!on.ok()) shape->asked_bytes = on.memory().asked_bytes();
  return on.ok();
}

void ProgramState::CheckOutputs(const Values& outputs, ShapeState* shape, Launcher& on) {
  std::vector<const Layout*> returned;
  for (const Value& output : outputs) returned.push_back(output.layout());
  if (!std::exchange(shape->has_run, true)) shape->outputs = returned;
  if (returned == shape->outputs) return;
  const auto text = [](const std::vector<const Layout*>& layouts) {
    std::vector<std::string> names;
    for (const Layout* layout : layouts) {
      const bool is_tensor = layout != nullptr && layout->kind() == ValueKind::kTensor;
      names.push_back(is_tensor ? layout->ToString() : "no tensor");
    }
    return absl::StrCat("(", absl::StrJoin(names, ", "), ")");
  };
  on.Fail(absl::InvalidArgumentError(
      absl::StrCat("its body returned ", text(returned), " for ", ToString(shape->key), ", and ",
                   text(shape->outputs),
                   " for the same key before; what it returns may follow from its key alone")));
}

absl::Status ProgramState::AddShapes(absl::Span<const Key> keys, Mode mode) {
  if (options_.needs_commit && mode != Mode::kFull) {
    return absl::InvalidArgumentError(
        absl::StrCat("program '", name(), "' needs commits, and was given ", ModeName(mode),
                     " shapes: a graph that is cut cannot be recorded without being launched"));
  }
  std::vector<Shape> all;
  for (size_t id = 0; id < shapes_.size(); ++id) {
    all.push_back({id, shapes_[id]->key, shapes_[id]->mode});
  }
  std::vector<std::unique_ptr<ShapeState>> added;
  for (const Key& key : keys) {
    all.push_back({all.size(), key, mode});
    auto shape = std::make_unique<ShapeState>();
    shape->key = key;
    shape->mode = mode;
    added.push_back(std::move(shape));
  }
  absl::StatusOr<ShapeTable> table = ShapeTable::Make(options_.rules, all);
  if (!table.ok()) return Named(name(), table.status());
  for (const std::unique_ptr<ShapeState>& shape : added) {
    absl::StatusOr<ShapePlan> plan = PlanShape(options_.slots, arena_, shape->key);
    if (!plan.ok()) return Named(name(), plan.status());
    shape->plan = *std::move(plan);
  }
  for (std::unique_ptr<ShapeState>& shape : added) {
    std::string called = absl::StrCat(name(), "[", ToString(shape->key), "]");
    shape->function = RegisterShape(shape.get(), std::move(called), /*is_eager=*/false);
    shape->watch = std::make_shared<ShapeWatch>(static_cast<uint32_t>(shapes_.size()), shape->key,
                                                shape->mode);
    shape->watch->function = shape->function;
    watch_->AddShape(shape->watch);
    shapes_.push_back(std::move(shape));
  }
  table_ = *std::move(table);
  for (uint32_t i = 0; i < table_->size(); ++i) TellTable(i);
  return absl::OkStatus();
}

// Inside of a call of its own the tree lets none of them go. One that it does not know has gone.
absl::Status ProgramState::Leave() {
  const auto leave = [this](FunctionId function) {
    const absl::Status left = lane_.tree->Unregister(function);
    return absl::IsInvalidArgument(left) ? absl::OkStatus() : left;
  };
  GRAPHTREE_RETURN_IF_ERROR(leave(eager_.function));
  for (const std::unique_ptr<ShapeState>& shape : shapes_) {
    GRAPHTREE_RETURN_IF_ERROR(leave(shape->function));
  }
  return absl::OkStatus();
}

void ProgramState::SetRecorded(uint32_t index, bool is_first, std::vector<uint64_t> generations,
                               uint64_t epoch) {
  shape(index).life.Recorded(is_first, std::move(generations), epoch);
  TellTable(index);
  if (IsPlanted(RuntimeBug::kForgetsExclusion)) table_->SetUsable(index, Why::kHit);
}

void ProgramState::SetReplayed(uint32_t index, std::vector<uint64_t> generations) {
  shape(index).life.Replayed(std::move(generations));
  TellTable(index);
}

void ProgramState::SetFailed(uint32_t index, Why why) {
  shape(index).life.Failed(why);
  TellTable(index);
}

void ProgramState::SetFailedServing(uint32_t index, Why why, uint64_t most_pause) {
  shape(index).life.FailedServing(why, most_pause);
  TellTable(index);
}

void ProgramState::NoteWaited(uint32_t index) {
  if (shape(index).life.Waited()) TellTable(index);
}

void ProgramState::SetExcluded(uint32_t index, bool is_excluded) {
  shape(index).life.Exclude(is_excluded);
  TellTable(index);
}

void ProgramState::Commit(uint64_t epoch) {
  for (uint32_t i = 0; i < table_->size(); ++i) {
    ShapeLife& life = shape(i).life;
    if (life.epoch() != epoch) continue;
    life.Committed();
    TellTable(i);
  }
}

std::vector<Key> ProgramState::Uncommitted(uint64_t epoch) const {
  std::vector<Key> keys;
  for (const std::unique_ptr<ShapeState>& shape : shapes_) {
    if (shape->life.epoch() == epoch) keys.push_back(shape->key);
  }
  return keys;
}

// The ring waits for the work, so it goes first.
std::vector<std::shared_ptr<void>> ProgramState::TakeMemory() {
  return {std::shared_ptr<void>(std::move(ring_)), std::shared_ptr<void>(std::move(memory_))};
}

absl::StatusOr<ShapeState*> ProgramState::PlanEagerly(const Key& key) {
  if (eager_.key == key && eager_.plan.block != nullptr) return &eager_;
  absl::StatusOr<ShapePlan> plan = PlanShape(options_.slots, arena_, key);
  if (!plan.ok()) return Named(name(), plan.status());
  eager_.key = key;
  eager_.has_run = false;
  eager_.plan = *std::move(plan);
  return &eager_;
}

}  // namespace graphtree
