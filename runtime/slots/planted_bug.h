// Bugs of the kind that a runtime is prone to, which its simulations must find. They exist only in
// the library that is compiled with GRAPHTREE_PLANTED_BUGS, for tests; elsewhere IsPlanted is the
// constant false. Those of the tree below are in graphs/run/planted_bug.h.
#ifndef GRAPHTREE_RUNTIME_SLOTS_PLANTED_BUG_H_
#define GRAPHTREE_RUNTIME_SLOTS_PLANTED_BUG_H_

#include <cstdint>

namespace graphtree {

enum class RuntimeBug : uint8_t {
  kNone,
  kIgnoresTouch,      // no tree hears that a dependency was touched: a stale graph is replayed
  kForgetsPadding,    // rows that were not staged count as staged
  kForgetsPadValue,   // they become zeros, whatever the pad value is
  kZeroesKept,        // recording ahead writes zeros over what slots keep
  kReusesBlocks,      // the ring gives a block again that the device may still read
  kForgetsLeftOut,    // a slot that is left out is filled as in the step before
  kForgetsExclusion,  // a shape that is recorded serves steps, though it is excluded
  kEndsContinued,     // a step that goes on ends what came before it
  kSkipsStale,        // Record takes a recording that is stale for a good one
  kCountsRefused,     // a step that was refused counts as run
  kFreesRowsEarly,    // the event of the rows is set before the op that reads them
  kFreesSlotsEarly,   // the event of the slots is set before the body
  kMovesInOneLane,    // the trees of other lanes do not hear that a workspace has moved
  kTrustsPlans,       // what was prepared ahead is used, whatever was touched since
  kStrictLetsRun,     // strict does not ask the tree whether it would replay the step
  kForgetsPlanOrder,  // who uses what was prepared ahead does not wait for the side stream
  kKeepsParkedCursor,  // a step after a wake reads its block where the lost cursor would be
  kForgetsLoans,       // a loan outlives the step that should have ended it
  kStepsWhileParked,   // a step begins, though its program is parked
};

#ifdef GRAPHTREE_PLANTED_BUGS
RuntimeBug& TheRuntimeBug();
inline bool IsPlanted(RuntimeBug bug) { return TheRuntimeBug() == bug; }
#else
constexpr bool IsPlanted(RuntimeBug) { return false; }
#endif

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_SLOTS_PLANTED_BUG_H_
