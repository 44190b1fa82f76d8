// Captures on a stream.
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "device/base/known_enum.h"
#include "device/base/status_macros.h"
#include "device/cuda/cuda_graph.h"
#include "device/cuda/cuda_status.h"
#include "device/cuda/cuda_stream.h"
#include "device/cuda/graph_listing.h"
#include "device/error.h"

namespace graphtree {
namespace {

cudaStreamCaptureMode NativeMode(CaptureMode mode) {
  switch (mode) {
    case CaptureMode::kGlobal: return cudaStreamCaptureModeGlobal;
    case CaptureMode::kThreadLocal: return cudaStreamCaptureModeThreadLocal;
    case CaptureMode::kRelaxed: return cudaStreamCaptureModeRelaxed;
  }
  return cudaStreamCaptureModeThreadLocal;
}

CaptureState StateOf(cudaStreamCaptureStatus status) {
  switch (status) {
    case cudaStreamCaptureStatusNone: return CaptureState::kNone;
    case cudaStreamCaptureStatusActive: return CaptureState::kActive;
    case cudaStreamCaptureStatusInvalidated: return CaptureState::kInvalidated;
  }
  return CaptureState::kNone;
}

}  // namespace

absl::StatusOr<CudaStream::OpenCapture> CudaStream::LookAtCapture() {
  OpenCapture capture;
  unsigned long long id = 0;
  const cudaGraphNode_t* nodes = nullptr;
  const cudaGraphEdgeData* edges = nullptr;
  size_t count = 0;
  GRAPHTREE_RETURN_IF_ERROR(
      ToStatus(context_->health(),
               cudaStreamGetCaptureInfo(native_, &capture.status, &id, &capture.graph, &nodes,
                                        &edges, &count),
               [&] { return absl::StrCat("asking ", Name(), " whether it is capturing"); }));
  if (capture.status != cudaStreamCaptureStatusActive) return capture;
  capture.id = id;
  capture.frontier.assign(nodes, nodes + count);
  return capture;
}

absl::StatusOr<CudaStream::OpenCapture> CudaStream::ActiveCapture(const char* what) {
  GRAPHTREE_ASSIGN_OR_RETURN(OpenCapture capture, LookAtCapture());
  if (capture.status == cudaStreamCaptureStatusActive) return capture;
  const bool spoiled = capture.status == cudaStreamCaptureStatusInvalidated;
  return DeviceError(spoiled ? ErrorCode::kCaptureInvalidated : ErrorCode::kIllegalState,
                     absl::StrCat(what, " on ", Name(), ": ",
                                  spoiled ? "its capture was invalidated by an earlier call"
                                          : "no capture is open on it"));
}

absl::Status CudaStream::BeginCapture(CaptureMode mode) {
  GRAPHTREE_RETURN_IF_ERROR(context_->Usable());
  if (!IsKnown(mode, CaptureMode::kRelaxed)) {
    return DeviceError(ErrorCode::kInvalidValue,
                       absl::StrCat("beginning a capture on ", Name(), " in ",
                                    NotKnown("mode", mode)));
  }
  return BeginBehindEvent([this] { return device_.NewEvent({}); },
                          [this, mode] { return Begin(mode); });
}

absl::Status CudaStream::Begin(CaptureMode mode) {
  ContextScope current(context_->primary());
  std::lock_guard<std::mutex> lock(mutex_);
  GRAPHTREE_ASSIGN_OR_RETURN(const OpenCapture before, LookAtCapture());
  if (before.status != cudaStreamCaptureStatusNone) {
    return DeviceError(ErrorCode::kIllegalState,
                       absl::StrCat("beginning a capture on ", Name(),
                                    ": it is already capturing"));
  }
  GRAPHTREE_RETURN_IF_ERROR(
      ToStatus(context_->health(), cudaStreamBeginCapture(native_, NativeMode(mode)),
               [&] { return absl::StrCat("beginning a capture on ", Name()); }));
  absl::StatusOr<OpenCapture> begun = LookAtCapture();
  if (!begun.ok()) {
    cudaGraph_t unused = nullptr;
    ClearIfFailed(cudaStreamEndCapture(native_, &unused));
    GraphHandle dropped(unused);
    return begun.status();
  }
  capture_id_.store(begun->id, std::memory_order_release);
  context_->captures().Begun(begun->id);
  return absl::OkStatus();
}

absl::StatusOr<CaptureInfo> CudaStream::Capture() {
  if (context_->health().lost()) return context_->health().status();
  ContextScope current(context_->primary());
  GRAPHTREE_ASSIGN_OR_RETURN(const OpenCapture capture, LookAtCapture());
  CaptureInfo info;
  info.state = StateOf(capture.status);
  // CUDA tells nothing more of an invalidated capture; the stream that began it still knows its id.
  const uint64_t begun_here = capture_id_.load(std::memory_order_acquire);
  info.id = capture.id != 0 || info.state == CaptureState::kNone ? capture.id : begun_here;
  info.ours = info.id != 0 && context_->captures().Contains(info.id);
  return info;
}

// A capture of the caller's is not touched. One of ours that was begun on another stream is left to
// CUDA, which answers as it does everywhere and invalidates it.
absl::Status CudaStream::MayEndCapture() {
  if (capture_id_.load() != 0) return absl::OkStatus();
  GRAPHTREE_ASSIGN_OR_RETURN(const OpenCapture capture, LookAtCapture());
  if (capture.status == cudaStreamCaptureStatusNone) {
    return DeviceError(ErrorCode::kIllegalState,
                       absl::StrCat("ending a capture on ", Name(),
                                    ": no capture is open on it; it was ended before, or never "
                                    "begun"));
  }
  if (context_->captures().Contains(capture.id)) return absl::OkStatus();
  return DeviceError(ErrorCode::kCaptureUnmatched,
                     absl::StrCat("ending a capture on ", Name(),
                                  ": the caller began it on the native stream; end it there"));
}

KeptByGraph CudaStream::ForgetCapture() {
  return context_->captures().Ended(capture_id_.exchange(0, std::memory_order_acq_rel));
}

absl::StatusOr<std::unique_ptr<Graph>> CudaStream::EndCapture() {
  ContextScope current(context_->primary());
  std::lock_guard<std::mutex> lock(mutex_);
  if (context_->health().lost()) {
    if (capture_id_.load() != 0) ForgetCapture();
    return context_->health().status();
  }
  GRAPHTREE_RETURN_IF_ERROR(MayEndCapture());
  const uint64_t id = capture_id_.load();
  cudaGraph_t native = nullptr;
  const cudaError_t error = cudaStreamEndCapture(native_, &native);
  GraphHandle graph(native);
  const absl::Status status = ToStatus(context_->health(), error, [&] {
    return absl::StrCat("ending the capture on ", Name(),
                        id == 0 ? ", which did not begin it," : "");
  });
  // Whatever CUDA answers to the stream that began it, wrong thread included, the capture is over.
  if (id == 0) return status;
  KeptByGraph kept = ForgetCapture();
  if (!status.ok()) return status;
  return CudaGraph::Make(context_.shared(), device_, std::move(graph), id, std::move(kept));
}

absl::StatusOr<std::vector<OpToken>> CudaStream::CaptureFrontier() {
  if (context_->health().lost()) return context_->health().status();
  ContextScope current(context_->primary());
  GRAPHTREE_ASSIGN_OR_RETURN(const OpenCapture capture, ActiveCapture("asking for the last op"));
  std::vector<OpToken> tokens;
  tokens.reserve(capture.frontier.size());
  for (cudaGraphNode_t node : capture.frontier) tokens.push_back(TokenOf(node, capture.id));
  return tokens;
}

absl::StatusOr<std::vector<Op>> CudaStream::CapturedOps() {
  if (context_->health().lost()) return context_->health().status();
  ContextScope current(context_->primary());
  GRAPHTREE_ASSIGN_OR_RETURN(const OpenCapture capture, ActiveCapture("listing captured ops"));
  return ListGraph(*context_, capture.graph);
}

absl::StatusOr<size_t> CudaStream::CapturedOpCount() {
  if (context_->health().lost()) return context_->health().status();
  ContextScope current(context_->primary());
  GRAPHTREE_ASSIGN_OR_RETURN(const OpenCapture capture, ActiveCapture("counting captured ops"));
  return CountNodes(*context_, capture.graph);
}

}  // namespace graphtree
