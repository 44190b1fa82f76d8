// The allocator's settings, as the snapshot's writer noted them.
#ifndef GRAPHTREE_TOOLS_SNAPSHOT_ANALYSIS_SETTINGS_H_
#define GRAPHTREE_TOOLS_SNAPSHOT_ANALYSIS_SETTINGS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "allocator/snapshot/snapshot.h"

namespace graphtree::snapshot {

struct Settings {
  bool known = false;  // the snapshot has any
  std::string config;  // the text of PYTORCH_CUDA_ALLOC_CONF
  bool expandable_segments = false;
  int64_t max_split_size = -1;  // -1: unlimited
  double garbage_collection_threshold = 0;  // 0: off
  bool rounds_to_power2_parts = false;
};

Settings SettingsOf(const Snapshot& snapshot);

// "a:1,b:[x:2,y:3]" -> {a, 1}, {b, [x:2,y:3]}: commas inside brackets divide nothing.
std::vector<std::pair<std::string, std::string>> ParseConfig(absl::string_view config);

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_TOOLS_SNAPSHOT_ANALYSIS_SETTINGS_H_
