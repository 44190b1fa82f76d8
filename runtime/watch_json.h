// What a runtime shows of itself, as text for other programs: JSON of why steps ran as they did,
// and a drawing for `dot` of its lanes, programs and shapes.
//
//   device 0 lane 0 --+-- decode --+-- tokens=8    recorded, 4211 steps
//                     |            `-- tokens=64   not recorded
//                     `-- prefill ...
//
// Pure.
#ifndef GRAPHTREE_RUNTIME_WATCH_JSON_H_
#define GRAPHTREE_RUNTIME_WATCH_JSON_H_

#include <string>

#include "device/base/json_writer.h"
#include "runtime/explain.h"

namespace graphtree {

std::string ExplanationAsJson(const Explanation& explanation);
std::string ExplanationAsGraphviz(const Explanation& explanation);

// One value each, for texts that hold more.
void WriteProgram(const ExplainedProgram& program, JsonWriter& json);
// {"hit": 12, ...}: what is 0 is left out.
void WriteWhys(const WhyCounts& counts, JsonWriter& json);

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_WATCH_JSON_H_
