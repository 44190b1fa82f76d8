// Gives recordings up where a run lacks memory.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "allocator/pool.h"
#include "device/address.h"
#include "graphs/budget/keeper.h"
#include "graphs/match/given_up.h"

namespace graphtree {
namespace {

uint64_t BytesOf(const Node& node) {
  uint64_t bytes = 0;
  for (const AddressRange range : node.used) bytes += range.bytes;
  return bytes;
}

}  // namespace

bool Keeper::GiveMemory(const MemoryWanted& wanted, const MemoryGiver::Taker& taker) {
  Pool& pool = memory_->pool();
  if (wanted.missing == 0 || pool.deferred().must_wait()) return false;
  if (wanted.is_limit && !HaveRecordings(wanted.missing, taker.replays)) return false;
  const std::string why =
      absl::StrCat("'", taker.function->name, "' lacked ", wanted.missing, " bytes");
  return GiveUpForMemory(RecordingsToGiveUp(wanted.attempt), taker.replays, why) > 0;
}

uint64_t Keeper::GiveMemoryAway(uint64_t bytes, const std::string& why) {
  Pool& pool = memory_->pool();
  const uint64_t had = pool.Stats().mapped_bytes;
  const uint64_t goal = had - std::min(had, bytes);
  pool.memory().Trim(goal).IgnoreError();
  const bool may = !pool.deferred().must_wait();
  uint64_t has = pool.Stats().mapped_bytes;
  if (may && has > goal && HaveRecordings(has - goal, nullptr)) {
    for (int attempt = 0; has > goal; ++attempt) {
      if (GiveUpForMemory(RecordingsToGiveUp(attempt), nullptr, why) == 0) break;
      pool.memory().Trim(goal).IgnoreError();
      has = pool.Stats().mapped_bytes;
    }
  }
  return had - std::min(had, has);
}

bool Keeper::HaveRecordings(uint64_t bytes, const Node* replays) const {
  std::vector<CheckpointId> stay = {nodes_.root().checkpoint};
  for (const Node* node : nodes_.InForce(replays)) stay.push_back(node->checkpoint);
  return memory_->pool().memory().MostToRelease(stay) >= bytes;
}

uint64_t Keeper::GiveUpForMemory(uint64_t most, const Node* replays, const std::string& why) {
  uint64_t gone = 0;
  while (gone < most && GiveUpOneForMemory(replays, why)) ++gone;
  if (gone > 0) Settle();
  return gone;
}

// By the memory that they hold, and not by that of their executables.
bool Keeper::GiveUpOneForMemory(const Node* replays, const std::string& why) {
  const NodeSet pinned = nodes_.InForce(replays);
  std::vector<Node*> leaves;
  std::vector<Candidate> candidates;
  for (Node* node : nodes_.All()) {
    if (!node->children.empty()) continue;
    leaves.push_back(node);
    Candidate candidate = nodes_.AsNode(node, pinned.contains(node));
    candidate.bytes = BytesOf(*node);
    candidates.push_back(candidate);
  }
  const size_t least = LeastWorth(candidates);
  if (least == candidates.size()) return false;
  Node& node = *leaves[least];
  PayRent(node, why);
  evictor_.Count(Reason::kMemoryEvicted, EdgeOf(node), 1);
  evictor_.Leaf(&node);
  return true;
}

// It is warmed up again before it is recorded: a capture can map memory, and unmap none that others
// have had meanwhile.
void Keeper::PayRent(const Node& node, const std::string& why) {
  Variant& variant = *node.variant;
  variant.warm = false;
  // Several recordings of a shape that go at a time are one cause.
  if (variant.given_up_at != nodes_.now() || variant.given_up_for.empty()) {
    variant.rent = RentAfterGivingUp(variant.rent, node.replays, budget_.retry_after);
  }
  variant.pause = std::max(variant.pause, variant.rent);
  variant.given_up_at = nodes_.now();
  variant.given_up_for = why;
}

}  // namespace graphtree
