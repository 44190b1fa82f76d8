// What the fuzzers hold a snapshot to that was written and read again. For fuzzers only.
#ifndef GRAPHTREE_TOOLS_SNAPSHOT_FUZZ_FUZZ_CHECKS_H_
#define GRAPHTREE_TOOLS_SNAPSHOT_FUZZ_FUZZ_CHECKS_H_

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"
#include "allocator/snapshot/snapshot.h"
#include "device/base/check.h"

namespace graphtree::snapshot {

// JSON has no way to say what is no UTF-8, and says U+FFFD.
inline bool IsAscii(absl::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return absl::ascii_isascii(c); });
}

inline void CheckSameRows(const Snapshot& first, const Snapshot& second) {
  GRAPHTREE_CHECK(first.gpu.segments.size() == second.gpu.segments.size());
  GRAPHTREE_CHECK(first.host.segments.size() == second.host.segments.size());
  GRAPHTREE_CHECK(first.blocks.size() == second.blocks.size());
  GRAPHTREE_CHECK(first.entries.size() == second.entries.size());
  for (size_t i = 0; i < first.blocks.size(); ++i) {
    GRAPHTREE_CHECK(first.blocks[i].size == second.blocks[i].size);
    GRAPHTREE_CHECK(first.stacks[first.blocks[i].stack].size() ==
                    second.stacks[second.blocks[i].stack].size());
  }
  for (size_t i = 0; i < first.entries.size(); ++i) {
    GRAPHTREE_CHECK(first.entries[i].addr == second.entries[i].addr);
    const absl::string_view action = first.Text(first.entries[i].action);
    GRAPHTREE_CHECK(!IsAscii(action) || action == second.Text(second.entries[i].action));
    GRAPHTREE_CHECK(first.stacks[first.entries[i].stack].size() ==
                    second.stacks[second.entries[i].stack].size());
  }
}

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_TOOLS_SNAPSHOT_FUZZ_FUZZ_CHECKS_H_
