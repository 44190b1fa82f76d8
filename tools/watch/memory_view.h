// A running server's memory, look by look: `graphtree memory watch`.
//
//   time          device      change  executables        pool        idle  ...
//   12:01:33    12.3 MiB           -     9.90 MiB    2.00 MiB   1.10 MiB
//   12:01:34    14.4 MiB   +2.10 MiB     9.90 MiB    4.10 MiB   1.10 MiB
//                          +2.10 MiB  decode[tokens=64]
//
// Pure: from samples of the ledger (runtime/ledger_text.h), into lines of text or JSON.
#ifndef GRAPHTREE_TOOLS_WATCH_MEMORY_VIEW_H_
#define GRAPHTREE_TOOLS_WATCH_MEMORY_VIEW_H_

#include <string>

#include "tools/watch/samples.h"

namespace graphtree::watch {

std::string MemoryHeading();
// `before` is null at the first look. Below the line stand the functions whose own bytes changed.
std::string MemoryLine(const Samples* before, const Samples& after, const std::string& clock);
// One line.
std::string MemoryJson(const Samples& after);

}  // namespace graphtree::watch

#endif  // GRAPHTREE_TOOLS_WATCH_MEMORY_VIEW_H_
