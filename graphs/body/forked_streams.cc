// Orders a body's stream and those that it has forked off.
#include "graphs/body/forked_streams.h"

#include <memory>
#include <utility>

#include "absl/algorithm/container.h"
#include "device/base/insist.h"
#include "device/base/status_macros.h"
#include "device/device.h"

namespace graphtree {

absl::Status ForkedStreams::MakeOrder() {
  if (order_ != nullptr) return absl::OkStatus();
  GRAPHTREE_ASSIGN_OR_RETURN(order_, own_.device().NewEvent({}));
  return absl::OkStatus();
}

absl::Status ForkedStreams::GoOnAfter(StreamLife& side) {
  GRAPHTREE_RETURN_IF_ERROR(MakeOrder());
  return side.Await(*order_, own_);
}

absl::Status ForkedStreams::Fork(Stream& side) {
  if (&side == &own_) {
    return absl::InvalidArgumentError("the body's own stream was forked off itself");
  }
  if (&side.device() != &own_.device()) {
    return absl::InvalidArgumentError("a stream of another device was forked off");
  }
  GRAPHTREE_RETURN_IF_ERROR(MakeOrder());
  GRAPHTREE_RETURN_IF_ERROR(own_.Record(*order_));
  GRAPHTREE_RETURN_IF_ERROR(side.Wait(*order_));
  if (!absl::c_linear_search(forks_, side.life())) forks_.push_back(side.life());
  return absl::OkStatus();
}

// A wait for the stream itself breaks a capture that was begun on it. The body has the stream until
// it is joined, so nobody else begins one.
bool ForkedStreams::HasAwaited(StreamLife& side) {
  const auto await_event = [&]() -> absl::Status {
    GRAPHTREE_RETURN_IF_ERROR(MakeOrder());
    return side.AwaitOnHost(*order_);
  };
  if (Insist(await_event).ok()) return true;
  const absl::StatusOr<CaptureInfo> capture = side.Capture();
  if (capture.ok() && capture->state != CaptureState::kNone) return false;
  return Insist([&side] { return side.Synchronize(); }).ok();
}

absl::Status ForkedStreams::Join(bool is_captured, BodyAllocator& allocator) {
  absl::Status first;
  if (forks_.empty()) return first;  // of most bodies and parts
  for (const std::shared_ptr<StreamLife>& side : std::exchange(forks_, {})) {
    const absl::Status joined = GoOnAfter(*side);
    if (joined.ok() || (!is_captured && HasAwaited(*side))) continue;
    if (!is_captured) allocator.LeftBeside(side, joined);
    first.Update(joined);
  }
  return first;
}

}  // namespace graphtree
