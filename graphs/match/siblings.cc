// Files nodes, and remembers what scans have found.
#include "graphs/match/siblings.h"

#include <algorithm>

namespace graphtree {
namespace {

void EraseFrom(std::vector<Node*>* nodes, const Node* node) {
  nodes->erase(std::remove(nodes->begin(), nodes->end(), node), nodes->end());
}

}  // namespace

void Siblings::Add(Node* node, uint64_t live) {
  nodes_.push_back(node);
  by_live_[live].push_back(node);
}

// Looks at every hash, as nothing notes which of them lead to the node: evictions are rare.
void Siblings::Remove(const Node* node) {
  EraseFrom(&nodes_, node);
  for (auto at = by_live_.begin(); at != by_live_.end();) {
    EraseFrom(&at->second, node);
    if (at->second.empty()) {
      by_live_.erase(at++);
    } else {
      ++at;
    }
  }
}

// Remembers at most as many nodes as there are siblings: an endless row of different live sets must
// not make the table grow.
void Siblings::Remember(Node* node, uint64_t live) {
  if (remembered_ >= nodes_.size()) return;
  ++remembered_;
  by_live_[live].push_back(node);
}

}  // namespace graphtree
