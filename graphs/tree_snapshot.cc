// The pool's snapshot, with the nodes.
#include "graphs/tree_snapshot.h"

#include <vector>

#include "allocator/pool_snapshot.h"
#include "allocator/snapshot_nodes.h"

namespace graphtree {

absl::Status WriteTreeSnapshot(Tree& tree, const std::string& path) {
  const std::vector<SnapshotNode> nodes = tree.memory();
  PoolSnapshotOptions options;
  options.nodes = &nodes;
  return WritePoolSnapshot(tree.pool(), path, options);
}

}  // namespace graphtree
