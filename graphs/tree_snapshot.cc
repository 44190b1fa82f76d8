// Writes the pool's snapshot together with the tree's nodes.
#include "graphs/tree_snapshot.h"

#include <vector>

#include "allocator/pool_snapshot.h"
#include "allocator/snapshot_nodes.h"

namespace graphtree {

// Inspect keeps calls out, so that nodes and blocks are of the same moment.
absl::Status WriteTreeSnapshot(Tree& tree, const std::string& path) {
  absl::Status status;
  tree.Inspect([&] {
    const std::vector<SnapshotNode> nodes = tree.memory_of_nodes();
    PoolSnapshotOptions options;
    options.nodes = &nodes;
    status = WritePoolSnapshot(tree.pool(), path, options);
  });
  return status;
}

}  // namespace graphtree
