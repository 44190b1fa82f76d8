// What a thread of the process tells the profile: a value that a queue holds (event_queue.h).
#ifndef GRAPHTREE_PROFILER_LIVE_HOST_EVENT_H_
#define GRAPHTREE_PROFILER_LIVE_HOST_EVENT_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/strings/string_view.h"
#include "device/observer_events.h"
#include "device/op_identity.h"

namespace graphtree::live {

// A text that is held without the heap. A longer one is cut off between two characters of UTF-8,
// and ends in "...".
class ShortText {
 public:
  ShortText() = default;
  explicit ShortText(absl::string_view text) {
    size_t kept = std::min(text.size(), kMost);
    if (text.size() > kMost) {
      kept -= kDots;
      while (kept > 0 && IsInside(text[kept])) --kept;
    }
    std::copy_n(text.data(), kept, bytes_.data());
    if (text.size() > kMost) {
      std::fill_n(bytes_.data() + kept, kDots, '.');
      kept += kDots;
    }
    size_ = static_cast<uint8_t>(kept);
  }
  absl::string_view view() const { return {bytes_.data(), size_}; }

  static constexpr size_t kMost = 63;

 private:
  static constexpr size_t kDots = 3;
  // Whether a character of UTF-8 goes on with this byte.
  static bool IsInside(char byte) { return (static_cast<uint8_t>(byte) & 0xc0) == 0x80; }

  std::array<char, kMost> bytes_ = {};
  uint8_t size_ = 0;
};

struct HostEvent {
  enum class Kind : uint8_t {
    kNone,
    kLaunch,      // of a graph, whole: it began and ended
    kOp,          // of one op, whole
    kPhaseBegin,
    kPhaseEnd,
    kMoment,      // of a graph's life
  };

  Kind kind = Kind::kNone;
  Phase phase = Phase::kMatch;
  GraphMoment moment = GraphMoment::kCaptureBegin;
  RunKind run = RunKind::kReplay;
  bool ok = true;
  bool is_timed = false;  // a launch between a pair of events: its time comes later
  int64_t time_ns = 0;  // a launch's begin
  int64_t duration_ns = 0;
  int64_t thread = 0;
  uint64_t launch = 0;
  uint64_t correlation = 0;  // of the activity source; 0: not known
  uint32_t executable = 0;   // likewise
  uint64_t stream = 0;       // any number that tells streams apart
  int64_t device_stream = -1;  // of the activity source; -1: not known
  uint64_t recording = 0;
  std::shared_ptr<const GraphIdentity> graph = nullptr;  // a launch's
  std::unique_ptr<OpIdentity> op = nullptr;              // an op's
  ShortText function = {};
};

}  // namespace graphtree::live

#endif  // GRAPHTREE_PROFILER_LIVE_HOST_EVENT_H_
