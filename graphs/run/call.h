// One call of a function, on its way through the tree.
#ifndef GRAPHTREE_GRAPHS_RUN_CALL_H_
#define GRAPHTREE_GRAPHS_RUN_CALL_H_

#include "absl/types/span.h"
#include "device/stream.h"
#include "graphs/history/call_stack.h"
#include "graphs/match/function.h"
#include "graphs/tensor.h"

namespace graphtree {

struct Call {
  Function& function;
  Variant* variant;  // null on the hot path, which needs none
  absl::Span<Value> inputs;
  Stream& stream;
  Values* outputs;
  bool brings_storage = true;  // false only if no input is a tensor that a tree made
  bool brings_others = false;  // true if a recording was found and another tree made an input
  bool launches = true;        // false: the function is to be recorded, and not to be run
  bool must_replay = false;    // where nothing can be replayed the call is an error
  StackId from = 0;            // the caller's stack, taken in checked mode
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_CALL_H_
