// Tells of everything that a body declares to write, before it is written. It stands before another
// observer and passes everything on.
#ifndef GRAPHTREE_GRAPHS_WRITE_LOG_H_
#define GRAPHTREE_GRAPHS_WRITE_LOG_H_

#include <functional>
#include <utility>

#include "absl/strings/string_view.h"
#include "device/graph.h"
#include "device/kernel.h"
#include "graphs/launcher.h"
#include "graphs/tensor.h"

namespace graphtree {

class WriteLog : public AccessObserver {
 public:
  using Sink = std::function<void(const Tensor&)>;

  WriteLog(AccessObserver* next, Sink sink) : next_(next), sink_(std::move(sink)) {}

  void Launching(absl::string_view op) override { next_->Launching(op); }
  void Accessed(Access access, const Tensor& tensor, int argument) override {
    const bool writes = access == Access::kWrite || access == Access::kReadWrite;
    if (writes) sink_(tensor);
    next_->Accessed(access, tensor, argument);
  }
  void Launched(const Kernel& kernel, const LaunchShape& shape, Arguments arguments) override {
    next_->Launched(kernel, shape, arguments);
  }
  void Copied(const CopyParams& params) override { next_->Copied(params); }
  void Filled(const FillParams& params) override { next_->Filled(params); }
  void Broke(absl::string_view why) override { next_->Broke(why); }

 private:
  AccessObserver* const next_;
  const Sink sink_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_WRITE_LOG_H_
