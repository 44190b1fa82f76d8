// Adds what steps run on: programs, shapes, lanes, dependencies.
#include "runtime/core/runtime_core.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"

namespace graphtree {
namespace {

// So that a handle of another runtime is told from one of this.
uint32_t NextNumber() {
  static std::atomic<uint32_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

RuntimeCore::RuntimeCore(Device& device, const RuntimeOptions& options)
    : device_(device), options_(options), number_(NextNumber()) {}

// Trees close first and wait for their work, as programs own the memory that it uses.
RuntimeCore::~RuntimeCore() {
  for (auto& [number, lane] : lanes_) lane->tree = nullptr;
}

absl::StatusOr<const ProgramState*> RuntimeCore::Find(ProgramId id) const {
  if (id.runtime != number_) {
    return absl::InvalidArgumentError(absl::StrCat("a program of ",
                                                   id.runtime == 0 ? "no" : "another",
                                                   " runtime was named; ids are those "
                                                   "that this runtime's AddProgram returned"));
  }
  if (id.index >= programs_.size()) {
    return absl::InvalidArgumentError(absl::StrCat("there is no program ", id.index,
                                                   "; this runtime has had ", programs_.size()));
  }
  if (programs_[id.index] == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("program '", names_[id.index], "' was removed"));
  }
  return programs_[id.index].get();
}

absl::StatusOr<ProgramState*> RuntimeCore::FindMutable(ProgramId id) {
  GRAPHTREE_RETURN_IF_ERROR(Find(id).status());
  return programs_[id.index].get();
}

absl::Status RuntimeCore::CheckNoStep(absl::string_view what) const {
  for (const auto& [number, lane] : lanes_) {
    const OpenStep& step = lane->step;
    if (!step.is_under_way()) continue;
    return absl::FailedPreconditionError(
        absl::StrCat(what, " while a step of '", step.program->name(), "' is under way in lane ",
                     number, step.is_running ? ", by its own body" : "; run or cancel it first"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Lane*> RuntimeCore::LaneFor(uint32_t number) {
  std::unique_ptr<Lane>& lane = lanes_[number];
  if (lane != nullptr) return lane.get();
  TreeOptions options = options_.tree;
  // A step's block moves every time, and is read by one op: a copy of it would only cost.
  options.patch_bytes = 1;
  absl::StatusOr<std::unique_ptr<Tree>> tree = Tree::Create(device_, options);
  if (!tree.ok()) {
    lanes_.erase(number);
    return tree.status();
  }
  lane = std::make_unique<Lane>();
  lane->number = number;
  lane->tree = *std::move(tree);
  for (uint32_t i = 0; i < dependencies_.size(); ++i) {
    lane->workspaces.push_back(
        lane->tree->RegisterWorkspace(dependencies_.name(i), dependencies_.memory(i)));
  }
  return lane.get();
}

absl::StatusOr<ProgramId> RuntimeCore::AddProgram(ProgramOptions options) {
  GRAPHTREE_RETURN_IF_ERROR(CheckNoStep(absl::StrCat("program '", options.name, "' was added")));
  for (size_t i = 0; i < programs_.size(); ++i) {
    if (programs_[i] == nullptr || names_[i] != options.name) continue;
    return absl::AlreadyExistsError(
        absl::StrCat("there is a program '", options.name, "' already; names are unique"));
  }
  for (const DepId& dep : options.deps) {
    if (dep.runtime == number_ && dep.index < dependencies_.size()) continue;
    return absl::InvalidArgumentError(absl::StrCat("program '", options.name,
                                                   "' depends on something that DeclareDep of this "
                                                   "runtime did not return"));
  }
  GRAPHTREE_ASSIGN_OR_RETURN(Lane* const lane, LaneFor(options.lane));
  const auto index = static_cast<uint32_t>(programs_.size());
  std::string name = options.name;
  GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<ProgramState> program,
                             ProgramState::Create(device_, *lane, std::move(options)));
  programs_.push_back(std::move(program));
  names_.push_back(std::move(name));
  return ProgramId{number_, index};
}

absl::Status RuntimeCore::AddShapes(ProgramId id, absl::Span<const Key> keys, Mode mode) {
  GRAPHTREE_ASSIGN_OR_RETURN(ProgramState* const program, FindMutable(id));
  GRAPHTREE_RETURN_IF_ERROR(
      CheckNoStep(absl::StrCat("shapes were added to '", program->name(), "'")));
  OpenStep& last = program->lane().step;
  const bool is_told = last.program == program;
  const uint64_t index = is_told ? program->IdOf(last.choice.index) : kNoShape;
  const uint64_t better = is_told ? program->IdOf(last.choice.better) : kNoShape;
  GRAPHTREE_RETURN_IF_ERROR(program->AddShapes(keys, mode, options_.records_while_serving));
  if (!is_told) return absl::OkStatus();
  // The last step can still say how it ran, and indices are others now.
  last.choice.index = program->table().IndexOf(index);
  last.choice.better = program->table().IndexOf(better);
  return absl::OkStatus();
}

absl::Status RuntimeCore::Exclude(ProgramId id, const Key& key, bool excluded) {
  GRAPHTREE_ASSIGN_OR_RETURN(ProgramState* const program, FindMutable(id));
  bool is_there = false;
  for (uint32_t i = 0; i < program->table().size(); ++i) {
    if (!(program->table().shape(i).key == key)) continue;
    is_there = true;
    program->SetExcluded(i, excluded, options_.records_while_serving);
  }
  if (is_there) return absl::OkStatus();
  return absl::NotFoundError(
      absl::StrCat("program '", program->name(), "' has no shape ", ToString(key)));
}

absl::Status RuntimeCore::RemoveProgram(ProgramId id) {
  GRAPHTREE_ASSIGN_OR_RETURN(ProgramState* const program, FindMutable(id));
  GRAPHTREE_RETURN_IF_ERROR(CheckNoStep(absl::StrCat("'", program->name(), "' was removed")));
  // Its work cannot be awaited then, and reads memory that would go.
  if (device_.open_captures() > 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("'", program->name(), "' was removed while a capture is open on ",
                     device_.info().name, "; end that capture first"));
  }
  GRAPHTREE_RETURN_IF_ERROR(program->Leave());
  OpenStep& last = program->lane().step;
  if (last.program == program) last.program = nullptr;
  programs_[id.index] = nullptr;
  return absl::OkStatus();
}

DepId RuntimeCore::DeclareDep(std::string name) {
  return Declared(dependencies_.Declare(std::move(name)));
}

DepId RuntimeCore::Declared(uint32_t index) {
  for (auto& [number, lane] : lanes_) {
    lane->workspaces.push_back(
        lane->tree->RegisterWorkspace(dependencies_.name(index), dependencies_.memory(index)));
  }
  return {number_, index};
}

absl::Status RuntimeCore::Touch(DepId dep) {
  if (dep.runtime != number_ || dep.index >= dependencies_.size()) {
    return absl::InvalidArgumentError(
        "what was touched is no dependency that DeclareDep of this runtime returned");
  }
  dependencies_.Touch(dep.index);
  absl::Status first;
  for (auto& [number, lane] : lanes_) {
    first.Update(lane->tree->TouchWorkspace(lane->workspaces[dep.index]));
  }
  return first;
}

RuntimeStats RuntimeCore::stats() const {
  RuntimeStats stats;
  stats.workspace_moves = workspace_moves_;
  stats.stale_recordings = stale_recordings_;
  for (const auto& [number, lane] : lanes_) {
    stats.steps += lane->stats.steps;
    stats.recordings += lane->stats.recordings;
    for (size_t i = 0; i < kWhyCount; ++i) stats.why[i] += lane->stats.why[i];
  }
  for (const std::unique_ptr<ProgramState>& program : programs_) {
    if (program == nullptr) continue;
    stats.staging_waits += program->ring().waits();
    stats.slot_bytes += program->slot_bytes();
    stats.staging_bytes += program->ring().memory().bytes;
  }
  return stats;
}

const LaunchHistory& RuntimeCore::history(uint32_t number) const {
  static const auto* const nothing = new LaunchHistory();
  const auto found = lanes_.find(number);
  return found == lanes_.end() ? *nothing : found->second->history;
}

Tree* RuntimeCore::tree(uint32_t number) {
  const auto found = lanes_.find(number);
  return found == lanes_.end() ? nullptr : found->second->tree.get();
}

}  // namespace graphtree
