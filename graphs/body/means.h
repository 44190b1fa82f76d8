// What whoever runs a body lends to its launcher, beside a stream and memory. Plain values, set
// before the run; a body cannot tell from them in which kind of run it is.
#ifndef GRAPHTREE_GRAPHS_BODY_MEANS_H_
#define GRAPHTREE_GRAPHS_BODY_MEANS_H_

#include "graphs/body/body_inputs.h"

namespace graphtree {

class Cutter;
class OpWatch;
class Workspaces;

// None owned; all outlive the run.
struct BodyMeans {
  BodyInputs inputs;
  const Workspaces* workspaces = nullptr;  // null: a body that uses one fails
  Cutter* cutter = nullptr;                // null: parts run in their place
  // Stands around the launches of the launcher, and of parts that it runs itself. May be null.
  OpWatch* watch = nullptr;
  // What is launched is captured: it runs where its graph is launched, and never if the capture
  // fails.
  bool is_captured = false;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_BODY_MEANS_H_
