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
// its size. One pass, about a nanosecond and a half per opcode. Not safe for concurrent use.
#ifndef GRAPHTREE_ALLOCATOR_SNAPSHOT_PICKLE_MACHINE_H_
#define GRAPHTREE_ALLOCATOR_SNAPSHOT_PICKLE_MACHINE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "allocator/snapshot/byte_source.h"
#include "allocator/snapshot/growing_array.h"
#include "allocator/snapshot/record_builder.h"
#include "allocator/snapshot/snapshot.h"

namespace graphtree::snapshot {

class PickleMachine {
 public:
  // The bytes from `p` on, a position in the source's window.
  PickleMachine(ByteSource& source, const char* p, RecordBuilder& builder, Snapshot& snapshot);

  // The value that the pickle leaves.
  absl::StatusOr<Value> Run();

 private:
  // Each returns false with status_ set when the file is wrong.
  bool Start();
  bool Refill();
  bool Rare(uint8_t opcode);
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
  std::string WantedImport(uint8_t opcode);
  std::string Line();

  bool Fail(const std::string& what);
  bool Truncated();
  bool Underflow();
  // The container that the values above the mark belong to; false where there is none.
  bool Target(Object::Kind fresh, Object::Kind filled, Value*& target);
  void DropToMark();
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
  absl::Status status_;
};

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_ALLOCATOR_SNAPSHOT_PICKLE_MACHINE_H_
