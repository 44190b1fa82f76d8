// Gives back in the order that lets a failure be tried again: graphs, work, memory.
#include "allocator/memory/estate.h"

#include "device/base/status_macros.h"

namespace graphtree {

// Of a device that is lost no work is awaited.
absl::Status Estate::AwaitUsers() {
  while (!users.empty() && device.health().ok()) {
    GRAPHTREE_ASSIGN_OR_RETURN(const std::unique_ptr<Event> event, device.NewEvent({}));
    GRAPHTREE_RETURN_IF_ERROR(users.back()->AwaitOnHost(*event));
    users.pop_back();
  }
  users.clear();
  return absl::OkStatus();
}

absl::Status Estate::GiveBack() {
  graphs.clear();
  GRAPHTREE_RETURN_IF_ERROR(AwaitUsers());
  for (std::unique_ptr<Stream>& stream : streams) {
    GRAPHTREE_RETURN_IF_ERROR(stream->Synchronize());
  }
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
