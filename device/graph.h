// A Graph is what a capture recorded, and never changes. An Executable is made from it and runs.
//
//   capture --> Graph { Op 0, Op 1, ... } --Instantiate--> Executable --Launch(stream)--> work
//                 |                                            ^
//                 | each Op: kind, arguments,                  | Patch: new arguments for one op
//                 | typed edges to what it waits for           | Update: all of another graph's
//
// Op ids are dense and count in the order in which the ops were captured. While a capture is open
// an op is known by its token; Graph::Find turns the token into the id.
//
// Op ids and their number are known at once. The listing, which says what each op is, is read from
// the device when it is first asked for, and may be forgotten again: capturing, instantiating and
// patching cost nothing for ops that nobody looks at.
//
// Lifetimes: an executable may outlive its graph and those that it was updated to, and keeps of
// them what launches, updates and patches need. Both belong to one device, and are refused by
// another's streams.
//
// Threads: a Graph is immutable and may be read from any thread; calls on one Executable are made
// by one thread at a time.
#ifndef GRAPHTREE_DEVICE_GRAPH_H_
#define GRAPHTREE_DEVICE_GRAPH_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "device/address.h"
#include "device/kernel.h"

namespace graphtree {

class Device;
class Graph;
class LaunchPlace;
class Stream;

using OpId = uint32_t;

// An op of a capture that is still open. After the capture only Graph::Find understands it.
struct OpToken {
  uint64_t value = 0;
  friend bool operator==(OpToken a, OpToken b) { return a.value == b.value; }
};

enum class OpKind : uint8_t {
  kKernel,
  kCopy,
  kFill,
  kHost,
  kEmpty,
  kEventRecord,
  kEventWait,
  kChildGraph,
  kAllocate,
  kFree,
  kConditional,
  kOther,
};

// "kernel", "copy", ...
const char* OpKindName(OpKind kind);

enum class EdgeKind : uint8_t { kFull, kProgrammatic };

// This op waits for `from`. Ports are CUDA's: which moment of `from`, which of this op.
struct Edge {
  OpId from = 0;
  EdgeKind kind = EdgeKind::kFull;
  uint8_t from_port = 0;
  uint8_t to_port = 0;
  friend bool operator==(const Edge& a, const Edge& b) {
    return a.from == b.from && a.kind == b.kind && a.from_port == b.from_port &&
           a.to_port == b.to_port;
  }
};

struct CopyParams {
  Address target = 0;
  Address source = 0;
  uint64_t bytes = 0;
};

struct FillParams {
  Address target = 0;
  uint32_t value = 0;
  uint32_t width = 1;
  uint64_t count = 0;
};

// Where one parameter lies in Op::argument_bytes.
struct ParamSlot {
  uint32_t offset = 0;
  uint32_t bytes = 0;
};

struct Op {
  OpId id = 0;
  OpKind kind = OpKind::kOther;
  std::string name;                      // the kernel's, else the kind's
  LaunchShape shape;                     // kernels
  std::vector<uint8_t> argument_bytes;   // kernels: parameters as they lie in the parameter block
  std::vector<ParamSlot> parameters;     // kernels: where each lies
  CopyParams copy;                       // copies of one row
  FillParams fill;                       // fills of one row
  std::vector<Edge> dependencies;
};

enum class UpdateResult : uint8_t {
  kUpdated,
  kTopologyDiffers,   // other ops or edges: the executable is unchanged
  kOpNotUpdatable,    // same shape, but an op's change is not supported, or would be lost without
                      // an error (cuda/plain_graph.h): unchanged
};

class Executable {
 public:
  virtual ~Executable() = default;
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  virtual Device& device() const = 0;
  virtual size_t op_count() const = 0;

  virtual absl::Status Launch(Stream& stream) = 0;
  // Takes the first launch's set-up cost, and the cost of a large update, off the launch.
  virtual absl::Status Upload(Stream& stream) = 0;
  // The next launch runs the other graph, as it was captured; launches in flight do not. After an
  // error it is not known which of the two it runs.
  virtual absl::StatusOr<UpdateResult> Update(const Graph& graph) = 0;

  // New arguments (and shape) for one kernel op; the next launch sees them, launches in flight do
  // not. The kernel stays the one that was captured; access declarations are not looked at.
  virtual absl::Status PatchKernel(OpId op, const Kernel& kernel, const LaunchShape& shape,
                                   Arguments arguments) = 0;
  // The same for a kernel that the caller does not hold, as a library's: all bytes as
  // Op::argument_bytes shows them. The shape stays, too.
  virtual absl::Status PatchArgumentBytes(OpId op, absl::Span<const uint8_t> bytes) = 0;
  virtual absl::Status PatchCopy(OpId op, const CopyParams& params) = 0;
  virtual absl::Status PatchFill(OpId op, const FillParams& params) = 0;

  // The device memory that the executable holds, estimated (executable_bytes.h).
  virtual uint64_t device_bytes() const = 0;

  // Where the calls that use it pass (launch_gate.h); null if its device has no gate.
  virtual const LaunchPlace* launch_place() const { return nullptr; }

 protected:
  Executable() = default;
};

class Graph {
 public:
  virtual ~Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  virtual Device& device() const = 0;
  virtual size_t op_count() const = 0;
  // The listing; on CUDA about 1 us an op the first time. None if the device is lost by then.
  virtual const std::vector<Op>& ops() const = 0;
  // Gives the listing's memory back, if the listing can be read again. REQUIRES: nobody uses what
  // ops() returned.
  virtual void ForgetOps() const = 0;
  // NotFound if the token is not of the capture that made this graph.
  virtual absl::StatusOr<OpId> Find(OpToken token) const = 0;
  virtual absl::StatusOr<std::unique_ptr<Executable>> Instantiate() const = 0;

 protected:
  Graph() = default;
};

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_GRAPH_H_
