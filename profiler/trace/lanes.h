// In which line of a timeline an op is drawn: that of its stream, or one that says what it belongs
// to. The stream stays among the op's arguments.
#ifndef GRAPHTREE_PROFILER_TRACE_LANES_H_
#define GRAPHTREE_PROFILER_TRACE_LANES_H_

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "profiler/trace/records.h"
#include "profiler/trace/tables.h"

namespace graphtree::trace {

enum class LaneChoice { kStream, kTreeNode, kProgram };

// Lanes that are no streams count from here, so that no number means both.
inline constexpr int64_t kFirstNodeLane = int64_t{1} << 32;
inline constexpr int64_t kFirstProgramLane = int64_t{1} << 33;

inline int64_t LaneOf(const DeviceOp& op, const TraceTables& tables, LaneChoice choice) {
  const Identity& identity = tables.identity(op.identity);
  if (choice == LaneChoice::kTreeNode && identity.tree_node >= 0) {
    return kFirstNodeLane + (identity.tree_node & (kFirstNodeLane - 1));
  }
  if (choice == LaneChoice::kProgram && identity.program != 0) {
    return kFirstProgramLane + identity.program;
  }
  return op.stream;
}

// "stream 7", "decode, tree node 3", "program llama".
inline std::string LaneText(const DeviceOp& op, const TraceTables& tables, int64_t lane) {
  const Identity& identity = tables.identity(op.identity);
  if (lane >= kFirstProgramLane) {
    return absl::StrCat("program ", tables.text(identity.program));
  }
  if (lane >= kFirstNodeLane) {
    return absl::StrCat(tables.text(identity.function), identity.function == 0 ? "" : ", ",
                        "tree node ", identity.tree_node);
  }
  return absl::StrCat("stream ", op.stream);
}

}  // namespace graphtree::trace

#endif  // GRAPHTREE_PROFILER_TRACE_LANES_H_
