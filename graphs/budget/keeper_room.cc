// Looks for room in the budgets, the tree's own and the one that it shares; evicts to make room.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device/executable_bytes.h"
#include "graphs/budget/keeper.h"

namespace graphtree {

absl::Status Keeper::RoomForNode(const Variant& variant) {
  const Node* parent = path_->current();
  const auto siblings = parent->by_variant.find(variant.id);
  if (siblings != parent->by_variant.end() && siblings->second.size() >= budget_.siblings) {
    std::vector<Candidate> candidates;
    for (Node* sibling : siblings->second) candidates.push_back({.uses = UsesBelow(sibling)});
    EvictSubtree(siblings->second[LeastWorth(candidates)], Reason::kSiblingEvicted);
  }
  // One leaf goes at a time: a node whose last child has gone may go next.
  while (!TakeRoomForNode()) {
    if (!EvictOneLeaf()) return NoRoomFor(variant);
  }
  return absl::OkStatus();
}

bool Keeper::TakeRoomForNode() {
  if (held_.nodes >= budget_.nodes) return false;
  const Share with_it = Shared(held_) + Share{.nodes = 1};
  if (sharer_.Cover(with_it)) return true;
  sharer_.NoteNoRoom(with_it);
  return false;
}

bool Keeper::EvictOneLeaf() {
  const NodeSet pinned = OnPath();
  std::vector<Node*> leaves;
  std::vector<Candidate> candidates;
  for (Node* node : AllNodes(root_)) {
    if (!node->children.empty()) continue;
    leaves.push_back(node);
    candidates.push_back(AsNode(node, pinned.contains(node)));
  }
  const size_t least = LeastWorth(candidates);
  if (least == candidates.size()) return false;
  Count(Reason::kNodeEvicted, EdgeOf(*leaves[least]), 1);
  EvictLeaf(leaves[least]);
  return true;
}

absl::Status Keeper::NoRoomFor(const Variant& variant) const {
  const std::string recording = absl::StrCat("recording '", variant.function->name, "' as number ",
                                             OnPath().size(), " of its path: ");
  if (held_.nodes >= budget_.nodes) {
    return absl::ResourceExhaustedError(
        absl::StrCat(recording, "the tree's budget is ", budget_.nodes,
                     " nodes, and all of them are on this path; raise TreeBudget::nodes"));
  }
  return absl::ResourceExhaustedError(
      absl::StrCat(recording, "of the nodes that it shares with other trees they have left it ",
                   Limits().nodes, ", and all of these are on this path; raise their limit"));
}

Share Keeper::Limits() const {
  const Share most = sharer_.Most();
  return {std::min(budget_.nodes, most.nodes), std::min(budget_.executables, most.executables),
          std::min(budget_.executable_bytes, most.executable_bytes)};
}

Keeper::Excess Keeper::ExcessWith(const Holdings& held, uint64_t bytes) const {
  const Share over = Share{0, held.executables + 1, held.executable_bytes + bytes}.Beyond(Limits());
  return {over.executables, over.executable_bytes};
}

void Keeper::GiveUp(const Share& beyond) {
  while (held_.nodes > beyond.nodes && EvictOneLeaf()) {
  }
  const auto has_too_many = [&] {
    return held_.executables > beyond.executables ||
           held_.executable_bytes > beyond.executable_bytes;
  };
  while (has_too_many() && EvictOneExecutable(Reason::kExecutableEvicted, *root_)) {
  }
  Settle();
}

absl::Status Keeper::RoomForExecutable(uint64_t ops, const Node& node) {
  const uint64_t bytes = ExecutableBytes(ops);
  const auto held_with_node = [&] {
    Holdings held = held_;
    held.executables += node.executables();
    held.executable_bytes += node.device_bytes();
    return held;
  };
  if (ExcessWith(held_with_node(), bytes).any()) DropSpares();
  const Holdings held = held_with_node();
  const Excess over = ExcessWith(held, bytes);
  const Share with_it = Shared(held) + Share{0, 1, bytes};
  if (!over.any() && sharer_.Cover(with_it)) return absl::OkStatus();
  if (with_it.FitsInto({held_.nodes, budget_.executables, budget_.executable_bytes})) {
    sharer_.NoteNoRoom(with_it);
  }
  const NodeSet pinned = OnPath();
  std::vector<Node*> nodes;
  std::vector<Candidate> candidates;
  for (Node* other : AllNodes(root_)) {
    if (other == &node || other->executables() == 0) continue;
    nodes.push_back(other);
    candidates.push_back(AsExecutables(other, pinned.contains(other)));
  }
  const std::vector<size_t> victims = ChooseVictims(candidates, over.executables, over.bytes);
  if (victims.empty()) {
    const Share limits = Limits();
    return absl::ResourceExhaustedError(absl::StrCat(
        "instantiating a graph of ", ops, " ops, about ", bytes, " bytes: the tree's budget is ",
        limits.executables, " executables of ", limits.executable_bytes, " bytes together",
        limits.executables < budget_.executables ||
                limits.executable_bytes < budget_.executable_bytes
            ? ", as other trees that share theirs with it have left"
            : "",
        ", and what is held beside it (", held.executables, " of ", held.executable_bytes,
        " bytes) is on the path in force; raise TreeBudget::",
        over.bytes > 0 ? "executable_bytes" : "executables", ", or what they share"));
  }
  const Reason reason = over.executables > 0 ? Reason::kExecutableEvicted : Reason::kBytesEvicted;
  for (size_t victim : victims) {
    Count(reason, EdgeOf(*nodes[victim]), EvictExecutables(nodes[victim]));
  }
  // What was evicted is still taken, and covers the new one; unless nothing had to go.
  if (sharer_.Cover(Shared(held_with_node()) + Share{0, 1, bytes})) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "instantiating a graph of ", ops, " ops, about ", bytes,
      " bytes: other trees that share a budget with it have just taken what was left"));
}

bool Keeper::HasRoomForSpare(uint64_t ops) {
  const uint64_t bytes = ExecutableBytes(ops);
  return !ExcessWith(held_, bytes).any() && sharer_.Cover(Shared(held_) + Share{0, 1, bytes});
}

void Keeper::SpareMade(const Executable& spare) {
  ++held_.executables;
  held_.executable_bytes += spare.device_bytes();
  ++spares_;
}

uint64_t Keeper::DropSpares() {
  const uint64_t all = spares_;
  if (all == 0) return 0;
  for (Node* node : AllNodes(root_)) {
    size_t number = 0;
    node->VisitSections([&](Section& section) {
      if (section.spare != nullptr) {
        EvictSpare(*node, number, &section);
        section.NoSpare();
        Count(Reason::kSpareDropped, EdgeOf(*node), 1);
      }
      ++number;
    });
  }
  return all;
}

bool Keeper::EvictOneExecutable(Reason reason, const Node& node) {
  if (DropSpares() > 0) return true;
  const NodeSet pinned = OnPath();
  std::vector<Node*> nodes;
  std::vector<Candidate> candidates;
  for (Node* other : AllNodes(root_)) {
    if (other == &node || other->executables() == 0 || pinned.contains(other)) continue;
    nodes.push_back(other);
    candidates.push_back(AsExecutables(other, false));
  }
  if (candidates.empty()) return false;
  Node* least = nodes[LeastWorth(candidates)];
  Count(reason, EdgeOf(*least), EvictExecutables(least));
  return true;
}

}  // namespace graphtree
