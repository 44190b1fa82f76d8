// Rows that lie in the file as their pattern says, read straight into their columns.
//
// Each function returns false where something is not of the usual form. Nothing has been added to a
// column then, and what was added to the memo is taken back by the caller, who reads the row anew.
#include <cstring>

#include "allocator/snapshot/pickle_machine.h"
#include "allocator/snapshot/pickle_opcodes.h"

namespace graphtree::snapshot {
namespace {

using namespace pickle;  // NOLINT(google-build-using-namespace): the opcodes are this file's words

constexpr uint64_t kMostNumber = (uint64_t{1} << 55) - 1;
// SHORT_BINUNICODE 3 "N/A" MEMOIZE: PyTorch writes it anew for every entry.
constexpr uint64_t kNotAvailableBytes = 0x94412f4e038c;
constexpr uint64_t kNotAvailableMask = 0xffffffffffff;
constexpr ptrdiff_t kNotAvailableSize = 6;

template <typename T>
T Load(const char* p) {
  T value;
  std::memcpy(&value, p, sizeof(value));
  return value;
}

uint8_t ByteAt(const char* p) { return static_cast<uint8_t>(*p); }

// A number that is neither negative nor larger than any column takes.
[[gnu::always_inline]] inline bool TakeNumber(const char*& p, uint64_t& number) {
  switch (ByteAt(p)) {
    case kLong1: {
      const uint64_t length = ByteAt(p + 1);
      if (length == 0 || length > sizeof(uint64_t)) return false;
      const uint64_t shift = 64 - 8 * length;
      const uint64_t high = Load<uint64_t>(p + 2) << shift;  // the sign at the top
      number = high >> shift;
      p += 2 + length;
      return high >> 63 == 0 && number <= kMostNumber;
    }
    case kBinInt:
      number = Load<uint32_t>(p + 1);
      p += 5;
      return number >> 31 == 0;
    case kBinInt2:
      number = Load<uint16_t>(p + 1);
      p += 3;
      return true;
    case kBinInt1:
      number = ByteAt(p + 1);
      p += 2;
      return true;
    default: return false;
  }
}

[[gnu::always_inline]] inline bool TakeSize(const char*& p, uint64_t& size) {
  return TakeNumber(p, size) && size <= RecordBuilder::kMaxSize;
}

// The columns that are known here; a row with any other key has no pattern.
bool HasColumn(Object::Kind kind, StringId key) {
  switch (key) {
    case words::kSize:
    case words::kFrames: return kind == Object::kBlock || kind == Object::kEntry;
    case words::kName:
    case words::kFilename:
    case words::kLine: return kind == Object::kFrameDict;
    case words::kAddress:
    case words::kRequestedSize:
    case words::kState: return kind == Object::kBlock;
    case words::kAction:
    case words::kAddr:
    case words::kTimeUs:
    case words::kStream:
    case words::kCompileContext:
    case words::kUserMetadata:
    case words::kPoolId: return kind == Object::kEntry;
    default: return false;
  }
}

}  // namespace

[[gnu::always_inline]] inline bool PickleMachine::TakeReference(const char*& p, Value& value) {
  const uint8_t opcode = ByteAt(p);
  if (opcode != kBinGet && opcode != kLongBinGet) return false;
  // Which of the two comes next cannot be foretold, so both are read without a branch.
  const bool is_long = opcode == kLongBinGet;
  const size_t index = Load<uint32_t>(p + 1) & (0xff | -static_cast<uint32_t>(is_long));
  if (index >= memo_.size()) return false;
  value = memo_[index];
  p += 2 + 3 * static_cast<size_t>(is_long);
  return true;
}

[[gnu::always_inline]] inline bool PickleMachine::TakeText(const char*& p, StringId& text) {
  if ((Load<uint64_t>(p) & kNotAvailableMask) == kNotAvailableBytes) {
    text = words::kNotAvailable;
    memo_.Push(Value(Value::kString, text));
    p += kNotAvailableSize;
    return true;
  }
  Value value;
  const bool is_new = ByteAt(p) == kShortBinUnicode || ByteAt(p) == kBinUnicode;
  if (!(is_new ? ReadText(p, value) : TakeReference(p, value))) return false;
  text = value.id();
  return value.is(Value::kString);
}

[[gnu::always_inline]] inline bool PickleMachine::TakeStack(const char*& p, StackId& stack) {
  Value value;
  if (!(ByteAt(p) == kEmptyList ? ReadFrames(p, value) : TakeReference(p, value))) return false;
  stack = value.id();
  if (value.is(Value::kStack)) return true;
  if (!value.is(Value::kObject)) return false;
  const Object object = snapshot_.values.object(value);
  stack = object.index;
  return object.kind == Object::kUsedStack;
}

[[gnu::always_inline]] inline bool PickleMachine::TakePool(const char*& p, PoolId& pool) {
  Value value(Value::kInteger, ByteAt(p + 1));
  if (!(ByteAt(p) == kBinInt1 ? ReadPair(p, value) : TakeReference(p, value))) return false;
  pool = value.id();
  return value.is(Value::kPair);
}

// The keys of a row in the pattern's order, each value by `take`, up to the opcode that ends it.
template <typename TakeValue>
[[gnu::always_inline]] inline bool PickleMachine::TakeRow(const RowPattern& pattern,
                                                          const char*& p, const TakeValue& take) {
  const char* const last = end_ - kPairBytes;
  const RowPattern::Key* const end = pattern.keys + pattern.key_count;
  for (const RowPattern::Key* key = pattern.keys; key != end; ++key) {
    if (p > last || !key->Matches(p)) return false;
    p += key->size;
    if (!take(key->word)) return false;
  }
  return p != end_ && ByteAt(p) == kSetItems;
}

bool PickleMachine::PatternedFrame(const RowPattern& pattern, const char*& p, Value& row) {
  Frame frame;
  frame.shape = pattern.shape;
  uint64_t line = 0;
  const auto take = [&](StringId word) {
    switch (word) {
      case words::kName: return TakeText(p, frame.name);
      case words::kFilename: return TakeText(p, frame.filename);
      default: return TakeNumber(p, line);
    }
  };
  if (!TakeRow(pattern, p, take)) return false;
  frame.line = static_cast<int64_t>(line);
  row = Value(Value::kFrame, snapshot_.frames.Intern(frame));
  return true;
}

bool PickleMachine::PatternedBlock(const RowPattern& pattern, const char*& p, Value& row) {
  Block block;
  block.shape = pattern.shape;
  const auto take = [&](StringId word) {
    switch (word) {
      case words::kAddress: return TakeNumber(p, block.address);
      case words::kSize: return TakeSize(p, block.size);
      case words::kRequestedSize: return TakeSize(p, block.requested_size);
      case words::kState: return TakeText(p, block.state);
      default: return TakeStack(p, block.stack);
    }
  };
  if (!TakeRow(pattern, p, take)) return false;
  row = BareRow(Object::kBlock, static_cast<uint32_t>(snapshot_.blocks.size()));
  snapshot_.blocks.Push(block);
  return true;
}

bool PickleMachine::PatternedEntry(const RowPattern& pattern, const char*& p, Value& row) {
  TraceEntry entry;
  uint64_t time = 0;
  uint64_t stream = 0;
  const auto take = [&](StringId word) {
    switch (word) {
      case words::kAction: return TakeText(p, entry.action);
      case words::kAddr: return TakeNumber(p, entry.addr);
      case words::kSize: return TakeSize(p, entry.size);
      case words::kTimeUs: return TakeNumber(p, time);
      case words::kStream: return TakeNumber(p, stream);
      case words::kCompileContext: return TakeText(p, entry.compile_context);
      case words::kUserMetadata: return TakeText(p, entry.user_metadata);
      case words::kPoolId: return TakePool(p, entry.pool);
      default: return TakeStack(p, entry.stack);
    }
  };
  if (!TakeRow(pattern, p, take)) return false;
  entry.time_us = static_cast<int64_t>(time);
  entry.details = snapshot_.details.Intern(
      {.shape = pattern.shape, .stream = Value(Value::kInteger, stream)});
  row = BareRow(Object::kEntry, static_cast<uint32_t>(snapshot_.entries.size()));
  snapshot_.entries.Push(entry);
  return true;
}

// `p` is behind the mark of the dictionary whose number it is.
bool PickleMachine::PatternedRow(const char* p, Number number) {
  const RowPattern* pattern = patterns_.Find(p);
  for (int tries = 0; tries < 2 && pattern != nullptr; ++tries) {
    const char* at = p;
    Value row;
    const bool fits = pattern->kind == Object::kEntry   ? PatternedEntry(*pattern, at, row)
                      : pattern->kind == Object::kBlock ? PatternedBlock(*pattern, at, row)
                                                        : PatternedFrame(*pattern, at, row);
    if (fits) {
      if (tries != 0) patterns_.Prefer(*pattern);
      stack_.Push(row);
      p_ = End(number, row, at + 1);
      return true;
    }
    memo_.Truncate(number.inner());
    pattern = patterns_.Other(*pattern);
  }
  return false;
}

// The keys of `pattern` are those of the row that has just been read.
void PickleMachine::LearnPattern(RowPattern& pattern, Value row) {
  if (pattern.key_count > RowPattern::kMostKeys) return;
  pattern.kind = row.is(Value::kRow) ? ObjectOfBareRow(row).kind : Object::kFrameDict;
  for (size_t i = 0; i < pattern.key_count; ++i) {
    if (!HasColumn(pattern.kind, pattern.keys[i].word)) return;
  }
  switch (pattern.kind) {
    case Object::kFrameDict: pattern.shape = snapshot_.frames[row.id()].shape; break;
    case Object::kBlock: pattern.shape = snapshot_.blocks.back().shape; break;
    default: pattern.shape = snapshot_.details[snapshot_.entries.back().details].shape; break;
  }
  patterns_.Learn(pattern);
}

// A list of frames some of which are written out in it; `p` is at the list.
bool PickleMachine::ReadNewFrames(const char*& p, bool marked, Value& value) {
  const char* at = SkipPut(p + 1);
  const Number number = Begin(at != p + 1);
  if (marked) ++at;
  const size_t most = marked ? kMostFrames : 1;
  size_t count = 0;
  for (; end_ - at >= kPairBytes && count < most; ++count) {
    Value frame;
    if (!(ByteAt(at) == kEmptyDict ? ReadNewFrame(at, frame) : TakeReference(at, frame))) break;
    if (!frame.is(Value::kFrame)) break;
    frames_[count] = frame.id();
  }
  if (count == 0 || at >= end_ || ByteAt(at) != (marked ? kAppends : kAppend)) {
    memo_.Truncate(number.slot);
    return false;
  }
  value = Value(Value::kStack, snapshot_.stacks.Intern({frames_, count}));
  p = End(number, value, at + 1);
  return true;
}

bool PickleMachine::ReadNewFrame(const char*& p, Value& frame) {
  const char* at = SkipPut(p + 1);
  if (at == nullptr || *at != kMark) return false;
  const bool numbered = at != p + 1;
  const RowPattern* const pattern = patterns_.Find(++at);
  if (pattern == nullptr || pattern->kind != Object::kFrameDict) return false;
  const Number number = Begin(numbered);
  if (!PatternedFrame(*pattern, at, frame)) return false;
  p = End(number, frame, at + 1);
  return true;
}

}  // namespace graphtree::snapshot
