// The page that `profile html` writes: one file with everything in it.
//
//   <style> ... </style>                 tools/profile/page/style.css
//   <script id="data"> {...} </script>   kinds of replays with their ops' times, ops, warnings
// (JSON)
//   <script> ... </script>               tools/profile/page/source
//
// The page asks nothing from a network.
#ifndef GRAPHTREE_TOOLS_PROFILE_HTML_PAGE_H_
#define GRAPHTREE_TOOLS_PROFILE_HTML_PAGE_H_

#include <string>
#include <vector>

#include "profiler/stats/trace_statistics.h"
#include "tools/profile/replay_stacks.h"

namespace graphtree::profile {

std::string RenderHtml(const std::string& name, const trace::TraceStatistics& statistics,
                       const std::vector<ReplayKind>& kinds,
                       const std::vector<std::string>& warnings);

// The data alone, which tests read.
std::string RenderHtmlData(const std::string& name, const trace::TraceStatistics& statistics,
                           const std::vector<ReplayKind>& kinds,
                           const std::vector<std::string>& warnings);

}  // namespace graphtree::profile

#endif  // GRAPHTREE_TOOLS_PROFILE_HTML_PAGE_H_
