// New work by the CUDA Runtime's own calls, nothing around them: what it costs to meet a sequence
// of launches for the first time, and to have its executable again.
//
//   auto bare = BareNew::Make();
//   bare->Launch(launches);    // one eager run
//   bare->Meet(launches);      // Launch, then Record
//   bare->Record(launches);    // capture, instantiate and launch
//   bare->Back(0);             // destroys the executable made last, instantiates graph 0 again,
//                              // launches it
//   bare->Forget();            // destroys all of it
//
// It has a stream of its own on device 0. Errors are kept; Synchronize returns the first. In a
// build without CUDA nothing works.
#ifndef GRAPHTREE_TESTS_BARE_BARE_NEW_H_
#define GRAPHTREE_TESTS_BARE_BARE_NEW_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tests/bare/bare_graph.h"

namespace graphtree {

class BareNew {
 public:
  static absl::StatusOr<std::unique_ptr<BareNew>> Make();
  virtual ~BareNew() = default;

  virtual void Launch(const std::vector<BareLaunch>& launches) = 0;
  virtual void Meet(const std::vector<BareLaunch>& launches) = 0;
  virtual void Record(const std::vector<BareLaunch>& launches) = 0;
  // REQUIRES: Record or Meet was called more than `graph` times since Forget.
  virtual void Back(size_t graph) = 0;
  virtual void Forget() = 0;
  virtual absl::Status Synchronize() = 0;
};

}  // namespace graphtree

#endif  // GRAPHTREE_TESTS_BARE_BARE_NEW_H_
