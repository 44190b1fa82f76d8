// What a lane notes of its steps: the last thousand, counts by route and reason, how long they
// took.
//
//   BeginTiming ---- the step runs ---- Note
//
// A look at the clock costs as much as all the rest of it, so steps that are expected to replay are
// timed now and then: after 8 to 23 others, in an order that no rhythm of the caller's follows. All
// others are timed, because they take so long that it does not matter. A clock that throws is an
// error of the step, which TakeClockFailure has.
//
// Threads: the lane's thread notes, any thread reads. Fixed memory, no lock. Cost: below 20 ns a
// step, the clock included.
#ifndef GRAPHTREE_RUNTIME_WATCH_LANE_WATCH_H_
#define GRAPHTREE_RUNTIME_WATCH_LANE_WATCH_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "graphs/tree_stats.h"
#include "runtime/watch/clock.h"
#include "runtime/watch/counter.h"
#include "runtime/watch/durations.h"
#include "runtime/watch/shape_watch.h"
#include "runtime/watch/step_log.h"
#include "runtime/why.h"

namespace graphtree {

struct LaneCounts {
  Counter steps;
  Counter recordings;
  Counter failed_recordings;
  Counter failed_for_commit;  // of recordings that are not launched, whoever asked for them
  Counter staged_bytes;
  Counter parked_refused;  // steps that were begun while their program was parked
  // Replays that were compared with runs of their bodies, or were to be.
  Counter parity_same;
  Counter parity_differs;
  Counter parity_skipped;
};

// What a lane does at this moment.
struct LaneDoing {
  enum class Kind : uint8_t { kNothing, kStep, kRecording };  // a warm-up is part of a recording
  Kind kind = Kind::kNothing;
  uint32_t program = 0;                   // its number among the watched (watch.h)
  uint32_t shape = ShapeWatch::kEagerId;  // by id
};

class LaneWatch {
 public:
  static constexpr int64_t kNotTimed = -1;

  // `is_on` false: steps are counted, and neither timed nor kept.
  LaneWatch(ClockNs clock, bool is_on) : clock_(std::move(clock)), is_on_(is_on) {}
  LaneWatch(const LaneWatch&) = delete;
  LaneWatch& operator=(const LaneWatch&) = delete;

  // Says what the lane does, for as long as it lives.
  class Doing {
   public:
    Doing(LaneWatch& watch, LaneDoing doing) : doing_(watch.doing_) {
      doing_.Set(uint64_t{doing.shape} << 32 | uint64_t{doing.program} << 2 |
                 static_cast<uint64_t>(doing.kind));
    }
    ~Doing() { doing_.Set(0); }
    Doing(const Doing&) = delete;
    Doing& operator=(const Doing&) = delete;

   private:
    Counter& doing_;
  };
  LaneDoing doing() const {
    const uint64_t word = doing_.get();
    return {static_cast<LaneDoing::Kind>(word & 3), static_cast<uint32_t>(word) >> 2,
            static_cast<uint32_t>(word >> 32)};
  }

  // When the step began, or kNotTimed. `expects_replay`: it is timed only now and then.
  int64_t BeginTiming(bool expects_replay) {
    if ((expects_replay && --until_timed_ > 0) || !is_on_) return kNotTimed;
    mix_ = mix_ * 6364136223846793005 + 1442695040888963407;
    until_timed_ = 8 + static_cast<int32_t>(mix_ >> 60);
    Look();
    return has_looked_ ? now_ns_ : kNotTimed;
  }
  // The step has run; of `step` when and how long is set here. `padded_tokens`: how many more than
  // the caller's it was run for.
  void Note(LoggedStep& step, int64_t began_ns, uint64_t padded_tokens, ShapeWatch& shape) {
    step.ran_ns = 0;
    if (began_ns != kNotTimed) Look();
    if (began_ns != kNotTimed && has_looked_) {
      step.ran_ns = now_ns_ > began_ns ? static_cast<uint64_t>(now_ns_ - began_ns) : 1;
      times_[static_cast<size_t>(step.route)].Add(step.ran_ns);
    }
    step.at_ns = now_ns_;
    ++counts_[static_cast<size_t>(step.route)][static_cast<size_t>(step.why)];
    if (padded_tokens > 0) padded_tokens_.Add(padded_tokens);
    shape.Note(step.why, step.route, step.ran_ns);
    if (is_on_) log_.Note(step);
  }

  // That the clock has thrown since the last time; OK if it has not. By the lane's thread.
  absl::Status TakeClockFailure() {
    return clock_failure_.ok() ? absl::OkStatus()
                               : std::exchange(clock_failure_, absl::OkStatus());
  }

  // Strict has refused the step: it is kept, and no step that ran.
  void NoteRefused(LoggedStep step) {
    step.route = CallRoute::kNone;
    step.at_ns = now_ns_;
    ++refused_[static_cast<size_t>(step.why)];
    if (is_on_) log_.Note(step);
  }

  const StepLog& log() const { return log_; }
  uint64_t refused(Why why) const { return refused_[static_cast<size_t>(why)].get(); }
  uint64_t count(CallRoute route, Why why) const {
    return counts_[static_cast<size_t>(route)][static_cast<size_t>(why)].get();
  }
  // With any route.
  uint64_t count(Why why) const;
  // Of the steps that were timed.
  DurationCounts times(CallRoute route) const { return times_[static_cast<size_t>(route)].get(); }
  uint64_t padded_tokens() const { return padded_tokens_.get(); }

  LaneCounts counts;  // by the lane's thread
  std::atomic<uint64_t> lent_bytes{0};  // by any (lending.h)

 private:
  void Look();

  const ClockNs clock_;
  const bool is_on_;
  int32_t until_timed_ = 0;
  uint64_t mix_ = 1;
  int64_t now_ns_ = 0;  // when the clock was last looked at
  bool has_looked_ = false;  // the last look went well
  absl::Status clock_failure_;
  std::array<std::array<Counter, kWhyCount>, kRouteCount> counts_;
  std::array<Counter, kWhyCount> refused_;
  Counter padded_tokens_;
  std::array<Durations, kRouteCount> times_;
  Counter doing_;  // a LaneDoing
  StepLog log_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_WATCH_LANE_WATCH_H_
