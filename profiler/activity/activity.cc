// Names.
#include "profiler/activity/activity.h"

#include "profiler/activity/activity_source.h"

namespace graphtree::activity {

const char* NameOf(ActivityKind kind) {
  switch (kind) {
    case ActivityKind::kKernel: return "kernel";
    case ActivityKind::kCopy: return "copy";
    case ActivityKind::kFill: return "fill";
  }
  return "?";
}

const char* NameOf(SourceState state) {
  switch (state) {
    case SourceState::kDetached: return "detached";
    case SourceState::kAttaching: return "attaching";
    case SourceState::kAttached: return "attached";
    case SourceState::kDetaching: return "detaching";
    case SourceState::kLingering: return "lingering";
  }
  return "?";
}

}  // namespace graphtree::activity
