// What a check costs where it holds: next to nothing, or hot loops would have to do without.
#include <cstdint>

#include "device/base/check.h"
#include "tools/benching/google_benchmark.h"
#include "tools/benching/row.h"
#include "tools/benching/timing.h"

namespace graphtree::bench {
namespace {

// Timed by Google Benchmark, whose loop stands in the body: state that a lambda captures would go
// through memory on every call, which costs more than what is measured here.
GRAPHTREE_ROW(CheckThatHolds, {.name = "base.check.holds",
                               .ours = "one step of a loop with a check",
                               .against = "the same step without",
                               .goal = "difference <= 1 ns"}) {
  return CompareBenchmarks(
      [](benchmark::State& state) {
        uint64_t checked = 1;
        for (auto _ : state) {
          checked = checked * 6364136223846793005u + 1;
          GRAPHTREE_CHECK(checked != 0) << "the generator came to rest";
          DoNotOptimize(checked);
        }
      },
      [](benchmark::State& state) {
        uint64_t bare = 1;
        for (auto _ : state) {
          bare = bare * 6364136223846793005u + 1;
          DoNotOptimize(bare);
        }
      });
}

}  // namespace
}  // namespace graphtree::bench
