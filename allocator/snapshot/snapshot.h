// Snapshot: one picture of an allocator, in rows and columns.
//
//   segments      [ device, address, total_size, ... , first_block .. +block_count )
//                        |                                  |
//   blocks        [ address, size, requested_size, state, stack | ... ]    in address order
//   traces        { device, first_entry .. +entry_count }   one per device, oldest entry first
//   entries       [ addr, size, time_us, action, stack, ... ]              48 bytes each
//   stacks, frames, strings, pools                                        (tables.h, value.h)
//
// The fields are those of PyTorch's snapshots, under the same names. GPUs and pinned host memory
// are two *sides* with the same rows; the totals of one never contain the other. What a file holds
// and this library does not know is kept: keys of a row in its extras, keys of the whole in `root`.
//
// A Snapshot is plain data and may be read by any number of threads. Ids and row numbers mean
// something only within their own snapshot.
#ifndef GRAPHTREE_ALLOCATOR_SNAPSHOT_SNAPSHOT_H_
#define GRAPHTREE_ALLOCATOR_SNAPSHOT_SNAPSHOT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "allocator/snapshot/growing_array.h"
#include "allocator/snapshot/string_table.h"
#include "allocator/snapshot/tables.h"
#include "allocator/snapshot/value.h"
#include "allocator/snapshot/words.h"

namespace graphtree::snapshot {

inline constexpr int64_t kHostDevice = -1;

struct Block {
  uint64_t address = 0;
  uint64_t size = 0;
  uint64_t requested_size = 0;
  StringId state = words::kEmpty;
  StackId stack = 0;
  ShapeId shape = 0;
  ExtrasId extras = 0;

  bool allocated() const { return state == words::kActiveAllocated; }
  // Freed by the user, but a stream may still be working with it. Two spellings exist.
  bool pending() const {
    return state == words::kActivePendingFree || state == words::kActiveAwaitingFree;
  }
};

struct Segment {
  int64_t device = 0;
  uint64_t address = 0;
  uint64_t total_size = 0;
  uint64_t allocated_size = 0;
  uint64_t active_size = 0;
  uint64_t requested_size = 0;
  Value stream;
  StringId type = words::kEmpty;
  PoolId pool = kNoId;
  StackId stack = 0;
  ShapeId shape = 0;
  ExtrasId extras = 0;
  bool expandable = false;
  size_t first_block = 0;
  size_t block_count = 0;
};

// Fields of trace entries that have few distinct values in a whole trace, each combination stored
// once.
struct EntryDetails {
  ShapeId shape = 0;
  StringId internal_metadata = words::kEmpty;
  ExtrasId extras = 0;
  Value stream;

  bool operator==(const EntryDetails& other) const {
    return shape == other.shape && internal_metadata == other.internal_metadata &&
           extras == other.extras && stream == other.stream;
  }
  bool IsOnly(ShapeId only_shape, Value only_stream) const {
    return shape == only_shape && stream == only_stream && internal_metadata == words::kEmpty &&
           extras == 0;
  }
};

struct TraceEntry {
  uint64_t addr = 0;  // device_free, where the action is oom
  uint64_t size = 0;
  int64_t time_us = 0;
  StringId action = words::kEmpty;
  StackId stack = 0;
  StringId compile_context = words::kEmpty;
  StringId user_metadata = words::kEmpty;
  PoolId pool = kNoId;
  uint32_t details = 0;
};

class DetailsTable {
 public:
  uint32_t Intern(const EntryDetails& details) {
    return last_ != kNoId && details_[last_] == details ? last_ : Find(details);
  }
  // The same for entries that have nothing but a shape and a stream, as nearly all do.
  uint32_t Intern(ShapeId shape, Value stream) {
    if (last_ != kNoId && details_[last_].IsOnly(shape, stream)) return last_;
    return Find({.shape = shape, .stream = stream});
  }
  const EntryDetails& operator[](uint32_t id) const { return details_[id]; }
  size_t bytes() const { return details_.bytes() + index_.bytes(); }

 private:
  uint32_t Find(const EntryDetails& details);

  GrowingArray<EntryDetails> details_;
  IdTable index_;
  uint32_t last_ = kNoId;
};

struct Trace {
  int64_t device = 0;
  size_t first_entry = 0;
  size_t entry_count = 0;
};

// The GPUs of a machine, or its pinned host memory.
struct Side {
  std::vector<Segment> segments;
  std::vector<Trace> traces;
};

struct Snapshot {
  StringTable strings;
  ValueStore values;
  FrameTable frames;
  StackTable stacks;
  ShapeTable shapes;
  ExtrasTable extras;
  DetailsTable details;

  GrowingArray<Block> blocks;
  GrowingArray<TraceEntry> entries;
  Side gpu;
  Side host;

  // The file's outermost dictionary: key and value in order. The values of segments, device_traces,
  // host_segments and host_traces are None here; they are the rows above.
  std::vector<DictItem> root;
  bool segments_only = false;  // an old file: a bare list of segments
  int pickle_protocol = -1;    // of the file that was read; -1 where it was no pickle
  uint64_t trailing_bytes = 0;  // after the pickle's end; not read

  absl::Span<const Block> BlocksOf(const Segment& segment) const {
    return blocks.span().subspan(segment.first_block, segment.block_count);
  }
  absl::Span<const TraceEntry> EntriesOf(const Trace& trace) const {
    return entries.span().subspan(trace.first_entry, trace.entry_count);
  }
  std::optional<Value> Get(StringId key) const;  // of the root

  // (0, 0), the default pool, where the file does not say.
  std::pair<uint64_t, uint64_t> Pool(PoolId pool) const;
  bool HasKey(ShapeId shape, StringId key) const;
  absl::string_view Text(StringId id) const { return strings[id]; }
  size_t bytes() const;
};

// Streams and other integers that a file may write in any width.
std::string IntegerText(const ValueStore& values, Value value);

// Two integers that are not negative, as a tuple or a list.
std::optional<std::pair<uint64_t, uint64_t>> TwoIntegers(const ValueStore& values, Value value);

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_ALLOCATOR_SNAPSHOT_SNAPSHOT_H_
