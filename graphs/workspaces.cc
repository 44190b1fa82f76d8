// Keeps one row for each workspace, by id.
#include "graphs/workspaces.h"

#include "absl/strings/str_cat.h"

namespace graphtree {

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
  return Found{rows_[id].memory, {id, rows_[id].generation}};
}

}  // namespace graphtree
