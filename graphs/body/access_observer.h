// Told about every access that a body declares, before the op is launched.
//
//   Launching(op) --> Accessed, Doubted for each tensor --> the launch --> Launched, Copied, Filled
//
// Threads: the one that runs the body. Cost: without an observer, one branch for each launch.
#ifndef GRAPHTREE_GRAPHS_BODY_ACCESS_OBSERVER_H_
#define GRAPHTREE_GRAPHS_BODY_ACCESS_OBSERVER_H_

#include "absl/strings/string_view.h"
#include "device/graph.h"
#include "device/kernel.h"
#include "graphs/tensor.h"

namespace graphtree {

class AccessObserver {
 public:
  virtual ~AccessObserver() = default;
  // The body is about to launch this op; its accesses follow.
  virtual void Launching(absl::string_view) {}
  // `argument` is the number of the op's argument, or -1 for a declaration of opaque work. A copy
  // has its target as argument 0 and its source as 1; a fill has its target as 0.
  virtual void Accessed(Access access, const Tensor& tensor, int argument) = 0;
  // The op is told to read the tensor only, and its kernel takes a pointer that it may write
  // through.
  virtual void Doubted(const Tensor&) {}
  // Opaque work on a stream beside the body's uses the tensor.
  virtual void UsedBeside(const Tensor&) {}
  // The op whose accesses were told last was launched.
  virtual void Launched(const Kernel& kernel, const LaunchShape& shape, Arguments arguments) = 0;
  virtual void Copied(const CopyParams&) {}
  virtual void Filled(const FillParams&) {}
  virtual void SetsEvent() {}  // an op of its own, that takes no memory
  // The body breaks here; the accesses that were told last are its part's.
  virtual void Broke(absl::string_view) {}
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_BODY_ACCESS_OBSERVER_H_
