// Follows the table of the header.
#include "graphs/match/input_roles.h"

#include <algorithm>

namespace graphtree {
namespace {

bool Pays(const InputFacts& facts, uint64_t patch_bytes) {
  const uint64_t ops = std::max<uint64_t>(facts.use.ops, 1);
  // The recording that pinned this input had no op that copies. With one op to patch there need be
  // none now either.
  if (facts.moved && ops == 1) return true;
  return facts.bytes / ops >= patch_bytes;
}

}  // namespace

RoleChoice ChooseRole(const InputFacts& facts, const RolePolicy& policy) {
  const bool pinned = IsPinned(facts.role);
  if (!pinned && facts.role != InputRole::kCopied) return {facts.role};
  if (!facts.aligned) {
    return {InputRole::kCopied, facts.written ? RoleObstacle::kWritten : RoleObstacle::kNone};
  }
  if (pinned && !facts.moved) return {facts.role};
  if (pinned && policy.moving == Moving::kEager) return {facts.role, RoleObstacle::kMoves};
  const bool patchable = policy.moving != Moving::kCopy && !facts.use.hidden;
  const RoleChoice patched = {InputRole::kPatched, RoleObstacle::kNone, facts.use.opaque};
  if (facts.written) {
    if (patchable) return patched;
    // An input that is pinned may be written to: it gets one more recording, for this address.
    return pinned ? RoleChoice{facts.role} : RoleChoice{InputRole::kCopied, RoleObstacle::kWritten};
  }
  const bool patch = patchable && facts.known && Pays(facts, policy.patch_bytes);
  return patch ? patched : RoleChoice{InputRole::kCopied};
}

uint64_t PatchAlignment(uint64_t address, uint64_t declared) {
  constexpr uint64_t kUsual = 16;
  const uint64_t lowest = address == 0 ? kUsual : address & (~address + 1);
  return std::min(lowest, std::max(kUsual, declared));
}

}  // namespace graphtree
