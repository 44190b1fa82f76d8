// A flame tree as one SVG file: opens in any browser, asks nothing from a network.
//
// The root is at the top and callers stand above what they call (an icicle). A frame is as wide as
// its share. Hovering tells the frame and its bytes; a click zooms to it, a click on the root back
// out; the search field lights up matching frames and tells their share. Without scripts the
// picture and the tooltips are still there.
#ifndef GRAPHTREE_TOOLS_MEMORY_FLAME_SVG_H_
#define GRAPHTREE_TOOLS_MEMORY_FLAME_SVG_H_

#include <functional>
#include <string>

#include "tools/memory/flame_tree.h"

namespace graphtree::memory {

struct FlameLook {
  std::string title;
  std::function<std::string(uint64_t)> value;  // how a number is written: bytes, or a count
  double least_share = 0.0005;                 // frames thinner than this are left out
  size_t most_rows = 120;                      // and frames deeper than this
};

std::string RenderFlameSvg(const FlameTree& tree, const FlameLook& look);

}  // namespace graphtree::memory

#endif  // GRAPHTREE_TOOLS_MEMORY_FLAME_SVG_H_
