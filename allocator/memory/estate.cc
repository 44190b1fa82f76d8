// Gives back in the order that lets a failure be tried again: work, graphs and objects, memory.
#include "allocator/memory/estate.h"

#include "device/base/status_macros.h"

namespace graphtree {

namespace {

// A wait that failed once may work the next time. Of a stream that ended within a capture nobody
// can ever wait for what it had before.
absl::Status AwaitLast(StreamLife& last) {
  constexpr int kAttempts = 3;
  absl::Status status = last.Synchronize();
  for (int more = 1; more < kAttempts && !status.ok(); ++more) status = last.Synchronize();
  return last.has_ended() ? absl::OkStatus() : status;
}

}  // namespace

absl::Status Estate::GiveBack() {
  if (last != nullptr) GRAPHTREE_RETURN_IF_ERROR(AwaitLast(*last));
  last = nullptr;
  graphs.clear();
  objects.clear();
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
