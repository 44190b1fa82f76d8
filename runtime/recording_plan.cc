// Names for counters and scripts.
#include "runtime/recording_plan.h"

namespace graphtree {

const char* LeftOutName(LeftOut why) {
  switch (why) {
    case LeftOut::kBudget:
      return "budget";
    case LeftOut::kExcluded:
      return "excluded";
    case LeftOut::kFailed:
      return "failed";
    case LeftOut::kMode:
      return "mode";
    case LeftOut::kNodes:
      return "nodes";
    case LeftOut::kEvicted:
      return "evicted";
    case LeftOut::kStale:
      return "stale";
  }
  return "?";
}

}  // namespace graphtree
