// What a runtime's door for tools shows (Runtime::OpenDoor):
//
//   page             what                                                          query
//   /                this list
//   /metrics         counts and bytes, for Prometheus
//   /metrics/memory  the ledger, for Prometheus
//   /debug/graphs    all of it as JSON                                             program, steps
//   /debug/explain   why steps ran as they did, for people; or as JSON             program, steps,
//                                                                                  format
//   /debug/dot       lanes, programs and shapes, for Graphviz
//   /debug/ledger    who holds the memory, for people; or as JSON                  format
//   /debug/settings  what is in force, and where it came from
//   /profile         a window of what runs, as a trace (profile_page.h)             mode, replays,
//                                                                                  ms, force
//   /snapshot        the memory of a lane, for `graphtree memory` (a pickle)       device, lane
//
// /debug/explain, dot and settings wait for no step, so they answer also while one hangs; the
// others look into trees, which waits for the calls that run there.
#ifndef GRAPHTREE_RUNTIME_RUNTIME_PAGES_H_
#define GRAPHTREE_RUNTIME_RUNTIME_PAGES_H_

#include "runtime/core/runtime_core.h"
#include "runtime/door/server.h"
#include "runtime/runtime.h"

namespace graphtree {

// Both outlive the pages.
DoorPages PagesOf(const Runtime& runtime, const RuntimeCore& core);

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_RUNTIME_PAGES_H_
