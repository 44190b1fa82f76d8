// The names that the Chrome trace JSON of PyTorch's profiler uses, and ours beside them.
//
// Read by the writer and by the reader, so that they cannot part.
#ifndef GRAPHTREE_PROFILER_TRACE_JSON_KEYS_H_
#define GRAPHTREE_PROFILER_TRACE_JSON_KEYS_H_

#include "absl/strings/string_view.h"
#include "profiler/trace/records.h"

namespace graphtree::trace::json_keys {

// Arguments of an event, as PyTorch's profiler calls them.
inline constexpr absl::string_view kExternal = "External id";
inline constexpr absl::string_view kCorrelation = "correlation";
inline constexpr absl::string_view kDevice = "device";
inline constexpr absl::string_view kContext = "context";
inline constexpr absl::string_view kStream = "stream";
inline constexpr absl::string_view kGraph = "graph id";
inline constexpr absl::string_view kGraphNode = "graph node id";
inline constexpr absl::string_view kBytes = "bytes";
inline constexpr absl::string_view kSharedMemory = "shared memory";
inline constexpr absl::string_view kGrid = "grid";
inline constexpr absl::string_view kBlock = "block";
inline constexpr absl::string_view kInputDims = "Input Dims";
inline constexpr absl::string_view kInputTypes = "Input type";
inline constexpr absl::string_view kBackend = "kernel_backend";
inline constexpr absl::string_view kFile = "kernel_file";
inline constexpr absl::string_view kHash = "kernel_hash";
inline constexpr absl::string_view kArguments = "kernel_kwargs";
inline constexpr absl::string_view kKernelName = "kernel_name";

// Ours.
inline constexpr absl::string_view kFunction = "function";
inline constexpr absl::string_view kTreeNode = "tree node";
inline constexpr absl::string_view kProgram = "program";
inline constexpr absl::string_view kShape = "shape";
inline constexpr absl::string_view kScope = "scopes";  // PyTorch has a "scope" of its own
inline constexpr absl::string_view kBytesRead = "bytes read";
inline constexpr absl::string_view kBytesWritten = "bytes written";
inline constexpr absl::string_view kSpanKind = "graphtree";  // of a host span: "patch"
inline constexpr absl::string_view kNotes = "graphtreeNotes";
inline constexpr absl::string_view kMadeBy = "madeBy";

// Categories.
inline constexpr absl::string_view kFlow = "ac2g";

struct OpCategory {
  OpKind kind;
  absl::string_view name;
};
inline constexpr OpCategory kOpCategories[] = {
    {OpKind::kKernel, "kernel"},           {OpKind::kCopy, "gpu_memcpy"},
    {OpKind::kFill, "gpu_memset"},         {OpKind::kHostCall, "graph_host_node"},
    {OpKind::kWholeGraph, "gpu_graph"},    {OpKind::kEvent, "cuda_event"},
    {OpKind::kSync, "cuda_sync"},          {OpKind::kScope, "gpu_user_annotation"},
    {OpKind::kOther, "gpu_other"},
};

inline absl::string_view CategoryOf(OpKind kind) {
  for (const OpCategory& category : kOpCategories) {
    if (category.kind == kind) return category.name;
  }
  return "gpu_other";
}

inline bool IsOpCategory(absl::string_view name) {
  for (const OpCategory& category : kOpCategories) {
    if (category.name == name) return true;
  }
  return false;
}

// A call of the driver's interface, cuLaunchKernel, or of the runtime's, cudaLaunchKernel.
inline bool IsDriverCall(absl::string_view name) {
  return name.size() > 2 && name[0] == 'c' && name[1] == 'u' && name[2] >= 'A' && name[2] <= 'Z';
}

inline absl::string_view CategoryOf(SpanKind kind, absl::string_view name) {
  switch (kind) {
    case SpanKind::kLaunch:
    case SpanKind::kApiCall: return IsDriverCall(name) ? "cuda_driver" : "cuda_runtime";
    case SpanKind::kRequest:
    case SpanKind::kScope: return "user_annotation";
    case SpanKind::kPython: return "python_function";
    case SpanKind::kOverhead: return "overhead";
    default: return "cpu_op";
  }
}

// Does the category alone not say the kind?
inline bool NeedsKind(SpanKind kind) {
  return (kind >= SpanKind::kMatch && kind <= SpanKind::kStage && kind != SpanKind::kLaunch) ||
         kind == SpanKind::kRequest;
}

// Of a runtime or driver call: does it put work on a stream?
inline bool IsLaunchName(absl::string_view name) {
  const auto has = [name](absl::string_view word) { return name.find(word) != name.npos; };
  return has("Launch") || has("Memcpy") || has("Memset");
}

inline bool IsGraphLaunchName(absl::string_view name) {
  return name.find("GraphLaunch") != name.npos;
}

}  // namespace graphtree::trace::json_keys

#endif  // GRAPHTREE_PROFILER_TRACE_JSON_KEYS_H_
