// A tree's memory as a file, for `graphtree memory` and PyTorch's viewers: the pool's snapshot with
// the tree's nodes in it.
//
//   GRAPHTREE_RETURN_IF_ERROR(WriteTreeSnapshot(*tree, "server.pickle"));
//   $ graphtree memory nodes server.pickle
//
// This is a target apart from the tree, so that only programs that write snapshots link their
// formats.
#ifndef GRAPHTREE_GRAPHS_REPORTS_TREE_SNAPSHOT_H_
#define GRAPHTREE_GRAPHS_REPORTS_TREE_SNAPSHOT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graphs/tree.h"

namespace graphtree {

// The file's ending chooses the form: .pickle, .json or .sqlite. Changes nothing in the tree; the
// pool's history gets an entry. Threads: any; calls wait meanwhile.
absl::Status WriteTreeSnapshot(Tree& tree, const std::string& path);

// The same as the bytes of a .pickle. Calls wait for its rows alone, not for its bytes.
absl::StatusOr<std::string> TreeSnapshotPickle(Tree& tree);

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_REPORTS_TREE_SNAPSHOT_H_
