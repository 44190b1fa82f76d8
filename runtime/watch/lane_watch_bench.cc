// What it costs to note a step, beside counting alone: paid at every step.
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "graphs/tree_stats.h"
#include "runtime/shapes/key.h"
#include "runtime/shapes/mode.h"
#include "runtime/watch/clock.h"
#include "runtime/watch/lane_watch.h"
#include "runtime/watch/shape_watch.h"
#include "runtime/watch/step_log.h"
#include "runtime/why.h"
#include "tools/benching/row.h"
#include "tools/benching/timing.h"

namespace graphtree::bench {
namespace {

class Noted {
 public:
  explicit Noted(bool is_on) : watch_(SteadyClockNs, is_on) {
    for (int32_t i = 0; i < kKeys; ++i) keys_[i] = {.tokens = i + 1, .requests = 8};
  }

  void Step() {
    const LaneWatch::Doing doing(watch_, {LaneDoing::Kind::kStep, 0, 3});
    const int64_t began_ns = watch_.BeginTiming(/*expects_replay=*/true);
    LoggedStep step = {.key = keys_[turn_++ % kKeys],
                       .why = Why::kCover,
                       .route = CallRoute::kReplayed,
                       .shape = 3};
    watch_.Note(step, began_ns, 5, shape_);
    ClobberMemory();
  }
  const LaneWatch& watch() const { return watch_; }

 private:
  // A step's key was written long before the step is noted.
  static constexpr int32_t kKeys = 64;

  LaneWatch watch_;
  ShapeWatch shape_{3, {.tokens = 8}, Mode::kFull};
  Key keys_[kKeys];
  uint32_t turn_ = 0;
};

// Reads all of it ten times a second while it lives.
class Reader {
 public:
  explicit Reader(const LaneWatch& watch) : thread_([this, &watch] { Read(watch); }) {}
  ~Reader() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      is_over_ = true;
    }
    ends_.notify_one();
    thread_.join();
  }

 private:
  void Read(const LaneWatch& watch) {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!ends_.wait_for(lock, std::chrono::milliseconds(100), [this] { return is_over_; })) {
      DoNotOptimize(watch.log().Last().size());
      DoNotOptimize(watch.times(CallRoute::kReplayed).count());
    }
  }

  std::mutex mutex_;
  std::condition_variable ends_;
  bool is_over_ = false;
  std::thread thread_;
};

// Against nothing at all, as a server without counts would have it.
GRAPHTREE_ROW(Note, {.name = "runtime.metrics.note",
                     .ours = "a step is counted, kept, and timed now and then",
                     .goal = "value <= 20 ns"}) {
  Noted on(true);
  return Measure([&] { on.Step(); });
}

GRAPHTREE_ROW(NoteBesideReader, {.name = "runtime.metrics.note.reader",
                                 .ours = "the same beside a reader of it all at 10 Hz",
                                 .goal = "value <= 20 ns"}) {
  Noted on(true);
  const Reader reader(on.watch());
  return Measure([&] { on.Step(); });
}

GRAPHTREE_ROW(NoteOff, {.name = "runtime.metrics.off",
                        .ours = "a step is counted alone (RuntimeOptions::watches_steps)",
                        .goal = "value <= 15 ns"}) {
  Noted off(false);
  return Measure([&] { off.Step(); });
}

}  // namespace
}  // namespace graphtree::bench
