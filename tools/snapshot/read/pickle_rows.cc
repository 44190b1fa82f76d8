// Dictionaries that lie whole in the window, read without the stack.
//
//   } MEMOIZE (   BINGET key  value   BINGET key  value   ...   u             Python
//   } (           BINGET key  value   BINGET key  value   ...   u  BINPUT n    PyTorch's C++ writer
//
// The general loop would dispatch on thirty opcodes, push thirty values and pop them again; here a
// pair is two steps of one loop. Whatever is not of this form (a key that is a number, a value that
// is a dictionary, the end of the window) is left to the general loop, in the state in which it
// would itself have arrived there: every refusal is in one place only.
#include <cstring>

#include "allocator/snapshot/pickle_opcodes.h"
#include "tools/snapshot/read/pickle_machine.h"

namespace graphtree::snapshot {
namespace {

using namespace pickle;  // NOLINT(google-build-using-namespace): the opcodes are this file's words

constexpr ptrdiff_t kFrameBytes = 8;  // a reference to a frame, and what ends the list
constexpr uint64_t kMaxInlineLong = 8;
constexpr ptrdiff_t kPutBytes = 5;
constexpr size_t kFewFrames = 4;

template <typename T>
T Load(const char* p) {
  T value;
  std::memcpy(&value, p, sizeof(value));
  return value;
}

uint8_t ByteAt(const char* p) { return static_cast<uint8_t>(*p); }

}  // namespace

// The numbers of protocols 2 and 3.
const char* PickleMachine::SkipOldPut(const char* p) const {
  const uint8_t opcode = ByteAt(p);
  if (opcode == kBinPut) return ByteAt(p + 1) == memo_.size() ? p + 2 : nullptr;
  if (opcode == kLongBinPut) return Load<uint32_t>(p + 1) == memo_.size() ? p + 5 : nullptr;
  return p;
}

// Gives the value the number that is behind it, if any. One that the window's end cuts off is left
// to the general loop.
const char* PickleMachine::TakePut(Value value, const char* p) {
  const char* const next = end_ - p < kPutBytes ? p : SkipPut(p);
  if (next == nullptr || next == p) return p;
  memo_.Push(value);
  return next;
}

// In line, as the one caller calls it ten times for each row.
[[gnu::always_inline]] inline bool PickleMachine::ReadValue(const char*& p, StringId key,
                                                            Value& value) {
  const bool frames_due = key == words::kFrames;
  const uint8_t opcode = ByteAt(p);
  switch (opcode) {
    case kBinGet:
    case kLongBinGet: {
      const size_t index = opcode == kBinGet ? ByteAt(p + 1) : Load<uint32_t>(p + 1);
      if (index >= memo_.size()) return false;
      value = memo_[index];
      if (value.tag() > Value::kObject && !(frames_due && value.is(Value::kStack))) return false;
      p += opcode == kBinGet ? 2 : 5;
      return true;
    }
    case kBinInt1:
      value = Value(Value::kInteger, ByteAt(p + 1));
      if (ByteAt(p + 2) <= kBinInt2 && ByteAt(p + 2) >= kBinInt) return ReadPair(p, value);
      p += 2;
      return true;
    case kBinInt2:
      value = Value(Value::kInteger, Load<uint16_t>(p + 1));
      p += 3;
      return true;
    case kBinInt:
      value = Value(Value::kInteger, static_cast<uint64_t>(int64_t{Load<int32_t>(p + 1)}));
      p += 5;
      return true;
    case kLong1: {
      const uint64_t length = ByteAt(p + 1);
      if (length == 0 || length > kMaxInlineLong) return false;
      const uint64_t shift = 64 - 8 * length;
      const auto signed_value = static_cast<int64_t>(Load<uint64_t>(p + 2) << shift) >> shift;
      value = snapshot_.values.Integer(signed_value);
      p += 2 + length;
      return true;
    }
    case kNone:
    case kNewTrue:
    case kNewFalse:
      value = opcode == kNone ? Value() : Value(Value::kBool, opcode == kNewTrue ? 1 : 0);
      p += 1;
      return true;
    case kShortBinUnicode:
    case kBinUnicode: return ReadText(p, value);
    case kEmptyList:
      if (frames_due) return ReadFrames(p, value);
      return key == words::kBlocks && ReadBlocks(p, value);
    default: return false;
  }
}

bool PickleMachine::Dict() {
  const char* p = end_ - p_ < kPairBytes ? nullptr : SkipPut(p_);
  if (p == nullptr || *p != kMark) {
    stack_.Push(snapshot_.values.NewObject(Object::kNewDict));
    return true;
  }
  // Rows that follow each other need not go through the general loop.
  for (;;) {
    const Number number = Begin(p != p_);
    p_ = p + 1;
    if (!PatternedRow(p_, number)) return DictByPairs(number);
    if (end_ - p_ <= kPairBytes || ByteAt(p_) != kEmptyDict) return true;
    p = SkipPut(p_ + 1);
    if (p == nullptr || *p != kMark) return true;
    opcode_at_ = p_++;
  }
}

bool PickleMachine::DictByPairs(Number number) {
  const char* p = p_;
  size_t count = 0;
  RowPattern pattern;
  while (end_ - p >= kPairBytes && count < 2 * RecordBuilder::kMaxKeys) {
    const uint8_t opcode = ByteAt(p);
    if (opcode == kSetItems) {
      const std::optional<Value> record = builder_.Record(items_, count / 2);
      if (!record.has_value()) break;
      LearnPattern(pattern, *record);
      stack_.Push(*record);
      p_ = End(number, *record, p + 1);
      return true;
    }
    Value& key = items_[count];
    if (opcode == kShortBinUnicode || opcode == kBinUnicode) {
      const size_t memo_size = memo_.size();
      if (!ReadText(p, key)) break;
      if (memo_.size() == memo_size) {
        pattern.AddUnnumberedKey();
      } else {
        pattern.AddNewKey(static_cast<uint32_t>(memo_size), key.id());
      }
    } else {
      if (opcode != kBinGet && opcode != kLongBinGet) break;
      const size_t index = opcode == kBinGet ? ByteAt(p + 1) : Load<uint32_t>(p + 1);
      if (index >= memo_.size() || !memo_[index].is(Value::kString)) break;
      key = memo_[index];
      const size_t key_bytes = opcode == kBinGet ? 2 : 5;
      pattern.AddKey(p, key_bytes, key.id());
      p += key_bytes;
    }
    ++count;
    if (!ReadValue(p, key.id(), items_[count])) break;
    ++count;
  }
  p_ = p;
  return OpenDict(number, count);
}

// Puts onto the stack what the general loop would have there by now.
bool PickleMachine::OpenDict(Number number, size_t count) {
  ValueStore& values = snapshot_.values;
  const bool given_first = number.given_first();
  const uint32_t memo_slot = given_first ? static_cast<uint32_t>(number.slot() + 1) : 0;
  const Value dict = values.NewObject(Object::kNewDict, memo_slot);
  if (given_first) memo_[number.slot()] = dict;
  stack_.Push(dict);
  if (!Mark()) return false;
  for (size_t i = 0; i < count; ++i) {
    const Value settled = values.Settled(items_[i]);
    if (items_[i].is(Value::kStack)) {
      for (size_t later = number.inner(); later < memo_.size(); ++later) {
        if (memo_[later] == items_[i]) memo_[later] = settled;
      }
    }
    stack_.Push(settled);
  }
  return true;
}

// A text of at most seven bytes, such as the "N/A" that PyTorch writes anew for every entry. Eight
// bytes can be read, since more follows.
StringId PickleMachine::ShortText(const char* text, size_t length) {
  const uint64_t mask = (uint64_t{1} << (8 * length)) - 1;
  const uint64_t key = (Load<uint64_t>(text) & mask) | (uint64_t{length} << 56);
  ShortWord& word = short_words_[(key * 0x9e3779b97f4a7c15u) >> 60];
  if (word.key != key) word = {key, snapshot_.strings.Intern({text, length})};
  return word.id;
}

// A text, memoised as all writers do.
bool PickleMachine::ReadText(const char*& p, Value& value) {
  const bool is_short = ByteAt(p) == kShortBinUnicode;
  const uint32_t length = is_short ? ByteAt(p + 1) : Load<uint32_t>(p + 1);
  const char* const text = p + (is_short ? 2 : 5);
  if (length > end_ - text - kPairBytes) return false;
  const char* const next = SkipPut(text + length);
  if (next == nullptr) return false;
  value = Value(Value::kString, length <= 7 ? ShortText(text, length)
                                            : snapshot_.strings.Intern({text, length}));
  if (next != text + length) memo_.Push(value);
  p = next;
  return true;
}

// A tuple of two small numbers, such as a pool: `value` is the first of them.
bool PickleMachine::ReadPair(const char*& p, Value& value) {
  const char* second = p + 2;
  uint64_t number = 0;
  switch (ByteAt(second)) {
    case kBinInt1: number = ByteAt(second + 1), second += 2; break;
    case kBinInt2: number = Load<uint16_t>(second + 1), second += 3; break;
    default: return false;
  }
  if (ByteAt(second) != kTuple2) return false;
  const char* const next = SkipPut(second + 1);
  if (next == nullptr) return false;
  value = snapshot_.values.Pair(value.payload(), number);
  if (next != second + 1) memo_.Push(value);
  p = next;
  return true;
}

// A list of frames that nothing can be added to any more.
bool PickleMachine::ReadFrames(const char*& p, Value& value) {
  const char* at = SkipPut(p + 1);
  if (at == nullptr) return false;
  const bool given_first = at != p + 1;
  const bool marked = *at == kMark;
  const char* const text = at;
  if (marked) ++at;
  // Local names, since the compiler must take writing a frame for writing any member.
  const Value* const memo = memo_.data();
  const size_t memo_size = memo_.size();
  uint32_t* const frames = frames_;
  size_t count = 0;
  const auto walk = [&](size_t most) {
    for (const char* const last = end_ - kFrameBytes; at <= last && count < most; ++count) {
      const uint8_t opcode = ByteAt(at);
      if (opcode != kLongBinGet && opcode != kBinGet) break;
      // Which of the two comes next cannot be foretold, so both are read without a branch.
      const bool is_long = opcode == kLongBinGet;
      const size_t index = Load<uint32_t>(at + 1) & (0xff | -static_cast<uint32_t>(is_long));
      if (index >= memo_size || !memo[index].is(Value::kFrame)) break;
      frames[count] = memo[index].id();
      at += 2 + 3 * static_cast<size_t>(is_long);
    }
  };
  // A few frames are read sooner than looked up.
  walk(marked ? kFewFrames : 1);
  if (marked && count == kFewFrames && end_ - text >= kPairBytes && ByteAt(at) != kAppends) {
    if (const StackCache::Known* known = known_stacks_.Find(text, end_)) {
      value = Value(Value::kStack, known->stack);
      p = End(Begin(given_first), value, text + known->size);
      return true;
    }
    walk(kMostFrames);
  }
  if (at < end_ && ByteAt(at) == kEmptyDict) return ReadNewFrames(p, marked, value);
  if (!marked && count == 0) {
    value = Value(Value::kStack, 0);  // left empty: what follows is the next key
  } else {
    if (end_ == at || ByteAt(at) != (marked ? kAppends : kAppend)) return false;
    value = Value(Value::kStack, snapshot_.stacks.Intern({frames, count}));
    ++at;
    if (count > kFewFrames) known_stacks_.Add({text, static_cast<size_t>(at - text)}, value.id());
  }
  p = End(Begin(given_first), value, at);
  return true;
}

}  // namespace graphtree::snapshot
