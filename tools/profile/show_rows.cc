// Which rows are shown, and in which order.
#include <algorithm>
#include <map>
#include <vector>

#include "tools/profile/show_text.h"

namespace graphtree::profile {
namespace {

using trace::OpRow;
using trace::ReplayRow;
using trace::TraceStatistics;

double KeyOf(const OpRow& row, OpOrder order) {
  switch (order) {
    case OpOrder::kTotal: return row.duration.sum();
    case OpOrder::kP99: return static_cast<double>(row.duration.Quantile(0.99));
    case OpOrder::kGap: return row.gap.sum();
    case OpOrder::kCount: return static_cast<double>(row.duration.count());
  }
  return 0;
}

bool Belongs(const TraceStatistics& statistics, trace::TextId function,
             const ShowOptions& options) {
  return options.function.empty() || statistics.tables().text(function) == options.function;
}

}  // namespace

std::vector<const OpRow*> ShownOps(const TraceStatistics& statistics, const ShowOptions& options) {
  std::vector<const OpRow*> rows;
  for (const OpRow& row : statistics.ops()) {
    const trace::TextId function = statistics.tables().identity(row.identity).function;
    if (Belongs(statistics, function, options)) rows.push_back(&row);
  }
  std::stable_sort(rows.begin(), rows.end(), [&](const OpRow* a, const OpRow* b) {
    return KeyOf(*a, options.order) > KeyOf(*b, options.order);
  });
  return rows;
}

std::vector<const ReplayRow*> ShownReplays(const TraceStatistics& statistics,
                                           const ShowOptions& options) {
  std::vector<const ReplayRow*> rows;
  for (const ReplayRow& row : statistics.replays()) {
    if (Belongs(statistics, row.function, options)) rows.push_back(&row);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const ReplayRow* a, const ReplayRow* b) {
    return a->wall.sum() > b->wall.sum();
  });
  return rows;
}

std::vector<FunctionSum> FunctionSums(const TraceStatistics& statistics) {
  std::map<trace::TextId, FunctionSum> by_function;
  for (const OpRow& row : statistics.ops()) {
    const trace::TextId function = statistics.tables().identity(row.identity).function;
    if (function != 0) by_function[function].duration.Merge(row.duration);
  }
  for (const ReplayRow& row : statistics.replays()) {
    if (row.function != 0) by_function[row.function].wall.Merge(row.wall);
  }
  std::vector<FunctionSum> sums;
  for (auto& [function, sum] : by_function) {
    sum.function = function;
    sums.push_back(std::move(sum));
  }
  std::stable_sort(sums.begin(), sums.end(), [](const FunctionSum& a, const FunctionSum& b) {
    return a.duration.sum() > b.duration.sum();
  });
  return sums;
}

}  // namespace graphtree::profile
