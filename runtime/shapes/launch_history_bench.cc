// What it costs to note a launch: paid at every step.
#include <cstdint>

#include "runtime/shapes/launch_history.h"
#include "tools/benching/row.h"
#include "tools/benching/timing.h"

namespace graphtree::bench {
namespace {

GRAPHTREE_ROW(RecordLaunch, {.name = "runtime.history.record",
                             .ours = "a launch into the ring and the digest",
                             .goal = "value <= 5 ns"}) {
  LaunchHistory history;
  Launch launch = {.program = 17, .shape = 3, .key = {.tokens = 8, .requests = 8}};
  const Measurement measured = Measure([&] {
    ++launch.step;
    history.Record(launch);
  });
  DoNotOptimize(history);
  return measured;
}

}  // namespace
}  // namespace graphtree::bench
