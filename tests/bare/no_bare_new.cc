// A build without CUDA meets nothing bare.
#include "tests/bare/bare_new.h"

namespace graphtree {

absl::StatusOr<std::unique_ptr<BareNew>> BareNew::Make() {
  return absl::UnimplementedError("this build has no CUDA");
}

}  // namespace graphtree
