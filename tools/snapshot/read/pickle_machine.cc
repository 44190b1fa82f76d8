// The dispatch loop and the opcodes that build values; refusals are in pickle_refusals.cc.
#include "tools/snapshot/read/pickle_machine.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "allocator/snapshot/pickle_opcodes.h"

namespace graphtree::snapshot {
namespace {

using namespace pickle;  // NOLINT(google-build-using-namespace): the opcodes are this file's words

constexpr ptrdiff_t kLongestOpcode = 9;  // with its fixed operand
constexpr size_t kMaxNesting = 1000;
constexpr uint64_t kFreeBytes = 256 << 20;
constexpr uint64_t kBytesPerByte = 8;  // of memory, for each of the file
// What a file has room for is reserved, which costs addresses only.
constexpr uint64_t kMostReservedFor = 256 << 20;  // bytes of file
constexpr uint64_t kBytesPerEntry = 128;
constexpr uint64_t kBytesPerMemo = 16;
constexpr size_t kUsualStack = 256;

const Value kUnset(static_cast<Value::Tag>(15), 0);  // a memo slot that nothing was put into

// Bytes after the opcode that are always there.
int OperandBytes(uint8_t opcode) {
  switch (opcode) {
    case kBinInt1:
    case kProto:
    case kLong1:
    case kShortBinUnicode:
    case kShortBinBytes:
    case kBinPut:
    case kBinGet: return 1;
    case kBinInt2: return 2;
    case kBinInt:
    case kLong4:
    case kBinUnicode:
    case kBinBytes:
    case kLongBinPut:
    case kLongBinGet: return 4;
    case kFrame:
    case kBinFloat:
    case kBinUnicode8:
    case kBinBytes8: return 8;
    default: return 0;
  }
}

}  // namespace

PickleMachine::PickleMachine(ByteSource& source, const char* p, RecordBuilder& builder,
                             Snapshot& snapshot)
    : source_(source),
      builder_(builder),
      snapshot_(snapshot),
      p_(p),
      end_(source.end()),
      start_offset_(source.Offset(p)),
      opcode_at_(p) {
  const uint64_t size = std::min(source.total(), kMostReservedFor);
  snapshot_.entries.Reserve(size / kBytesPerEntry);
  memo_.Reserve(size / kBytesPerMemo);
  stack_.Reserve(kUsualStack);
}

template <typename T>
T PickleMachine::Take() {
  T value;  // the format is little-endian, as every machine with a GPU that we know
  std::memcpy(&value, p_, sizeof(value));
  p_ += sizeof(value);
  return value;
}

absl::StatusOr<Value> PickleMachine::Run() {
  if (!Start()) return status_;
  ValueStore& values = snapshot_.values;
  for (;;) {
    if (__builtin_expect(end_ - p_ < kLongestOpcode, false) && !Refill()) return status_;
    opcode_at_ = p_;
    const uint8_t opcode = Take<uint8_t>();
    bool ok = true;
    switch (opcode) {
      case kBinGet: ok = Get(Take<uint8_t>()); break;
      case kLongBinGet: ok = Get(Take<uint32_t>()); break;
      case kMemoize: ok = Put(memo_.size()); break;
      case kBinPut: ok = Put(Take<uint8_t>()); break;
      case kLongBinPut: ok = Put(Take<uint32_t>()); break;
      case kBinInt1: stack_.Push(Value(Value::kInteger, Take<uint8_t>())); break;
      case kBinInt2: stack_.Push(Value(Value::kInteger, Take<uint16_t>())); break;
      case kBinInt: stack_.Push(values.Integer(Take<int32_t>())); break;
      case kLong1: ok = Long(Take<uint8_t>()); break;
      case kMark: ok = Mark(); break;
      case kEmptyDict: ok = Dict(); break;
      case kSetItems: ok = SetItems(); break;
      case kEmptyList: stack_.Push(values.NewObject(Object::kNewList)); break;
      case kAppends: ok = Appends(); break;
      case kAppend: ok = Append(); break;
      case kTuple2: ok = Tuple(2); break;
      case kShortBinUnicode: ok = String(Value::kString, Take<uint8_t>()); break;
      case kBinUnicode: ok = String(Value::kString, Take<uint32_t>()); break;
      case kFrame: p_ += 8; break;
      case kStop:
        if (above_mark() != 1 || !marks_.empty()) {
          Fail("the pickle ends with values left over");
          return status_;
        }
        return Finish();
      default: ok = Rare(opcode); break;
    }
    if (__builtin_expect(!ok, false)) return status_;
  }
}

absl::StatusOr<Value> PickleMachine::Finish() {
  if (!Settle(1)) return status_;
  // Of a pipe only what has been read by chance is known.
  const uint64_t size = std::max(source_.total(), source_.Offset(end_));
  snapshot_.trailing_bytes = size - source_.Offset(p_);
  return stack_[0];
}

bool PickleMachine::Rare(uint8_t opcode) {
  switch (opcode) {
    case kNone: stack_.Push(Value()); return true;
    case kNewTrue: stack_.Push(Value(Value::kBool, 1)); return true;
    case kNewFalse: stack_.Push(Value(Value::kBool, 0)); return true;
    case kBinFloat: return Float();
    case kLong4: return Long(Take<uint32_t>());
    case kBinUnicode8: return String(Value::kString, Take<uint64_t>());
    case kShortBinBytes: return String(Value::kBytes, Take<uint8_t>());
    case kBinBytes: return String(Value::kBytes, Take<uint32_t>());
    case kBinBytes8: return String(Value::kBytes, Take<uint64_t>());
    case kSetItem: return SetItem();
    case kEmptyTuple: return Tuple(0);
    case kTuple1: return Tuple(1);
    case kTuple3: return Tuple(3);
    case kTuple: return TupleToMark();
    case kPop: return Pop();
    case kPopMark: return PopMark();
    case kDup: return Dup();
    case kGlobal: return Global();
    case kReduce: return Reduce();
    default: return Refuse(opcode);
  }
}

// Called when less than the longest opcode is left in the window: reads on, and near the end of the
// input makes sure that the next opcode is there whole.
bool PickleMachine::Refill() {
  status_ = source_.Fill(p_, kLongestOpcode);
  if (!status_.ok()) return false;
  end_ = source_.end();
  opcode_at_ = p_;
  const uint64_t held = snapshot_.bytes() + stack_.bytes() + memo_.bytes();
  const uint64_t allowed = kFreeBytes + kBytesPerByte * source_.Offset(end_);
  if (held > allowed) {
    status_ = absl::ResourceExhaustedError(
        absl::StrCat("reading the first ", source_.Offset(p_), " bytes took ", held,
                     " bytes of memory, more than any snapshot needs: the file is made to exhaust "
                     "memory, or is not a snapshot"));
    return false;
  }
  if (end_ - p_ >= kLongestOpcode) return true;
  if (p_ == end_) return Truncated();
  return end_ - p_ > OperandBytes(static_cast<uint8_t>(*p_)) || Truncated();
}

bool PickleMachine::Need(uint64_t bytes) {
  if (static_cast<uint64_t>(end_ - p_) >= bytes) return true;
  if (source_.EndsBefore(p_, bytes)) return Truncated();
  status_ = source_.Fill(p_, bytes);
  if (!status_.ok()) return false;
  end_ = source_.end();
  opcode_at_ = p_;
  return static_cast<uint64_t>(end_ - p_) >= bytes || Truncated();
}

bool PickleMachine::String(Value::Tag tag, uint64_t length) {
  if (!Need(length)) return false;
  stack_.Push(Value(tag, snapshot_.strings.Intern({p_, length})));
  p_ += length;
  return true;
}

bool PickleMachine::Long(uint64_t length) {
  if (!Need(length)) return false;
  if (length > 9) {
    return Fail(absl::StrCat("an integer of ", length, " bytes; snapshots have at most 64 bits"));
  }
  uint8_t bytes[16] = {};
  std::memcpy(bytes, p_, length);
  p_ += length;
  const bool negative = length != 0 && (bytes[length - 1] & 0x80) != 0;
  if (negative) std::memset(bytes + length, 0xff, sizeof(bytes) - length);
  uint64_t low;
  std::memcpy(&low, bytes, sizeof(low));
  const bool low_negative = (low >> 63) != 0;
  // The ninth byte may only say the sign of the eight below it.
  if (bytes[8] != (negative ? 0xff : 0) || (negative && !low_negative)) {
    return Fail("an integer that does not fit into 64 bits");
  }
  stack_.Push(negative ? snapshot_.values.Integer(static_cast<int64_t>(low))
                       : snapshot_.values.Unsigned(low));
  return true;
}

bool PickleMachine::Float() {
  const uint64_t bits = __builtin_bswap64(Take<uint64_t>());
  double value;
  std::memcpy(&value, &bits, sizeof(value));
  stack_.Push(snapshot_.values.Double(value));
  return true;
}

bool PickleMachine::Tuple(size_t count) {
  if (above_mark() < count) return Underflow();
  if (!Settle(count)) return false;
  const Value* items = stack_.end() - count;
  Value tuple;
  if (count == 2 && items[0].is(Value::kInteger) && items[1].is(Value::kInteger) &&
      items[0].small_integer() >= 0 && items[1].small_integer() >= 0) {
    tuple = snapshot_.values.Pair(items[0].payload(), items[1].payload());
  } else {
    tuple = snapshot_.values.Tuple(items, count);
  }
  stack_.Truncate(stack_.size() - count);
  stack_.Push(tuple);
  return true;
}

bool PickleMachine::TupleToMark() {
  if (marks_.empty()) return Underflow();
  const size_t count = above_mark();
  floor_ = marks_.back();
  marks_.Truncate(marks_.size() - 1);
  return Tuple(count);
}

bool PickleMachine::Mark() {
  if (marks_.size() == kMaxNesting) {
    return Fail(absl::StrCat("lists and dictionaries nested more than ", kMaxNesting, " deep"));
  }
  marks_.Push(floor_);
  floor_ = stack_.size();
  return true;
}

void PickleMachine::DropToMark() {
  stack_.Truncate(floor_);
  floor_ = marks_.back();
  marks_.Truncate(marks_.size() - 1);
}

bool PickleMachine::SettleBare(size_t count) {
  for (Value* value = stack_.end() - count; value != stack_.end(); ++value) {
    if (IsFunction(*value)) return RefuseFunction(*value);
    *value = snapshot_.values.Settled(*value);
  }
  return true;
}

bool PickleMachine::Put(uint64_t index) {
  if (above_mark() == 0) return Underflow();
  // Whatever is put took at least one byte of file, so honest numbers stay below the offset.
  if (index > source_.Offset(p_) - start_offset_) {
    return Fail(absl::StrCat("memo number ", index, " where so many objects cannot be"));
  }
  // What is bare stays so until the memo is asked for it.
  Value& top = stack_.back();
  if (index < memo_.size()) {
    if (!(memo_[index] == kUnset)) {
      known_stacks_.Forget();
      patterns_.Forget();
    }
    memo_[index] = top;
  } else {
    memo_.Resize(index, kUnset);
    memo_.Push(top);
  }
  if (top.is(Value::kObject)) {
    Object& object = snapshot_.values.object(top);
    if (object.kind == Object::kNewDict) object.index = static_cast<uint32_t>(index + 1);
  }
  return true;
}

bool PickleMachine::Get(uint64_t index) {
  if (index >= memo_.size() || memo_[index] == kUnset) {
    return Fail(absl::StrCat("memo number ", index, " is used before anything was put there"));
  }
  const Value value = memo_[index];
  if (value.tag() > Value::kObject && !IsFunction(value)) {
    memo_[index] = snapshot_.values.Settled(value);
  }
  stack_.Push(memo_[index]);
  return true;
}

bool PickleMachine::Pop() {
  if (above_mark() == 0) return marks_.empty() ? Underflow() : PopMark();
  stack_.Truncate(stack_.size() - 1);
  return true;
}

bool PickleMachine::PopMark() {
  if (marks_.empty()) return Underflow();
  DropToMark();
  return true;
}

bool PickleMachine::Dup() {
  if (above_mark() == 0) return Underflow();
  if (!Settle(1)) return false;
  const Value top = stack_.back();
  stack_.Push(top);
  return true;
}

}  // namespace graphtree::snapshot
