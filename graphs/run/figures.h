// The figures of a tree: for all of it, by function, by edge. Replays are counted by their nodes,
// and summed up here.
//
// Threads: any. A thread that asks waits for the call that runs. A body may ask about its own tree:
// then nothing is forgotten or freed, as its call is not over.
#ifndef GRAPHTREE_GRAPHS_RUN_FIGURES_H_
#define GRAPHTREE_GRAPHS_RUN_FIGURES_H_

#include <vector>

#include "graphs/reports/call_counts.h"
#include "graphs/run/books.h"
#include "graphs/run/call_journal.h"
#include "graphs/run/functions.h"
#include "graphs/run/gate.h"
#include "graphs/run/ground.h"
#include "graphs/tree_stats.h"

namespace graphtree {

class Figures {
 public:
  // All outlive it.
  Figures(Gate& gate, Ground& ground, Books& books, CallJournal& journal, Functions& functions)
      : gate_(gate), ground_(ground), books_(books), journal_(journal), functions_(functions) {}

  // Waits for nobody: for the thread that made the call.
  LastCall last_call() const { return journal_.last_call(); }
  TreeStats Stats();
  std::vector<EdgeStats> Edges();
  std::vector<FunctionStats> PerFunction();

 private:
  Gate& gate_;
  Ground& ground_;
  Books& books_;
  CallJournal& journal_;
  Functions& functions_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_FIGURES_H_
