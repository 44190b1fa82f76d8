// Filing, and what scans have found.
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

// Which hashes lead to it is not noted: evictions are rare.
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

// As many as there are siblings, so that an endless row of different live sets does not grow it.
void Siblings::Remember(Node* node, uint64_t live) {
  if (remembered_ >= nodes_.size()) return;
  ++remembered_;
  by_live_[live].push_back(node);
}

}  // namespace graphtree
