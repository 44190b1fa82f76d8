// Value and ValueStore: what a snapshot file holds, before and beside its known records.
//
// A Value is eight bytes: four of tag and sixty of payload. Numbers and names lie in it; anything
// larger is an index into a column of the store.
//
//   | payload (60 bits)                                         | tag (4) |
//   | integer, string id, pair id, frame id, index of an object |         |
//
// Lists, tuples and dictionaries are *objects*: a table of (kind, index) that gives them identity,
// so that a file may refer to one before it is filled, and from several places. A dictionary that
// is recognised as a frame, block, trace entry or segment turns into that record, and its object
// points to the row: dictionaries proper exist only for what this library does not know.
//
// A million rows need no identity, since nothing but their list refers to them. While a file is
// read they are *bare*: the value names the row itself, and a list of rows that follow each other
// is one run (first row, count). A bare value that goes anywhere else is given an object first
// (Settled), so that whoever walks finished values never meets one.
//
// Values are never freed one by one. A store may hold cycles and shared parts, as pickles can: who
// walks one limits depth and count. Not safe for concurrent use while values are added.
#ifndef GRAPHTREE_ALLOCATOR_SNAPSHOT_VALUE_H_
#define GRAPHTREE_ALLOCATOR_SNAPSHOT_VALUE_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "allocator/snapshot/growing_array.h"
#include "allocator/snapshot/id_table.h"
#include "allocator/snapshot/words.h"

namespace graphtree::snapshot {

class Value {
 public:
  enum Tag : uint8_t {
    kNone,
    kBool,
    kInteger,       // in the payload
    kWideInteger,   // an int64 in the store
    kWideUnsigned,  // an integer from 2^63 to 2^64-1 in the store
    kDouble,        // in the store
    kString,
    kBytes,  // bytes, stored like a string
    kPair,   // a tuple of two integers, such as a pool id
    kFrame,
    kObject,
    kRow,    // bare: a row, and in the two lowest bits of what kind
    kStack,  // bare: a list of frames that does not change any more
  };

  constexpr Value() : bits_(kNone) {}
  constexpr Value(Tag tag, uint64_t payload) : bits_((payload << 4) | tag) {}

  Tag tag() const { return static_cast<Tag>(bits_ & 15); }
  uint64_t payload() const { return bits_ >> 4; }
  uint32_t id() const { return static_cast<uint32_t>(bits_ >> 4); }
  int64_t small_integer() const { return static_cast<int64_t>(bits_) >> 4; }
  uint64_t bits() const { return bits_; }
  bool is(Tag tag) const { return this->tag() == tag; }
  bool is_string(StringId word) const { return bits_ == Value(kString, word).bits_; }
  bool operator==(const Value& other) const { return bits_ == other.bits_; }

 private:
  uint64_t bits_;
};

struct Object {
  enum Kind : uint32_t {
    kNewDict,  // empty; index is one more than the memo slot that holds it, or 0
    kNewList,  // empty
    kDict,     // index into the store's dictionaries
    kList,     // index into the store's lists
    kTuple,    // the same
    kBlock,    // index of a row
    kEntry,
    kSegment,
    kStack,      // a list of frames: index of a stack
    kUsedStack,  // the same, and a record already refers to it: it must not change any more
    kFrameDict,  // a dictionary that was found to be a frame after it was filled: index of a frame
    kRun,        // a list of rows that follow each other: index into the store's runs
  };
  Kind kind;
  uint32_t index;
};

inline Value BareRow(Object::Kind kind, uint32_t row) {
  return Value(Value::kRow, (static_cast<uint64_t>(row) << 2) | (kind - Object::kBlock));
}
inline Object ObjectOfBareRow(Value row) {
  return {static_cast<Object::Kind>(Object::kBlock + (row.payload() & 3)),
          static_cast<uint32_t>(row.payload() >> 2)};
}

// Rows of one kind that follow each other.
struct RowRun {
  Object::Kind kind;
  uint32_t first;
  uint32_t count;
};

struct DictItem {
  Value key;
  Value value;
};

class ValueStore {
 public:
  Value Integer(int64_t value) {
    if (value >= kSmallMin && value <= kSmallMax) {
      return Value(Value::kInteger, static_cast<uint64_t>(value));
    }
    wide_.Push(static_cast<uint64_t>(value));
    return Value(Value::kWideInteger, wide_.size() - 1);
  }
  Value Unsigned(uint64_t value);
  Value Double(double value);
  Value Pair(uint64_t first, uint64_t second);
  Value NewObject(Object::Kind kind, uint32_t index = 0) {
    objects_.Push({kind, index});
    return Value(Value::kObject, objects_.size() - 1);
  }
  Value Tuple(const Value* items, size_t count) { return Sequence(Object::kTuple, items, count); }
  Value List(const Value* items, size_t count) { return Sequence(Object::kList, items, count); }
  Value Dict(std::vector<DictItem> items);

  // Puts items into a dictionary or list that is new or was filled this way before. None of them is
  // bare.
  void AddItem(Object& dict, Value key, Value value);
  void AddItems(Object& list, const Value* items, size_t count);

  // The value itself, or for a bare one an object that stands for the same.
  Value Settled(Value value) {
    return value.is(Value::kRow) || value.is(Value::kStack) ? ObjectFor(value) : value;
  }
  // Makes a new list a run of bare rows, or makes a run longer. False, and nothing is done, where
  // the items do not follow each other.
  bool AddRun(Value list, const Value* items, size_t count);
  // A list that is a run.
  Value NewRun(RowRun run) {
    runs_.Push(run);
    return NewObject(Object::kRun, static_cast<uint32_t>(runs_.size() - 1));
  }
  // Turns a run into a list of objects.
  void ExpandRun(Value list);
  const RowRun& run(const Object& object) const { return runs_[object.index]; }

  Object& object(Value value) { return objects_[value.id()]; }
  const Object& object(Value value) const { return objects_[value.id()]; }
  const std::vector<DictItem>& dict(const Object& object) const { return dicts_[object.index]; }
  const std::vector<Value>& list(const Object& object) const { return lists_[object.index]; }

  // The items of a dictionary, list or tuple; null where the value is something else, a run of rows
  // among them. An object that nothing was put into has no items.
  const std::vector<DictItem>* DictItems(Value value) const;
  const std::vector<Value>* ListItems(Value value) const;
  // The value of a key; the last one when the key stands twice.
  std::optional<Value> Get(Value dict, StringId key) const;

  std::optional<int64_t> AsInteger(Value value) const {
    if (value.is(Value::kInteger)) return value.small_integer();
    if (value.is(Value::kWideInteger)) return static_cast<int64_t>(wide_bits(value));
    return std::nullopt;
  }
  std::optional<uint64_t> AsUnsigned(Value value) const {
    if (value.is(Value::kWideUnsigned)) return wide_bits(value);
    const std::optional<int64_t> integer = AsInteger(value);
    if (!integer.has_value() || *integer < 0) return std::nullopt;
    return static_cast<uint64_t>(*integer);
  }
  double AsDouble(Value value) const;
  const uint64_t* pair(uint32_t id) const { return &pairs_[2 * static_cast<size_t>(id)]; }
  size_t pair_count() const { return pairs_.size() / 2; }
  uint64_t wide_bits(Value value) const { return wide_[value.id()]; }

  size_t object_count() const { return objects_.size(); }
  size_t bytes() const;

 private:
  static constexpr int64_t kSmallMax = (int64_t{1} << 59) - 1;
  static constexpr int64_t kSmallMin = -(int64_t{1} << 59);

  Value Sequence(Object::Kind kind, const Value* items, size_t count);
  Value ObjectFor(Value bare);

  GrowingArray<Object> objects_;
  std::vector<std::vector<DictItem>> dicts_;
  std::vector<std::vector<Value>> lists_;
  GrowingArray<uint64_t> wide_;   // integers that do not fit, and doubles
  GrowingArray<uint64_t> pairs_;  // two words each
  GrowingArray<RowRun> runs_;
  IdTable pair_index_;
  uint32_t last_pair_ = kNoId;
  size_t item_bytes_ = 0;
};

// A short name for a value's type, for messages: "an int", "a list".
const char* TypeName(const ValueStore& store, Value value);

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_ALLOCATOR_SNAPSHOT_VALUE_H_
