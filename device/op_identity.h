// What the ops of a recorded graph are: said once, when the graph is captured, for whoever is told
// of its launches later.
//
//   body          Launch(kNorm)   Launch(kAttend)   a library's own work   Copy
//   graph           op 0             op 1               op 2, op 3          op 4
//   GraphIdentity  "norm"          "attend"        "unknown op" twice      "copy"
//
// Nothing is guessed: an op that the body put into the graph without its launcher is an unknown op.
//
// Plain values: immutable once they are handed out, readable from any thread, and good for as long
// as somebody holds them, also after the recording, the tree and the device are gone.
#ifndef GRAPHTREE_DEVICE_OP_IDENTITY_H_
#define GRAPHTREE_DEVICE_OP_IDENTITY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "device/graph.h"
#include "device/kernel.h"

namespace graphtree {

inline constexpr int64_t kUnknownBytes = -1;
inline constexpr char kUnknownOp[] = "unknown op";

struct OpIdentity {
  OpId op = 0;  // in its graph; 0 for one that was launched alone
  OpKind kind = OpKind::kOther;
  std::string name = {};       // the kernel's, or "copy", "fill", "event"; else kUnknownOp
  std::string backend = {};    // what the kernel was made with: "cuda", "host", "triton"
  std::string file = {};       // the kernel's source
  std::string hash = {};       // of that source
  std::string arguments = {};  // the launch's, as the kernel was given them: "XBLOCK=1024"
  std::string input_dims = {};   // JSON, by argument: "[[64, 256], []]"
  std::string input_types = {};  // JSON, by argument: ["float", "Scalar"]
  std::string scope = {};        // of the caller, the inner first: "attention;layer 3"
  LaunchShape shape = {};        // of a kernel
  int64_t bytes_read = kUnknownBytes;     // as the launch declared them
  int64_t bytes_written = kUnknownBytes;

  bool is_known() const { return name != kUnknownOp; }
};

struct GraphIdentity {
  uint64_t tree = 0;        // Observers::tree
  std::string function = {};
  uint64_t recording = 0;
  uint64_t section = 0;
  size_t op_count = 0;
  std::vector<OpIdentity> ops = {};  // by op id, op_count of them
  bool is_complete = true;           // no op is unknown
};

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_OP_IDENTITY_H_
