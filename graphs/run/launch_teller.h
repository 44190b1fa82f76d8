// Launches a section's graph where somebody watches: asks and tells the hooks of its function, and
// tells observers that the replay begins and that it has ended.
//
//   before_launch --> replay begin --> Executable::Launch --> replay end --> after_launch
//        `-- an error: nothing is launched or told
//
// Of a replay that no observer has in its sample nothing is put together.
//
// Threads: the tree's caller. Cost with one observer: two events, one atomic operation for each.
#ifndef GRAPHTREE_GRAPHS_RUN_LAUNCH_TELLER_H_
#define GRAPHTREE_GRAPHS_RUN_LAUNCH_TELLER_H_

#include <cstddef>

#include "absl/status/status.h"
#include "device/stream.h"
#include "graphs/recording/node.h"
#include "graphs/run/call_journal.h"

namespace graphtree {

// REQUIRES: the section has an executable.
absl::Status LaunchTold(CallJournal& journal, const Node& node, size_t section, Stream& stream);

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_LAUNCH_TELLER_H_
