// Sums up the counts of the tally and of the nodes.
#include "graphs/run/figures.h"

#include <algorithm>

#include "graphs/recording/node_walk.h"

namespace graphtree {

TreeStats Figures::Stats() {
  const Looking looking(gate_);
  const auto no_callbacks = ground_.foreign->HoldOff();
  TreeStats& stats = journal_.stats();
  const Holdings& held = functions_.keeper().held();
  stats.nodes = held.nodes;
  stats.executables = held.executables;
  stats.executable_bytes = held.executable_bytes;
  stats.shapes = held.shapes;
  stats.kept_bytes = ground_.memory->kept_bytes();
  // Frees memory that was let go outside of calls, so that it does not count. Not for a body that
  // asks, whose call is not over.
  if (looking.is_outermost()) {
    books_.path().ForgetDead();
    ground_.memory->pool().FreeQueued().IgnoreError();
  }
  stats.live_blocks = books_.path().CountAlive();
  const PoolStats pool = ground_.memory->pool().Stats();
  stats.pool_reserved_bytes = pool.mapped_bytes;
  stats.pool_live_bytes = pool.live_bytes;
  stats.foreign_held_bytes = ground_.foreign->held_bytes();
  stats.lacked_bytes = ground_.giver->lacked_bytes();
  stats.restores = books_.restores();
  stats.thrown = journal_.thrown();
  return stats;
}

std::vector<EdgeStats> Figures::Edges() {
  const Looking looking(gate_);
  const Node& root = books_.root();
  CallTally tally = journal_.tally();
  VisitNodes(root, [&](const Node& node) {
    if (&node != &root) tally.On(EdgeOf(node)).replays += node.replays;
  });
  std::vector<EdgeStats> edges;
  for (const auto& [edge, counts] : tally.all()) {
    edges.push_back({edge, edge.from == kPathBegin ? "" : *ground_.history->FindName(edge.from),
                     *ground_.history->FindName(edge.to), counts});
  }
  std::sort(edges.begin(), edges.end(),
            [](const EdgeStats& a, const EdgeStats& b) { return a.edge < b.edge; });
  return edges;
}

std::vector<FunctionStats> Figures::PerFunction() {
  const Looking looking(gate_);
  return functions_.PerFunction(Edges());
}

}  // namespace graphtree
