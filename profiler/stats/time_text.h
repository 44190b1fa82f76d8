// A time in words, with three digits or so.
#ifndef GRAPHTREE_PROFILER_STATS_TIME_TEXT_H_
#define GRAPHTREE_PROFILER_STATS_TIME_TEXT_H_

#include <string>

namespace graphtree::trace {

// "850 ns", "3.10 us", "12.4 us", "12.40 ms", "1.204 s".
std::string TimeText(double ns);

}  // namespace graphtree::trace

#endif  // GRAPHTREE_PROFILER_STATS_TIME_TEXT_H_
