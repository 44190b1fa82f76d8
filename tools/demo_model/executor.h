// Runs the model's functions one way or another; the loop around them does not know which.
//
// Thread rule: one thread.
#ifndef GRAPHTREE_TOOLS_DEMO_MODEL_EXECUTOR_H_
#define GRAPHTREE_TOOLS_DEMO_MODEL_EXECUTOR_H_

#include <cstdint>

#include "absl/status/status.h"
#include "graphs/tensor.h"

namespace graphtree::demo {

enum class ModelFunction { kDecode, kGreedy, kSampled };
inline constexpr int kModelFunctions = 3;

class Executor {
 public:
  virtual ~Executor() = default;
  // The outputs of the last step are not used any more.
  virtual void BeginStep() = 0;
  // Puts the function's work on the stream. Tensors that an earlier function made may be taken out
  // of `inputs`; the rest of it stays.
  virtual absl::Status Run(ModelFunction function, Values* inputs, Values* outputs) = 0;
  // How often a body has run; a replay runs none.
  virtual uint64_t bodies_run() const = 0;
};

}  // namespace graphtree::demo

#endif  // GRAPHTREE_TOOLS_DEMO_MODEL_EXECUTOR_H_
