// The parts of the page that do not depend on a snapshot, as the build made them.
#ifndef GRAPHTREE_TOOLS_MEMORY_PAGE_PARTS_H_
#define GRAPHTREE_TOOLS_MEMORY_PAGE_PARTS_H_

#include "absl/strings/string_view.h"

namespace graphtree::memory {

struct PageParts {
  absl::string_view html;    // page.html, with the places that are filled in
  absl::string_view style;   // style.css
  absl::string_view script;  // source/, bundled and minified
  absl::string_view missing;  // why the script is not there; empty where it is
};

const PageParts& Parts();

}  // namespace graphtree::memory

#endif  // GRAPHTREE_TOOLS_MEMORY_PAGE_PARTS_H_
