// RecordBuilder: recognises frames, blocks, trace entries and segments among dictionaries.
//
// The readers of pickle, JSON and SQLite all hand it finished dictionaries as key and value one
// after the other. By the keys (their shape) it knows what the dictionary is, and writes the row
// straight into the snapshot's columns; the dictionary itself is never built. A dictionary whose
// keys fit but whose values do not (a size that is a text) stays a dictionary, and is complained
// about only where a row is needed: unknown parts of a file may contain anything.
//
// Not safe for concurrent use. Cost: one pass over the keys, no allocation for known shapes.
#ifndef GRAPHTREE_TOOLS_SNAPSHOT_READ_RECORD_BUILDER_H_
#define GRAPHTREE_TOOLS_SNAPSHOT_READ_RECORD_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "allocator/snapshot/snapshot.h"

namespace graphtree::snapshot {

class RecordBuilder {
 public:
  static constexpr size_t kMaxKeys = 64;  // of a row
  // Larger than any memory, and small enough that sums stay far from overflow (assemble.cc checks
  // the sum).
  static constexpr uint64_t kMaxSize = uint64_t{1} << 50;
  // Python writes a list in pieces of this many items: a full piece may have a successor.
  static constexpr size_t kPickleBatch = 1000;

  explicit RecordBuilder(Snapshot& snapshot) : snapshot_(snapshot) {}

  // `items` holds `pairs` keys and values in turn: the whole content of a dictionary that nothing
  // refers to yet. The frame or the bare row that it is; nothing where it is neither.
  std::optional<Value> Record(const Value* items, size_t pairs);

  // The same for the dictionary `dict`, which has been empty so far. Returns what stands for the
  // dictionary from now on: a frame, or `dict` itself, which then is a row or a dictionary proper.
  Value FillDict(Value dict, const Value* items, size_t pairs);

  // A segment that has been read without its dictionary, and its list of blocks. Its row, bare.
  Value AddSegment(const Segment& segment, Value blocks) {
    segments_.push_back(segment);
    segment_blocks_.push_back(blocks);
    return BareRow(Object::kSegment, static_cast<uint32_t>(segments_.size() - 1));
  }

  // Adds items, which may be bare rows, to a list. A short list of frames becomes a stack at once,
  // rows that follow each other a run. False where the list is one that a row already refers to,
  // and so must not change.
  bool FillList(Value list, const Value* items, size_t count);

  // The row that a value is; where it is a dictionary that was filled piece by piece, the row is
  // made now. Nothing where the value cannot be one: Complaint() then says why.
  std::optional<StackId> UseStack(Value value);
  std::optional<uint32_t> UseBlock(Value value) { return UseRow(value, Object::kBlock); }
  std::optional<uint32_t> UseEntry(Value value) { return UseRow(value, Object::kEntry); }
  std::optional<uint32_t> UseSegment(Value value) { return UseRow(value, Object::kSegment); }
  std::string Complaint(Value value, Object::Kind wanted) const;

  // Rows in the order in which they were recognised; the blocks' list of each segment.
  std::vector<Segment>& segments() { return segments_; }
  Value BlocksOfSegment(uint32_t segment) const { return segment_blocks_[segment]; }

 private:
  enum class Kind : uint8_t { kOther, kFrame, kBlock, kEntry, kSegment };
  std::optional<ShapeId> FindShape(const Value* items, size_t pairs);
  Kind KindOfShape(ShapeId shape);
  std::optional<uint32_t> UseRow(Value value, Object::Kind kind);
  std::optional<FrameId> UseFrame(Value value);

  bool FillFrame(ShapeId shape, const Value* items, size_t pairs, FrameId& frame);
  bool FillBlock(ShapeId shape, const Value* items, size_t pairs);
  bool FillEntry(ShapeId shape, const Value* items, size_t pairs);
  bool FillSegment(ShapeId shape, const Value* items, size_t pairs);

  bool Size(Value value, uint64_t& to) const;
  bool Address(Value value, uint64_t& to) const;
  bool Text(Value value, StringId& to) const;
  bool Stack(Value value, StackId& to);
  bool Pool(Value value, PoolId& to);
  bool IsInteger(Value value) const;
  void AddExtra(Value key, Value value) { extras_.Push({key, value}); }
  ExtrasId TakeExtras() {
    if (extras_.empty()) return 0;
    const ExtrasId id = snapshot_.extras.Intern(extras_.span());
    extras_.Truncate(0);
    return id;
  }

  Snapshot& snapshot_;
  std::vector<Segment> segments_;
  std::vector<Value> segment_blocks_;
  std::vector<Kind> kinds_;  // by shape
  ShapeId last_shape_[kMaxKeys + 1] = {};
  GrowingArray<DictItem> extras_;  // of the dictionary being filled
  GrowingArray<uint32_t> ids_;     // scratch: keys or frames
};

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_TOOLS_SNAPSHOT_READ_RECORD_BUILDER_H_
