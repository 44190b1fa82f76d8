// Takes recordings and executables out of the tree.
#include "graphs/budget/evictor.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "device/base/check.h"

namespace graphtree {
namespace {

void Erase(std::vector<Node*>* nodes, const Node* node) {
  nodes->erase(std::remove(nodes->begin(), nodes->end(), node), nodes->end());
}

template <typename Map, typename Key>
void EraseFrom(Map* map, const Key& key, const Node* node) {
  const auto found = map->find(key);
  if (found == map->end()) return;
  Erase(&found->second, node);
  if (found->second.empty()) map->erase(found);
}

}  // namespace

void Evictor::ExecutablesMade(const Node& node) {
  held_.executables += node.executables();
  held_.executable_bytes += node.device_bytes();
}

uint64_t Evictor::Executables(Node* node) {
  const uint64_t executables = node->executables();
  size_t number = 0;
  node->VisitSections([&](Section& section) {
    if (section.executable != nullptr) Evict(*node, number, std::move(section.executable));
    if (section.spare != nullptr) Spare(*node, number, &section);
    ++number;
  });
  return executables;
}

void Evictor::Spare(const Node& node, size_t number, Section* section) {
  Evict(node, number, std::move(section->spare->executable));
  section->spare = nullptr;
  --spares_;
}

void Evictor::Evict(const Node& node, size_t section, std::unique_ptr<Executable> executable) {
  --held_.executables;
  held_.executable_bytes -= executable->device_bytes();
  listener_(node, section, *executable);
  graveyard_.Add(std::move(executable));
}

void Evictor::Detach(Node* node) {
  Node* parent = node->parent;
  const auto siblings = parent->by_call.find(node->call_hash);
  if (siblings != parent->by_call.end()) {
    siblings->second.Remove(node);
    if (siblings->second.empty()) parent->by_call.erase(siblings);
  }
  parent->general.Remove(node->variant->function->id, node);
  EraseFrom(&parent->by_variant, node->variant->id, node);
  const auto owned =
      std::find_if(parent->children.begin(), parent->children.end(),
                   [node](const std::unique_ptr<Node>& child) { return child.get() == node; });
  GRAPHTREE_CHECK(owned != parent->children.end()) << "a node is not its parent's child";
  graveyard_.Add(std::move(*owned));
  parent->children.erase(owned);
  if (parent->last_child == node) {
    parent->last_child = parent->children.empty() ? nullptr : parent->children.back().get();
  }
}

void Evictor::Leaf(Node* node) {
  GRAPHTREE_CHECK(node->children.empty()) << "a node with children is to go";
  Executables(node);
  tally_->On(EdgeOf(*node)).replays += node->replays;
  --held_.nodes;
  memory_->Drop(node->checkpoint);
  Detach(node);
}

void Evictor::Subtree(Node* node, Reason reason) {
  const std::vector<Node*> nodes = nodes_.All(node);
  for (auto below = nodes.rbegin(); below != nodes.rend(); ++below) {
    Count(reason, EdgeOf(**below), 1);
    Leaf(*below);
  }
}

void Evictor::SpareMade(const Executable& spare) {
  ++held_.executables;
  held_.executable_bytes += spare.device_bytes();
  ++spares_;
}

uint64_t Evictor::AllSpares() {
  const uint64_t all = spares_;
  if (all == 0) return 0;
  for (Node* node : nodes_.All()) {
    size_t number = 0;
    node->VisitSections([&](Section& section) {
      if (section.spare != nullptr) {
        Spare(*node, number, &section);
        section.NoSpare();
        Count(Reason::kSpareDropped, EdgeOf(*node), 1);
      }
      ++number;
    });
  }
  return all;
}

}  // namespace graphtree
