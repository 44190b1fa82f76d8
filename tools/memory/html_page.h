// The page that `memory html` writes: one file with everything in it.
//
//   <style> ... </style>                      tools/memory/page/style.css
//   <script id="directory"> {...} </script>   names, settings, where each column lies (JSON)
//   <script id="columns"> base64 </script>    events and allocations (html_columns.h)
//   <script> ... </script>                    tools/memory/page/source, bundled with d3
//
// The page asks nothing from a network. A million trace entries make some nine megabytes.
#ifndef GRAPHTREE_TOOLS_MEMORY_HTML_PAGE_H_
#define GRAPHTREE_TOOLS_MEMORY_HTML_PAGE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "allocator/snapshot/snapshot.h"
#include "tools/memory/page/parts.h"

namespace graphtree::memory {

struct HtmlSource {
  std::string name;  // as the page calls it: the file's name
  const snapshot::Snapshot* snapshot = nullptr;
};

// One source, or two to be shown side by side. FailedPrecondition where this binary was built
// without the page's parts; ResourceExhausted where no browser could open the page.
absl::StatusOr<std::string> RenderHtml(const std::vector<HtmlSource>& sources,
                                       const PageParts& parts);

// The two blocks of data, which tests read on their own.
struct HtmlData {
  std::string directory;  // JSON
  std::string columns;    // not encoded
};
HtmlData RenderHtmlData(const std::vector<HtmlSource>& sources);

}  // namespace graphtree::memory

#endif  // GRAPHTREE_TOOLS_MEMORY_HTML_PAGE_H_
