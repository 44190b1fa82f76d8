// How the profile verbs write times, and what they call an op or a replay.
#ifndef GRAPHTREE_TOOLS_PROFILE_WORDS_H_
#define GRAPHTREE_TOOLS_PROFILE_WORDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "profiler/stats/time_text.h"
#include "profiler/stats/trace_statistics.h"
#include "profiler/trace/records.h"
#include "profiler/trace/tables.h"

namespace graphtree::profile {

using trace::TimeText;
// "+3.10 us"
std::string SignedTimeText(double ns);

// "attend", shortened where C++ has written a page of template arguments.
std::string OpName(const trace::TraceTables& tables, trace::IdentityId id);
// "decode, tree node 5, batch 4": all that is known of where an op belongs; may be empty.
std::string PlaceOf(const trace::TraceTables& tables, const trace::Identity& identity);
// "op 3 of decode, tree node 5, batch 4, layer 3"
std::string OpPlace(const trace::TraceTables& tables, const trace::OpRow& row);
// "decode, tree node 5", "graph 12", "graph of 10 ops, first attend".
std::string ReplayName(const trace::TraceTables& tables, const trace::ReplayRow& row);

// What must be known before the trace is believed, a sentence each; empty where nothing is.
std::vector<std::string> Warnings(const trace::TraceStatistics& statistics);

}  // namespace graphtree::profile

#endif  // GRAPHTREE_TOOLS_PROFILE_WORDS_H_
