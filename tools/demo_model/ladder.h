// Which shapes get a graph: a ladder of sizes, cut where the budget for graphs is spent.
//
//   worth most                                                              worth least
//   decode 16 long | prefill 128 | decode 16, 8, 4, 2, 1 short | prefill 64, 32, 16 | ...
//   =================================================== the budget ends here
//
// Every rung costs the same, since a graph's memory goes with its ops and not with its rows. So the
// ladder is one list in the order of worth, and a budget takes its beginning: first the largest
// rungs, which serve everything at all, then the powers of two, then those between.
//
// "Short" and "long" are the most tokens that a request has. A graph for long ones serves short
// ones as well, but its attention keeps more shared memory.
//
// Pure.
#ifndef GRAPHTREE_TOOLS_DEMO_MODEL_LADDER_H_
#define GRAPHTREE_TOOLS_DEMO_MODEL_LADDER_H_

#include <cstdint>
#include <vector>

#include "runtime/shapes/key.h"
#include "tools/demo_model/kernels/dims.h"

namespace graphtree::demo {

inline constexpr int kShortContext = kPositions / 2;
inline constexpr int kLongContext = kPositions;

struct Rung {
  bool is_prefill = false;
  Key key;  // tokens, requests, context
};

// Device memory that one rung's graph takes, estimated.
uint64_t RungBytes();

// In the order of worth. REQUIRES: 1 <= most_requests <= kMostRequests.
std::vector<Rung> LadderUnder(uint64_t budget_bytes, int most_requests);

}  // namespace graphtree::demo

#endif  // GRAPHTREE_TOOLS_DEMO_MODEL_LADDER_H_
