// History: the lives of allocations, from a snapshot's trace.
//
//   events       0    1    2    3    4    5   ...      trace entries of one device, in time order
//   allocation   A ---alloc........free_requested-free_completed
//                      ^born          ^freed           ^gone
//
// A trace is a ring: its beginning may be lost, recording may have begun late, some actions may
// have been left out, and after a change of the ring's size the order may be broken. So a life may
// begin before the history (a free, or a block at the end, that no alloc explains), and every such
// finding is counted in Losses instead of being guessed away. Entries out of order are sorted by
// their time.
//
// A pool of ours that goes back to a checkpoint says so in one entry, "checkpoint_restore", which
// names the blocks that went by it (its key "gone") and those that came back ("back"): lists of
// (address, requested bytes). What came back has a life of its own from there on.
//
// Placeholders are allocations that PyTorch makes and frees itself to reach an exact address (both
// the alloc and the free carry an internal tag). They are no user's memory and are left out of all
// byte counts.
//
// Pure: reads a snapshot and builds plain data. Cost: one hash lookup per alloc and free.
#ifndef GRAPHTREE_TOOLS_SNAPSHOT_ANALYSIS_HISTORY_H_
#define GRAPHTREE_TOOLS_SNAPSHOT_ANALYSIS_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "allocator/snapshot/snapshot.h"

namespace graphtree::snapshot {

inline constexpr uint32_t kNever = 0xffffffffu;

struct Allocation {
  uint64_t address = 0;
  uint64_t size = 0;  // as requested
  uint32_t born = kNever;   // the event of its alloc; kNever: before the history begins
  uint32_t alloc = kNever;  // the same; of what a restore brought back, the first life's
  uint32_t freed = kNever;  // of its free_requested; kNever: not in the history
  uint32_t gone = kNever;   // of its free_completed
  uint32_t block = kNever;  // the row of the block that holds it at the end
  StackId stack = 0;
  StringId user_metadata = words::kEmpty;
  StringId compile_context = words::kEmpty;
  PoolId pool = kNoId;  // kNoId: nothing says which
  uint32_t ends = kNever;  // the allocation that must have ended, as this one took its address
  bool placeholder = false;

  // Whether the user holds it once the event has happened; kNever: before the first event.
  bool AliveAfter(uint32_t event) const {
    if (event == kNever) return born == kNever;
    return (born == kNever || born <= event) && (freed == kNever || freed > event);
  }
};

// A text that was put on a live allocation.
struct Note {
  uint32_t allocation = kNever;  // kNever: its allocation is not in the history
  uint32_t event = kNever;
};

// A restore of a checkpoint ended this life, or began it.
struct Moved {
  uint32_t event = kNever;
  uint32_t allocation = kNever;
};

// What the history cannot tell, and how it was seen.
struct Losses {
  uint64_t frees_without_alloc = 0;
  uint64_t blocks_without_alloc = 0;
  uint64_t blocks_without_alloc_bytes = 0;
  uint64_t allocs_over_live = 0;  // at an address that was still allocated: a free is missing
  uint64_t segments_without_alloc = 0;
  uint64_t notes_without_alloc = 0;
  bool out_of_order = false;  // and was sorted

  bool any() const {
    return frees_without_alloc + blocks_without_alloc + allocs_over_live + segments_without_alloc +
                   notes_without_alloc != 0 || out_of_order;
  }
};

// Where the pools of allocations are known from.
struct PoolSources {
  uint64_t from_entry = 0;
  uint64_t from_address = 0;  // a segment that exists at the end covers it
  uint64_t unknown = 0;
};

struct Peak {
  uint64_t bytes = 0;
  uint32_t event = kNever;  // after which the peak stands; kNever: at the start
};

struct DeviceHistory {
  int64_t device = 0;
  std::vector<uint32_t> segments;     // rows of the side's, of this device
  std::vector<uint32_t> rows;         // of the snapshot's entries, in time order
  std::vector<uint32_t> allocation;   // by event; kNever where the event is about none
  std::vector<Allocation> allocations;
  std::vector<Note> notes;            // by event
  std::vector<Moved> moved;           // by event
  Losses losses;
  PoolSources pools;
  uint64_t allocated_at_start = 0;    // requested bytes
  uint64_t reserved_at_start = 0;
  Peak allocated_peak;
  Peak reserved_peak;

  const TraceEntry& Entry(const Snapshot& snapshot, uint32_t event) const {
    return snapshot.entries[rows[event]];
  }
  absl::Span<const Moved> MovedAt(uint32_t event) const;
};

// What one event does to the totals.
struct Change {
  int64_t allocated = 0;  // requested bytes that the user holds
  int64_t active = 0;     // and those that were freed but may still be in use
  int64_t reserved = 0;
};
Change ChangeOf(const Snapshot& snapshot, const DeviceHistory& history, uint32_t event);

// One history per device of the side, in order of device; devices without entries and segments are
// left out.
std::vector<DeviceHistory> BuildHistories(const Snapshot& snapshot, const Side& side);

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_TOOLS_SNAPSHOT_ANALYSIS_HISTORY_H_
