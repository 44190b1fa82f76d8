// Looks for room in the budgets, the tree's own and the one that it shares; evicts to make room.
#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device/executable_bytes.h"
#include "graphs/budget/keeper.h"

namespace graphtree {

void Keeper::BeginCall(uint64_t now, StreamLife* last) {
  SetNow(now);
  graveyard().Tidy(last);
}

bool Keeper::EvictFunction(Function* function) {
  const auto is_its = [function](const Node& node) {
    return node.variant != nullptr && node.variant->function == function;
  };
  const NodeSet on_path = nodes_.OnPath();
  std::vector<Node*> tops;
  NodeSet below;  // the topmost of the function's nodes, and all nodes below them
  for (Node* node : nodes_.All()) {
    if (below.contains(node->parent)) {
      below.insert(node);
    } else if (is_its(*node) && !on_path.contains(node)) {
      below.insert(node);
      tops.push_back(node);
    }
  }
  for (Node* top : tops) evictor_.Subtree(top, Reason::kFunctionEvicted);
  Settle();
  for (const Node* node : on_path) {
    if (is_its(*node)) return false;
  }
  shapes_.ForgetAll(function);
  return true;
}

absl::Status Keeper::RoomForNode(const Variant& variant) {
  const Node* parent = nodes_.current();
  const auto siblings = parent->by_variant.find(variant.id);
  if (siblings != parent->by_variant.end() && siblings->second.size() >= budget_.siblings) {
    std::vector<Candidate> candidates;
    for (Node* sibling : siblings->second) {
      candidates.push_back({.uses = nodes_.UsesBelow(sibling)});
    }
    evictor_.Subtree(siblings->second[LeastWorth(candidates)], Reason::kSiblingEvicted);
  }
  // One leaf goes at a time: a node whose last child has gone may go next.
  while (!TakeRoomForNode()) {
    if (!EvictOneLeaf()) return NoRoomFor(variant);
  }
  return absl::OkStatus();
}

bool Keeper::TakeRoomForNode() {
  if (evictor_.held().nodes >= budget_.nodes) return false;
  const Share with_it = Shared(evictor_.held()) + Share{.nodes = 1};
  if (sharer_.Cover(with_it)) return true;
  sharer_.NoteNoRoom(with_it);
  return false;
}

bool Keeper::EvictOneLeaf() {
  const NodeSet pinned = nodes_.OnPath();
  std::vector<Node*> leaves;
  std::vector<Candidate> candidates;
  for (Node* node : nodes_.All()) {
    if (!node->children.empty()) continue;
    leaves.push_back(node);
    candidates.push_back(nodes_.AsNode(node, pinned.contains(node)));
  }
  const size_t least = LeastWorth(candidates);
  if (least == candidates.size()) return false;
  evictor_.Count(Reason::kNodeEvicted, EdgeOf(*leaves[least]), 1);
  evictor_.Leaf(leaves[least]);
  return true;
}

absl::Status Keeper::NoRoomFor(const Variant& variant) const {
  const std::string recording = absl::StrCat("recording '", variant.function->name, "' as number ",
                                             nodes_.OnPath().size(), " of its path: ");
  if (evictor_.held().nodes >= budget_.nodes) {
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
  while (evictor_.held().nodes > beyond.nodes && EvictOneLeaf()) {
  }
  const auto has_too_many = [&] {
    return evictor_.held().executables > beyond.executables ||
           evictor_.held().executable_bytes > beyond.executable_bytes;
  };
  while (has_too_many() && EvictOneExecutable(Reason::kExecutableEvicted, nodes_.root())) {
  }
  Settle();
}

absl::Status Keeper::RoomForExecutable(uint64_t ops, const Node& node) {
  const uint64_t bytes = ExecutableBytes(ops);
  const auto held_with_node = [&] {
    Holdings held = evictor_.held();
    held.executables += node.executables();
    held.executable_bytes += node.device_bytes();
    return held;
  };
  if (ExcessWith(held_with_node(), bytes).any()) evictor_.AllSpares();
  const Holdings held = held_with_node();
  const Excess over = ExcessWith(held, bytes);
  const Share with_it = Shared(held) + Share{0, 1, bytes};
  if (!over.any() && sharer_.Cover(with_it)) return absl::OkStatus();
  if (with_it.FitsInto({evictor_.held().nodes, budget_.executables, budget_.executable_bytes})) {
    sharer_.NoteNoRoom(with_it);
  }
  const NodeSet pinned = nodes_.OnPath();
  std::vector<Node*> nodes;
  std::vector<Candidate> candidates;
  for (Node* other : nodes_.All()) {
    if (other == &node || other->executables() == 0) continue;
    nodes.push_back(other);
    candidates.push_back(nodes_.AsExecutables(other, pinned.contains(other)));
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
    evictor_.Count(reason, EdgeOf(*nodes[victim]), evictor_.Executables(nodes[victim]));
  }
  // The tree has not yet returned its share of what it evicted, and that covers the new executable.
  // Where nothing had to go there is no such share, and others may have taken what was free.
  if (sharer_.Cover(Shared(held_with_node()) + Share{0, 1, bytes})) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "instantiating a graph of ", ops, " ops, about ", bytes,
      " bytes: other trees that share a budget with it have just taken what was left"));
}

absl::Status Keeper::FitsBesidePath(const Share& wanted, const Node& node) {
  Share beside;
  for (const Node* other : nodes_.OnPath()) {
    if (other == &node) continue;
    other->VisitSections([&beside](const Section& section) {
      if (section.executable == nullptr) return;
      beside = beside + Share{0, 1, section.executable->device_bytes()};
    });
  }
  const Share limits = Limits();
  if ((beside + wanted).FitsInto(limits)) return absl::OkStatus();
  sharer_.NoteNoRoom(Share{evictor_.held().nodes} + beside + wanted);
  return absl::ResourceExhaustedError(absl::StrCat(
      "instantiating ", wanted.executables, " graphs of one recording, about ",
      wanted.executable_bytes, " bytes: the tree may have ", limits.executables,
      " executables of ", limits.executable_bytes, " bytes together, of which ",
      beside.executables, " of ", beside.executable_bytes,
      " bytes are on the path in force; raise TreeBudget::executables or executable_bytes, or what "
      "trees share"));
}

bool Keeper::HasRoomForSpare(uint64_t ops) {
  const uint64_t bytes = ExecutableBytes(ops);
  return !ExcessWith(held(), bytes).any() && sharer_.Cover(Shared(held()) + Share{0, 1, bytes});
}

bool Keeper::EvictOneExecutable(Reason reason, const Node& node) {
  if (evictor_.AllSpares() > 0) return true;
  const NodeSet pinned = nodes_.OnPath();
  std::vector<Node*> nodes;
  std::vector<Candidate> candidates;
  for (Node* other : nodes_.All()) {
    if (other == &node || other->executables() == 0 || pinned.contains(other)) continue;
    nodes.push_back(other);
    candidates.push_back(nodes_.AsExecutables(other, false));
  }
  if (candidates.empty()) return false;
  Node* least = nodes[LeastWorth(candidates)];
  evictor_.Count(reason, EdgeOf(*least), evictor_.Executables(least));
  return true;
}

}  // namespace graphtree
