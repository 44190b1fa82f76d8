// Frames of an op, from the outside in.
#include "tools/profile/flame.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "profiler/trace/records.h"
#include "profiler/trace/tables.h"
#include "tools/memory/text.h"
#include "tools/profile/words.h"

namespace graphtree::profile {

memory::FlameTree FlameOf(const trace::TraceStatistics& statistics) {
  memory::FlameTree tree("all");
  const trace::TraceTables& tables = statistics.tables();
  for (const trace::OpRow& row : statistics.ops()) {
    const trace::Identity& identity = tables.identity(row.identity);
    std::vector<std::string> frames;
    const auto add = [&](trace::TextId id) {
      if (id != 0) frames.push_back(memory::Safe(tables.text(id)));
    };
    add(identity.program);
    add(identity.function);
    if (identity.tree_node != trace::kUnknown) {
      frames.push_back(absl::StrCat("tree node ", identity.tree_node));
    }
    // Noted with the inner scope first.
    std::vector<std::string> scopes = absl::StrSplit(tables.text(identity.scope), ';');
    std::reverse(scopes.begin(), scopes.end());
    for (const std::string& scope : scopes) {
      if (!scope.empty()) frames.push_back(memory::Safe(scope));
    }
    frames.push_back(OpName(tables, row.identity));
    tree.Add(frames, static_cast<uint64_t>(row.duration.sum()));
  }
  return tree;
}

}  // namespace graphtree::profile
