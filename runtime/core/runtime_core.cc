// Adds what steps run on: programs, shapes, lanes, dependencies; and takes it away.
#include "runtime/core/runtime_core.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "allocator/memory/left_behind.h"
#include "allocator/pool.h"
#include "device/base/status_macros.h"
#include "runtime/core/shared_budget.h"
#include "runtime/core/staged_tensors.h"
#include "runtime/slots/planted_bug.h"

namespace graphtree {
namespace {

// So that a handle of another runtime is told from one of this.
uint32_t NextNumber() {
  static std::atomic<uint32_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

RuntimeCore::RuntimeCore(std::vector<Device*> devices, const RuntimeOptions& options)
    : devices_(std::move(devices)), options_(options), number_(NextNumber()) {}

// Trees close first and wait for their work, as programs own the memory that it uses. While a
// capture is open nobody may wait, nor unmap memory: what a device has is left for later then.
RuntimeCore::~RuntimeCore() {
  for (auto& [key, lane] : lanes_) lane->tree = nullptr;
  for (std::unique_ptr<ProgramState>& program : programs_) {
    if (program == nullptr) continue;
    Device& device = program->lane().device;
    if (device.open_captures() == 0) continue;
    auto estate = std::make_unique<LeftBehind::Estate>();
    estate->device = &device;
    estate->graphs = program->TakeMemory();
    LeftBehind::Add(std::move(estate));
  }
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
  for (const auto& [key, lane] : lanes_) {
    const ProgramState* const program = lane->under_way.load(std::memory_order_acquire);
    if (program == nullptr) continue;
    return absl::FailedPreconditionError(
        absl::StrCat(what, " while a step of '", program->name(), "' is under way in lane ",
                     lane->number, "; run or cancel it first, or wait for its body"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Lane*> RuntimeCore::LaneFor(LaneKey key) {
  std::unique_ptr<Lane>& lane = lanes_[key];
  if (lane != nullptr) return lane.get();
  Device& device = *devices_[key.first];
  TreeOptions options = options_.tree;
  // A step's block moves every time, and is read by one op: a copy of it would only cost.
  options.patch_bytes = 1;
  if (options_.pool_bytes > 0 && options.pool_bytes == 0) options.pool_bytes = options_.pool_bytes;
  absl::StatusOr<std::unique_ptr<Tree>> tree = Tree::Create(device, options);
  if (!tree.ok()) {
    lanes_.erase(key);
    return tree.status();
  }
  lane = std::make_unique<Lane>(device, key.first, key.second);
  lane->tree = *std::move(tree);
  lane->carry = RegisterCarry(*lane->tree);
  for (uint32_t i = 0; i < dependencies_.size(); ++i) {
    lane->workspaces.push_back(
        lane->tree->RegisterWorkspace(dependencies_.name(i), dependencies_.memory(i)));
  }
  limits_are_old_ = true;
  ShareMemory(*lane);
  return lane.get();
}

void RuntimeCore::ShareMemory(Lane& own) {
  if (options_.pool_bytes == 0) return;
  // A look into a tree makes that lane's calls wait, and nearly always nothing has changed.
  const uint64_t now = own.tree->stats().pool_reserved_bytes;
  const bool is_known = own.taken_bytes.exchange(now) == now;
  if (!limits_are_old_.exchange(false) && is_known) return;
  std::vector<Tree*> trees;
  std::vector<uint64_t> taken;
  for (auto& [key, lane] : lanes_) {
    if (key.first != own.device_number) continue;
    // A lane that another step has is not waited for: what it last had counts, its limit stays.
    const bool is_busy = lane.get() != &own && lane->under_way.load() != nullptr;
    if (is_busy) {
      limits_are_old_ = true;
    } else {
      lane->taken_bytes = lane->tree->stats().pool_reserved_bytes;
    }
    trees.push_back(is_busy ? nullptr : lane->tree.get());
    taken.push_back(lane->taken_bytes);
  }
  const std::vector<uint64_t> limits = SharedLimits(options_.pool_bytes, taken);
  for (size_t i = 0; i < trees.size(); ++i) {
    if (trees[i] == nullptr) continue;
    uint64_t limit = std::max<uint64_t>(limits[i], 1);  // 0 would be no limit
    if (options_.tree.pool_bytes > 0) limit = std::min(limit, options_.tree.pool_bytes);
    // Refused only if a lane has taken more meanwhile: its limit stays, until the next time.
    trees[i]->Inspect([&] { trees[i]->pool().memory().SetLimit(limit).IgnoreError(); });
  }
}

absl::StatusOr<ProgramId> RuntimeCore::AddProgram(ProgramOptions options) {
  GRAPHTREE_RETURN_IF_ERROR(CheckNoStep(absl::StrCat("program '", options.name, "' was added")));
  for (size_t i = 0; i < programs_.size(); ++i) {
    if (programs_[i] == nullptr || names_[i] != options.name) continue;
    return absl::AlreadyExistsError(
        absl::StrCat("there is a program '", options.name, "' already; names are unique"));
  }
  for (const DepId& dep : options.deps) {
    if (IsOurs(dep)) continue;
    return absl::InvalidArgumentError(absl::StrCat("program '", options.name,
                                                   "' depends on something that DeclareDep of this "
                                                   "runtime did not return"));
  }
  if (options.device >= devices_.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("program '", options.name, "' is for device ", options.device,
                     " of the runtime's ", devices_.size(), ", numbered from 0"));
  }
  GRAPHTREE_ASSIGN_OR_RETURN(Lane* const lane, LaneFor({options.device, options.lane}));
  const auto index = static_cast<uint32_t>(programs_.size());
  std::string name = options.name;
  GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<ProgramState> program,
                             ProgramState::Create(*lane, std::move(options),
                                                  options_.records_while_serving));
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
  GRAPHTREE_RETURN_IF_ERROR(program->AddShapes(keys, mode));
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
    program->SetExcluded(i, excluded);
  }
  if (is_there) return absl::OkStatus();
  return absl::NotFoundError(
      absl::StrCat("program '", program->name(), "' has no shape ", ToString(key)));
}

absl::Status RuntimeCore::RemoveProgram(ProgramId id) {
  GRAPHTREE_ASSIGN_OR_RETURN(ProgramState* const program, FindMutable(id));
  GRAPHTREE_RETURN_IF_ERROR(CheckNoStep(absl::StrCat("'", program->name(), "' was removed")));
  // Its work cannot be awaited then, and reads memory that would go.
  Device& device = program->lane().device;
  if (device.open_captures() > 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("'", program->name(), "' was removed while a capture is open on ",
                     device.info().name, "; end that capture first"));
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
  for (auto& [key, lane] : lanes_) {
    lane->workspaces.push_back(
        lane->tree->RegisterWorkspace(dependencies_.name(index), dependencies_.memory(index)));
  }
  return {number_, index};
}

absl::Status RuntimeCore::Touch(DepId dep) {
  if (!IsOurs(dep)) {
    return absl::InvalidArgumentError(
        "what was touched is no dependency that DeclareDep of this runtime returned");
  }
  dependencies_.Touch(dep.index);
  ++touches_;
  if (IsPlanted(RuntimeBug::kIgnoresTouch)) return absl::OkStatus();
  absl::Status first;
  for (auto& [key, lane] : lanes_) {
    first.Update(lane->tree->TouchWorkspace(lane->workspaces[dep.index]));
  }
  return first;
}

}  // namespace graphtree
