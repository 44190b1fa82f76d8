// A family for each figure, a series for each row.
#include "runtime/metrics_profile.h"

#include <cstddef>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "profiler/stats/figures.h"

namespace graphtree {
namespace {

using trace::FigureLevel;
using trace::FigureRow;

// Rows come with most time first, so what is beyond is small.
constexpr size_t kMostOps = 64;
constexpr double kNsOfSecond = 1e9;

struct Family {
  const char* name;
  const char* help;
  double (*of)(const FigureRow& row);
};
constexpr Family kFamilies[] = {
    {"graphtree_profile_runs", "How often it ran, while the last profile was there.",
     [](const FigureRow& row) { return static_cast<double>(row.count); }},
    {"graphtree_profile_min_seconds", "The least that it took on the device.",
     [](const FigureRow& row) { return row.min_ns / kNsOfSecond; }},
    {"graphtree_profile_mean_seconds", "On average.",
     [](const FigureRow& row) { return row.mean_ns / kNsOfSecond; }},
    {"graphtree_profile_p50_seconds", "The median.",
     [](const FigureRow& row) { return row.p50_ns / kNsOfSecond; }},
    {"graphtree_profile_p99_seconds", "What one in a hundred exceeds.",
     [](const FigureRow& row) { return row.p99_ns / kNsOfSecond; }},
    {"graphtree_profile_gap_seconds", "Time in which nothing ran before it, or inside, on average.",
     [](const FigureRow& row) { return row.gap_ns / kNsOfSecond; }},
    {"graphtree_profile_launch_seconds", "From the launch to the start, on average.",
     [](const FigureRow& row) { return row.latency_ns / kNsOfSecond; }},
    {"graphtree_profile_bytes_per_second", "Bytes that launches declare and copies move.",
     [](const FigureRow& row) { return row.bytes_per_second; }},
    {"graphtree_profile_memory_share", "The same, of what the memory moves at most.",
     [](const FigureRow& row) { return row.share_of_limit; }},
};

// Rows of ops that differ in what is no label (their arguments, their scope) would be one series
// twice: the first, which has most time, stands for them.
struct Series {
  PrometheusText::Labels labels;
  const FigureRow* row;
};

std::vector<Series> SeriesOf(const std::vector<FigureRow>& rows) {
  std::vector<Series> series;
  std::set<PrometheusText::Labels> seen;
  size_t ops = 0;
  for (const FigureRow& row : rows) {
    if (row.level == FigureLevel::kOp && ++ops > kMostOps) break;
    PrometheusText::Labels labels = {{"level", trace::NameOf(row.level)},
                                     {"function", row.function},
                                     {"node", row.tree_node < 0 ? "" : absl::StrCat(row.tree_node)},
                                     {"op", row.op}};
    if (seen.insert(labels).second) series.push_back({std::move(labels), &row});
  }
  return series;
}

}  // namespace

void AddProfile(const Metrics& metrics, PrometheusText* text) {
  if (metrics.profile == nullptr || metrics.profile->empty()) return;
  const std::vector<Series> series = SeriesOf(*metrics.profile);
  for (const Family& family : kFamilies) {
    text->Family(family.name, "gauge", family.help);
    for (const Series& one : series) text->Sample(one.labels, family.of(*one.row));
  }
}

}  // namespace graphtree
