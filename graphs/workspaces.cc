// Keeps one row for each workspace, by id.
#include "graphs/workspaces.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "device/base/one_line.h"
#include "device/base/status_macros.h"

namespace graphtree {

absl::Status Workspaces::CheckMemory(const std::string& name, AddressRange memory) {
  if (memory.bytes <= std::numeric_limits<Address>::max() - memory.base) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("workspace '", OneLine(name), "' is said to lie at 0x", absl::Hex(memory.base),
                   " with ", memory.bytes, " bytes, which go beyond the last address"));
}

WorkspaceId Workspaces::Register(std::string name, AddressRange memory) {
  rows_.push_back({std::move(name), memory, 1});
  return static_cast<WorkspaceId>(rows_.size() - 1);
}

absl::Status Workspaces::Unknown(WorkspaceId id) const {
  return absl::InvalidArgumentError(
      absl::StrCat("workspace ", id, " is not registered; there are ", rows_.size()));
}

absl::Status Workspaces::Move(WorkspaceId id, AddressRange memory) {
  if (id >= rows_.size()) return Unknown(id);
  Row& row = rows_[id];
  GRAPHTREE_RETURN_IF_ERROR(CheckMemory(row.name, memory));
  if (row.memory == memory) return absl::OkStatus();
  row.memory = memory;
  return Touch(id);
}

absl::Status Workspaces::Touch(WorkspaceId id) {
  if (id >= rows_.size()) return Unknown(id);
  ++rows_[id].generation;
  ++changes_;
  return absl::OkStatus();
}

absl::StatusOr<Workspaces::Found> Workspaces::Find(WorkspaceId id) const {
  if (id >= rows_.size()) return Unknown(id);
  GRAPHTREE_RETURN_IF_ERROR(CheckMemory(rows_[id].name, rows_[id].memory));
  return Found{rows_[id].memory, {id, rows_[id].generation}};
}

}  // namespace graphtree
