// Profile: what a running process does, as a trace. It begins and ends at any time, beside threads
// that replay.
//
//   auto profile = Profile::Start({.mode = ProfileMode::kFull, .device = device,
//                                  .source = source, .tables = tables, .listener = writer});
//   ...                                    // trees go on
//   ProfileReport report = (*profile)->Stop();
//
//   trees  --HostWatch-->  queue  --.
//   light: pairs of events ----------+--> TraceMaker --> the listener: a file, a store, statistics
//   full: an ActivitySource --------'
//
//   mode     what is in the trace                         what it takes
//   host     each launch and phase, on the host           nothing
//   light    one launch in so many, with its device time  events on the launch's stream
//   full     every op of every launch, by name            CUPTI, which may be held by somebody else
//
// Where the full mode cannot begin, the profile is a light one, says why, and tries again each
// second. Trees of all devices are watched; `device` is the one whose launches a light profile
// times, which must be open until the profile has stopped.
//
// One profile runs at a time in a process.
//
// Bounded: the queue has so many places, buffers of the device's records are fixed, tables and
// joins have limits. What found no room is counted, and stands in the trace's notes.
//
// Threads: Start, Stop and the rest are called by one thread at a time. The listener is called
// under a lock, on threads of the profile's.
#ifndef GRAPHTREE_PROFILER_PROFILE_H_
#define GRAPHTREE_PROFILER_PROFILE_H_

#include <chrono>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/device.h"
#include "profiler/profile_options.h"

namespace graphtree {

namespace live {
class Running;
}  // namespace live

class Profile {
 public:
  // FailedPrecondition if a profile runs already; InvalidArgument for a window of nothing and for
  // options that say nothing sensible.
  static absl::StatusOr<std::unique_ptr<Profile>> Start(ProfileOptions options);
  // Stops, if nobody did.
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  // The mode that is in force now.
  ProfileMode mode() const;
  // Whether the window is over. Waits for that up to `patience`.
  bool AwaitWindow(std::chrono::nanoseconds patience);
  // OK, or why it cannot end here: inside work of its device, for which the end waits; or in a
  // process that was forked from the profile's, which has none of its threads.
  absl::Status MayStop() const;
  bool IsForked() const;
  // Ends the trace. Called again, it returns the same. Where it may not, inside of work it waits
  // for nothing that is under way on the device, and in a forked process it only forgets the
  // profile, of which the report's remarks tell.
  ProfileReport Stop();

 private:
  Profile(std::unique_ptr<live::Running> running, const Device* device);

  std::unique_ptr<live::Running> running_;  // null once it is stopped
  const Device* const device_;              // null: none
  const int64_t process_;
  ProfileReport report_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_PROFILER_PROFILE_H_
