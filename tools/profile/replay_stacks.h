// Replays of a trace laid over one another, op by op, for a page that shows which one was slow.
//
//   kind "decode, tree node 5"     ops   copy   norm   attend
//     replay 0                           |--|   |---|  |-----|
//     replay 1                           |--|   |---|  |--------------|      the slow one
//
// Replays are of one kind when they belong together (TraceStatistics) and run the same ops in the
// same order. Where there are more than a page can hold, the slowest stay, and of the others an
// even choice; how many there were is told. Pure.
#ifndef GRAPHTREE_TOOLS_PROFILE_REPLAY_STACKS_H_
#define GRAPHTREE_TOOLS_PROFILE_REPLAY_STACKS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "profiler/trace/records.h"
#include "profiler/trace/store.h"
#include "profiler/trace/tables.h"

namespace graphtree::profile {

struct StackedReplay {
  uint64_t number = 0;       // among those of its kind, by time, from 0
  int64_t first_ns = 0;      // its first op's begin
  int64_t wall_ns = 0;
  int64_t latency_ns = trace::kUnknown;  // from the launch call's begin
  std::vector<int64_t> starts = {};      // of its ops, from first_ns
  std::vector<int64_t> durations = {};
};

struct StackedOp {
  trace::IdentityId identity = 0;
  uint32_t local_node = 0;
  uint32_t stream = 0;
};

struct ReplayKind {
  std::string name;
  std::vector<StackedOp> ops;          // by their place in the graph, else by their begins
  std::vector<StackedReplay> replays;  // by time
  uint64_t count = 0;                  // with those that were left out
};

// Largest total time first. `most_cells`: of ops times replays, of all kinds together.
std::vector<ReplayKind> StackReplays(const trace::TraceStore& store,
                                     const trace::TraceTables& tables, size_t most_cells);

}  // namespace graphtree::profile

#endif  // GRAPHTREE_TOOLS_PROFILE_REPLAY_STACKS_H_
