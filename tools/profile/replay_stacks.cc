// Ops by launch, launches by kind.
#include "tools/profile/replay_stacks.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "profiler/stats/trace_statistics.h"
#include "tools/profile/words.h"

namespace graphtree::profile {
namespace {

using trace::DeviceOp;
using trace::HostSpan;
using trace::Identity;
using trace::TraceStore;
using trace::TraceTables;

struct Launch {
  std::vector<const DeviceOp*> ops = {};
  const HostSpan* call = nullptr;
};

std::vector<Launch> GraphLaunches(const TraceStore& store) {
  absl::flat_hash_map<uint64_t, size_t> by_correlation;
  std::vector<Launch> launches;
  const auto launch_of = [&](uint64_t correlation) -> Launch& {
    const auto [found, is_new] = by_correlation.try_emplace(correlation, launches.size());
    if (is_new) launches.emplace_back();
    return launches[found->second];
  };
  for (const DeviceOp& op : store.ops()) {
    if (trace::IsWork(op.kind) && op.correlation != 0) {
      launch_of(op.correlation).ops.push_back(&op);
    }
  }
  for (const HostSpan& span : store.spans()) {
    if (span.kind != trace::SpanKind::kLaunch || span.correlation == 0) continue;
    const auto found = by_correlation.find(span.correlation);
    if (found != by_correlation.end()) launches[found->second].call = &span;
  }
  const auto is_no_graph = [](const Launch& launch) {
    const bool is_called_so = launch.call != nullptr && launch.call->is_graph;
    return !is_called_so && launch.ops[0]->graph_node == 0 && launch.ops[0]->graph == 0;
  };
  launches.erase(std::remove_if(launches.begin(), launches.end(), is_no_graph), launches.end());
  // Ops that begin together stand in the order of their places in the graph, in every replay.
  for (Launch& launch : launches) {
    std::stable_sort(launch.ops.begin(), launch.ops.end(),
                     [](const DeviceOp* a, const DeviceOp* b) {
                       return std::make_pair(trace::LocalNode(a->graph_node), a->start_ns) <
                              std::make_pair(trace::LocalNode(b->graph_node), b->start_ns);
                     });
  }
  return launches;
}

int64_t FirstOf(const Launch& launch) {
  int64_t first = launch.ops[0]->start_ns;
  for (const DeviceOp* op : launch.ops) first = std::min(first, op->start_ns);
  return first;
}

// What makes replays one kind; also the key of a map, so that names come in a steady order.
std::string KindOf(const Launch& launch, const TraceTables& tables) {
  const Identity& first = tables.identity(launch.ops[0]->identity);
  std::string key = absl::StrCat(tables.text(first.function), "\n", first.tree_node, "\n",
                                 first.function == 0 ? launch.ops[0]->graph : 0);
  for (const DeviceOp* op : launch.ops) {
    absl::StrAppend(&key, "\n", tables.identity(op->identity).name);
  }
  return key;
}

std::string NameOf(const Launch& launch, const TraceTables& tables) {
  const Identity& identity = tables.identity(launch.ops[0]->identity);
  trace::ReplayRow row;
  row.function = identity.function;
  row.tree_node = identity.tree_node;
  row.graph = launch.ops[0]->graph;
  row.first_op = launch.ops[0]->identity;
  row.ops_of_first = launch.ops.size();
  return ReplayName(tables, row);
}

StackedReplay ReplayOf(const Launch& launch) {
  StackedReplay replay;
  replay.first_ns = FirstOf(launch);
  for (const DeviceOp* op : launch.ops) {
    replay.starts.push_back(op->start_ns - replay.first_ns);
    replay.durations.push_back(op->duration_ns);
    replay.wall_ns = std::max(replay.wall_ns, replay.starts.back() + op->duration_ns);
  }
  if (launch.call != nullptr) {
    replay.latency_ns = std::max<int64_t>(0, replay.first_ns - launch.call->start_ns);
  }
  return replay;
}

// Keeps the slowest quarter of what has room, and of the others an even choice.
void Thin(ReplayKind& kind, size_t most) {
  if (kind.replays.size() <= most) return;
  std::vector<size_t> by_wall(kind.replays.size());
  for (size_t i = 0; i < by_wall.size(); ++i) by_wall[i] = i;
  std::stable_sort(by_wall.begin(), by_wall.end(), [&](size_t a, size_t b) {
    return kind.replays[a].wall_ns > kind.replays[b].wall_ns;
  });
  std::vector<bool> stays(kind.replays.size());
  const size_t slowest = std::max<size_t>(1, most / 4);
  for (size_t i = 0; i < slowest; ++i) stays[by_wall[i]] = true;
  const size_t others = most - slowest;
  for (size_t i = 0; i < others; ++i) stays[i * kind.replays.size() / others] = true;
  std::vector<StackedReplay> kept;
  for (size_t i = 0; i < stays.size(); ++i) {
    if (stays[i]) kept.push_back(std::move(kind.replays[i]));
  }
  kind.replays = std::move(kept);
}

}  // namespace

std::vector<ReplayKind> StackReplays(const TraceStore& store, const TraceTables& tables,
                                     size_t most_cells) {
  std::map<std::string, ReplayKind> by_key;
  for (const Launch& launch : GraphLaunches(store)) {
    ReplayKind& kind = by_key[KindOf(launch, tables)];
    if (kind.ops.empty()) {
      kind.name = NameOf(launch, tables);
      for (const DeviceOp* op : launch.ops) {
        kind.ops.push_back({op->identity, trace::LocalNode(op->graph_node), op->stream});
      }
    }
    kind.replays.push_back(ReplayOf(launch));
  }
  std::vector<std::pair<double, ReplayKind>> sized;
  size_t cells = 0;
  for (auto& [key, kind] : by_key) {
    std::stable_sort(kind.replays.begin(), kind.replays.end(),
                     [](const StackedReplay& a, const StackedReplay& b) {
                       return a.first_ns < b.first_ns;
                     });
    double total = 0;
    for (size_t i = 0; i < kind.replays.size(); ++i) {
      kind.replays[i].number = i;
      total += static_cast<double>(kind.replays[i].wall_ns);
    }
    kind.count = kind.replays.size();
    cells += kind.count * kind.ops.size();
    sized.emplace_back(total, std::move(kind));
  }
  std::stable_sort(sized.begin(), sized.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<ReplayKind> kinds;
  const double share = std::min(1.0, static_cast<double>(most_cells) /
                                         static_cast<double>(std::max<size_t>(1, cells)));
  for (auto& [total, kind] : sized) {
    constexpr size_t kLeast = 8;
    Thin(kind, std::max(kLeast, static_cast<size_t>(share * static_cast<double>(kind.count))));
    kinds.push_back(std::move(kind));
  }
  return kinds;
}

}  // namespace graphtree::profile
