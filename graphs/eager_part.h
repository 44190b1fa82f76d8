// A part of a body that must run eagerly, and the interface that is told where a body breaks.
#ifndef GRAPHTREE_GRAPHS_EAGER_PART_H_
#define GRAPHTREE_GRAPHS_EAGER_PART_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "graphs/tensor.h"

namespace graphtree {

class Launcher;

// The part itself. It runs at once, in every run of the function, also in a replay. A call that has
// to be done in another way after the part ran (a recording failed, a workspace moved in a replay)
// runs the part twice, and restores in between the bytes that the part declares to write. `tensors`
// are those that the break declares, in their order, where this run has them. The part launches,
// waits, copies and fails (Launcher::Fail) through `on`; a part that throws has failed, too. A part
// outlives the body's run: it holds by value whatever else it needs, and the destructors of that do
// not throw. The tensors belong to this run: of a tensor that a part stores the address stays, and
// nothing says when its bytes become another's.
using EagerPart = std::function<void(Launcher& on, absl::Span<const Tensor> tensors)>;

struct BreakRequest {
  // How the break declares one of its tensors.
  struct Named {
    bool is_written = false;
    uint64_t serial = 0;  // of the storage that the body named; 0: it has none
  };

  std::string why;
  std::vector<Tensor> tensors;
  EagerPart run;
  std::vector<Named> named;  // by tensor
  std::string scope = {};    // the scopes that were open there (scope.h)
};

// The launcher tells a cutter where the body breaks. Without a cutter it runs the part there.
class Cutter {
 public:
  virtual ~Cutter() = default;
  // Runs the part after everything that the body has launched so far.
  virtual absl::Status Cut(BreakRequest request) = 0;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_EAGER_PART_H_
