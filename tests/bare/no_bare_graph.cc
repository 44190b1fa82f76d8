// A build without CUDA has no bare graphs.
#include "tests/bare/bare_graph.h"

namespace graphtree {

absl::StatusOr<std::unique_ptr<BareGraph>> BareGraph::Capture(const std::vector<BareLaunch>&,
                                                              BareGraph*) {
  return absl::UnimplementedError("this build has no CUDA");
}

absl::StatusOr<std::unique_ptr<BareGraph>> BareGraph::CaptureCalls(const std::function<void()>&,
                                                                   BareGraph&) {
  return absl::UnimplementedError("this build has no CUDA");
}

}  // namespace graphtree
