// Walks over recordings, and says how much each was used.
#include "graphs/budget/node_worth.h"

#include <memory>

#include "graphs/host_bytes.h"
#include "graphs/recording/node_walk.h"

namespace graphtree {
namespace {

// What a recording and an instantiation cost beside the costs of their ops, in ops.
constexpr uint64_t kRecordOps = 100;
constexpr uint64_t kInstantiateOps = 40;

}  // namespace

std::vector<Node*> NodeWorth::All(Node* from) const {
  std::vector<Node*> nodes;
  VisitNodes(*from, [&](Node& node) {
    if (&node != &root_) nodes.push_back(&node);
  });
  return nodes;
}

NodeSet NodeWorth::OnPath() const {
  NodeSet nodes;
  for (const Node* node = path_.current(); node != nullptr; node = node->parent) {
    nodes.insert(node);
  }
  return nodes;
}

NodeSet NodeWorth::InForce(const Node* replays) const {
  NodeSet nodes = OnPath();
  for (const Node* node = replays; node != nullptr; node = node->parent) nodes.insert(node);
  return nodes;
}

// Being recorded counts as one use.
double NodeWorth::UsesOf(Node* node) {
  return node->recent.At(now_, node->replays + 1, node->last_call, half_life_);
}

double NodeWorth::SeenUsesOf(const Node& node) const {
  return node.recent.Seen(now_, node.replays + 1, node.last_call, half_life_);
}

double NodeWorth::UsesBelow(Node* node) {
  double uses = 0;
  for (Node* below : All(node)) uses += UsesOf(below);
  return uses;
}

Candidate NodeWorth::AsNode(Node* node, bool pinned) {
  return {.uses = UsesOf(node),
          .bytes = node->device_bytes() + RecordingHostBytes(node->op_count()),
          .cost = kRecordOps + 5 * node->op_count(),
          .pinned = pinned};
}

Candidate NodeWorth::AsExecutables(Node* node, bool pinned) {
  const uint64_t executables = node->executables();
  return {.uses = UsesOf(node),
          .bytes = node->device_bytes(),
          .cost = kInstantiateOps * executables + node->op_count(),
          .count = executables,
          .pinned = pinned};
}

}  // namespace graphtree
