// Why a call was not replayed, or a recording not used again: every cause has a code, a counter and
// a sentence. Below, "it" is the function that was called.
#ifndef GRAPHTREE_GRAPHS_REASON_H_
#define GRAPHTREE_GRAPHS_REASON_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace graphtree {

enum class Reason : uint8_t {
  // Run eagerly, outside the tree.
  kExcluded,           // the caller excluded the function
  kTreeOff,            // the caller switched the tree off
  kMutatedInput,       // it writes to an input that is neither static nor made on this path
  kOverlappingInputs,  // two inputs share bytes and it writes to one of them
  kRerecordLimit,      // recorded too often at this place
  kRecordFailed,       // its recording failed
  kForbiddenCall,      // it does what no recording allows: waits, or allocates past the pool
  kUnjoinedFork,       // it left work on another stream that was not joined
  kOutOfPool,          // the pool had no memory for it
  kOutOfDevice,        // the device had no memory, stream or event for its recording
  kInputMoves,         // an input that was pinned comes at other addresses, and its options say so
  kSizeNotListed,      // its options list the sizes to record, and this is none of them
  kSizesVary,          // its sizes vary, and its options or the tree's say not to record it then
  kShapeLimit,         // other shapes have all the places, and are used more
  kOverBudget,         // the tree's budget has no room for it beside the path that it is on
  kPaused,             // its recording has failed; it is tried again after some more runs
  kGivenUp,            // its recording was given up for memory; it is made again after some runs
  kRecordedApart,      // Tree::Record alone records it, and no recording serves the call
  // Recorded again although the function has a recording at this place.
  kStaticMoved,        // a static input has another address
  kManagedMoved,       // an input made on this path has another address
  kAlignmentDiffers,   // a patched input is less aligned than when it was recorded
  kLivenessDiffers,    // an output that was dead when it was recorded is alive
  kConsumerDiffers,    // an input that died inside the function is held by somebody else now
  // Evicted, to make room. These count the recordings or executables that went.
  kNodeEvicted,        // a recording, for the budget of nodes
  kSiblingEvicted,     // a recording, for the budget of siblings
  kShapeEvicted,       // recordings of a shape that lost its place, or its warm-up
  kExecutableEvicted,  // an executable, for the budget of executables
  kBytesEvicted,       // an executable, for the budget of their bytes
  kMemoryEvicted,      // a recording, as a run lacked the memory that it held
  kFunctionEvicted,    // recordings of a function that is not recorded any more
  kSpareDropped,       // a second executable of a recording, for any of these, or not made
  kWorkspaceMoved,     // a library's workspace that it points to has other memory now
  // Bodies that ask or do what they should not.
  kCaptureBroken,      // a call that no capture allows, or another thread's, spoiled its recording
  kWarmUpAsked,        // it asked to be warmed up again
  kWarmUpForEver,      // ... more often than the limit allows, and runs eagerly
  kLongStep,           // it is called on and on in a step that does not end
  kUndeclaredWrite,    // checked mode saw it write to an input that it did not declare
  kWorksElsewhere,     // its recording lacks work that it put on another stream
  kReplayDiffers,      // checked mode saw a replay leave other bytes than a run of its body
  kHostValue,          // checked mode saw its body give an op another value than in its warm-up
  // Cut where it must run eagerly. This counts the breaks of the recordings that were made.
  kBreak,  // the last one: kReasonCount counts up to it
};

constexpr size_t kReasonCount = static_cast<size_t>(Reason::kBreak) + 1;

// "mutated_input": for counters and scripts.
const char* ReasonName(Reason reason);
// What happened and what to do about it, for people.
const char* ReasonSentence(Reason reason);

// Whether the function ran eagerly for lack of memory, or of room in a budget.
constexpr bool IsLackOfRoom(Reason reason) {
  return reason == Reason::kOutOfPool || reason == Reason::kOutOfDevice ||
         reason == Reason::kOverBudget;
}

using ReasonCounts = std::array<uint64_t, kReasonCount>;

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_REASON_H_
