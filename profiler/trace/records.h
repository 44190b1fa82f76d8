// What a trace is made of: records of fixed size that come one after the other, and the tables that
// they point into.
//
//   HostSpan   |==launch==|                     thread 12         correlation 7
//   DeviceOp            |=norm=| |==attend==|   stream 3          correlation 7, node 1, 2
//   Counter    ......._____________---------    "pool live bytes"
//   Mark            ^ "request 81 begins"
//
// Whoever makes a trace (hooks of the library, records of CUPTI, a reader of a file) calls a
// TraceListener record by record; whoever uses one (a writer, statistics, a store) is a
// TraceListener. So a trace of any length passes in bounded memory, and each writer can stand
// behind each source.
//
// What an op is, is said once, in an Identity that records name by a number (tables.h): a replay of
// a thousand ops costs a thousand small records and nothing more. The arrow from a launch to its
// ops is their common correlation number, so it needs no record of its own; ops of a graph share
// their launch's. Times are nanoseconds of one clock.
//
// Plain values. A listener is called by one thread at a time.
#ifndef GRAPHTREE_PROFILER_TRACE_RECORDS_H_
#define GRAPHTREE_PROFILER_TRACE_RECORDS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace graphtree::trace {

using TextId = uint32_t;      // of a TraceTables; 0 is the empty text
using IdentityId = uint32_t;  // of a TraceTables; 0 is "nothing known"

inline constexpr int64_t kUnknown = -1;

struct Extent {
  uint32_t x = 0, y = 0, z = 0;

  bool operator==(const Extent& other) const {
    return x == other.x && y == other.y && z == other.z;
  }
};

// What an op is, wherever and whenever it runs. All that is not known is 0, or kUnknown.
struct Identity {
  int64_t tree_node = kUnknown;
  int64_t bytes_read = kUnknown;  // as its launch declared it
  int64_t bytes_written = kUnknown;
  TextId name = 0;  // of the kernel, or what a copy copies
  TextId function = 0;
  TextId program = 0;
  TextId shape = 0;
  TextId scope = 0;  // the caller's scopes, the inner first: "attention;layer 3"
  TextId backend = 0;
  TextId file = 0;  // the kernel's source
  TextId hash = 0;  // of that source
  TextId arguments = 0;    // the launch's: "XBLOCK=1024, num_warps=4"
  TextId input_dims = 0;   // JSON: "[[64, 256], []]"
  TextId input_types = 0;  // JSON: ["float", "Scalar"]
  uint32_t shared_memory = 0;  // bytes of a block
  Extent grid = {};
  Extent block = {};
};

enum class OpKind : uint8_t {
  kKernel, kCopy, kFill, kHostCall,
  kWholeGraph,  // a replay as one op, where ops were not recorded
  // What follows takes no time of the device's.
  kEvent, kSync,
  kScope,  // the stretch of ops that a caller's scope has launched
  kOther,
};

inline bool IsWork(OpKind kind) { return kind <= OpKind::kWholeGraph; }

struct DeviceOp {
  int64_t start_ns = 0;
  int64_t duration_ns = 0;
  uint64_t correlation = 0;  // of the call that launched it
  uint64_t external = 0;     // of the host op that made the call
  uint64_t graph_node = 0;   // executable's id << 32 | op's id; 0: not of a graph, or not known
  uint32_t graph = 0;        // the executable's id
  IdentityId identity = 0;
  int64_t bytes = kUnknown;  // that a copy or fill moves
  uint32_t stream = 0;
  uint32_t context = 0;
  int32_t device = 0;
  OpKind kind = OpKind::kKernel;
  // JSON members that this program has no field for, as they came: `"priority": 0`. Valid during
  // the call only.
  absl::string_view extras = {};
};

enum class SpanKind : uint8_t {
  kOther,    // anything of a foreign profiler: an operator of PyTorch
  kMatch, kPatch, kLaunch, kRecord, kRestore, kEvict, kPark, kPlan, kStage,
  kApiCall,  // of the CUDA runtime or driver that is no launch
  kRequest,  // a request label of a server
  kScope,    // an annotation of the caller
  kPython,   // a function of Python's
  kOverhead,
};

struct HostSpan {
  int64_t start_ns = 0;
  int64_t duration_ns = 0;
  uint64_t correlation = 0;  // where it launches
  uint64_t external = 0;
  int64_t process = 0;
  int64_t thread = 0;
  TextId name = 0;
  IdentityId identity = 0;  // of the one op that it launches; 0 for a replay of many
  int64_t stream = kUnknown;  // that it launches on
  SpanKind kind = SpanKind::kOther;
  bool is_graph = false;  // a launch of a whole graph
  absl::string_view extras = {};  // as of DeviceOp
};

struct CounterSample {
  int64_t time_ns = 0;
  TextId name = 0;    // "pool bytes"
  TextId series = 0;  // "live"
  double value = 0;
  int64_t process = 0;  // or device
};

struct Mark {
  int64_t time_ns = 0;
  TextId name = 0;
  int64_t process = 0;
  int64_t thread = 0;
};

// One end of an arrow that is none from a launch to its ops, such as PyTorch's from a forward to
// its backward operator.
struct ArrowEnd {
  enum class Phase : uint8_t { kBegin, kStep, kEnd };

  int64_t time_ns = 0;
  uint64_t id = 0;  // both ends have it
  int64_t process = 0;
  int64_t thread = 0;
  TextId category = 0;
  TextId name = 0;
  Phase phase = Phase::kBegin;
  bool is_of_enclosing = false;  // it ends at the slice around it, not at the next one
};

// What a viewer calls a process (thread kUnknown) or a thread of it.
struct LaneName {
  int64_t process = 0;
  int64_t thread = kUnknown;
  bool is_device = false;  // the process is a device, the thread a stream
  TextId name = 0;
};

struct TraceHeader {
  int64_t base_ns = 0;   // times in a JSON file count from here
  std::string made_by = {};   // "graphtree 0.1"
  std::string devices = {};   // JSON: what `deviceProperties` says; may be empty
  // Further members of the file's top, as they came: name and JSON value.
  std::vector<std::pair<std::string, std::string>> extras = {};
};

// What a reader of the trace must know before believing it. Comes last.
struct TraceNotes {
  uint64_t dropped_records = 0;  // that the profiler had no room for
  uint64_t unmatched_ops = 0;    // whose launch has another number of ops than its graph
  uint64_t left_out = 0;         // events of the file that have no place in this model
  std::string cut = {};               // where and why the trace ends early; empty: it is whole
  double drift_ppm = 0;          // of the device's clock against the host's
  std::vector<std::string> remarks = {};
};

class TraceListener {
 public:
  virtual ~TraceListener() = default;
  virtual void Begin(const TraceHeader& header) = 0;
  virtual void Op(const DeviceOp& op) = 0;
  virtual void Span(const HostSpan& span) = 0;
  virtual void Counter(const CounterSample& sample) = 0;
  virtual void Instant(const Mark& mark) = 0;
  virtual void Lane(const LaneName& name) = 0;
  // Of use for whoever writes a file that had them; others need not listen.
  virtual void Arrow(const ArrowEnd& end) {}
  // What the listener holds back goes out: called now and then while a process is profiled, so that
  // a crash costs little.
  virtual void Flush() {}
  virtual void End(const TraceNotes& notes) = 0;
};

// "kernel", "copy"; the reader of a file knows them by their categories (json_keys.h).
const char* NameOf(OpKind kind);
const char* NameOf(SpanKind kind);

inline constexpr uint64_t kNodeBits = 32;

// Of the op in its graph, whichever executable it is in.
inline uint32_t LocalNode(uint64_t graph_node) { return static_cast<uint32_t>(graph_node); }

inline uint64_t PackedNode(uint32_t graph, uint32_t local) {
  return uint64_t{graph} << kNodeBits | local;
}

}  // namespace graphtree::trace

#endif  // GRAPHTREE_PROFILER_TRACE_RECORDS_H_
