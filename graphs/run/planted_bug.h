// Bugs of the kind that a tree is prone to, which the simulation must find. They exist only in the
// library that is compiled with GRAPHTREE_PLANTED_BUGS, for tests; elsewhere IsPlanted is the
// constant false.
#ifndef GRAPHTREE_GRAPHS_RUN_PLANTED_BUG_H_
#define GRAPHTREE_GRAPHS_RUN_PLANTED_BUG_H_

#include <cstdint>

namespace graphtree {

enum class PlantedBug : uint8_t {
  kNone,
  kSkipsLiveness,       // a match does not ask what is alive
  kForgetsDying,        // a restore does not free what has died since
  kForgetsConsumed,     // a recording does not note which inputs died inside
  kSkipsPatch,          // a replay copies from where the input was before
  kForgetsMutation,     // a warm-up does not learn which inputs are written
  kForgetsSecretWrite,  // checked mode tells of a write, and the input does not count as mutated
  kRevivesStale,        // a replay hands out storage that somebody still holds from an ended step
  kForgetsStreamOrder,  // a replay does not come after the work on the stream before
  kLaunchesStale,       // no check asks whether an input's step has ended
  kReusesKeptPlace,     // a replay puts a kept output where the last one is
  kSkipsPointers,       // a replay does not patch the ops that take an input that has moved
  kForgetsEviction,     // an executable that comes back is taken to be patched already
  kRecordsUnsettled,    // a body that asks for another warm-up is recorded all the same
  kForgetsAlignment,    // a warm-up gives the body an input that is less aligned than declared
  kForgetsOverlap,      // an input that overlaps itself is not copied in
  kMixesObjects,        // a match does not ask which object came with the version
  kForgetsDead,         // checked mode does not ask whether inputs are still there
  kForgetsDestroy,      // observers are not told of evictions
  kForgetsForeign,      // a recording does not hold the foreign blocks that it points to
  kKeepsPlaces,         // a replayed part is given its tensors where they were when recorded
  kSwapsHalf,           // executables take turns, and the tables of what they point to do not
  kLetsAllIn,           // a second caller may enter while the first one is inside
  kOverrunsBudget,      // an executable is made without asking whether there is room
  kHidesReason,         // an eager run is not counted under its reason
  kForgetsStored,       // what a body stored and did not return does not end with its step
  kForgetsTakenBack,    // the same for a run that failed
  kForgetsUsed,         // a recording does not hold lasting memory that its body was not given
  kForgetsKeepAlive,    // a recording does not hold the objects that its body handed it
  kDestroysInCaptures,  // what was evicted is destroyed though another tree is capturing
  kComparesNothing,     // checked mode does not tell that a replay differs from its body
  kTrustsReads,         // a warm-up does not look for ops that write to what they are told to read
  kForgetsElsewhere,    // a recording is kept that does not hold all work of its body
  kMixesOrders,         // which stream came last is remembered once for all trees
  kIgnoresRegion,       // eager runs and parts get memory where replays have theirs
  kForgetsFlight,       // a call that fails is over though its work is not
  kForgetsUndo,         // what a failed run drew and wrote is not taken back
  kLosesInputs,         // a rollback that fails takes the call's inputs along
  kForgetsSpilled,      // a body whose memory did not fit is recorded across its breaks
  kForgetsPartWrites,   // what a part writes and its break does not name is not saved
  kForgetsOtherUsers,   // a call does not wait for other trees that tensors were handed over to
  kForgetsEagerWork,    // the pool does not hear of the streams of eager runs
  kRevivesTwice,        // a part's views that overlap are told to the device as two blocks
  // A bug that is not to be found, but to be measured (tests/bare/stale_bench.cc): after replays
  // nothing goes stale, and no check asks.
  kNoStaleChecks,
};

#ifdef GRAPHTREE_PLANTED_BUGS
PlantedBug& ThePlantedBug();
inline bool IsPlanted(PlantedBug bug) { return ThePlantedBug() == bug; }
// Whether no other tree has called this since `tree` did. For bugs that several trees share.
bool CameLast(const void* tree);
#else
constexpr bool IsPlanted(PlantedBug) { return false; }
constexpr bool CameLast(const void*) { return true; }
#endif

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_PLANTED_BUG_H_
