// Walks depth first over the predecessors, in the order given, without recursion.
#include "device/cuda/op_order.h"

#include <algorithm>

#include "device/base/check.h"

namespace graphtree {

std::vector<uint32_t> CaptureOrder(uint32_t count,
                                   const std::vector<std::pair<uint32_t, uint32_t>>& edges) {
  std::vector<std::vector<uint32_t>> before(count);
  for (const auto& [from, to] : edges) {
    GRAPHTREE_CHECK(from < count && to < count) << "edge " << from << " to " << to;
    before[to].push_back(from);
  }
  for (std::vector<uint32_t>& list : before) std::sort(list.begin(), list.end());

  enum : uint8_t { kNew, kOpen, kPlaced };
  std::vector<uint8_t> state(count, kNew);
  std::vector<uint32_t> order;
  order.reserve(count);
  std::vector<uint32_t> stack;
  for (uint32_t start = 0; start < count; ++start) {
    stack.push_back(start);
    while (!stack.empty()) {
      const uint32_t op = stack.back();
      if (state[op] == kNew) {
        state[op] = kOpen;
        // The smallest ends up on top and is placed first.
        for (auto it = before[op].rbegin(); it != before[op].rend(); ++it) {
          if (state[*it] == kNew) stack.push_back(*it);
        }
        continue;
      }
      stack.pop_back();
      if (state[op] == kOpen) {
        state[op] = kPlaced;
        order.push_back(op);
      }
    }
  }
  return order;
}

}  // namespace graphtree
