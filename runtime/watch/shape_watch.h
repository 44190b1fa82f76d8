// What became of the steps that one shape has served, or that a program has run eagerly, for
// readers on other threads.
//
//   shape tokens=8      why      hit 90, cover 410, warming_up 1, not_recorded 1
//                       times    replay 31 timed, 96 us; record 1 timed, 812 us; ...
//                       usable   hit: nothing stands against it      is_recorded  yes
//
// Threads: the lane's thread writes, any thread reads (counter.h).
#ifndef GRAPHTREE_RUNTIME_WATCH_SHAPE_WATCH_H_
#define GRAPHTREE_RUNTIME_WATCH_SHAPE_WATCH_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

#include "graphs/function_options.h"
#include "graphs/tree_stats.h"
#include "runtime/shapes/key.h"
#include "runtime/shapes/mode.h"
#include "runtime/watch/counter.h"
#include "runtime/why.h"

namespace graphtree {

// By CallRoute. A step that failed has the route kNone.
inline constexpr size_t kRouteCount = static_cast<size_t>(CallRoute::kRanEagerly) + 1;

// Steps that ran eagerly in mode shadow, and that the shape would have served.
struct ShadowCounts {
  Counter steps;
  Counter eager_ns;     // the host's time of these
  Counter ops;          // of the last one's body
  Counter asked_bytes;  // that it allocated
};

// Replays of the shape that were compared with runs of its body.
struct ParityWatch {
  Counter same;
  Counter differs;

  void NoteDifference(const std::string& op, const std::string& text) {
    ++differs;
    const std::lock_guard<std::mutex> lock(mutex);
    last_op = op;
    last_text = text;
  }

  // Seldom, so a lock does no harm.
  mutable std::mutex mutex;
  std::string last_op;
  std::string last_text;
};

struct ShapeWatch {
  struct Time {
    Counter timed;
    Counter ns;
  };

  static constexpr uint32_t kEagerId = ~uint32_t{0};

  ShapeWatch(uint32_t id, const Key& key, Mode mode) : id(id), key(key), mode(mode) {}

  void Note(Why reason, CallRoute route, uint64_t ran_ns) {
    ++why[static_cast<size_t>(reason)];
    if (ran_ns == 0) return;
    Time& time = times[static_cast<size_t>(route)];
    ++time.timed;
    time.ns.Add(ran_ns);
  }

  const uint32_t id;  // among the program's shapes, or kEagerId
  const Key key;      // of what runs eagerly: empty
  const Mode mode;
  FunctionId function = 0;  // of the lane's tree; set before the shape is shown
  std::array<Counter, kWhyCount> why;
  std::array<Time, kRouteCount> times;  // of the steps that were timed
  std::atomic<Why> usable{Why::kNotRecorded};  // as the shape table has it
  std::atomic<bool> is_recorded{false};
  ShadowCounts shadow;
  ParityWatch parity;
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_WATCH_SHAPE_WATCH_H_
