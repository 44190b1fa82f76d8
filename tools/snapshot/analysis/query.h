// Query: blocks and entries of the history that pass every filter that is set.
#ifndef GRAPHTREE_TOOLS_SNAPSHOT_ANALYSIS_QUERY_H_
#define GRAPHTREE_TOOLS_SNAPSHOT_ANALYSIS_QUERY_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "allocator/snapshot/snapshot.h"
#include "tools/snapshot/analysis/history.h"

namespace graphtree::snapshot {

struct Filter {
  // Bytes [begin, end) that the block or entry must touch.
  std::optional<std::pair<uint64_t, uint64_t>> addresses = {};
  uint64_t least_size = 0;
  uint64_t most_size = std::numeric_limits<uint64_t>::max();
  std::string stack_text = {};  // in any frame
  std::string tag_text = {};    // in the metadata of an entry, or of the alloc behind a block
  std::optional<std::pair<uint64_t, uint64_t>> pool = {};
  std::string stream = {};
  std::string state = {};   // of blocks
  std::string action = {};  // of entries
  // Of entries, in microseconds after the device's first entry.
  int64_t least_time = std::numeric_limits<int64_t>::min();
  int64_t most_time = std::numeric_limits<int64_t>::max();
  uint32_t first_entry = 0;
  uint32_t last_entry = kNever;

  bool asks_for_entries_only() const {
    return !action.empty() || least_time != std::numeric_limits<int64_t>::min() ||
           most_time != std::numeric_limits<int64_t>::max() || first_entry != 0 ||
           last_entry != kNever;
  }
  bool asks_for_blocks_only() const { return !state.empty(); }
};

struct FoundBlock {
  const Segment* segment;
  uint32_t row;
  StringId tag = words::kEmpty;  // set when it was allocated, if the history has that
};

struct FoundEntry {
  int64_t device;
  uint32_t event;
  uint32_t row;
  int64_t time;  // microseconds after the device's first entry
};

struct Found {
  std::vector<FoundBlock> blocks;
  std::vector<FoundEntry> entries;
};

// `histories` are those of the side.
Found Query(const Snapshot& snapshot, const Side& side,
            const std::vector<DeviceHistory>& histories, const Filter& filter);

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_TOOLS_SNAPSHOT_ANALYSIS_QUERY_H_
