// A small trace with a record of every kind: one op that is launched alone, then two replays of a
// graph of three ops on two streams, of which the second is slow.
//
//   host    |record|  |launch|        |launch|   replay 1   |launch|   replay 2
//   stream 3      |norm|                 |copy||attend|        |copy||===attend===|
//   stream 4                                   |norm|                |norm|
#ifndef GRAPHTREE_PROFILER_TRACE_SAMPLE_TRACE_H_
#define GRAPHTREE_PROFILER_TRACE_SAMPLE_TRACE_H_

#include "profiler/trace/records.h"
#include "profiler/trace/tables.h"

namespace graphtree::trace {

inline constexpr int64_t kSampleBase = 1'700'000'000'000'000'000;
inline constexpr uint32_t kSampleGraph = 3;

// Gives the whole of it to the listener. The tables must be those that the listener reads.
void PlaySample(TraceTables& tables, TraceListener& listener);

// `replays` replays of a graph of `ops` kernels on one stream, each kernel `op_ns` long (the n-th
// n ns longer) with `gap_ns` between two, and a launch before each. For benches and statistics.
struct PlainReplays {
  int replays = 10;
  int ops = 3;
  int64_t op_ns = 2000;
  int64_t gap_ns = 500;
  int64_t launch_ns = 4000;   // the call on the host
  int64_t latency_ns = 6000;  // from its begin to the first op
  int64_t pause_ns = 3000;    // from the last op to the next call
  int slow_replay = -1;       // its ops take twice as long
  // Added to the duration of an op, by replay and op.
  int64_t (*noise)(int replay, int op) = nullptr;
};
void PlayReplays(const PlainReplays& plan, TraceTables& tables, TraceListener& listener);

}  // namespace graphtree::trace

#endif  // GRAPHTREE_PROFILER_TRACE_SAMPLE_TRACE_H_
