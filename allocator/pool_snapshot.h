// A picture of a pool, in the schema that PyTorch's memory tools read.
//
//   segments        one for each run of mapped (or parked) pieces of a region
//     blocks        every block in it, live or free, in address order, without a gap
//   device_traces   the pool's history, oldest entry first
//   graphtree       what PyTorch has no place for: the pool's figures, the parked ranges, and the
//                   nodes of the tree that uses the pool, if the options give them
//
// Keys of ours stand beside PyTorch's, never instead: "tag", "note", "region", "kept", "node" and
// "function" on blocks, "parked" on segments. PyTorch's tools leave unknown keys alone. Words go
// where PyTorch has a place for them: the ambient context into user_metadata of every entry, a note
// on a live block into an "annotate" entry, an internal mark into internal_metadata.
//
// Cost: linear in blocks and entries. Threads: as the pool.
#ifndef GRAPHTREE_ALLOCATOR_POOL_SNAPSHOT_H_
#define GRAPHTREE_ALLOCATOR_POOL_SNAPSHOT_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "allocator/pool.h"
#include "allocator/pool_types.h"
#include "allocator/snapshot_nodes.h"
#include "allocator/snapshot/snapshot.h"

namespace graphtree {

// Who made a block, as far as the pool's user knows. Empty fields are left out of the snapshot.
struct BlockOrigin {
  std::string node;
  std::string function;
};

struct PoolSnapshotOptions {
  bool with_history = true;
  // Must not change the pool. A block for which it throws has no origin.
  std::function<BlockOrigin(const Block&)> origin = nullptr;
  // The nodes of the tree that uses the pool; null if there is no tree. `origin` is not asked about
  // blocks of these nodes.
  const std::vector<SnapshotNode>* nodes = nullptr;
};

// As JSON, the same text as in a file.
absl::StatusOr<std::string> PoolSnapshotJson(Pool& pool, const PoolSnapshotOptions& options = {});

// As rows and columns, to look at or to write in any form (snapshot/write.h).
absl::StatusOr<std::unique_ptr<snapshot::Snapshot>> TakePoolSnapshot(
    Pool& pool, const PoolSnapshotOptions& options = {});

// The bytes of a pickle of protocol 4 with these rows. Needs the pool no more.
absl::StatusOr<std::string> PoolSnapshotPickle(const snapshot::Snapshot& rows);

// Into a file; its ending chooses the form (.pickle, .json, .sqlite). Pickles are of protocol 4,
// which every viewer reads.
absl::Status WritePoolSnapshot(Pool& pool, const std::string& path,
                               const PoolSnapshotOptions& options = {});

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_POOL_SNAPSHOT_H_
