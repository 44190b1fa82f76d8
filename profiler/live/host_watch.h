// HostWatch: what trees tell of launches and phases, put into a queue with its time.
//
//   a thread that launches        replay begin --> [begun 81] ... replay end --> launch 81: when,
//                                                                how long, which graph, correlation
//   the profile's thread                                         takes it out (trace_maker.h)
//
// A launch is one value in the queue: its begin is remembered by its number until it ends. A begin
// takes a free place near the number's hash, and its end gives the place back; both are on the
// launch's own thread. Where so many launches are under way at once that no place near is free, or
// where the queue is full, what is lost is counted.
//
// Threads: trees call on all of theirs. Cost of a replay that is told: two reads of the clock, one
// compare-and-swap, and in the light mode two events.
#ifndef GRAPHTREE_PROFILER_LIVE_HOST_WATCH_H_
#define GRAPHTREE_PROFILER_LIVE_HOST_WATCH_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "device/observer.h"
#include "device/observer_events.h"
#include "device/stream.h"
#include "profiler/activity/activity_source.h"
#include "profiler/live/event_queue.h"
#include "profiler/live/host_clock.h"
#include "profiler/live/host_event.h"
#include "profiler/live/light_timer.h"
#include "profiler/live/thread_numbers.h"

namespace graphtree::live {

class HostWatch : public Observer {
 public:
  struct Needs {
    const HostClock& clock;
    EventQueue<HostEvent>& queue;
    // What the device tells of launches; null without.
    activity::ActivitySource* source = nullptr;
  };
  explicit HostWatch(const Needs& needs) : needs_(needs) {}

  // Launches are timed by `timer` from now on, or, if it is null, no more. It must outlive this.
  void TimeWith(LightTimer* timer) { timer_.store(timer, std::memory_order_release); }

  // REQUIRES: it watches nobody now.
  void set_wishes(const Wishes& wishes);
  Wishes wishes() const override { return wishes_; }
  void Saw(const GraphEvent& event) override;
  void SawOp(const OpEvent& event) override;
  void SawPhase(const PhaseEvent& event) override;

  uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }
  uint64_t replays() const { return replays_.load(std::memory_order_relaxed); }

 private:
  // Places for launches that are under way.
  static constexpr size_t kUnderWay = 1024;
  static constexpr size_t kTried = 32;
  struct Begun {
    std::atomic<uint64_t> launch{0};  // 0: free
    int64_t time_ns = 0;              // of the thread that launches, as is what follows
    bool is_timed = false;
  };

  static size_t PlaceOf(uint64_t launch) { return launch * 0x9e3779b97f4a7c15u >> 54; }
  void Begin(uint64_t launch, Stream* stream);
  // The launch's begin and duration; false if its begin found no place.
  bool End(uint64_t launch, Stream* stream, bool ok, HostEvent* event);
  void SawReplayEnd(const GraphEvent& event);
  int64_t DeviceStreamOf(const Stream* stream) const;
  void Put(HostEvent event);

  const Needs needs_;
  Wishes wishes_;
  std::atomic<LightTimer*> timer_{nullptr};
  std::atomic<uint64_t> lost_{0};
  std::atomic<uint64_t> replays_{0};
  ThreadNumbers threads_;
  std::array<Begun, kUnderWay> begun_;
};

}  // namespace graphtree::live

#endif  // GRAPHTREE_PROFILER_LIVE_HOST_WATCH_H_
