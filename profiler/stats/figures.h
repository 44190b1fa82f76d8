// What a trace comes to in rows that fit a screen: for each function, each tree node and each op,
// how often, how long, and how much of what the card's memory can move.
//
//   level     of        count  min  mean  p50  p99  gaps  launch to start  bytes a second
//   function  decode      812  ...                        its replays
//   node      decode, 5   812                             replays of that recording
//   op        attend     9744                             itself, wherever it runs
//
// Gaps: of an op, in which its stream did nothing before it; of a replay, in which none of its ops
// ran. Bytes are those that launches declare, and that copies move: what is not declared is not in.
//
// Plain values; the functions have no state.
#ifndef GRAPHTREE_PROFILER_STATS_FIGURES_H_
#define GRAPHTREE_PROFILER_STATS_FIGURES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "profiler/stats/trace_statistics.h"

namespace graphtree::trace {

enum class FigureLevel : uint8_t { kFunction, kNode, kOp };

// "function", "node", "op".
const char* NameOf(FigureLevel level);

struct FigureRow {
  FigureLevel level = FigureLevel::kOp;
  std::string function = {};  // empty: not known
  std::string op = {};        // empty for what is none
  std::string program = {};
  std::string shape = {};
  int64_t tree_node = kUnknown;
  uint64_t count = 0;
  double min_ns = 0, mean_ns = 0, p50_ns = 0, p99_ns = 0, sum_ns = 0;
  double gap_ns = 0;      // on average
  double latency_ns = 0;  // from the launch to the start, on average; 0: not known
  double bytes_per_second = 0;  // 0: not known
  double share_of_limit = 0;    // of what the card's memory moves at most; 0: not known
};

// Of each level those with most time first. `limit` is DeviceInfo::memory_bytes_per_second.
std::vector<FigureRow> FiguresOf(const TraceStatistics& statistics, uint64_t limit);

// A table for a terminal, with at most so many rows of each level.
std::string FiguresText(const std::vector<FigureRow>& rows, size_t most_rows);

// One object for each row, in an array.
std::string FiguresJson(const std::vector<FigureRow>& rows);

}  // namespace graphtree::trace

#endif  // GRAPHTREE_PROFILER_STATS_FIGURES_H_
