// A lane: one tree, whose graphs share memory and run one after another, and the step that is under
// way in it. Graphs of different lanes may overlap on the device.
//
// Every dependency of the runtime is a workspace of the tree, since a tree knows already how to
// make a recording again whose workspace has changed.
//
// Threads: one at a time.
#ifndef GRAPHTREE_RUNTIME_CORE_LANE_H_
#define GRAPHTREE_RUNTIME_CORE_LANE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "graphs/tree.h"
#include "graphs/workspaces.h"
#include "runtime/core/open_step.h"
#include "runtime/runtime_options.h"
#include "runtime/shapes/launch_history.h"

namespace graphtree {

struct Lane {
  uint32_t number = 0;
  std::unique_ptr<Tree> tree;
  std::vector<WorkspaceId> workspaces;  // by dependency
  OpenStep step;
  // Apart for each lane, as each may have a thread of its own.
  RuntimeStats stats;  // but for what programs count
  LaunchHistory history;
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_CORE_LANE_H_
