// Turns the times of a device's events into the host's.
//
//   host    ------t0----t1---------------------------t0----t1----->
//                    |                                  |
//   device  --------anchor----begin--------end--------anchor------>
//                      `--measured--'
//
// An event tells its distance to another event, and nothing about the host's clock. So an event is
// set on a stream of the clock's own and waited for: the anchor, whose host time is known as well
// as the wait is short. The distance is a float of milliseconds, which loses a microsecond after
// ten seconds: so the clock drops a new anchor now and then. How much further the device's clock
// goes than the host's between two anchors is the drift.
//
// Threads: one, which is not one that launches. Cost: a wait of some ten microseconds an anchor.
#ifndef GRAPHTREE_PROFILER_LIVE_DEVICE_CLOCK_H_
#define GRAPHTREE_PROFILER_LIVE_DEVICE_CLOCK_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/device.h"
#include "device/stream.h"
#include "profiler/live/host_clock.h"

namespace graphtree::live {

class DeviceClock {
 public:
  // Both outlive the clock.
  static absl::StatusOr<std::unique_ptr<DeviceClock>> Make(Device& device, const HostClock& host);
  DeviceClock(const DeviceClock&) = delete;
  DeviceClock& operator=(const DeviceClock&) = delete;

  // Drops an anchor if the last one is old.
  absl::Status Keep();
  // When `event` was, by the host's clock. REQUIRES: the event was made with timing, and is done.
  absl::StatusOr<int64_t> HostTimeOf(Event& event);
  // Millionths by which the device's clock goes faster; 0 until there are two anchors.
  double drift_ppm() const { return drift_ppm_; }

 private:
  DeviceClock(Device& device, const HostClock& host, std::unique_ptr<Stream> stream)
      : device_(device), host_(host), stream_(std::move(stream)) {}
  absl::Status DropAnchor();

  Device& device_;
  const HostClock& host_;
  const std::unique_ptr<Stream> stream_;
  std::unique_ptr<Event> anchor_;
  int64_t anchor_ns_ = 0;
  std::unique_ptr<Event> first_;
  int64_t first_ns_ = 0;
  double drift_ppm_ = 0;
};

}  // namespace graphtree::live

#endif  // GRAPHTREE_PROFILER_LIVE_DEVICE_CLOCK_H_
