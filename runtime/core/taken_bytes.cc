// Asks the device, and the trees.
#include "runtime/core/taken_bytes.h"

#include <algorithm>

#include "absl/status/statusor.h"
#include "device/memory.h"
#include "graphs/tree.h"
#include "runtime/core/lane.h"

namespace graphtree {
namespace {

uint64_t Beyond(uint64_t a, uint64_t b) { return std::max(a, b) - b; }

}  // namespace

TakenBytes::Held TakenBytes::HeldNow() const {
  Held held = {.workspaces = dependencies_.workspace_bytes()};
  lanes_.ForEach([&](const Lane& lane) {
    if (lane.device_number != number_) return;
    const TreeStats stats = lane.tree->stats();
    held.pools += stats.pool_reserved_bytes;
    held.executables += stats.executable_bytes;
  });
  return held;
}

std::optional<uint64_t> TakenBytes::FreeNow() const {
  const absl::StatusOr<MemoryInfo> info = device_.memory().Info();
  return info.ok() ? std::optional<uint64_t>(info->free_bytes) : std::nullopt;
}

std::optional<TakenBytes::Since> TakenBytes::Look() {
  const Held held = HeldNow();
  const std::optional<uint64_t> free = FreeNow();
  std::optional<Since> since;
  if (free.has_value() && free_.has_value()) {
    const uint64_t workspaces = Beyond(held.workspaces, held_.workspaces);
    since = Since{.graphs = Beyond(Beyond(*free_, *free), workspaces),
                  .executables = Beyond(held.executables, held_.executables)};
    since->beside_pools = Beyond(since->graphs, Beyond(held.pools, held_.pools));
  }
  held_ = held;
  free_ = free;
  return since;
}

}  // namespace graphtree
