// Gives back in the order that lets a failure be tried again: work, graphs, memory.
#include "allocator/memory/estate.h"

#include "device/base/insist.h"
#include "device/base/status_macros.h"

namespace graphtree {

namespace {

// Of a stream that ended within a capture nobody can ever wait for what it had before.
absl::Status AwaitLast(StreamLife& last) {
  const absl::Status status = Insist([&] { return last.Synchronize(); });
  return last.has_ended() ? absl::OkStatus() : status;
}

}  // namespace

absl::Status Estate::GiveBack() {
  if (last != nullptr) GRAPHTREE_RETURN_IF_ERROR(AwaitLast(*last));
  last = nullptr;
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
