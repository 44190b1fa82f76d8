// Runs a function's body for all that need it: a warm-up, an eager run, a recording, a check.
//
// Threads: the tree's caller.
#ifndef GRAPHTREE_GRAPHS_RUN_BODY_RUNNER_H_
#define GRAPHTREE_GRAPHS_RUN_BODY_RUNNER_H_

#include "graphs/launcher.h"
#include "graphs/match/function.h"
#include "graphs/run/entrance.h"
#include "graphs/run/ground.h"
#include "graphs/tensor.h"

namespace graphtree {

class BodyRunner {
 public:
  // Both outlive it.
  BodyRunner(Ground& ground, Entrance& entrance) : ground_(ground), entrance_(entrance) {}
  BodyRunner(const BodyRunner&) = delete;
  BodyRunner& operator=(const BodyRunner&) = delete;

  // Returns the body's outputs. An exception, and outputs that the body may not return, make the
  // launcher fail.
  Values Run(const Function& function, Launcher& on, Values& inputs);

 private:
  Ground& ground_;
  Entrance& entrance_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_BODY_RUNNER_H_
