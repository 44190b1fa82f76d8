// Reads a Chrome trace in JSON, of ours or of PyTorch's profiler, and calls a listener record by
// record: one pass, in memory that does not grow with the file.
//
//   file ->  ByteSource's window  ->  one event  ->  RecordMaker  ->  TraceListener
//
// A file that ends early, or is damaged further on, is a trace all the same: what came before is
// given, and the notes at its end say where and why it stops. A file in which no event can be found
// is an error that says what it looks like instead.
#ifndef GRAPHTREE_TOOLS_TRACE_READ_TRACE_READER_H_
#define GRAPHTREE_TOOLS_TRACE_READ_TRACE_READER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "profiler/trace/records.h"
#include "profiler/trace/tables.h"
#include "tools/snapshot/read/byte_source.h"

namespace graphtree::trace {

// The file may be compressed by gzip, as PyTorch writes .json.gz.
//
// Begin and End of the listener are called once each, unless the file is an error: then Begin may
// have been called. `path` "-" is the standard input.
absl::Status ReadTrace(const std::string& path, TraceTables& tables, TraceListener& listener,
                       const snapshot::ByteSource::Progress& progress = {});

// The same of a text in memory.
absl::Status ParseTrace(absl::string_view text, TraceTables& tables, TraceListener& listener);

}  // namespace graphtree::trace

#endif  // GRAPHTREE_TOOLS_TRACE_READ_TRACE_READER_H_
