// A way of serving: brings a batch in, runs the model on it and picks tokens. The loop around it
// does not know which way it is.
//
//   eager_way.h     every kernel is launched by itself
//   engine_way.h    inputs are copied and filled one by one, then a graph of the layers is launched
//   runtime_way.h   the runtime: one launch for all of it
//
// Thread rule: one thread, and one stream.
#ifndef GRAPHTREE_TOOLS_DEMO_MODEL_WAY_H_
#define GRAPHTREE_TOOLS_DEMO_MODEL_WAY_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/address.h"
#include "runtime/why.h"
#include "tools/demo_model/scheduler.h"

namespace graphtree::demo {

struct Submitted {
  Address tokens = 0;  // int[requests] on the device, until the next batch is submitted
  int submissions = 0;  // kernels, graphs, copies and fills that were put on the stream
  int padded_tokens = 0;  // rows for which the layers were launched
  bool is_replay = false;  // the layers ran as a graph that had been there
  std::optional<Why> why = std::nullopt;  // of a way that says why
};

struct WayGraphs {
  uint64_t count = 0;
  uint64_t bytes = 0;  // device memory that their executables hold, estimated
};

class Way {
 public:
  virtual ~Way() = default;
  // Puts the step's work on the stream. REQUIRES: the stream is done with the batch before.
  virtual absl::StatusOr<Submitted> Submit(const Batch& batch) = 0;
  // Called between two steps, when the last one's tokens were read and nothing waits.
  virtual absl::Status Idle() { return absl::OkStatus(); }
  // How the last step ran, for people. Empty for a way that cannot say.
  virtual std::string Describe() const { return ""; }
  virtual WayGraphs graphs() const = 0;
};

}  // namespace graphtree::demo

#endif  // GRAPHTREE_TOOLS_DEMO_MODEL_WAY_H_
