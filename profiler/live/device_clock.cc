// Anchors: an event whose time both clocks know.
#include "profiler/live/device_clock.h"

#include <utility>

#include "device/base/status_macros.h"

namespace graphtree::live {
namespace {

constexpr int64_t kAnchorAge = 2'000'000'000;
constexpr int kTries = 4;  // of which the shortest wait counts

}  // namespace

absl::StatusOr<std::unique_ptr<DeviceClock>> DeviceClock::Make(Device& device,
                                                               const HostClock& host) {
  GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<Stream> stream, device.NewStream());
  auto clock = std::unique_ptr<DeviceClock>(new DeviceClock(device, host, std::move(stream)));
  GRAPHTREE_RETURN_IF_ERROR(clock->DropAnchor());
  return clock;
}

absl::Status DeviceClock::Keep() {
  return host_.Now() - anchor_ns_ < kAnchorAge ? absl::OkStatus() : DropAnchor();
}

absl::Status DeviceClock::DropAnchor() {
  std::unique_ptr<Event> best;
  int64_t best_ns = 0;
  int64_t best_wait = 0;
  for (int i = 0; i < kTries; ++i) {
    GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<Event> event, device_.NewEvent({.timing = true}));
    const int64_t before = host_.Now();
    GRAPHTREE_RETURN_IF_ERROR(stream_->Record(*event));
    GRAPHTREE_RETURN_IF_ERROR(event->Synchronize());
    const int64_t wait = host_.Now() - before;
    if (best != nullptr && wait >= best_wait) continue;
    best = std::move(event);
    best_ns = before + wait / 2;
    best_wait = wait;
  }
  if (first_ == nullptr) {
    first_ns_ = best_ns;
  } else {
    GRAPHTREE_ASSIGN_OR_RETURN(const double elapsed, best->NanosecondsSince(*first_));
    const auto by_host = static_cast<double>(best_ns - first_ns_);
    if (by_host > 0) drift_ppm_ = (elapsed - by_host) / by_host * 1e6;
  }
  if (first_ == nullptr) {
    first_ = std::move(best);
  } else {
    anchor_ = std::move(best);
  }
  anchor_ns_ = best_ns;
  return absl::OkStatus();
}

absl::StatusOr<int64_t> DeviceClock::HostTimeOf(Event& event) {
  Event& anchor = anchor_ != nullptr ? *anchor_ : *first_;
  GRAPHTREE_ASSIGN_OR_RETURN(const double since, event.NanosecondsSince(anchor));
  return anchor_ns_ + static_cast<int64_t>(since);
}

}  // namespace graphtree::live
