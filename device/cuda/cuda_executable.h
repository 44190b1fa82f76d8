// An Executable of a CUDA device: an instantiated graph.
//
// Launch and PatchKernel are the hot path: they go straight to the driver, with a check of the
// device's health, of the stream's device and of the current context before it, and allocate
// nothing. Which kernel an op runs is compared once per op and kernel, then remembered by id.
//
//   slot_of_    | 0 | 0 | 1 | 0 | 2 |     by op: which slot, 0 if none; made at the first patch
//   slots_      { node, kind, function }, { node, kind, function }
//
// A slot is made when its op is first patched, so unpatched ops cost no slot. CUDA names the op to
// patch by its node in the graph that the executable was made from, so the executable keeps that
// one, also where it runs another by now.
//
// What uses the native executable passes the launch gate, the end of it included.
//
// Closures of captured host calls belong to the native graph and to every executable made from it
// or updated to it, through CUDA's user objects; nothing is kept here.
#ifndef GRAPHTREE_DEVICE_CUDA_CUDA_EXECUTABLE_H_
#define GRAPHTREE_DEVICE_CUDA_CUDA_EXECUTABLE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/cuda/context.h"
#include "device/cuda/cuda_graph.h"
#include "device/cuda/handles.h"
#include "device/cuda/native_graph.h"
#include "device/cuda/node_params.h"
#include "device/cuda/open_captures.h"
#include "device/executable_bytes.h"
#include "device/graph.h"
#include "device/launch_gate.h"

namespace graphtree {

class CudaExecutable final : public Executable {
 public:
  CudaExecutable(std::shared_ptr<Context> context, Device& device, GraphExecHandle native,
                 const CudaGraph& graph);
  ~CudaExecutable() override;

  Device& device() const override { return device_; }
  size_t op_count() const override { return op_count_; }
  absl::Status Launch(Stream& stream) override;
  absl::Status Upload(Stream& stream) override;
  absl::StatusOr<UpdateResult> Update(const Graph& graph) override;
  absl::Status PatchKernel(OpId op, const Kernel& kernel, const LaunchShape& shape,
                           Arguments arguments) override;
  absl::Status PatchArgumentBytes(OpId op, absl::Span<const uint8_t> bytes) override;
  absl::Status PatchCopy(OpId op, const CopyParams& params) override;
  absl::Status PatchFill(OpId op, const FillParams& params) override;
  uint64_t device_bytes() const override { return ExecutableBytes(op_count_); }
  const LaunchPlace* launch_place() const override { return &place_; }

  cudaGraphExec_t native() const { return native_.get(); }

 private:
  struct PatchSlot {
    cudaGraphNode_t node = nullptr;
    OpKind kind = OpKind::kOther;
    CUfunction function = nullptr;   // of a kernel; null: not asked yet
    uint64_t kernel_id = 0;          // the Kernel that was last found to be `function`
    LoadedKernel* loaded = nullptr;  // that Kernel, as loaded
    std::unique_ptr<KernelTemplate> by_bytes;  // null before the first PatchArgumentBytes
  };

  absl::Status OtherDevice(const char* what) const;
  absl::StatusOr<bool> MayBecome(const CudaGraph& other);
  // Afterwards the op has a slot.
  absl::Status MayPatch(OpId op, OpKind kind);
  absl::Status MayPatchFirst(OpId op, OpKind kind);
  absl::Status MakeSlot(OpId op);
  absl::Status MatchKernel(OpId op, const Kernel& kernel);
  PatchSlot& SlotOf(OpId op) { return slots_[slot_of_[op] - 1]; }

  const Membership context_;
  Device& device_;
  KeptByGraph kept_;  // goes after the native executable
  GraphExecHandle native_;
  LaunchPlace place_;
  std::shared_ptr<NativeGraph> made_from_;
  std::shared_ptr<NativeGraph> runs_;  // whose functions its ops run
  const size_t op_count_;
  std::vector<uint32_t> slot_of_;
  std::vector<PatchSlot> slots_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_CUDA_CUDA_EXECUTABLE_H_
