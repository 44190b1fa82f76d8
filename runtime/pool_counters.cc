// One look at the runtime serves all lines.
#include "runtime/pool_counters.h"

#include <memory>
#include <utility>

namespace graphtree {
namespace {

struct Sums {
  double live = 0;
  double mapped = 0;
  double blocks = 0;
};

// Of a pool that is in use nothing is known at this moment: then the last sums stay.
void Look(const Metrics& metrics, Sums* sums) {
  Sums now;
  for (const LaneMetrics& lane : metrics.lanes) {
    if (lane.pool.is_busy) return;
    now.live += static_cast<double>(lane.pool.live_bytes);
    now.mapped += static_cast<double>(lane.pool.mapped_bytes);
    now.blocks += static_cast<double>(lane.pool.live_blocks);
  }
  *sums = now;
}

}  // namespace

std::vector<ProfileCounter> PoolCounters(std::function<Metrics()> metrics) {
  const auto sums = std::make_shared<Sums>();
  const auto first = [sums, metrics = std::move(metrics)] {
    Look(metrics(), sums.get());
    return sums->live;
  };
  return {{"pool bytes", "live", first},
          {"pool bytes", "mapped", [sums] { return sums->mapped; }},
          {"pool blocks", "live", [sums] { return sums->blocks; }}};
}

}  // namespace graphtree
