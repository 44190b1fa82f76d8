// ActivitySource: whoever can tell of a device's work, while somebody listens. It comes and goes at
// any time, beside threads that launch.
//
//   detached --Attach--> attaching --> attached --Detach--> detaching --> detached
//                            |             ^                    |
//                            | fails       | Attach             | launches of others go on
//                            v             |                    v
//                         detached         +---------------- lingering --they rest, or force-->
//
// Detached costs nothing. Lingering: the listener has heard all and nothing is recorded any more,
// but the tool behind could not leave without harm, as somebody else launches graphs that no gate
// holds back. Each launch costs more until then. It leaves by itself once they rest (Poll), or when
// it is told to with force.
//
// Threads: Attach, Detach, Flush and Poll may be called on any thread and wait for one another; not
// from inside of a listener or of a launch, nor while holding a lock that the listener, or a thread
// that launches, may want. IdOf, CorrelationOf, NowNs and state are
// quick and may be called anywhere, also inside of an observer's event.
#ifndef GRAPHTREE_PROFILER_ACTIVITY_ACTIVITY_SOURCE_H_
#define GRAPHTREE_PROFILER_ACTIVITY_ACTIVITY_SOURCE_H_

#include <chrono>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/graph.h"
#include "device/stream.h"
#include "profiler/activity/activity.h"

namespace graphtree::activity {

enum class SourceState : uint8_t { kDetached, kAttaching, kAttached, kDetaching, kLingering };

// "detached", ...
const char* NameOf(SourceState state);

struct AttachOptions {
  // The memory for records is allocated when it is needed, and never more than this: beyond it
  // records are dropped and counted.
  uint64_t buffer_bytes = uint64_t{4} << 20;
  uint32_t most_buffers = 16;
  // How long launches that are under way are waited for.
  std::chrono::nanoseconds patience = std::chrono::seconds(10);
};

enum class DetachHow : uint8_t {
  kWhenSafe,  // linger if launches of others go on
  kForce,     // also beside them, which may break their work: then the context is lost
};

struct DetachOptions {
  DetachHow how = DetachHow::kWhenSafe;
  std::chrono::nanoseconds patience = std::chrono::seconds(10);
};

class ActivitySource {
 public:
  virtual ~ActivitySource() = default;
  ActivitySource(const ActivitySource&) = delete;
  ActivitySource& operator=(const ActivitySource&) = delete;

  // "CUPTI 13.0 (libcupti.so.13)".
  virtual std::string name() const = 0;
  virtual SourceState state() const = 0;

  // From here on `listener` hears of all that begins on the device; it must live until Detach has
  // returned. An error says who or what is in the way, and everything is as it was before.
  virtual absl::Status Attach(ActivityListener* listener, const AttachOptions& options) = 0;

  // After it has returned, whatever it returned, the listener hears nothing more, and has heard of
  // all that ended before. OK: detached. Unavailable: it lingers, and the message says why and what
  // that costs. Any other error: detached, but something went wrong on the way.
  virtual absl::Status Detach(const DetachOptions& options) = 0;

  // The listener has heard of all that ended before the call.
  virtual absl::Status Flush() = 0;

  // Detaches what lingers if the launches of others rest; else costs one load. Returns the state.
  virtual SourceState Poll() = 0;

  // Now in the clock of the records; an error if there is none now (detached).
  virtual absl::StatusOr<int64_t> NowNs() = 0;

  // The id by which the records know the executable; 0 if it is not known, or of another kind of
  // device, or nothing is attached. The same for as long as the executable lives.
  virtual uint32_t IdOf(const Executable& executable) = 0;

  // The number by which the records know the stream; -1 if it is not known, likewise.
  virtual int64_t IdOf(const Stream& stream) = 0;

  // Of the executable's last launch while attached; 0 if it is not known.
  virtual uint64_t CorrelationOf(const Executable& executable) const = 0;

 protected:
  ActivitySource() = default;
};

}  // namespace graphtree::activity

#endif  // GRAPHTREE_PROFILER_ACTIVITY_ACTIVITY_SOURCE_H_
