// Adds up.
#include "runtime/watch/lane_watch.h"

#include "absl/status/statusor.h"

namespace graphtree {

void LaneWatch::Look() {
  const absl::StatusOr<int64_t> now = LookAt(clock_);
  has_looked_ = now.ok();
  if (now.ok()) {
    now_ns_ = *now;
  } else {
    clock_failure_ = now.status();
  }
}

uint64_t LaneWatch::count(Why why) const {
  uint64_t all = 0;
  for (const auto& by_why : counts_) all += by_why[static_cast<size_t>(why)].get();
  return all;
}

}  // namespace graphtree
