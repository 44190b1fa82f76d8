// Gives back in the order that lets a failure be tried again: graphs, work, memory.
#include "allocator/memory/estate.h"

#include "device/base/status_macros.h"

namespace graphtree {

absl::Status Estate::AwaitWork() {
  while (!users.empty()) {
    GRAPHTREE_ASSIGN_OR_RETURN(const std::unique_ptr<Event> event, device.NewEvent({}));
    GRAPHTREE_RETURN_IF_ERROR(users.back()->AwaitOnHost(*event));
    users.pop_back();
  }
  while (!streams.empty()) {
    GRAPHTREE_RETURN_IF_ERROR(streams.back()->Synchronize());
    streams.pop_back();
  }
  return absl::OkStatus();
}

absl::Status Estate::GiveBack() {
  graphs.clear();
  // A device that is lost runs no more work, also where it is lost in the middle of the wait.
  if (absl::Status awaited = AwaitWork(); !awaited.ok() && device.health().ok()) return awaited;
  users.clear();
  streams.clear();
  buffers.clear();
  Memory& memory = device.memory();
  while (!mappings.empty()) {
    GRAPHTREE_RETURN_IF_ERROR(memory.Unmap(mappings.back().range));
    mappings.pop_back();
  }
  return reserved.empty() ? absl::OkStatus() : memory.Release(reserved);
}

}  // namespace graphtree
