// The recordings of a tree, and what each is worth: how often it was used lately, how many bytes it
// holds, and what it would cost to make again. keep.h compares such candidates.
//
//   path in force     root - A - B            pinned: OnPath
//   other nodes              |   `- C         All: A, B, C, D, E
//                            `- D - E         replayed now: InForce adds D and E
//
// Uses fade with the calls of the tree (Node::recent), so they are brought up to date when
// somebody asks; Seen* asks without doing that.
//
// Threads: the tree's caller. Cost: a look at every node.
#ifndef GRAPHTREE_GRAPHS_BUDGET_NODE_WORTH_H_
#define GRAPHTREE_GRAPHS_BUDGET_NODE_WORTH_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "graphs/match/keep.h"
#include "graphs/recording/node.h"
#include "graphs/recording/path.h"

namespace graphtree {

using NodeSet = absl::flat_hash_set<const Node*>;

class NodeWorth {
 public:
  // Path and root outlive it. After `half_life` calls a use counts one half.
  NodeWorth(uint64_t half_life, const Path& path, Node& root)
      : half_life_(half_life), path_(path), root_(root) {}
  NodeWorth(const NodeWorth&) = delete;
  NodeWorth& operator=(const NodeWorth&) = delete;

  // A call of the tree begins; `now` counts them.
  void SetNow(uint64_t now) { now_ = now; }
  uint64_t now() const { return now_; }
  uint64_t half_life() const { return half_life_; }
  Node& root() const { return root_; }
  // The node that the path in force ends with.
  Node* current() const { return path_.current(); }

  // Parents before children; without the root.
  std::vector<Node*> All() const { return All(&root_); }
  // `from` and all below it.
  std::vector<Node*> All(Node* from) const;
  // The path in force.
  NodeSet OnPath() const;
  // The same, and what is replayed now with all before it. `replays` may be null.
  NodeSet InForce(const Node* replays) const;

  double UsesOf(Node* node);
  double UsesBelow(Node* node);
  double SeenUsesOf(const Node& node) const;
  // How much would be gained if the whole node went (AsNode), or its executables alone.
  Candidate AsNode(Node* node, bool pinned);
  Candidate AsExecutables(Node* node, bool pinned);

 private:
  const uint64_t half_life_;
  const Path& path_;
  Node& root_;
  uint64_t now_ = 0;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_BUDGET_NODE_WORTH_H_
