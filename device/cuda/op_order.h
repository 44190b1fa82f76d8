// The order in which ops are numbered: that of their capture, as far as the driver tells it.
//
// CUDA lists a graph's nodes in the order in which they were added but does not promise it. So the
// order given is kept where no op stands before one that it waits for, and repaired where one does:
// each op then comes right after what it waits for, in the order given.
//
// Pure; linear in ops and edges.
#ifndef GRAPHTREE_DEVICE_CUDA_OP_ORDER_H_
#define GRAPHTREE_DEVICE_CUDA_OP_ORDER_H_

#include <cstdint>
#include <utility>
#include <vector>

namespace graphtree {

// `edges` are pairs (before, after) of positions below `count`, without cycles. Returns positions
// in the order in which they are to be numbered.
std::vector<uint32_t> CaptureOrder(uint32_t count,
                                   const std::vector<std::pair<uint32_t, uint32_t>>& edges);

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_CUDA_OP_ORDER_H_
