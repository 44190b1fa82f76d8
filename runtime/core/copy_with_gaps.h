// A copy of a tensor byte by byte, with what lies in the gaps between its elements: Launcher::Copy
// takes no tensor that has gaps.
#ifndef GRAPHTREE_RUNTIME_CORE_COPY_WITH_GAPS_H_
#define GRAPHTREE_RUNTIME_CORE_COPY_WITH_GAPS_H_

#include <cstdint>

#include "graphs/launcher.h"
#include "graphs/layout.h"
#include "graphs/tensor.h"

namespace graphtree {

// With the tensor's layout. What it is has no meaning if the launcher has failed.
inline Tensor CopyWithGaps(const Tensor& tensor, Launcher& on) {
  const Layout* const bytes =
      Layout::Of(DType::kU8, {static_cast<int64_t>(tensor.layout()->extent_bytes())});
  const Tensor copy = on.Empty(tensor.layout());
  if (on.ok()) on.Copy(copy.View(bytes, 0), tensor.View(bytes, 0));
  return copy;
}

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_CORE_COPY_WITH_GAPS_H_
