// A part of a body that may not be recorded, and whoever cuts the body there.
#ifndef GRAPHTREE_GRAPHS_EAGER_PART_H_
#define GRAPHTREE_GRAPHS_EAGER_PART_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "graphs/tensor.h"

namespace graphtree {

class Launcher;

// Runs at once, in every run of the function, also in a replay. `tensors` are those that the break
// declares, in their order, where this run has them. Its own launches, waits and copies go through
// `on`, and so does its failure (Launcher::Fail); one that throws has failed, too. It outlives the
// body's run: whatever it needs beside the tensors it holds by value, and the destructors of that
// do not throw. The tensors are this run's: one that a part keeps is an address and no more, and
// does not go stale when the bytes are another's.
using EagerPart = std::function<void(Launcher& on, absl::Span<const Tensor> tensors)>;

struct BreakRequest {
  std::string why;
  std::vector<Tensor> tensors;
  EagerPart run;
};

// Told by the launcher where the body breaks. Without one, parts run in their place.
class Cutter {
 public:
  virtual ~Cutter() = default;
  // Runs the part after everything that was launched so far.
  virtual absl::Status Cut(BreakRequest request) = 0;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_EAGER_PART_H_
