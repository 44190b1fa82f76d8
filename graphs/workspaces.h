// A workspace is memory that a library keeps for itself between calls and points its kernels to. It
// is registered with the tree once, under a name, so that a recording knows when its pointer is no
// longer good.
//
//   matmul scratch   generation 1   [0x7f00..., +4 MiB)     used by nodes 3 and 7
//        |  Move: the library made a larger one
//        v
//   matmul scratch   generation 2   [0x7f40..., +8 MiB)     nodes 3 and 7 match no call any more
//
// A body says at every launch which workspace it hands to the library (Launcher::Workspace). A node
// keeps the generations that it was recorded with; where a workspace has a newer one the node does
// not match, and the call is recorded again.
//
// A workspace may also stand for something that is no memory of a library, such as weights that are
// loaded anew where they were: Touch makes it a new generation at the same place.
//
// Pure bookkeeping. Threads: the tree's caller, or the body that runs for it. Cost for a node that
// uses no workspace: one test; for another, one compare until any workspace moves.
#ifndef GRAPHTREE_GRAPHS_WORKSPACES_H_
#define GRAPHTREE_GRAPHS_WORKSPACES_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/address.h"

namespace graphtree {

using WorkspaceId = uint32_t;

struct WorkspaceUse {
  WorkspaceId id = 0;
  uint64_t generation = 0;
};

class Workspaces {
 public:
  WorkspaceId Register(std::string name, AddressRange memory);
  // The library has other memory now. The same memory again changes nothing. An error, and nothing
  // changes, if the memory goes beyond the last address; memory that was registered so is found
  // nowhere.
  absl::Status Move(WorkspaceId id, AddressRange memory);
  // The library has made another workspace at the same place.
  absl::Status Touch(WorkspaceId id);

  // OK if there can be such memory.
  static absl::Status CheckMemory(const std::string& name, AddressRange memory);

  struct Found {
    AddressRange memory;
    WorkspaceUse use;
  };
  absl::StatusOr<Found> Find(WorkspaceId id) const;

  // Grows with every move and touch of any workspace.
  uint64_t changes() const { return changes_; }
  bool AreCurrent(const std::vector<WorkspaceUse>& uses) const {
    for (const WorkspaceUse& use : uses) {
      if (rows_[use.id].generation != use.generation) return false;
    }
    return true;
  }
  // The same. `seen` is the caller's to keep with its uses, and starts at 0.
  bool AreCurrent(const std::vector<WorkspaceUse>& uses, uint64_t* seen) const {
    if (*seen == changes_) return true;
    if (!AreCurrent(uses)) return false;
    *seen = changes_;
    return true;
  }

 private:
  struct Row {
    std::string name;
    AddressRange memory;
    uint64_t generation = 1;
  };

  absl::Status Unknown(WorkspaceId id) const;

  std::vector<Row> rows_;
  uint64_t changes_ = 1;  // of all workspaces
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_WORKSPACES_H_
