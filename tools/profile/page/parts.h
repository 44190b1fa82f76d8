// The parts of the page that do not depend on a trace, as the build made them.
#ifndef GRAPHTREE_TOOLS_PROFILE_PAGE_PARTS_H_
#define GRAPHTREE_TOOLS_PROFILE_PAGE_PARTS_H_

#include "absl/strings/string_view.h"

namespace graphtree::profile {

struct PageParts {
  absl::string_view html;    // page.html, with the places that are filled in
  absl::string_view style;   // style.css
  absl::string_view script;  // source/, one file after the other
  absl::string_view missing;  // empty: nothing has to be fetched for this page
};

const PageParts& Parts();

}  // namespace graphtree::profile

#endif  // GRAPHTREE_TOOLS_PROFILE_PAGE_PARTS_H_
