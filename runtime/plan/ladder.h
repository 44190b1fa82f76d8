// Chooses for which sizes graphs are made: a ladder of shapes, from what sizes came so far.
//
//   calls   .:|. .  |:.    .      .|          by their size
//   ladder  2      8       24      48         each call is padded up to the next rung
//
// A call costs the rows that it is padded by. One that no rung serves, as it is above all of them
// or would be padded beyond the limit, runs eagerly and costs Limits::eager_rows. The ladder chosen
// is the cheapest one within the byte budget, and of equally cheap ones the smallest. What a rung
// takes is its own bytes, and for all rungs together the shared bytes of the largest one, since
// graphs of one lane run one after another in the same memory.
//
// Found by dynamic programming from the largest rung down. For each rung stand the ladders that end
// there and are best for their bytes:
//
//   rung 24, as the smallest so far:   bytes  40   52   64      more bytes, less cost; any other
//                                      cost   90   31    8      ladder is left out
//   rung 8, below 24:                  each of these + own bytes of 8 + what calls of 9..24 cost
//
// The answer is exact while no rung has more than LadderLimits::most_ladders of these. Beyond that
// their bytes are rounded up, so the ladder still fits the budget and may be a little dearer.
//
// Pure. Cost: rungs squared times ladders of a rung; 512 rungs with 256 ladders each take half a
// second without optimization.
#ifndef GRAPHTREE_RUNTIME_PLAN_LADDER_H_
#define GRAPHTREE_RUNTIME_PLAN_LADDER_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/shapes/key.h"

namespace graphtree {

// How often calls of one size came. A size may stand more than once.
struct SizeCount {
  int32_t size = 0;
  uint64_t calls = 0;
};

// A size that may be chosen, and what a graph for it takes (estimate.h).
struct Rung {
  int32_t size = 0;
  uint64_t own_bytes = 0;
  uint64_t shared_bytes = 0;  // memory that the graphs of other sizes use, too
};

struct LadderLimits {
  uint64_t bytes = 0;  // 0: no limit
  // How far a call may be padded; as the program's own rule (KeyRules).
  FieldRule padding = {Covers::kAtMost};
  // What an eager run costs, in rows of padding.
  uint64_t eager_rows = 4096;
  // Positive. More of them take more time.
  uint64_t most_ladders = 4096;
};

struct Ladder {
  std::vector<int32_t> sizes = {};  // ascending
  uint64_t bytes = 0;
  uint64_t calls = 0;
  uint64_t eager_calls = 0;  // of these
  uint64_t padded_rows = 0;  // of all others
  uint64_t cost = 0;         // padded rows, and eager_rows for each eager call
};

// An error if a size is not positive; if rungs are not in ascending order, one stands twice, or a
// larger one has fewer shared bytes; if the rule is not for "at most"; if most_ladders is 0; or if
// the cost could exceed what 63 bits hold. A budget below the need of one rung gives an empty
// ladder.
absl::StatusOr<Ladder> ChooseLadder(absl::Span<const SizeCount> calls,
                                    absl::Span<const Rung> rungs, const LadderLimits& limits);

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_PLAN_LADDER_H_
