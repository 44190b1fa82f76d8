// What is done between calls: steps begin, functions come and go, recordings are given up.
//
//   BeginStep             the path ends; functions that waited for that leave
//   Register, Unregister  a function comes, or leaves with its recordings (functions.h)
//   GiveUp, GiveMemory    recordings go, so that others have room (keeper.h)
//
// What goes is taken out of the tree here and destroyed once no work needs it (graveyard.h). An
// object that a body or a recording held may call the tree from its destructor, and even close the
// tree. So bodies are destroyed after the gate is open again, and a tree that was closed ends last.
//
// Threads: any. Register, Unregister and what gives up wait for the call that another thread is in;
// a step that is begun during a call is refused, and the next call is an error that says so.
#ifndef GRAPHTREE_GRAPHS_RUN_BETWEEN_CALLS_H_
#define GRAPHTREE_GRAPHS_RUN_BETWEEN_CALLS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "graphs/budget/keeper.h"
#include "graphs/function_options.h"
#include "graphs/run/books.h"
#include "graphs/run/call_journal.h"
#include "graphs/run/entrance.h"
#include "graphs/run/functions.h"
#include "graphs/run/ground.h"

namespace graphtree {

class BetweenCalls {
 public:
  // All outlive it.
  BetweenCalls(Entrance& entrance, Ground& ground, Books& books, CallJournal& journal,
               Functions& functions)
      : entrance_(entrance),
        ground_(ground),
        books_(books),
        journal_(journal),
        functions_(functions) {}

  // `frame` is that of the public function that the program called (history/stack_marks.h).
  void BeginStep(const void* frame);
  FunctionId Register(std::string name, FunctionOptions options, Body body);
  absl::Status Unregister(FunctionId id);
  // Does nothing inside of a body, as GiveMemory and EndPause do.
  void GiveUp(const Share& beyond);
  // Returns how many bytes were unmapped.
  uint64_t GiveMemory(uint64_t bytes, const std::string& for_whom);
  // Variants of the function that pause are recorded by their next calls.
  void EndPause(FunctionId id);

 private:
  // Has `give` take recordings, also those of a path of which nothing is held.
  void GiveRecordings(const std::function<void(Keeper&)>& give);
  void EndPathIfDead();
  // Destroys what was evicted and is needed no more. Of a lost tree nobody knows when its work
  // ends.
  void Bury();

  Entrance& entrance_;
  Ground& ground_;
  Books& books_;
  CallJournal& journal_;
  Functions& functions_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_BETWEEN_CALLS_H_
