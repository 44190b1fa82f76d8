// What became of a tree's calls, and what the tree holds.
#ifndef GRAPHTREE_GRAPHS_TREE_STATS_H_
#define GRAPHTREE_GRAPHS_TREE_STATS_H_

#include <cstdint>
#include <optional>

#include "graphs/reason.h"
#include "graphs/reports/duration_counts.h"

namespace graphtree {

// What a call came to.
enum class CallRoute : uint8_t { kNone, kReplayed, kRecorded, kWarmedUp, kRanEagerly };

struct LastCall {
  CallRoute route = CallRoute::kNone;
  // Why it ran eagerly; or, of a call that was recorded, why a recording of it that was there did
  // not serve. Else nothing.
  std::optional<Reason> reason = std::nullopt;
};

struct TreeStats {
  uint64_t calls = 0;
  uint64_t replays = 0;
  uint64_t recordings = 0;
  uint64_t sections = 0;     // of those recordings: one for each, and one more for every break
  uint64_t eager_parts = 0;  // that recordings and replays have run where they are cut
  uint64_t warm_ups = 0;
  uint64_t eager = 0;
  uint64_t thrown = 0;  // exceptions of observers and warnings, which change nothing
  uint64_t restores = 0;     // of the pool's books to a node of the tree
  uint64_t copied_inputs = 0;  // inputs that recordings copy, summed over the recordings
  uint64_t patched_inputs = 0;  // likewise, inputs whose ops are patched when they move
  // Pads (Launcher::Pad) of bodies and parts that ran to their end. A replay adds those of its
  // parts alone.
  uint64_t pads_in_place = 0;
  uint64_t pads_copied = 0;
  uint64_t pad_room_bytes = 0;  // room that was learned and given, summed over these runs
  ReasonCounts reasons = {};
  uint64_t nodes = 0;              // now; so are those below, but for the two that say "ever"
  uint64_t executables = 0;
  uint64_t executable_bytes = 0;   // device memory
  uint64_t shapes = 0;             // that have a place among those that may be recorded
  uint64_t instantiated_again = 0;  // ever: evicted executables that came back
  uint64_t spares = 0;  // ever: second executables of recordings whose addresses alternate
  uint64_t live_blocks = 0;  // outputs of this path that are held
  uint64_t pool_reserved_bytes = 0;  // physical memory
  uint64_t pool_live_bytes = 0;      // as the books show it; replays do not change them
  uint64_t kept_bytes = 0;  // of outputs that are held beyond their step, or may be
  uint64_t foreign_held_bytes = 0;  // of foreign code's blocks that recordings hold
  uint64_t lacked_bytes = 0;  // by the last run that the pool had too little memory for
  // How long the host took, ever: from the begin of a section's capture to its end, body included;
  // to instantiate a graph; to update an evicted executable to one instead.
  DurationCounts captures;
  DurationCounts instantiations;
  DurationCounts updates;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_TREE_STATS_H_
