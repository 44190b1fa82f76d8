// What was captured, and what is made of it.
#include "device/host/objects/host_graph.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "device/error.h"
#include "device/executable_bytes.h"
#include "device/host/ops/launch_limits.h"

namespace graphtree::host {
HostGraph::HostGraph(std::shared_ptr<Core> core, Capture&& capture)
    : core_(std::move(core)),
      capture_id_(capture.id),
      ops_(std::make_shared<const std::vector<Op>>(std::move(capture.ops))),
      works_(std::move(capture.works)) {
  ++core_->graphs;
}

HostGraph::~HostGraph() {
  const Engine::Lock lock = core_->engine.Guard();
  --core_->graphs;
}

absl::StatusOr<OpId> HostGraph::Find(OpToken token) const {
  const uint64_t number = token.value & 0xffffffff;
  if (token.value >> 32 != capture_id_ || number == 0 || number > ops_->size()) {
    return DeviceError(
        ErrorCode::kNotFound,
        absl::StrCat("op token ", token.value, " is not of the capture that made this graph"));
  }
  return static_cast<OpId>(number - 1);
}

absl::StatusOr<std::unique_ptr<Executable>> HostGraph::Instantiate() const {
  LaunchPlace place;
  const LaunchPass pass(place);
  const Engine::Lock lock = core_->engine.Guard();
  GRAPHTREE_RETURN_IF_ERROR(core_->Usable("instantiating a graph"));
  // Charged, so that a program meets its memory limit here about where it would on a GPU.
  const uint64_t bytes = ExecutableBytes(ops_->size());
  GRAPHTREE_RETURN_IF_ERROR(
      core_->books.Charge(bytes, absl::StrCat("an executable of ", ops_->size(), " ops")));
  return std::make_unique<HostExecutable>(core_, *this, bytes);
}

HostExecutable::HostExecutable(std::shared_ptr<Core> core, const HostGraph& graph, uint64_t bytes)
    : core_(std::move(core)),
      replay_(std::make_shared<Replay>(graph.shared_ops(), graph.works())),
      place_(replay_.get()),
      bytes_(bytes) {
  ++core_->executables;
}

HostExecutable::~HostExecutable() {
  const Engine::Lock lock = core_->engine.Guard();
  core_->books.Refund(bytes_);
  --core_->executables;
}

absl::Status HostExecutable::MayPatch(OpId op, OpKind kind) const {
  GRAPHTREE_RETURN_IF_ERROR(core_->engine.MayCall());
  const std::string what = absl::StrCat("patching op ", op);
  if (op >= replay_->plan().op_count()) {
    return DeviceError(ErrorCode::kInvalidValue, absl::StrCat(what, " of an executable of ",
                                                              replay_->plan().op_count(), " ops"));
  }
  const OpKind found = replay_->ops()[op].kind;
  if (found != kind) {
    return DeviceError(ErrorCode::kInvalidValue, absl::StrCat(what, " as a ", OpKindName(kind),
                                                              ": it is a ", OpKindName(found)));
  }
  return absl::OkStatus();
}

absl::Status HostExecutable::PatchKernel(OpId op, const Kernel& kernel, const LaunchShape& shape,
                                         Arguments arguments) {
  const Engine::Lock lock = core_->engine.Guard();
  GRAPHTREE_RETURN_IF_ERROR(MayPatch(op, OpKind::kKernel));
  if (replay_->newest(op).kernel() != &kernel) {
    return DeviceError(ErrorCode::kInvalidValue,
                       absl::StrCat("patching op ", op, " with kernel ", kernel.name(),
                                    ": it was captured with kernel ", replay_->newest(op).name()));
  }
  GRAPHTREE_RETURN_IF_ERROR(CheckLaunch(kernel, shape, arguments));
  Work work;
  work.SetKernel(kernel, shape, arguments);
  core_->engine.checks().FindLoosePointers(work);
  replay_->Patch(op, std::move(work));
  return absl::OkStatus();
}

absl::Status HostExecutable::PatchArgumentBytes(OpId op, absl::Span<const uint8_t> bytes) {
  const Engine::Lock lock = core_->engine.Guard();
  GRAPHTREE_RETURN_IF_ERROR(MayPatch(op, OpKind::kKernel));
  const Work& newest = replay_->newest(op);
  if (newest.kernel() == nullptr) {
    return DeviceError(ErrorCode::kNotSupported,
                       absl::StrCat("patching op ", op, " (", newest.name(),
                                    ") by its argument bytes: a function of the host has none"));
  }
  std::vector<ParamSlot> slots;
  const uint32_t wanted = ParameterLayout(*newest.kernel(), &slots);
  if (bytes.size() != wanted) {
    return DeviceError(ErrorCode::kInvalidValue,
                       absl::StrCat("patching op ", op, " (kernel ", newest.name(), ") with ",
                                    bytes.size(), " bytes of arguments: it takes ", wanted));
  }
  Work work;
  work.SetRepatched(newest, bytes);
  core_->engine.checks().FindLoosePointers(work);
  replay_->Patch(op, std::move(work));
  return absl::OkStatus();
}

absl::Status HostExecutable::PatchCopy(OpId op, const CopyParams& params) {
  const Engine::Lock lock = core_->engine.Guard();
  GRAPHTREE_RETURN_IF_ERROR(MayPatch(op, OpKind::kCopy));
  Work work;
  work.SetCopy(params);
  replay_->Patch(op, std::move(work));
  return absl::OkStatus();
}

absl::Status HostExecutable::PatchFill(OpId op, const FillParams& params) {
  const Engine::Lock lock = core_->engine.Guard();
  GRAPHTREE_RETURN_IF_ERROR(MayPatch(op, OpKind::kFill));
  GRAPHTREE_RETURN_IF_ERROR(CheckFill(params));
  Work work;
  work.SetFill(params);
  replay_->Patch(op, std::move(work));
  return absl::OkStatus();
}

}  // namespace graphtree::host
