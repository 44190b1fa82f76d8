// Moments of a history, and what the history has lost, for people and for scripts.
#ifndef GRAPHTREE_TOOLS_MEMORY_HISTORY_TEXT_H_
#define GRAPHTREE_TOOLS_MEMORY_HISTORY_TEXT_H_

#include <cstdint>
#include <string>

#include "device/base/json_writer.h"
#include "tools/memory/text.h"
#include "tools/snapshot/analysis/history.h"

namespace graphtree::memory {

// "1.204 s after the first entry (entry 1543)"
std::string WhenText(const snapshot::Snapshot& snapshot, const snapshot::DeviceHistory& history,
                     uint32_t event);

// Lines about lost or unordered history; empty where nothing is wrong.
std::string LossesText(const snapshot::Snapshot& snapshot,
                       const snapshot::DeviceHistory& history, const Look& look);

// The keys "lost", "out_of_order" and "pools_known_from" of an open object.
void WriteLosses(const snapshot::DeviceHistory& history, JsonWriter& json);

}  // namespace graphtree::memory

#endif  // GRAPHTREE_TOOLS_MEMORY_HISTORY_TEXT_H_
