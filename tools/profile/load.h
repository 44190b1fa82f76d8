// Opening a trace for a verb: progress on standard error, and what is wrong with the file.
#ifndef GRAPHTREE_TOOLS_PROFILE_LOAD_H_
#define GRAPHTREE_TOOLS_PROFILE_LOAD_H_

#include <string>

#include "absl/status/status.h"
#include "profiler/trace/records.h"
#include "profiler/trace/tables.h"
#include "tools/cli/verb.h"

namespace graphtree::profile {

// Reads the file into the listener. Large files report progress when standard error is a terminal.
// The error names the file.
absl::Status Load(const std::string& path, trace::TraceTables& tables,
                  trace::TraceListener& listener, cli::Console& console);

// The operand that most verbs have.
cli::Operand TraceOperand(const std::string& name = "TRACE");

// "steps.json" of a path, "standard input" of "-".
std::string BaseName(const std::string& path);

}  // namespace graphtree::profile

#endif  // GRAPHTREE_TOOLS_PROFILE_LOAD_H_
