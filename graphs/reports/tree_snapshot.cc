// Writes the pool's snapshot together with the tree's nodes.
#include "graphs/reports/tree_snapshot.h"

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "allocator/pool_snapshot.h"
#include "allocator/snapshot/snapshot.h"
#include "allocator/snapshot_nodes.h"
#include "device/base/status_macros.h"

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

absl::StatusOr<std::string> TreeSnapshotPickle(Tree& tree) {
  absl::StatusOr<std::unique_ptr<snapshot::Snapshot>> rows;
  tree.Inspect([&] {
    const std::vector<SnapshotNode> nodes = tree.memory_of_nodes();
    PoolSnapshotOptions options;
    options.nodes = &nodes;
    rows = TakePoolSnapshot(tree.pool(), options);
  });
  GRAPHTREE_RETURN_IF_ERROR(rows.status());
  return PoolSnapshotPickle(**rows);
}

}  // namespace graphtree
