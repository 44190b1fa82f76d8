// The list of estates, and giving them back.
#include "allocator/memory/left_behind.h"

#include <mutex>
#include <utility>

#include "device/base/status_macros.h"
#include "device/memory.h"

namespace graphtree {
namespace {

struct Estates {
  std::mutex mutex;
  std::vector<std::unique_ptr<LeftBehind::Estate>> waiting;  // guarded by mutex
};

Estates& AllEstates() {
  static auto* const estates = new Estates();
  return *estates;
}

absl::Status Settle(LeftBehind::Estate* estate) {
  estate->graphs.clear();
  for (std::unique_ptr<Stream>& stream : estate->streams) {
    GRAPHTREE_RETURN_IF_ERROR(stream->Synchronize());
  }
  estate->streams.clear();
  estate->buffers.clear();
  Memory& memory = estate->device->memory();
  while (!estate->mappings.empty()) {
    GRAPHTREE_RETURN_IF_ERROR(memory.Unmap(estate->mappings.back().range));
    estate->mappings.pop_back();
  }
  return estate->reserved.empty() ? absl::OkStatus() : memory.Release(estate->reserved);
}

}  // namespace

void LeftBehind::Add(std::unique_ptr<Estate> estate) {
  const std::lock_guard<std::mutex> lock(AllEstates().mutex);
  AllEstates().waiting.push_back(std::move(estate));
}

absl::Status LeftBehind::Release(Device& device) {
  if (device.open_captures() > 0) return absl::OkStatus();
  std::vector<std::unique_ptr<Estate>> mine, others;
  {
    const std::lock_guard<std::mutex> lock(AllEstates().mutex);
    for (std::unique_ptr<Estate>& estate : AllEstates().waiting) {
      (estate->device == &device ? mine : others).push_back(std::move(estate));
    }
    AllEstates().waiting = std::move(others);
  }
  absl::Status first;
  for (std::unique_ptr<Estate>& estate : mine) {
    const absl::Status status = Settle(estate.get());
    if (!status.ok()) Add(std::move(estate));
    first.Update(status);
  }
  return first;
}

}  // namespace graphtree
