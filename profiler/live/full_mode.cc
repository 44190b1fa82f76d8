// Comes, is kept, goes.
#include "profiler/live/full_mode.h"

#include "absl/status/statusor.h"
#include "device/base/status_macros.h"

namespace graphtree::live {

absl::Status FullMode::Attach() {
  if (needs_.source == nullptr) {
    if (!needs_.why_none.ok()) return needs_.why_none;
    return absl::FailedPreconditionError("nobody was named who could tell of the device's ops");
  }
  const std::lock_guard<std::mutex> lock(needs_.making);
  GRAPHTREE_RETURN_IF_ERROR(needs_.source->Attach(&needs_.listener, {}));
  ReadClocks();
  return absl::OkStatus();
}

bool FullMode::TryAgain(Time now) {
  if (needs_.source == nullptr || now < next_try_) return false;
  next_try_ = now + kTryAgain;
  needs_.source->Poll();
  return Attach().ok();
}

void FullMode::Keep(Time now) {
  if (now < next_clocks_) return;
  next_clocks_ = now + kClocks;
  // The source's thread brings ops meanwhile, which wants the lock.
  needs_.source->Flush().IgnoreError();
  const std::lock_guard<std::mutex> lock(needs_.making);
  ReadClocks();
}

absl::Status FullMode::Detach(const activity::DetachOptions& options) {
  return needs_.source->Detach(options);
}

void FullMode::ReadClocks() {
  bool is_read = true;
  const activity::ClockPair pair = activity::ReadPair(
      [&] {
        const absl::StatusOr<int64_t> now = needs_.source->NowNs();
        is_read &= now.ok();
        return now.value_or(0);
      },
      [this] { return needs_.host.Now(); });
  if (is_read) needs_.fit.Add(pair);
}

}  // namespace graphtree::live
