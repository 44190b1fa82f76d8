// A picture of a pool, in the schema that PyTorch's memory tools read.
//
//   segments        one for each run of mapped (or parked) pieces of a region
//     blocks        every block in it, live or free, in address order, without a gap
//   device_traces   the pool's history, oldest entry first
//   graphtree       what is only ours: the pool's figures, the ranges that are parked, and the
//                   nodes of the tree that uses the pool, if it tells of them
//
// Keys of ours stand beside PyTorch's, never instead: "tag", "note", "region", "kept", "node" and
// "function" on blocks, "parked" on segments. Its tools leave unknown keys alone. The three
// channels of words are its own: the ambient context (user_metadata of every entry), a note on a
// live block (an "annotate" entry), and an internal mark (internal_metadata).
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

// Who made a block, as far as whoever uses the pool knows. Empty fields are left out.
struct BlockOrigin {
  std::string node;
  std::string function;
};

struct PoolSnapshotOptions {
  bool with_history = true;
  // Must not change the pool. Where it throws nothing is known.
  std::function<BlockOrigin(const Block&)> origin = nullptr;
  // Of the tree that uses the pool; null if there is none. Their blocks need no origin.
  const std::vector<SnapshotNode>* nodes = nullptr;
};

// As JSON, the same text as in a file.
absl::StatusOr<std::string> PoolSnapshotJson(Pool& pool, const PoolSnapshotOptions& options = {});

// As rows and columns, to look at or to write in any form (snapshot/write.h).
absl::StatusOr<std::unique_ptr<snapshot::Snapshot>> TakePoolSnapshot(
    Pool& pool, const PoolSnapshotOptions& options = {});

// Into a file; its ending chooses the form (.pickle, .json, .sqlite). Pickles are of protocol 4,
// which every viewer reads.
absl::Status WritePoolSnapshot(Pool& pool, const std::string& path,
                               const PoolSnapshotOptions& options = {});

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_POOL_SNAPSHOT_H_
