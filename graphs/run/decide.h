// What becomes of a call that was no hit: one pure decision over a small struct of facts. No
// device, no clock, no counter; nothing is evicted or changed. The function and the variant are the
// call's; "this place" is the node at the path's end.
//
//      the first rule that holds decides                            decision
//   1  the size is not listed                                        eager: size_not_listed
//   2  the sizes vary, and what varies is not to be recorded         eager: sizes_vary
//   3  the path grows with every call, and nothing of it is held     begin a new path
//   4  the path holds warm-ups, and the step goes on and on          eager: long_step
//   5  the tree is off                                               eager: tree_off
//   6  the function is excluded                                      eager: excluded
//   7  the function asks for warm-ups for ever                       eager: warm_up_for_ever
//   8  the function works on another stream                          eager: works_elsewhere
//   9  the function writes to an input that must be copied           eager: mutated_input
//  10  inputs overlap, and one of them is written to                 eager: overlapping_inputs
//  11  the variant's recordings failed; it pauses                    eager: paused
//      ... or a recording was given up for memory                    eager: given_up
//  12  the variant was recorded too often here                       eager: rerecord_limit
//  13  other shapes have all the places, and keep them               eager: shape_limit
//  14  the variant is not warm, or the path is of warm-ups           warm up
//  15  a recording matches                                           replay
//  16  the path replays, and nothing of it is held                   begin a new path
//  17  an input moved, and the options want it to stay               eager: input_moves
//  18  a recording nearly matches, and one more is one too many      eager: rerecord_limit
//  19  the function is recorded apart, and the call runs it          eager: recorded_apart
//  20  none of these holds                                           record
//
// A call that begins a new path is decided once more, at the root. Warm-ups and recordings make a
// path longer with every call, so such a path ends as soon as it can (rule 3).
//
// A recording may have to be made again, because it showed an input to be hidden or written. The
// call is then decided once more with `is_again`, without rules 3 and 14 to 19.
//
// Rules 1 to 8 ask cheap questions. The facts of the others are gathered only if none of these
// holds (IsSettledEarly).
#ifndef GRAPHTREE_GRAPHS_RUN_DECIDE_H_
#define GRAPHTREE_GRAPHS_RUN_DECIDE_H_

#include <cstdint>
#include <optional>

#include "graphs/match/input_roles.h"
#include "graphs/reason.h"
#include "graphs/recording/node.h"
#include "graphs/recording/path.h"

namespace graphtree {

// May a call of this size be recorded?
enum class SizeVerdict : uint8_t { kMayBeRecorded, kNotListed, kVaries };

// A recording at this place that does not serve the call.
struct Sibling {
  Reason against = Reason::kLivenessDiffers;
  // The miss is no waste: the next recording takes the input that moved at any address, or a
  // workspace moved.
  bool is_expected = false;
};

struct MissFacts {
  // Cheap facts, for rules 1 to 8.
  bool is_again = false;
  // The tree and the path.
  bool enabled = true;
  PathState path = PathState::kNone;
  bool path_is_held = false;  // some output on the path is alive
  bool is_long_step = false;
  // The function and the shape.
  SizeVerdict size = SizeVerdict::kMayBeRecorded;
  bool excluded = false;
  bool warm = false;
  bool asks_for_ever = false;
  bool works_elsewhere = false;
  bool waits_for_record = false;  // recorded apart, and this call is to run it

  // Facts that only later rules ask for.
  uint64_t pause = 0;
  bool was_given_up = false;  // the pause is for that, and not for failures
  bool has_place = true;  // the shape has one or can take one
  // This call's inputs.
  RoleObstacle obstacle = RoleObstacle::kNone;
  bool writes_overlap = false;
  // This place in the tree.
  bool matches = false;
  bool is_rerecorded_too_often = false;
  std::optional<Sibling> sibling;
  uint64_t rerecords = 0;  // how many recordings at this place had no expected cause
  uint64_t rerecord_limit = 0;
};

// In the order of the table: a decision by one rule means that no rule before it held.
enum class Rule : uint8_t {
  kSizeNotListed = 1,
  kSizesVary,
  kDeadPathGrows,
  kLongStep,
  kTreeOff,
  kExcluded,
  kWarmUpForEver,
  kWorksElsewhere,
  kMutatedInput,
  kOverlappingInputs,
  kPaused,
  kRerecordedTooOften,
  kNoPlace,
  kWarmUp,
  kReplay,
  kNewPath,
  kInputMoves,
  kOneTooMany,
  kRecordedApart,
  kRecord,
};

struct Decision {
  enum class Route : uint8_t { kReplay, kWarmUp, kRecord, kEager, kNewPath };
  Rule rule = Rule::kRecord;
  Route route = Route::kRecord;
  Reason reason = Reason::kExcluded;  // of kEager
};

Decision Decide(const MissFacts& facts);
// Whether one of rules 1 to 8 holds.
bool IsSettledEarly(const MissFacts& facts);

// Warm-ups and recordings make the path longer with every call.
inline bool Grows(PathState state) {
  return state == PathState::kRecording || state == PathState::kWarmUp;
}

// Whether a variant was recorded so often at one place that this call is refused, and the counts
// after this call. After `retry_after` refusals the count of recordings is halved.
struct RerecordVerdict {
  bool is_too_often = false;
  Rerecords after;
};
RerecordVerdict JudgeRerecords(const Rerecords& seen, uint64_t limit, uint64_t retry_after);

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_DECIDE_H_
