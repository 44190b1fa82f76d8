// One event of a Chrome trace, taken apart: an object of `traceEvents` with its arguments.
//
// Everything in it is a view of the memory that it was parsed from. Keys that this program knows
// (profiler/trace/json_keys.h) become fields; others stay as they stand there.
#ifndef GRAPHTREE_TOOLS_TRACE_READ_EVENT_PARSER_H_
#define GRAPHTREE_TOOLS_TRACE_READ_EVENT_PARSER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "tools/trace/read/json_cursor.h"

namespace graphtree::trace {

// What stands in `args`. Words are empty where they are not given.
struct RawArguments {
  absl::string_view external, correlation, device, context, stream, graph, graph_node, bytes,
      shared_memory, tree_node, bytes_read, bytes_written;
  absl::string_view grid, block, input_dims, input_types;  // JSON
  JsonText backend, file, hash, arguments, kernel_name, function, program, shape, scope, span_kind;
  JsonText lane_name;               // "name" of metadata
  // Keys, which may be escaped, and numbers: the series of a counter.
  std::vector<std::pair<absl::string_view, absl::string_view>> series;
  std::string extras;             // members of the arguments that are none of these, clean
  bool has_launch_facts = false;  // one of backend, file, hash, arguments, input dims
};

struct RawEvent : RawArguments {
  JsonText phase, category, name;
  absl::string_view process, thread;  // as they stand there: numbers, or texts in quotes
  absl::string_view time, duration;   // in microseconds; empty where the event has none
  absl::string_view id, binding;      // of the end of an arrow, as they stand there
  bool has_arguments = false;
};

// Parses the object that begins at the cursor. `event` is cleared first. False as of the cursor.
bool ParseEvent(JsonCursor& cursor, RawEvent& event);

}  // namespace graphtree::trace

#endif  // GRAPHTREE_TOOLS_TRACE_READ_EVENT_PARSER_H_
