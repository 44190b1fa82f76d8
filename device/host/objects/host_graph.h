// A Graph and an Executable of a host device.
//
// The graph keeps what was captured. An executable shares the ops and copies the work into a
// Replay, so either may be destroyed first. Launching an executable is one unit in its stream's
// queue; its ops become ready one by one.
#ifndef GRAPHTREE_DEVICE_HOST_OBJECTS_HOST_GRAPH_H_
#define GRAPHTREE_DEVICE_HOST_OBJECTS_HOST_GRAPH_H_

#include <memory>
#include <vector>

#include "device/graph.h"
#include "device/host/engine/core.h"
#include "device/host/graph/capture.h"
#include "device/launch_gate.h"

namespace graphtree::host {

class HostGraph : public Graph {
 public:
  // With the engine locked.
  HostGraph(std::shared_ptr<Core> core, Capture&& capture);
  ~HostGraph() override;

  Device& device() const override { return *core_->device; }
  size_t op_count() const override { return ops_->size(); }
  const std::vector<Op>& ops() const override { return *ops_; }
  void ForgetOps() const override {}  // they are the graph itself
  absl::StatusOr<OpId> Find(OpToken token) const override;
  absl::StatusOr<std::unique_ptr<Executable>> Instantiate() const override;

  const std::shared_ptr<const std::vector<Op>>& shared_ops() const { return ops_; }
  const std::vector<Work>& works() const { return works_; }

 private:
  const std::shared_ptr<Core> core_;
  const uint64_t capture_id_;
  const std::shared_ptr<const std::vector<Op>> ops_;  // shared with the executables
  const std::vector<Work> works_;
};

class HostExecutable : public Executable {
 public:
  // With the engine locked, and the bytes charged.
  HostExecutable(std::shared_ptr<Core> core, const HostGraph& graph, uint64_t bytes);
  ~HostExecutable() override;

  Device& device() const override { return *core_->device; }
  size_t op_count() const override { return replay_->plan().op_count(); }
  absl::Status Launch(Stream& stream) override;
  absl::Status Upload(Stream& stream) override;
  absl::StatusOr<UpdateResult> Update(const Graph& graph) override;
  absl::Status PatchKernel(OpId op, const Kernel& kernel, const LaunchShape& shape,
                           Arguments arguments) override;
  absl::Status PatchArgumentBytes(OpId op, absl::Span<const uint8_t> bytes) override;
  absl::Status PatchCopy(OpId op, const CopyParams& params) override;
  absl::Status PatchFill(OpId op, const FillParams& params) override;
  uint64_t device_bytes() const override { return bytes_; }
  const LaunchPlace* launch_place() const override { return &place_; }

 private:
  absl::Status MayPatch(OpId op, OpKind kind) const;
  absl::Status MayUse(Stream& stream, absl::string_view what) const;

  const std::shared_ptr<Core> core_;
  const std::shared_ptr<Replay> replay_;
  LaunchPlace place_;  // the replay is its handle
  const uint64_t bytes_;
};

}  // namespace graphtree::host

#endif  // GRAPHTREE_DEVICE_HOST_OBJECTS_HOST_GRAPH_H_
