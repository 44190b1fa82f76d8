// Says how a step ran, for people, and what a runtime has counted, for programs. These functions
// only look.
//
// Threads: as statistics in runtime.h.
#ifndef GRAPHTREE_RUNTIME_CORE_DESCRIBE_H_
#define GRAPHTREE_RUNTIME_CORE_DESCRIBE_H_

#include <string>

#include "runtime/core/dependencies.h"
#include "runtime/core/lanes.h"
#include "runtime/core/open_step.h"
#include "runtime/core/programs.h"
#include "runtime/runtime_options.h"

namespace graphtree {

// "cover: tokens=5 padded to tokens=8".
std::string Describe(const OpenStep& step, const Dependencies& dependencies);

RuntimeStats StatsOf(const Lanes& lanes, const Programs& programs,
                     const Dependencies& dependencies);

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_CORE_DESCRIBE_H_
