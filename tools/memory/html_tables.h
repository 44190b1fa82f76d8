// The short lists that a snapshot's lanes refer to by number: pools, streams, tree nodes.
//
// Numbers are given in the order of first use. Not thread-safe; a look-up costs one hash.
#ifndef GRAPHTREE_TOOLS_MEMORY_HTML_TABLES_H_
#define GRAPHTREE_TOOLS_MEMORY_HTML_TABLES_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "allocator/snapshot/snapshot.h"
#include "device/base/json_writer.h"

namespace graphtree::memory {

class HtmlTables {
 public:
  explicit HtmlTables(const snapshot::Snapshot& snapshot)
      : snapshot_(snapshot), function_(snapshot.strings.Find("function")) {}

  uint64_t Pool(snapshot::PoolId pool);
  uint64_t Stream(snapshot::Value stream);
  // Our own snapshots say which tree node a block belongs to, and which function made it. 0 where
  // neither is said; else one more than its place in the list.
  uint64_t Node(snapshot::ExtrasId extras);

  // The keys "pools", "streams" and "nodes".
  void Write(JsonWriter& json) const;

 private:
  std::string NodeText(snapshot::Value node) const;

  const snapshot::Snapshot& snapshot_;
  snapshot::StringId function_;  // the key; kNoId where no block has it
  std::vector<snapshot::PoolId> pools_;
  absl::flat_hash_map<snapshot::PoolId, uint64_t> pool_numbers_;
  std::vector<std::string> streams_;
  absl::flat_hash_map<uint64_t, uint64_t> stream_numbers_;  // by the bits of the value
  std::vector<std::string> nodes_;
  absl::flat_hash_map<std::pair<uint64_t, uint64_t>, uint64_t> node_numbers_;  // node, function
};

}  // namespace graphtree::memory

#endif  // GRAPHTREE_TOOLS_MEMORY_HTML_TABLES_H_
