// PickleMachine: runs the part of Python's pickle language that builds data, and nothing else.
//
// A pickle is a program for a stack machine. Python's own reader executes all of it, imports and
// calls included, so opening a stranger's snapshot there runs the stranger's code. This machine
// knows numbers, texts, lists, tuples, dictionaries and the memo (references to earlier objects) of
// protocols 2 to 5; for an opcode that imports or calls it stops and says what the file wanted.
//
//   stack   [ dict | key value key value ... ]        values of 8 bytes
//                  ^floor: the innermost mark         SETITEMS hands the part above to the builder
//   memo    [ value, value, ... ]
//
// Nothing recurses: the file's nesting is a list of marks with a limit. Lengths are checked against
// the bytes that are left before they are used, a memo index against the bytes that were read, and
// memory against a multiple of the file read so far, so no file costs more than in proportion to
// its size.
//
// Nearly all of a snapshot is dictionaries whose keys are memo references and whose values are
// numbers, memo references and lists of frames. pickle_rows.cc reads those in a loop of their own,
// without the stack, and pickle_patterns.cc those that are like one before them, a segment with all
// its blocks. One pass, less than a nanosecond per opcode. Not safe for concurrent use.
#ifndef GRAPHTREE_TOOLS_SNAPSHOT_READ_PICKLE_MACHINE_H_
#define GRAPHTREE_TOOLS_SNAPSHOT_READ_PICKLE_MACHINE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "allocator/snapshot/growing_array.h"
#include "allocator/snapshot/pickle_opcodes.h"
#include "allocator/snapshot/snapshot.h"
#include "allocator/snapshot/value.h"
#include "allocator/snapshot/words.h"
#include "tools/snapshot/read/byte_source.h"
#include "tools/snapshot/read/record_builder.h"
#include "tools/snapshot/read/row_patterns.h"
#include "tools/snapshot/read/stack_cache.h"

namespace graphtree::snapshot {

class PickleMachine {
 public:
  // The bytes from `p` on, a position in the source's window.
  PickleMachine(ByteSource& source, const char* p, RecordBuilder& builder, Snapshot& snapshot);

  // The value that the pickle leaves.
  absl::StatusOr<Value> Run();

 private:
  absl::StatusOr<Value> Finish();
  // Each returns false with status_ set when the file is wrong.
  bool Start();
  bool Refill();
  bool Rare(uint8_t opcode);
  static constexpr Value kBeingRead{static_cast<Value::Tag>(14), 0};  // its own memo slot
  // The memo number of a list or dictionary. Python gives it first, as what is in it may refer to
  // it; PyTorch's C++ writer gives it last, and only to what is there twice.
  class Number {  // one word, since every row passes one on
   public:
    Number(size_t memo_size, bool given_first) : bits_(2 * memo_size + (given_first ? 1 : 0)) {}
    bool given_first() const { return (bits_ & 1) != 0; }
    size_t slot() const { return bits_ / 2; }  // where it is, if it was given first
    size_t inner() const { return (bits_ + 1) / 2; }  // the memo's size where the content begins

   private:
    size_t bits_;
  };
  Number Begin(bool given_first) {
    const Number number(memo_.size(), given_first);
    if (given_first) memo_.Push(kBeingRead);
    return number;
  }
  // `p` is behind the content; returns what is behind the number.
  const char* End(Number number, Value value, const char* p) {
    if (!number.given_first()) return TakePut(value, p);
    memo_[number.slot()] = value;
    return p;
  }
  const char* TakePut(Value value, const char* p);
  // pickle_rows.cc. ReadValue and ReadFrames move `p` only when they return true; false means that
  // the general loop must read on from there.
  bool Dict();
  bool DictByPairs(Number number);
  bool OpenDict(Number number, size_t count);
  bool ReadValue(const char*& p, StringId key, Value& value);
  bool ReadText(const char*& p, Value& value);
  StringId ShortText(const char* text, size_t length);
  bool ReadPair(const char*& p, Value& value);
  bool ReadFrames(const char*& p, Value& value);
  // Behind the PUT that gives a value the next memo slot, as all writers number them; `p` where
  // there is none; null where it gives another slot.
  const char* SkipPut(const char* p) const {
    if (static_cast<uint8_t>(*p) == pickle::kMemoize) return p + 1;
    return SkipOldPut(p);
  }
  const char* SkipOldPut(const char* p) const;
  // pickle_patterns.cc.
  static constexpr Object::Kind kAnyRow = Object::kNewDict;
  bool PatternedRow(const char* p, Number number);
  bool Patterned(const char*& p, Object::Kind wanted, Value& row);
  bool PatternedAs(const RowPattern& pattern, const char*& p, Value& row);
  template <typename... Fields>
  bool TakeRow(const RowPattern& pattern, const char*& p, const Fields&... fields);
  bool PatternedFrame(const RowPattern& pattern, const char*& p, Value& row);
  bool PatternedBlock(const RowPattern& pattern, const char*& p, Value& row);
  bool PatternedEntry(const RowPattern& pattern, const char*& p, Value& row);
  bool PatternedSegment(const RowPattern& pattern, const char*& p, Value& row);
  bool ReadBlocks(const char*& p, Value& value);
  bool ReadBlock(const char*& p);
  void LearnPattern(RowPattern& pattern, Value row);
  bool ReadNewFrames(const char*& p, bool marked, Value& value);
  bool ReadNewFrame(const char*& p, Value& frame);
  bool TakeReference(const char*& p, Value& value);
  bool TakeText(const char*& p, StringId& text);
  bool TakeStack(const char*& p, StackId& stack);
  const char* BehindRepeatedStack(const char* p, StackId& stack);
  bool TakePool(const char*& p, PoolId& pool);
  bool Need(uint64_t bytes);
  bool String(Value::Tag tag, uint64_t length);
  bool Long(uint64_t length);
  bool Float();
  bool Tuple(size_t count);
  bool TupleToMark();
  bool Append();
  bool Appends();
  bool SetItem();
  bool SetItems();
  bool Mark();
  bool Put(uint64_t index);
  bool Get(uint64_t index);
  bool Pop();
  bool PopMark();
  bool Dup();
  bool Refuse(uint8_t opcode);
  bool RefuseImport(const std::string& wanted, const char* opcode);
  std::string WantedImport(uint8_t opcode);
  std::string Line();

  bool Fail(const std::string& what);
  bool Truncated();
  bool Underflow();
  // The container that the values above the mark belong to; false where there is none.
  bool Target(Object::Kind fresh, Object::Kind filled, Value*& target);
  Value Bare(Value filled) const;
  void DropToMark();
  // Bare rows may only go into a list, and the names of functions nowhere; whatever takes values
  // from the stack takes settled ones. Nearly all are.
  bool Settle(size_t count) {
    Value::Tag highest = Value::kNone;
    for (const Value* value = stack_.end() - count; value != stack_.end(); ++value) {
      highest = std::max(highest, value->tag());
    }
    return highest <= Value::kObject || SettleBare(count);
  }
  bool SettleBare(size_t count);

  // pickle_bytes.cc. Before protocol 3 Python had no opcode for bytes and wrote a call of
  // _codecs.encode(text, "latin1"), or of bytes() for none. The name is a value that only such a
  // call may use; nothing is imported or run.
  enum Function : uint8_t { kEncodeFunction = 1, kBytesFunction };
  static constexpr Value::Tag kFunctionTag = static_cast<Value::Tag>(13);
  static bool IsFunction(Value value) { return value.is(kFunctionTag); }
  bool Global();
  bool Reduce();
  bool EncodedBytes(Value arguments, std::string& bytes);
  bool RefuseFunction(Value function);
  struct ShortWord {
    uint64_t key = 0;  // the text, and its length in the highest byte
    StringId id = words::kEmpty;
  };
  // A list of more items comes in pieces.
  static constexpr size_t kMostFrames = RecordBuilder::kPickleBatch - 1;
  // Room for any pair without a text, so that one compare covers all its operands.
  static constexpr ptrdiff_t kPairBytes = 64;

  size_t above_mark() const { return stack_.size() - floor_; }
  template <typename T>
  T Take();

  ByteSource& source_;
  RecordBuilder& builder_;
  Snapshot& snapshot_;
  const char* p_;
  const char* end_;
  uint64_t start_offset_;
  const char* opcode_at_;
  GrowingArray<Value> stack_;
  GrowingArray<size_t> marks_;  // the floors outside the innermost mark
  size_t floor_ = 0;
  GrowingArray<Value> memo_;
  Value items_[2 * RecordBuilder::kMaxKeys];  // of the dictionary that is read in one go
  uint32_t frames_[kMostFrames];              // of the list that is read in one go
  StackCache known_stacks_;
  RowPatterns patterns_;
  ShortWord short_words_[16];
  absl::Status status_;
};

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_TOOLS_SNAPSHOT_READ_PICKLE_MACHINE_H_
