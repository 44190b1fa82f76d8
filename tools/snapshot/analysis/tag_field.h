// A field of a tag that is a JSON object, as newer PyTorch writes them when given a dict.
#ifndef GRAPHTREE_TOOLS_SNAPSHOT_ANALYSIS_TAG_FIELD_H_
#define GRAPHTREE_TOOLS_SNAPSHOT_ANALYSIS_TAG_FIELD_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace graphtree::snapshot {

// The field's text (a text without its quotes, anything else as JSON); nothing where the tag is no
// JSON object or has no such field.
std::optional<std::string> TagField(absl::string_view tag, absl::string_view field);

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_TOOLS_SNAPSHOT_ANALYSIS_TAG_FIELD_H_
