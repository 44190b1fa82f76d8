// Tells every lane's tree, and people if it costs recordings.
#include "runtime/core/dependencies.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "device/base/guarded_call.h"
#include "device/base/one_line.h"
#include "device/base/status_macros.h"
#include "graphs/tree.h"
#include "graphs/workspaces.h"
#include "runtime/shapes/key.h"
#include "runtime/slots/planted_bug.h"

namespace graphtree {
namespace {

std::string WordsOf(const std::string& name, AddressRange from, AddressRange to,
                    const std::string& who, const std::vector<std::string>& stale) {
  const char* const what = to.bytes > from.bytes ? "grew" : "moved";
  return absl::StrCat("workspace '", OneLine(name), "' ", what, " from ", from.bytes, " to ",
                      to.bytes, " bytes ", who, ", and was recorded before: ",
                      absl::StrJoin(stale, ", "),
                      ". These recordings are not replayed again, but made again, by Record or by "
                      "their next steps. Record first what needs the most of a workspace");
}

}  // namespace

absl::StatusOr<DepId> Dependencies::Declare(std::string name,
                                            std::optional<AddressRange> memory) {
  if (name.empty()) return absl::InvalidArgumentError("a dependency has no name");
  if (memory.has_value()) GRAPHTREE_RETURN_IF_ERROR(Workspaces::CheckMemory(name, *memory));
  if (table_.Has(name)) {
    return absl::AlreadyExistsError(
        absl::StrCat("there is a dependency '", name, "' already; names are unique"));
  }
  GRAPHTREE_RETURN_IF_ERROR(
      lanes_.CheckNoStep(absl::StrCat("dependency '", name, "' was declared")));
  const uint32_t index = table_.Declare(std::move(name), memory);
  workspace_bytes_.Add(table_.memory(index).bytes);
  lanes_.ForEach([&](Lane& lane) { Register(lane, index); });
  return DepId{runtime_, index};
}

void Dependencies::RegisterIn(Lane& lane) const {
  for (uint32_t i = 0; i < table_.size(); ++i) Register(lane, i);
}

void Dependencies::Register(Lane& lane, uint32_t index) const {
  lane.workspaces.push_back(
      lane.tree->RegisterWorkspace(table_.name(index), table_.memory(index)));
}

absl::Status Dependencies::CheckMayChange(const std::string& what) const {
  GRAPHTREE_RETURN_IF_ERROR(lanes_.CheckMayWaitForAll(what));
  return lanes_.CheckNoneBegins(what);
}

absl::Status Dependencies::Touch(DepId dep) {
  if (!IsOurs(dep)) {
    return absl::InvalidArgumentError(
        "what was touched is no dependency that DeclareDep of this runtime returned");
  }
  GRAPHTREE_RETURN_IF_ERROR(
      CheckMayChange(absl::StrCat("dependency '", table_.name(dep.index), "' was touched")));
  table_.Touch(dep.index);
  ++touches_;
  if (IsPlanted(RuntimeBug::kIgnoresTouch)) return absl::OkStatus();
  absl::Status first;
  lanes_.ForEach([&](Lane& lane) {
    first.Update(lane.tree->TouchWorkspace(lane.workspaces[dep.index]));
  });
  return first;
}

absl::Status Dependencies::Move(DepId workspace, AddressRange memory) {
  const uint32_t index = workspace.index;
  if (!IsOurs(workspace) || !table_.is_workspace(index)) {
    return absl::InvalidArgumentError(
        "what was moved is no workspace that DeclareWorkspace of this runtime returned");
  }
  GRAPHTREE_RETURN_IF_ERROR(Workspaces::CheckMemory(table_.name(index), memory));
  const AddressRange before = table_.memory(index);
  if (before == memory) return absl::OkStatus();
  GRAPHTREE_RETURN_IF_ERROR(
      CheckMayChange(absl::StrCat("workspace '", table_.name(index), "' was moved")));
  const std::vector<std::string> stale = RecordedWith(index);
  table_.Move(index, memory);
  workspace_bytes_.Set(workspace_bytes_.get() - before.bytes + memory.bytes);
  programs_.ForEach([&](ProgramId, ProgramState& program) {
    program.watch()->workspace_bytes.Set(WorkspaceBytes(program));
  });
  ++touches_;
  absl::Status first;
  lanes_.ForEach([&](Lane& lane) {
    if (IsPlanted(RuntimeBug::kMovesInOneLane) && lane.number > 0) return;
    first.Update(lane.tree->MoveWorkspace(lane.workspaces[index], memory));
  });
  if (stale.empty()) return first;
  ++moves_with_cost_;
  stale_recordings_.Add(stale.size());
  TellMove(index, before, stale);
  return first;
}

void Dependencies::TellMove(uint32_t index, AddressRange before,
                            const std::vector<std::string>& stale) const {
  if (!options_.tree.warn) return;
  const std::string words =
      WordsOf(table_.name(index), before, table_.memory(index), lanes_.WhoRuns(), stale);
  Guarded([&] { options_.tree.warn(words); }).IgnoreError();
}

std::vector<std::string> Dependencies::RecordedWith(uint32_t index) const {
  std::vector<std::string> recorded;
  programs_.ForEach([&](ProgramId, ProgramState& program) {
    const std::vector<uint32_t> deps = program.dependencies();
    if (std::find(deps.begin(), deps.end(), index) == deps.end()) return;
    const std::vector<uint64_t> now = table_.GenerationsOf(deps);
    for (uint32_t i = 0; i < program.table().size(); ++i) {
      const ShapeState& shape = program.shape(i);
      if (!shape.life.is_recorded() || shape.life.generations() != now) continue;
      recorded.push_back(absl::StrCat("'", program.name(), "' for ", ToString(shape.key)));
    }
  });
  return recorded;
}

std::vector<uint32_t> Dependencies::TouchedSince(const ProgramState& program,
                                                 const ShapeState& shape) const {
  std::vector<uint32_t> touched;
  const std::vector<uint32_t> deps = program.dependencies();
  const std::vector<uint64_t>& before = shape.life.generations();
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i] != table_.generation(deps[i])) touched.push_back(deps[i]);
  }
  return touched;
}

}  // namespace graphtree
