// What `profile show` says of a trace, as tables for people and as JSON for scripts.
#ifndef GRAPHTREE_TOOLS_PROFILE_SHOW_TEXT_H_
#define GRAPHTREE_TOOLS_PROFILE_SHOW_TEXT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "profiler/stats/distribution.h"
#include "profiler/stats/trace_statistics.h"
#include "profiler/trace/records.h"
#include "tools/memory/text.h"

namespace graphtree::profile {

enum class OpOrder { kTotal, kP99, kGap, kCount };

struct ShowOptions {
  size_t most_rows = 20;  // of each table
  OpOrder order = OpOrder::kTotal;
  std::string function;  // only what belongs to it; empty: all
};

std::string ShowText(const std::string& name, const trace::TraceStatistics& statistics,
                     const ShowOptions& options, const memory::Look& look);
std::string ShowJson(const trace::TraceStatistics& statistics, const ShowOptions& options);

// The rows that the options ask for, in their order.
std::vector<const trace::OpRow*> ShownOps(const trace::TraceStatistics& statistics,
                                          const ShowOptions& options);
// Those with most time first.
std::vector<const trace::ReplayRow*> ShownReplays(const trace::TraceStatistics& statistics,
                                                  const ShowOptions& options);

// All ops of a function, wherever they ran.
struct FunctionSum {
  trace::TextId function = 0;
  trace::Distribution duration;  // of its ops
  trace::Distribution wall;      // of its replays
};
std::vector<FunctionSum> FunctionSums(const trace::TraceStatistics& statistics);

}  // namespace graphtree::profile

#endif  // GRAPHTREE_TOOLS_PROFILE_SHOW_TEXT_H_
