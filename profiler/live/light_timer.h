// Times launches by a pair of events around each: the light mode, which needs no right and no
// library.
//
//   stream    ... | begin | launch 81 | end | ...
//                     \                  /
//                      a pair, used again after it was read
//
// Pairs are made ahead by the profile's own thread, so that a launch never makes an event. Where
// none is left the launch is not timed, and counted. A launch that fails gives its pair back.
//
// Threads: Begin and End on any thread that launches, both of one launch on the same; all else on
// the profile's thread. Cost: two events on the stream, a lock held for some instructions.
#ifndef GRAPHTREE_PROFILER_LIVE_LIGHT_TIMER_H_
#define GRAPHTREE_PROFILER_LIVE_LIGHT_TIMER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "device/device.h"
#include "device/stream.h"
#include "profiler/live/device_clock.h"
#include "profiler/live/host_clock.h"

namespace graphtree::live {

// When a launch's work ran, by the host's clock.
struct TimedLaunch {
  uint64_t launch = 0;
  int64_t start_ns = 0;
  int64_t duration_ns = 0;
};

class LightTimer {
 public:
  using Sink = std::function<void(const TimedLaunch&)>;

  // Times launches on `device` only. Both outlive the timer.
  static absl::StatusOr<std::unique_ptr<LightTimer>> Make(Device& device, const HostClock& host);
  LightTimer(const LightTimer&) = delete;
  LightTimer& operator=(const LightTimer&) = delete;

  // Sets the first event, right before the launch. False, and counted, if the launch is not timed:
  // no pair is left, or the launch is another device's.
  bool Begin(uint64_t launch, Stream& stream);
  // True if the launch's time will be handed over. REQUIRES: Begin returned true for this launch.
  bool End(uint64_t launch, Stream& stream, bool launched);

  // Hands over what is done by now.
  absl::Status Collect(const Sink& sink);
  // Hands over what is under way, for which it waits, or which it counts as untimed. No launch is
  // timed after that.
  absl::Status Finish(bool waits, const Sink& sink);

  uint64_t untimed() const { return untimed_.load(std::memory_order_relaxed); }
  double drift_ppm() const { return clock_->drift_ppm(); }

  static constexpr size_t kPairs = 256;

 private:
  struct Pair {
    std::unique_ptr<Event> begin;
    std::unique_ptr<Event> end;
    uint64_t launch = 0;
  };

  LightTimer(Device& device, std::unique_ptr<DeviceClock> clock)
      : device_(device), clock_(std::move(clock)) {}
  std::unique_ptr<Pair> TakeFree();
  std::unique_ptr<Pair> TakeOpen(uint64_t launch);
  void GiveBack(std::unique_ptr<Pair> pair);
  std::unique_ptr<Pair> TakeUnderWay();
  absl::Status HandOver(Pair& pair, const Sink& sink);

  Device& device_;
  const std::unique_ptr<DeviceClock> clock_;
  std::atomic<uint64_t> untimed_{0};
  std::mutex mutex_;
  // Guarded by mutex_:
  bool is_over_ = false;
  std::vector<std::unique_ptr<Pair>> free_;
  std::vector<std::unique_ptr<Pair>> open_;    // between Begin and End
  std::deque<std::unique_ptr<Pair>> under_way_;
};

}  // namespace graphtree::live

#endif  // GRAPHTREE_PROFILER_LIVE_LIGHT_TIMER_H_
