// Workspaces: dependencies whose memory moves when they grow. Whoever needs the most of one is to
// be recorded first, since each move makes the recordings before it stale; here that is checked,
// and told.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "device/base/guarded_call.h"
#include "runtime/core/runtime_core.h"
#include "runtime/slots/planted_bug.h"

namespace graphtree {
namespace {

std::string WordsOf(const std::string& name, AddressRange from, AddressRange to,
                    const std::string& who, const std::vector<std::string>& stale) {
  const char* const what = to.bytes > from.bytes ? "grew" : "moved";
  return absl::StrCat("workspace '", name, "' ", what, " from ", from.bytes, " to ", to.bytes,
                      " bytes ", who, ", and was recorded before: ", absl::StrJoin(stale, ", "),
                      ". These recordings are not replayed again, but made again, by Record or by "
                      "their next steps. Record first what needs the most of a workspace");
}

}  // namespace

DepId RuntimeCore::DeclareWorkspace(std::string name, AddressRange memory) {
  return Declared(dependencies_.DeclareWorkspace(std::move(name), memory));
}

std::vector<std::string> RuntimeCore::RecordedWith(uint32_t dep) const {
  std::vector<std::string> recorded;
  programs_.ForEach([&](ProgramId, ProgramState& program) {
    const std::vector<uint32_t> deps = program.dependencies();
    if (std::find(deps.begin(), deps.end(), dep) == deps.end()) return;
    const std::vector<uint64_t> now = dependencies_.GenerationsOf(deps);
    for (uint32_t i = 0; i < program.table().size(); ++i) {
      const ShapeState& shape = program.shape(i);
      if (!shape.life.is_recorded() || shape.life.generations() != now) continue;
      recorded.push_back(absl::StrCat("'", program.name(), "' for ", ToString(shape.key)));
    }
  });
  return recorded;
}

absl::Status RuntimeCore::MoveWorkspace(DepId workspace, AddressRange memory) {
  const uint32_t index = workspace.index;
  if (!IsOurs(workspace) || !dependencies_.is_workspace(index)) {
    return absl::InvalidArgumentError(
        "what was moved is no workspace that DeclareWorkspace of this runtime returned");
  }
  const AddressRange before = dependencies_.memory(index);
  if (before == memory) return absl::OkStatus();
  const std::vector<std::string> stale = RecordedWith(index);
  dependencies_.Move(index, memory);
  ++touches_;
  absl::Status first;
  lanes_.ForEach([&](Lane& lane) {
    if (IsPlanted(RuntimeBug::kMovesInOneLane) && lane.number > 0) return;
    first.Update(lane.tree->MoveWorkspace(lane.workspaces[index], memory));
  });
  if (stale.empty()) return first;
  ++workspace_moves_;
  stale_recordings_ += stale.size();
  if (options_.tree.warn) {
    const std::string words =
        WordsOf(dependencies_.name(index), before, memory, lanes_.WhoRuns(), stale);
    Guarded([&] { options_.tree.warn(words); }).IgnoreError();
  }
  return first;
}

}  // namespace graphtree
