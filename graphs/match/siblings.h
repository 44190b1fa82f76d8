// Recordings of one function at one place that a call cannot tell apart by its inputs. They differ
// in which outputs were alive when each was made; or in something that is compared only afterwards,
// such as an input that is taken at any address.
//
//   a few    tried one by one
//   many     first those that were made around exactly what is alive now, by a hash over it; then
//            one by one, since less may be alive than a recording leaves room for. A recording that
//            is found so is remembered under that hash, and found at once the next time.
//
// Thread rule: like a container. Cost: a look-up does not allocate, unless it scanned many and
// found one.
#ifndef GRAPHTREE_GRAPHS_MATCH_SIBLINGS_H_
#define GRAPHTREE_GRAPHS_MATCH_SIBLINGS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace graphtree {

struct Node;

class Siblings {
 public:
  static constexpr size_t kFew = 8;

  // `live` is the LiveHash of what was alive when the node was recorded.
  void Add(Node* node, uint64_t live);
  void Remove(const Node* node);

  bool empty() const { return nodes_.empty(); }
  const std::vector<Node*>& nodes() const { return nodes_; }

  // The first node for which `matches(node)` holds, or null. `live()` is the LiveHash of what is
  // alive now, called only among many siblings.
  template <typename Live, typename Matches>
  Node* Find(Live live, Matches matches) {
    if (nodes_.size() <= kFew) return FirstOf(nodes_, matches);
    const uint64_t now = live();
    const auto likely = by_live_.find(now);
    if (likely != by_live_.end()) {
      if (Node* node = FirstOf(likely->second, matches)) return node;
    }
    Node* node = FirstOf(nodes_, matches);
    if (node != nullptr) Remember(node, now);
    return node;
  }

 private:
  template <typename Matches>
  static Node* FirstOf(const std::vector<Node*>& nodes, Matches& matches) {
    for (Node* node : nodes) {
      if (matches(*node)) return node;
    }
    return nullptr;
  }
  void Remember(Node* node, uint64_t live);

  std::vector<Node*> nodes_;  // in the order in which they were recorded
  absl::flat_hash_map<uint64_t, std::vector<Node*>> by_live_;
  size_t remembered_ = 0;  // entries that scans have added
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_MATCH_SIBLINGS_H_
