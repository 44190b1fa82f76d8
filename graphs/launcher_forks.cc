// Streams that a body forks off its own, and that join it again.
#include <memory>
#include <utility>

#include "absl/algorithm/container.h"
#include "device/base/insist.h"
#include "device/base/status_macros.h"
#include "device/device.h"
#include "device/stream_life.h"
#include "graphs/launcher.h"

namespace graphtree {
absl::Status Launcher::MakeOrder() {
  if (order_ != nullptr) return absl::OkStatus();
  GRAPHTREE_ASSIGN_OR_RETURN(order_, stream_.device().NewEvent({}));
  return absl::OkStatus();
}

// In a recording the side joins the capture.
absl::Status Launcher::LetJoin(Stream& side) {
  GRAPHTREE_RETURN_IF_ERROR(MakeOrder());
  GRAPHTREE_RETURN_IF_ERROR(stream_.Record(*order_));
  return side.Wait(*order_);
}

absl::Status Launcher::GoOnAfter(StreamLife& side) {
  GRAPHTREE_RETURN_IF_ERROR(MakeOrder());
  return side.Await(*order_, stream_);
}

void Launcher::Fork(Stream& side) {
  if (!ok()) return;
  if (&side == &stream_ || &side.device() != &stream_.device()) {
    return FailAt("fork", absl::InvalidArgumentError(
                              &side == &stream_ ? "the body's own stream was forked off itself"
                                                : "a stream of another device was forked off"));
  }
  may_have_others_ = true;
  const absl::Status ordered = LetJoin(side);
  if (!ordered.ok()) return FailAt("fork", ordered);
  if (!absl::c_linear_search(forks_, side.life())) forks_.push_back(side.life());
}

// A wait for the stream itself breaks a capture that was begun on it. The body has the stream until
// it is joined, so nobody else begins one.
bool Launcher::HasAwaited(StreamLife& side) {
  const auto await_event = [&]() -> absl::Status {
    GRAPHTREE_RETURN_IF_ERROR(MakeOrder());
    return side.AwaitOnHost(*order_);
  };
  if (Insist(await_event).ok()) return true;
  const absl::StatusOr<CaptureInfo> capture = side.Capture();
  if (capture.ok() && capture->state != CaptureState::kNone) return false;
  return Insist([&side] { return side.Synchronize(); }).ok();
}

// Also after a failure: what is put back then is put back after the work on the sides. Captured
// work that is not joined fails its capture, and never runs.
void Launcher::JoinForks() {
  if (forks_.empty()) return;  // of most bodies and parts
  for (const std::shared_ptr<StreamLife>& side : std::exchange(forks_, {})) {
    const absl::Status joined = GoOnAfter(*side);
    if (joined.ok() || (!is_captured_ && HasAwaited(*side))) continue;
    Fail(joined);
    if (!is_captured_) allocator_.LeftBeside(side, joined);
  }
}

void Launcher::UsedOn(const Tensor& tensor, Stream& side) {
  if (!ok() || !Usable(tensor, "opaque work on a side stream")) return;
  if (observer_ != nullptr) observer_->UsedBeside(tensor);
  made_.NoteBeside(tensor.storage());
  Fail(allocator_.UseOn(tensor.storage(), side));
}

}  // namespace graphtree
