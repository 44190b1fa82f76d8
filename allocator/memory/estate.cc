// Gives back in the order that lets a failure be tried again: graphs, work, memory.
#include "allocator/memory/estate.h"

#include "device/base/status_macros.h"

namespace graphtree {

absl::Status Estate::GiveBack() {
  graphs.clear();
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
