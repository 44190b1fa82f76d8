// An observer that stands before another one and passes everything on. A class that derives from it
// overrides only the calls that it wants to see.
//
//   launcher --> BodyCheck --> OpLog --> AccessLog
//
// Threads: the body's thread.
#ifndef GRAPHTREE_GRAPHS_LISTEN_PASSING_OBSERVER_H_
#define GRAPHTREE_GRAPHS_LISTEN_PASSING_OBSERVER_H_

#include "absl/strings/string_view.h"
#include "device/graph.h"
#include "device/kernel.h"
#include "graphs/launcher.h"
#include "graphs/tensor.h"

namespace graphtree {

class PassingObserver : public AccessObserver {
 public:
  // `next` outlives it.
  explicit PassingObserver(AccessObserver* next) : next_(next) {}

  void Launching(absl::string_view op) override { next_->Launching(op); }
  void Accessed(Access access, const Tensor& tensor, int argument) override {
    next_->Accessed(access, tensor, argument);
  }
  void Doubted(const Tensor& tensor) override { next_->Doubted(tensor); }
  void UsedBeside(const Tensor& tensor) override { next_->UsedBeside(tensor); }
  void Launched(const Kernel& kernel, const LaunchShape& shape, Arguments arguments) override {
    next_->Launched(kernel, shape, arguments);
  }
  void Copied(const CopyParams& params) override { next_->Copied(params); }
  void Filled(const FillParams& params) override { next_->Filled(params); }
  void SetsEvent() override { next_->SetsEvent(); }
  void Broke(absl::string_view why) override { next_->Broke(why); }

 private:
  AccessObserver* const next_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_LISTEN_PASSING_OBSERVER_H_
