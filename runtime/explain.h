// Why steps ran as they did, for people: the last steps one by one, and for each program what its
// shapes have served, what was not replayed, and what would make it replay.
//
//   std::cout << ToString(runtime->Explain());
//
//   decode, device 0 lane 0: 5120 steps, 5012 replayed (97.9 %)
//     tokens=8   recorded      4211 hit, 801 cover, 1 warming_up, 1 not_recorded   replay 3.1 us
//     tokens=64  not recorded  ...
//     not replayed:
//       106 above_ceiling   tokens up to 600, where the largest shape has 64: add a shape with
//                           tokens=600
//   the last warnings:
//     ...
//
// Plain data, copied out: it shows the moment at which it was taken.
#ifndef GRAPHTREE_RUNTIME_EXPLAIN_H_
#define GRAPHTREE_RUNTIME_EXPLAIN_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graphs/reason.h"
#include "graphs/reports/call_counts.h"
#include "graphs/tree_stats.h"
#include "runtime/shapes/key.h"
#include "runtime/shapes/mode.h"
#include "runtime/why.h"

namespace graphtree {

struct ExplainOptions {
  std::string program = {};  // only this one; empty: all
  size_t steps = 1000;       // so many of the last, at most
  // What the trees count by function and by edge. A look at them waits for the call that runs, as
  // Tree::edge_stats does; all else waits for nobody.
  bool trees = true;
};

// "replayed", "recorded", "warmed up", "eager", "failed": how a step ran.
const char* RouteName(CallRoute route);

// How long the steps with one route took on the host, of those that were timed: all but replays,
// and one replay of 15 or so.
struct ExplainedTime {
  uint64_t timed = 0;
  uint64_t ns = 0;

  double mean_us() const { return timed == 0 ? 0 : static_cast<double>(ns) / 1e3 / timed; }
};
// By CallRoute.
using ExplainedTimes = std::array<ExplainedTime, 5>;

// What replaying would bring, of steps that ran eagerly in mode shadow and that the shape would
// have served.
struct ShadowEstimate {
  uint64_t steps = 0;
  double eager_us = 0;   // the host's time of such a step
  double replay_us = 0;  // and of its replay, as it is estimated
  uint64_t ops = 0;      // of its graph
  uint64_t executable_bytes = 0;
  uint64_t pool_bytes = 0;  // at most: what the body allocates, without reuse

  double saved_us() const { return eager_us > replay_us ? eager_us - replay_us : 0; }
};

// Replays of a shape that were compared with runs of its body.
struct ExplainedParity {
  uint64_t same = 0;
  uint64_t differs = 0;
  std::string last_op = {};    // of the last difference: the first op that differed
  std::string last_text = {};  // and where
};

struct ExplainedShape {
  Key key = {};
  Mode mode = Mode::kFull;
  bool is_recorded = false;
  Why usable = Why::kHit;  // kHit: nothing stands against it
  WhyCounts why = {};
  ExplainedTimes times = {};
  ShadowEstimate shadow = {};
  ExplainedParity parity = {};
};

// Steps of a program that were not replayed, for one reason.
struct ExplainedReason {
  Why why = Why::kUncovered;
  uint64_t steps = 0;
  std::string advice;  // what would make them replay
};

struct ExplainedProgram {
  std::string name;
  uint32_t device = 0;
  uint32_t lane = 0;
  uint64_t steps = 0;
  uint64_t replays = 0;
  std::vector<ExplainedShape> shapes = {};     // in the order in which they were added
  ExplainedTimes eager_times = {};             // of steps that no shape served
  std::vector<ExplainedReason> reasons = {};   // the most frequent first
  // Tags that are parked now, so that its steps are refused (parking.h).
  std::vector<std::string> parked_by = {};
};

struct ExplainedStep {
  uint32_t device = 0;
  uint32_t lane = 0;
  uint64_t number = 0;  // among the lane's
  int64_t at_ns = 0;    // when the lane last looked at the clock: up to 23 replays before the step
  std::string program;
  Key key = {};  // as the caller gave it
  Why why = Why::kHit;
  std::optional<KeyField> field = std::nullopt;  // that stands against every shape
  CallRoute route = CallRoute::kNone;
  std::optional<Reason> reason = std::nullopt;  // the tree's, of what was no replay
  std::optional<Key> shape = std::nullopt;      // that served it, or would have
  uint64_t ran_ns = 0;                          // on the host; 0: not timed
  std::string sentence;
};

struct ExplainedTree {
  uint32_t device = 0;
  uint32_t lane = 0;
  std::vector<FunctionStats> functions = {};
  std::vector<EdgeStats> edges = {};
  bool is_from_before = false;  // as LaneMetrics has it
};

struct Explanation {
  std::vector<ExplainedProgram> programs = {};
  std::vector<ExplainedStep> steps = {};  // the oldest first, lane by lane
  std::vector<ExplainedTree> trees = {};
  // What the runtime has warned of, the last ones; with a program named, those that name it.
  std::vector<std::string> warnings = {};
};

// For people: the programs, and the last `steps` steps.
std::string ToString(const Explanation& explanation, size_t steps = 10);

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_EXPLAIN_H_
