// The list of this binary's rows.
#include "tools/benching/row.h"

#include <algorithm>
#include <utility>

#include "device/base/check.h"
#include "tools/benching/goal.h"

namespace graphtree::bench {
namespace {

// Rows register before main runs, in no order that can be relied on: built at first use, never torn
// down.
std::vector<Row>& Rows() {
  static auto* const rows = new std::vector<Row>();
  return *rows;
}

}  // namespace

Outcome Outcome::Skip(std::string reason) {
  GRAPHTREE_CHECK(!reason.empty()) << "a skipped row says why";
  Outcome outcome(absl::OkStatus());
  outcome.skip_reason_ = std::move(reason);
  return outcome;
}

bool RegisterRow(RowSpec spec, RowBody body) {
  GRAPHTREE_CHECK(!spec.name.empty() && !spec.ours.empty()) << "row \"" << spec.name << "\"";
  for (const Row& row : Rows()) {
    GRAPHTREE_CHECK(row.spec.name != spec.name) << "two rows are called " << spec.name;
  }
  if (!spec.goal.empty()) {
    const absl::StatusOr<Goal> goal = Goal::Parse(spec.goal, spec.unit);
    GRAPHTREE_CHECK(goal.ok()) << spec.name << ": " << goal.status().message();
    GRAPHTREE_CHECK(!goal->needs_baseline() || !spec.against.empty())
        << spec.name << ": the goal \"" << spec.goal << "\" needs something to be held against";
  }
  Rows().push_back({std::move(spec), std::move(body)});
  return true;
}

std::vector<Row> RegisteredRows() {
  std::vector<Row> rows = Rows();
  std::sort(rows.begin(), rows.end(),
            [](const Row& a, const Row& b) { return a.spec.name < b.spec.name; });
  return rows;
}

}  // namespace graphtree::bench
