// Which rows belong together, and what their times say.
#include "tools/profile/compare.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "profiler/trace/records.h"
#include "profiler/trace/tables.h"
#include "tools/profile/words.h"

namespace graphtree::profile {
namespace {

using trace::Distribution;
using trace::Identity;
using trace::OpRow;
using trace::TraceStatistics;
using trace::TraceTables;

constexpr size_t kLeastBatches = 4;
constexpr double kMostOfSpread = 2;

// Names texts by themselves, since numbers differ between traces.
struct Group {
  std::string name, place;
  std::map<uint32_t, std::vector<const OpRow*>> by_node;
};
using Groups = std::map<std::string, Group>;

Groups GroupsOf(const TraceStatistics& statistics) {
  Groups groups;
  const TraceTables& tables = statistics.tables();
  for (const OpRow& row : statistics.ops()) {
    const Identity& identity = tables.identity(row.identity);
    const auto text = [&](trace::TextId id) { return tables.text(id); };
    const std::string key = absl::StrCat(
        text(identity.name), "\n", text(identity.function), "\n", text(identity.program), "\n",
        text(identity.shape), "\n", text(identity.scope), "\n",
        absl::StrCat(text(identity.input_dims), "\n", identity.grid.x, ",", identity.grid.y, ",",
                     identity.grid.z));
    Group& group = groups[key];
    group.name = OpName(tables, row.identity);
    // Nodes are numbered as they come, so a number says nothing in another trace.
    Identity without_node = identity;
    without_node.tree_node = trace::kUnknown;
    group.place = PlaceOf(tables, without_node);
    group.by_node[row.local_node].push_back(&row);
  }
  return groups;
}

Sample SampleOf(const std::vector<const OpRow*>& rows) {
  Sample sample;
  for (const OpRow* row : rows) sample.times.Merge(row->duration);
  // Stretches of several rows are none of the sum.
  if (rows.size() == 1) sample.batches = rows[0]->batches.medians();
  return sample;
}

std::vector<const OpRow*> AllOf(const Group& group) {
  std::vector<const OpRow*> rows;
  for (const auto& [node, of_node] : group.by_node) {
    rows.insert(rows.end(), of_node.begin(), of_node.end());
  }
  return rows;
}

bool HaveSameNodes(const Group& a, const Group& b) {
  return a.by_node.size() == b.by_node.size() &&
         std::equal(a.by_node.begin(), a.by_node.end(), b.by_node.begin(),
                    [](const auto& x, const auto& y) { return x.first == y.first; });
}

Compared Pair(const Group& group, uint32_t node, Sample before, Sample after) {
  Compared compared;
  compared.name = group.name;
  compared.place = group.place;
  if (node != 0) {
    compared.place =
        absl::StrCat("op ", node, group.place.empty() ? "" : " of ", group.place);
  }
  compared.before = std::move(before);
  compared.after = std::move(after);
  return compared;
}

void PairGroups(const Group& before, const Group& after, std::vector<Compared>& all) {
  if (!HaveSameNodes(before, after)) {
    all.push_back(Pair(before, 0, SampleOf(AllOf(before)), SampleOf(AllOf(after))));
    return;
  }
  for (const auto& [node, rows] : before.by_node) {
    all.push_back(Pair(before, node, SampleOf(rows), SampleOf(after.by_node.at(node))));
  }
}

double MeanOf(const std::vector<double>& values) {
  double sum = 0;
  for (double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

// How far a trace's own median wanders; its middle half where it is too short for stretches.
double Wandering(const Sample& sample) {
  if (sample.batches.size() < kLeastBatches) {
    return static_cast<double>(sample.times.Quantile(0.75) - sample.times.Quantile(0.25)) /
           kMostOfSpread;
  }
  const double mean = MeanOf(sample.batches);
  double squares = 0;
  for (double value : sample.batches) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(sample.batches.size() - 1));
}

// The chance of ranks as far apart as these, or further, where nothing differs.
double ChanceOf(const Distribution& before, const Distribution& after) {
  const double a = static_cast<double>(before.count());
  const double b = static_cast<double>(after.count());
  const double z = (before.ChanceOfLess(after) - 0.5) / std::sqrt((a + b + 1) / (12 * a * b));
  return std::erfc(std::abs(z) / std::sqrt(2.0));
}

double ChangeOf(const Sample& before, const Sample& after) {
  const double old_median = static_cast<double>(before.times.median());
  if (old_median <= 0) return 0;
  return (static_cast<double>(after.times.median()) - old_median) / old_median;
}

void Finish(std::vector<Compared>& all, const CompareLimits& limits) {
  const size_t both = static_cast<size_t>(std::count_if(
      all.begin(), all.end(), [](const Compared& compared) {
        return compared.before.times.count() != 0 && compared.after.times.count() != 0;
      }));
  for (Compared& compared : all) {
    compared.verdict = Judge(compared.before, compared.after, both, limits);
    compared.change = ChangeOf(compared.before, compared.after);
    compared.cost = (static_cast<double>(compared.after.times.median()) -
                     static_cast<double>(compared.before.times.median())) *
                    static_cast<double>(compared.after.times.count());
    if (compared.verdict == Verdict::kOnlyBefore) compared.cost = -compared.before.times.sum();
  }
  std::stable_sort(all.begin(), all.end(), [](const Compared& a, const Compared& b) {
    return std::abs(a.cost) > std::abs(b.cost);
  });
}

std::map<std::string, Sample> ReplaysOf(const TraceStatistics& statistics) {
  std::map<std::string, std::vector<const trace::ReplayRow*>> rows;
  for (const trace::ReplayRow& row : statistics.replays()) {
    // An id of a graph or node is only of its own trace.
    const absl::string_view function = statistics.tables().text(row.function);
    const std::string name =
        absl::StrCat(function.empty() ? "graph" : function, " of ", row.ops_of_first,
                     " ops, first ", OpName(statistics.tables(), row.first_op));
    rows[name].push_back(&row);
  }
  std::map<std::string, Sample> samples;
  for (const auto& [name, of_name] : rows) {
    Sample& sample = samples[name];
    for (const trace::ReplayRow* row : of_name) sample.times.Merge(row->wall);
    if (of_name.size() == 1) sample.batches = of_name[0]->batches.medians();
  }
  return samples;
}

}  // namespace

const char* NameOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kSame: return "same";
    case Verdict::kSlower: return "slower";
    case Verdict::kFaster: return "faster";
    case Verdict::kTooFew: return "too few to say";
    case Verdict::kOnlyBefore: return "gone";
    case Verdict::kOnlyAfter: return "new";
  }
  return "";
}

Verdict Judge(const Sample& before, const Sample& after, size_t compared,
              const CompareLimits& limits) {
  if (after.times.count() == 0) return Verdict::kOnlyBefore;
  if (before.times.count() == 0) return Verdict::kOnlyAfter;
  if (std::min(before.times.count(), after.times.count()) < limits.least_count) {
    return Verdict::kTooFew;
  }
  if (std::abs(ChangeOf(before, after)) < limits.least_change) return Verdict::kSame;
  const double chance = ChanceOf(before.times, after.times) *
                        static_cast<double>(std::max<size_t>(1, compared));
  if (chance > limits.most_chance) return Verdict::kSame;
  const double difference = static_cast<double>(after.times.median()) -
                            static_cast<double>(before.times.median());
  const double spread = std::max(Wandering(before), Wandering(after));
  if (std::abs(difference) <= kMostOfSpread * spread) return Verdict::kSame;
  return difference > 0 ? Verdict::kSlower : Verdict::kFaster;
}

Comparison Compare(const TraceStatistics& before, const TraceStatistics& after,
                   const CompareLimits& limits) {
  Comparison comparison;
  const Groups old_groups = GroupsOf(before), new_groups = GroupsOf(after);
  for (const auto& [key, group] : old_groups) {
    const auto found = new_groups.find(key);
    if (found != new_groups.end()) {
      PairGroups(group, found->second, comparison.ops);
    } else {
      comparison.ops.push_back(Pair(group, 0, SampleOf(AllOf(group)), {}));
    }
  }
  for (const auto& [key, group] : new_groups) {
    if (!old_groups.contains(key)) {
      comparison.ops.push_back(Pair(group, 0, {}, SampleOf(AllOf(group))));
    }
  }
  std::map<std::string, Sample> old_replays = ReplaysOf(before), new_replays = ReplaysOf(after);
  for (auto& [name, sample] : old_replays) {
    comparison.replays.push_back(
        {.name = name, .before = std::move(sample), .after = std::move(new_replays[name])});
    new_replays.erase(name);
  }
  for (auto& [name, sample] : new_replays) {
    comparison.replays.push_back({.name = name, .after = std::move(sample)});
  }
  Finish(comparison.ops, limits);
  Finish(comparison.replays, limits);
  return comparison;
}

}  // namespace graphtree::profile
