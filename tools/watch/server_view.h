// A running server at a glance, from two looks at its metrics: `graphtree top`.
//
//   mode replay    38 of 40 shapes ready (95 %)    12:01:33
//   steps    1,234.5 a second, 98.2 % of them replayed; 5,120 in all
//   now      device 0 lane 0 records decode, tokens=64
//   memory   9.90 MiB executables, 12.3 MiB pool (8.10 MiB live), ...
//
//   program    steps/s   replayed   in all   not replayed, most often
//   decode       900.1     99.1 %    4,120   above_ceiling 12, warming_up 3
//
// Pure: from samples, into text or JSON.
#ifndef GRAPHTREE_TOOLS_WATCH_SERVER_VIEW_H_
#define GRAPHTREE_TOOLS_WATCH_SERVER_VIEW_H_

#include <string>

#include "tools/watch/samples.h"

namespace graphtree::watch {

struct TwoLooks {
  const Samples& before;
  const Samples& after;
  double seconds = 0;  // between them
};

// `clock`: the time of day, as it is to be shown.
std::string TopText(const TwoLooks& looks, const std::string& clock);
// One line.
std::string TopJson(const TwoLooks& looks);

}  // namespace graphtree::watch

#endif  // GRAPHTREE_TOOLS_WATCH_SERVER_VIEW_H_
