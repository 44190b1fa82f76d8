// Whether a call would be replayed. Asks what a call asks, in the same order, and changes nothing.
//
//   as a step's first call      the recordings below the root
//   on the path in force        those at the path's end; or below the root, if nothing of the path
//                               is held, since the path then ends with the call
//
// Threads: any; a thread that cannot enter the tree is told "no".
#ifndef GRAPHTREE_GRAPHS_RUN_FORESIGHT_H_
#define GRAPHTREE_GRAPHS_RUN_FORESIGHT_H_

#include "absl/types/span.h"
#include "device/stream.h"
#include "graphs/function_options.h"
#include "graphs/recording/node.h"
#include "graphs/run/books.h"
#include "graphs/run/call.h"
#include "graphs/run/entrance.h"
#include "graphs/run/functions.h"
#include "graphs/run/ground.h"
#include "graphs/run/matcher.h"
#include "graphs/tensor.h"

namespace graphtree {

class Foresight {
 public:
  // All outlive it.
  Foresight(Entrance& entrance, Ground& ground, Books& books, Functions& functions,
            Matcher& matcher)
      : entrance_(entrance),
        ground_(ground),
        books_(books),
        functions_(functions),
        matcher_(matcher) {}

  // Whether a call would be a replay, on the path in force or as the first call of a step.
  bool WouldReplay(FunctionId id, absl::Span<Value> inputs, Stream& stream, bool begins_step) {
    return Find(id, inputs, stream, begins_step) != nullptr;
  }
  // Whether a call that began a step would be a replay whose first op is the body's.
  bool WouldReplayFirst(FunctionId id, absl::Span<Value> inputs, Stream& stream);
  // For a call that is inside. The recording that would serve the call, if the path in force ended
  // with it, as nothing of the path is held; or null.
  Node* FindBeyond(Call& call);

 private:
  // The recording that would serve a call; or null.
  const Node* Find(FunctionId id, absl::Span<Value> inputs, Stream& stream, bool begins_step);
  // The recording that would serve the call as a step's first; or null.
  Node* FindAtRoot(Call& call);

  Entrance& entrance_;
  Ground& ground_;
  Books& books_;
  Functions& functions_;
  Matcher& matcher_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_FORESIGHT_H_
