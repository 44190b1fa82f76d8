// The graphs and executables of a fault device, whose calls ask the FaultPlan first
// (fault_device.h).
#ifndef GRAPHTREE_DEVICE_FAULT_FAULT_GRAPH_H_
#define GRAPHTREE_DEVICE_FAULT_FAULT_GRAPH_H_

#include <memory>
#include <utility>
#include <vector>

#include "device/device.h"
#include "device/fault/fault_plan.h"
#include "device/graph.h"

namespace graphtree {

class FaultExecutable : public Executable {
 public:
  FaultExecutable(Device* device, FaultPlan* plan, std::unique_ptr<Executable> wrapped)
      : device_(device), plan_(plan), wrapped_(std::move(wrapped)) {}

  Device& device() const override { return *device_; }
  size_t op_count() const override { return wrapped_->op_count(); }
  absl::Status Launch(Stream& stream) override;
  absl::Status Upload(Stream& stream) override;
  absl::StatusOr<UpdateResult> Update(const Graph& graph) override;
  absl::Status PatchKernel(OpId op, const Kernel& kernel, const LaunchShape& shape,
                           Arguments arguments) override;
  absl::Status PatchArgumentBytes(OpId op, absl::Span<const uint8_t> bytes) override;
  absl::Status PatchCopy(OpId op, const CopyParams& params) override;
  absl::Status PatchFill(OpId op, const FillParams& params) override;
  uint64_t device_bytes() const override { return wrapped_->device_bytes(); }
  const LaunchPlace* launch_place() const override { return wrapped_->launch_place(); }

 private:
  Device* const device_;
  FaultPlan* const plan_;
  const std::unique_ptr<Executable> wrapped_;
};

class FaultGraph : public Graph {
 public:
  FaultGraph(Device* device, FaultPlan* plan, std::unique_ptr<Graph> wrapped)
      : device_(device), plan_(plan), wrapped_(std::move(wrapped)) {}

  // The wrapped graph where `graph` is one of ours, else `graph` itself.
  static const Graph& Unwrap(const Graph& graph);

  Device& device() const override { return *device_; }
  size_t op_count() const override { return wrapped_->op_count(); }
  const std::vector<Op>& ops() const override { return wrapped_->ops(); }
  void ForgetOps() const override { wrapped_->ForgetOps(); }
  absl::StatusOr<OpId> Find(OpToken token) const override { return wrapped_->Find(token); }
  absl::StatusOr<std::unique_ptr<Executable>> Instantiate() const override;

 private:
  Device* const device_;
  FaultPlan* const plan_;
  const std::unique_ptr<Graph> wrapped_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_FAULT_FAULT_GRAPH_H_
