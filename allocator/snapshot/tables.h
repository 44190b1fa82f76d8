// The tables that a snapshot's rows point into: frames, stacks, shapes of dictionaries, and the
// keys that only some rows have. Each thing is stored once; rows hold 32-bit ids.
//
//   stack id -> [frame id, frame id, ...] -> {name, filename, line}      innermost frame first
//
// A training run has a few thousand stacks in a million entries, so a row's 4 bytes replace a list
// of thirty dictionaries, and grouping by stack is grouping by an integer. A *shape* is the ordered
// list of keys that a dictionary had: it tells an absent key from an empty one, and lets a file be
// written back with the keys in their order.
//
// Not safe for concurrent use while things are added. Intern costs one hash of the thing.
#ifndef GRAPHTREE_ALLOCATOR_SNAPSHOT_TABLES_H_
#define GRAPHTREE_ALLOCATOR_SNAPSHOT_TABLES_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "allocator/snapshot/growing_array.h"
#include "allocator/snapshot/id_table.h"
#include "allocator/snapshot/value.h"
#include "allocator/snapshot/words.h"

namespace graphtree::snapshot {

using FrameId = uint32_t;
using StackId = uint32_t;   // 0: no frames
using ShapeId = uint32_t;
using ExtrasId = uint32_t;  // 0: none
using PoolId = uint32_t;    // a pair of the ValueStore; kNoId: not said

struct Frame {
  StringId name = words::kEmpty;
  StringId filename = words::kEmpty;
  int64_t line = 0;
  ShapeId shape = 0;
  ExtrasId extras = 0;
};

class FrameTable {
 public:
  FrameId Intern(const Frame& frame);
  const Frame& operator[](FrameId id) const { return frames_[id]; }
  size_t size() const { return frames_.size(); }
  size_t bytes() const { return frames_.bytes() + index_.bytes(); }

 private:
  GrowingArray<Frame> frames_;
  IdTable index_;
};

// A list of lists of words, each distinct one stored once. List 0 is the empty one.
class ListTable {
 public:
  ListTable();
  uint32_t Intern(absl::Span<const uint32_t> list);
  absl::Span<const uint32_t> operator[](uint32_t id) const {
    return {items_.data() + starts_[id], starts_[id + 1] - starts_[id]};
  }
  size_t size() const { return starts_.size() - 1; }
  size_t bytes() const { return items_.bytes() + starts_.bytes() + index_.bytes(); }

 private:
  GrowingArray<uint32_t> items_;
  GrowingArray<uint64_t> starts_;  // one more than there are lists
  IdTable index_;
};

using StackTable = ListTable;  // of frame ids
using ShapeTable = ListTable;  // of string ids

// Keys of a row that have no column, or a value that does not fit the column, in the row's order.
class ExtrasTable {
 public:
  ExtrasTable();
  ExtrasId Intern(absl::Span<const DictItem> items);
  absl::Span<const DictItem> operator[](ExtrasId id) const {
    return {items_.data() + starts_[id], starts_[id + 1] - starts_[id]};
  }
  std::optional<Value> Get(ExtrasId id, StringId key) const;
  size_t bytes() const { return items_.bytes() + starts_.bytes() + index_.bytes(); }

 private:
  GrowingArray<DictItem> items_;
  GrowingArray<uint64_t> starts_;
  IdTable index_;
};

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_ALLOCATOR_SNAPSHOT_TABLES_H_
