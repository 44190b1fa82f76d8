// Writes a tree's nodes (snapshot_nodes.h) as a value of a snapshot: a list of dictionaries. Their
// reader explains the keys (tools/snapshot/analysis/nodes.h).
#ifndef GRAPHTREE_ALLOCATOR_REPORTS_SNAPSHOT_NODES_WRITER_H_
#define GRAPHTREE_ALLOCATOR_REPORTS_SNAPSHOT_NODES_WRITER_H_

#include <functional>
#include <string>

#include "absl/types/span.h"
#include "allocator/snapshot/snapshot.h"
#include "allocator/snapshot_nodes.h"
#include "device/address.h"

namespace graphtree {

// `holder` says who holds a live output, in the program's own words.
snapshot::Value ListOfNodes(absl::Span<const SnapshotNode> nodes,
                            const std::function<std::string(const SnapshotOutput&)>& holder,
                            snapshot::Snapshot& snapshot);

// Each as [base, bytes].
snapshot::Value ListOfRanges(absl::Span<const AddressRange> ranges, snapshot::Snapshot& snapshot);

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_REPORTS_SNAPSHOT_NODES_WRITER_H_
