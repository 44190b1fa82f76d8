// Joins accesses and arguments.
#include "graphs/listen/launch_trace.h"

#include "graphs/tensor.h"

namespace graphtree {

void LaunchTrace::Launching(absl::string_view op) {
  name_ = std::string(op);
  pending_.clear();
  PassingObserver::Launching(op);
}

void LaunchTrace::Accessed(Access access, const Tensor& tensor, int argument) {
  if (argument < 0) {
    has_opaque_ = true;
  } else {
    const auto index = static_cast<size_t>(argument);
    if (pending_.size() <= index) pending_.resize(index + 1);
    pending_[index] = {.access = access, .range = tensor.raw_bytes(), .layout = tensor.layout()};
  }
  PassingObserver::Accessed(access, tensor, argument);
}

void LaunchTrace::Launched(const Kernel& kernel, const LaunchShape& shape, Arguments arguments) {
  PassingObserver::Launched(kernel, shape, arguments);
  TracedOp op{.kind = OpKind::kKernel,
              .name = name_,
              .shape = shape,
              .is_librarys = kernel.owner() == KernelOwner::kLibrary};
  pending_.resize(arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    TracedArgument& kept = pending_[i];
    if (kept.access == Access::kValue) {
      kept.value.assign(static_cast<const char*>(arguments[i].data()), arguments[i].bytes());
      kept.is_comparable = arguments[i].is_comparable();
    }
  }
  Keep(std::move(op));
}

void LaunchTrace::Copied(const CopyParams& params) {
  PassingObserver::Copied(params);
  Keep({.kind = OpKind::kCopy, .name = name_});
}

void LaunchTrace::Filled(const FillParams& params) {
  PassingObserver::Filled(params);
  Keep({.kind = OpKind::kFill, .name = name_});
}

void LaunchTrace::Keep(TracedOp op) {
  op.arguments = std::exchange(pending_, {});
  ops_.push_back(std::move(op));
  if (after_) after_(ops_.size() - 1);
}

}  // namespace graphtree
