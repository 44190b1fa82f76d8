// Compares two traces op by op: what became slower, and what only looks so.
//
// An op is called slower or faster when all of these hold, else it is the same:
//   - its median changed by at least `least_change`;
//   - durations of the one trace lie above those of the other more often than chance explains (the
//     rank test of Mann and Whitney, with the number of ops that are compared taken into account);
//   - the change is more than twice what the median wanders by inside each of the two traces, from
//     stretch to stretch of time (batch_medians.h). Where a trace is too short for stretches, it is
//     more than the middle half of its durations is wide.
// So a clock that drifts, or a neighbour that comes and goes, is not called a difference. With
// fewer than `least_count` durations nothing is said.
//
// Ops are the same op when their name, function, program, shape, scope, input sizes and grid are,
// and their place in the graph; where places differ, all of one name and so on are taken together.
// Pure.
#ifndef GRAPHTREE_TOOLS_PROFILE_COMPARE_H_
#define GRAPHTREE_TOOLS_PROFILE_COMPARE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "profiler/stats/batch_medians.h"
#include "profiler/stats/distribution.h"
#include "profiler/stats/trace_statistics.h"

namespace graphtree::profile {

enum class Verdict { kSame, kSlower, kFaster, kTooFew, kOnlyBefore, kOnlyAfter };

const char* NameOf(Verdict verdict);

struct CompareLimits {
  double least_change = 0.02;
  uint64_t least_count = 5;
  double most_chance = 0.01;  // that one op of all is called different though none is
};

// One side of a comparison.
struct Sample {
  trace::Distribution times = {};
  std::vector<double> batches = {};  // medians of stretches of time; empty where it is too short
};

struct Compared {
  std::string name = {};   // of the op or replay
  std::string place = {};  // where it belongs; may be empty
  Sample before = {}, after = {};
  Verdict verdict = Verdict::kSame;
  double change = 0;  // of the median: 0.1 is ten per cent more
  double cost = 0;    // ns that the change makes in the later trace, all its runs together
};

struct Comparison {
  std::vector<Compared> ops;      // largest cost first, of either sign
  std::vector<Compared> replays;  // by wall time, likewise
};

Comparison Compare(const trace::TraceStatistics& before, const trace::TraceStatistics& after,
                   const CompareLimits& limits);

// `compared`: how many ops are compared at once.
Verdict Judge(const Sample& before, const Sample& after, size_t compared,
              const CompareLimits& limits);

}  // namespace graphtree::profile

#endif  // GRAPHTREE_TOOLS_PROFILE_COMPARE_H_
