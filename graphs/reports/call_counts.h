// What became of a tree's calls, by function and by edge: which function came after which on a
// path.
//
//   ''     -> prefill      12 recorded, 340 replays
//   prefill -> decode       1 recorded, 9120 replays
//   decode  -> sample       80 eager: excluded 80
//
// A replay is counted by its node, as ever, and summed up here when somebody asks, or when the node
// goes. So a hit pays nothing, and what was evicted still counts.
//
// Thread rule: like a container. A tally has one entry for each edge; the edges of a function that
// is unregistered go with it.
#ifndef GRAPHTREE_GRAPHS_REPORTS_CALL_COUNTS_H_
#define GRAPHTREE_GRAPHS_REPORTS_CALL_COUNTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graphs/reason.h"

namespace graphtree {

struct CallCounts {
  uint64_t replays = 0;
  uint64_t recordings = 0;
  uint64_t warm_ups = 0;
  uint64_t eager = 0;
  ReasonCounts reasons = {};

  void Add(const CallCounts& other);
};

// Stands for the function before, where a path begins.
inline constexpr uint32_t kPathBegin = ~uint32_t{0};

// A call of function `to`, made while `from` is the last function on the path.
struct CallEdge {
  uint32_t from = kPathBegin;
  uint32_t to = 0;
  friend bool operator==(CallEdge a, CallEdge b) { return a.from == b.from && a.to == b.to; }
  friend bool operator<(CallEdge a, CallEdge b) {
    return a.from != b.from ? a.from < b.from : a.to < b.to;
  }
  template <typename H>
  friend H AbslHashValue(H hash, CallEdge edge) {
    return H::combine(std::move(hash), edge.from, edge.to);
  }
};

// The counts of one edge. `from` is empty where a path begins.
struct EdgeStats {
  CallEdge edge;
  std::string from;
  std::string to;
  CallCounts counts;
};

struct FunctionStats {
  uint32_t id = 0;
  std::string name;
  uint64_t shapes = 0;  // that are known now
  CallCounts counts;    // summed over the edges that lead to it
};

class CallTally {
 public:
  // Good until another edge is asked for.
  CallCounts& On(CallEdge edge) { return counts_[edge]; }
  void Count(CallEdge edge, Reason reason, uint64_t times) {
    counts_[edge].reasons[static_cast<size_t>(reason)] += times;
  }
  void Forget(uint32_t function);
  const absl::flat_hash_map<CallEdge, CallCounts>& all() const { return counts_; }

 private:
  absl::flat_hash_map<CallEdge, CallCounts> counts_;
};

// "3 recorded, 1 warm-up, 80 eager, 120 replays: excluded 80"; what is 0 is left out.
std::string ToString(const CallCounts& counts);
// A line for each edge, ending in a newline each: "prefill -> decode  ...".
std::string DrawEdges(const std::vector<EdgeStats>& edges);

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_REPORTS_CALL_COUNTS_H_
