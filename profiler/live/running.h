// A profile that runs: who watches, who listens, and the thread that puts the trace together.
//
//   every round   the queue is emptied, timed launches are read
//   now and then  the full mode is kept, or tried again (full_mode.h)
//   each second   what the listener holds goes out
//   the end       the device's records end first, then the launches: so each op finds its launch
//
// Threads: Start, Stop and AwaitWindow by one at a time; its own thread does the rounds, the
// source's thread brings ops, and a third one asks counters (counter_asker.h).
#ifndef GRAPHTREE_PROFILER_LIVE_RUNNING_H_
#define GRAPHTREE_PROFILER_LIVE_RUNNING_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "profiler/activity/activity.h"
#include "profiler/live/counter_asker.h"
#include "profiler/live/event_queue.h"
#include "profiler/live/full_mode.h"
#include "profiler/live/host_clock.h"
#include "profiler/live/host_event.h"
#include "profiler/live/host_watch.h"
#include "profiler/live/light_timer.h"
#include "profiler/live/trace_maker.h"
#include "profiler/profile_options.h"

namespace graphtree::live {

class Running : private activity::ActivityListener {
 public:
  static absl::StatusOr<std::unique_ptr<Running>> Start(ProfileOptions options);
  ~Running() override;

  ProfileMode mode() const { return mode_.load(std::memory_order_relaxed); }
  bool AwaitWindow(std::chrono::nanoseconds patience);
  // `waits`: for work that is under way on the device, whose time is missing else.
  ProfileReport Stop(bool waits);

 private:
  using Time = std::chrono::steady_clock::time_point;

  explicit Running(ProfileOptions options);

  void BeginTrace();
  // Who is there, and what they wish to hear, follows the mode.
  void Watch(ProfileMode mode);
  absl::Status StartThreads();
  absl::Status TimeLaunches();
  // Where the full mode cannot be had.
  void DoWithLess(const absl::Status& why);

  void Loop();
  void Round(Time now);
  void BecomeFull(Time now);
  bool IsWindowOver(Time now) const;
  void EndTrace();
  void Detach();
  void StopCounters();
  void DrainLocked();
  trace::TraceNotes NotesLocked() const;

  void Op(const activity::Activity& op) override;
  void Dropped(uint64_t records) override;
  void Note(absl::string_view remark) override;

  const ProfileOptions options_;
  const HostClock clock_;
  EventQueue<HostEvent> queue_;
  HostWatch watch_;
  std::unique_ptr<LightTimer> timer_;
  std::atomic<ProfileMode> mode_;
  const Time began_;
  Time next_flush_;

  std::mutex making_;
  // Guarded by making_:
  TraceMaker maker_;
  uint64_t dropped_ = 0;
  std::string why_not_full_;
  std::vector<std::string> remarks_;

  FullMode full_;
  std::atomic<bool> waits_{true};

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_:
  bool is_stopped_ = false;
  bool is_over_ = false;

  CounterAsker counters_;
  std::thread thread_;
};

}  // namespace graphtree::live

#endif  // GRAPHTREE_PROFILER_LIVE_RUNNING_H_
