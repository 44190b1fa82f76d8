// Compares the elements of two runs, within a tolerance.
//
//   a run of the body       1.0   2.0   ??    4.0
//   the same once more      1.0   2.0   !!    4.0      what nobody writes differs, and says nothing
//   a replay                1.0   2.5   ..    4.0      element 1 differs
//
// Pure.
#ifndef GRAPHTREE_GRAPHS_CHECK_ELEMENT_COMPARE_H_
#define GRAPHTREE_GRAPHS_CHECK_ELEMENT_COMPARE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graphs/layout.h"
#include "graphs/reports/parity.h"

namespace graphtree {

struct ElementDifference {
  uint64_t element = 0;
  std::string text;  // "element 1 is 2.5 in the replay, and 2 in a run of its body"
};

using Bytes = std::vector<uint8_t>;

// The first element that is the same in both runs, and another in the replay. Bytes beyond the
// shortest of the three are not compared.
std::optional<ElementDifference> FirstDifference(DType type, const Bytes& run, const Bytes& again,
                                                 const Bytes& replay, const Tolerance& tolerance);

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_CHECK_ELEMENT_COMPARE_H_
