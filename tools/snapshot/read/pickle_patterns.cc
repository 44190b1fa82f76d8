// Rows that lie in the file as their pattern says, read straight into their columns.
//
// Each function returns false where something is not of the usual form. Nothing has been added to a
// column then, and what was added to the memo is taken back by the caller, who reads the row anew.
#include <cstring>

#include "allocator/snapshot/pickle_opcodes.h"
#include "tools/snapshot/read/pickle_machine.h"

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

[[gnu::always_inline]] inline bool TakeBool(const char*& p, bool& value) {
  const uint8_t opcode = ByteAt(p++);
  value = opcode == kNewTrue;
  return value || opcode == kNewFalse;
}

[[gnu::always_inline]] inline bool TakeSize(const char*& p, uint64_t& size) {
  return TakeNumber(p, size) && size <= RecordBuilder::kMaxSize;
}

// The columns that are known here; a row with any other key has no pattern.
bool HasColumn(Object::Kind kind, StringId key) {
  switch (key) {
    case words::kSize: return kind == Object::kBlock || kind == Object::kEntry;
    case words::kFrames: return kind != Object::kFrameDict;
    case words::kName:
    case words::kFilename:
    case words::kLine: return kind == Object::kFrameDict;
    case words::kAddress:
    case words::kRequestedSize: return kind == Object::kBlock || kind == Object::kSegment;
    case words::kState: return kind == Object::kBlock;
    case words::kDevice:
    case words::kTotalSize:
    case words::kAllocatedSize:
    case words::kActiveSize:
    case words::kSegmentType:
    case words::kSegmentPoolId:
    case words::kIsExpandable:
    case words::kBlocks: return kind == Object::kSegment;
    case words::kStream: return kind == Object::kEntry || kind == Object::kSegment;
    case words::kAction:
    case words::kAddr:
    case words::kTimeUs:
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
  const char* at = p;
  const bool is_new = ByteAt(p) == kShortBinUnicode || ByteAt(p) == kBinUnicode;
  if (!(is_new ? ReadText(at, value) : TakeReference(at, value))) return false;
  text = value.id();
  p = at;
  return value.is(Value::kString);
}

// Behind the list of frames at `p`, if it is the one that came after the last one before; else
// null. A program that repeats itself has hardly any others.
[[gnu::always_inline]] inline const char* PickleMachine::BehindRepeatedStack(const char* p,
                                                                             StackId& stack) {
  const char* const text = SkipPut(p + 1);
  if (text == nullptr || *text != kMark) return nullptr;
  const StackCache::Known* const known = known_stacks_.FindNext(text, end_);
  if (known == nullptr) return nullptr;
  stack = known->stack;
  return End(Begin(text != p + 1), Value(Value::kStack, stack), text + known->size);
}

[[gnu::always_inline]] inline bool PickleMachine::TakeStack(const char*& p, StackId& stack) {
  if (ByteAt(p) == kEmptyList) {
    if (const char* const behind = BehindRepeatedStack(p, stack)) {
      p = behind;
      return true;
    }
  }
  Value value;
  const char* at = p;
  if (!(ByteAt(p) == kEmptyList ? ReadFrames(at, value) : TakeReference(at, value))) return false;
  stack = value.id();
  p = at;
  if (value.is(Value::kStack)) return true;
  if (!value.is(Value::kObject)) return false;
  const Object object = snapshot_.values.object(value);
  stack = object.kind == Object::kNewList ? 0 : object.index;  // the list without items
  return object.kind == Object::kUsedStack || object.kind == Object::kNewList;
}

[[gnu::always_inline]] inline bool PickleMachine::TakePool(const char*& p, PoolId& pool) {
  Value value(Value::kInteger, ByteAt(p + 1));
  const char* at = p;
  if (!(ByteAt(p) == kBinInt1 ? ReadPair(at, value) : TakeReference(at, value))) return false;
  pool = value.id();
  p = at;
  return value.is(Value::kPair);
}

// The value of one key.
template <StringId kWord, typename Take>
struct Field {
  static constexpr StringId kKey = kWord;
  Take take;
};
template <StringId kWord, typename Take>
Field<kWord, Take> On(Take take) {
  return {take};
}

// The keys of a row up to the opcode that ends it, each value by its field. The fields stand in the
// order in which writers have the keys: one pass does then, in which every branch goes the way it
// went in the row before. Another order takes more passes.
template <typename... Fields>
[[gnu::always_inline]] inline bool PickleMachine::TakeRow(const RowPattern& pattern,
                                                          const char*& p, const Fields&... fields) {
  const char* const last = end_ - kPairBytes;
  const RowPattern::Key* key = pattern.keys;
  const auto take = [&](const auto& field) {
    if (key->word != field.kKey) return true;
    if (p > last || !key->Matches(p)) return false;
    p += key->size;
    ++key;
    return field.take();
  };
  while (key->word != RowPattern::kNoWord) {
    const RowPattern::Key* const before = key;
    if (!(take(fields) && ...) || key == before) return false;
  }
  return p != end_ && ByteAt(p) == kSetItems;
}

[[gnu::always_inline]] inline bool PickleMachine::PatternedAs(const RowPattern& pattern,
                                                              const char*& p, Value& row) {
  switch (pattern.kind) {
    case Object::kEntry: return PatternedEntry(pattern, p, row);
    case Object::kBlock: return PatternedBlock(pattern, p, row);
    case Object::kSegment: return PatternedSegment(pattern, p, row);
    default: return PatternedFrame(pattern, p, row);
  }
}

// The row whose first key is at `p`, as its pattern says; `p` is behind it then. Of what was tried
// in vain the memo keeps nothing.
[[gnu::always_inline]] inline bool PickleMachine::Patterned(const char*& p, Object::Kind wanted,
                                                            Value& row) {
  const size_t memo_size = memo_.size();
  const RowPattern* pattern = patterns_.Find(p);
  for (int tries = 0; tries < 2 && pattern != nullptr; ++tries) {
    const char* at = p;
    if ((wanted == kAnyRow || wanted == pattern->kind) && PatternedAs(*pattern, at, row)) {
      if (tries != 0) patterns_.Prefer(*pattern);
      p = at + 1;
      return true;
    }
    memo_.Truncate(memo_size);
    pattern = patterns_.Other(*pattern);
  }
  return false;
}

bool PickleMachine::PatternedFrame(const RowPattern& pattern, const char*& p, Value& row) {
  Frame frame;
  frame.shape = pattern.shape;
  uint64_t line = 0;
  const char* at = p;
  if (!TakeRow(pattern, at, On<words::kName>([&] { return TakeText(at, frame.name); }),
               On<words::kFilename>([&] { return TakeText(at, frame.filename); }),
               On<words::kLine>([&] { return TakeNumber(at, line); }))) {
    return false;
  }
  frame.line = static_cast<int64_t>(line);
  row = Value(Value::kFrame, snapshot_.frames.Intern(frame));
  p = at;
  return true;
}

bool PickleMachine::PatternedBlock(const RowPattern& pattern, const char*& p, Value& row) {
  Block block;
  block.shape = pattern.shape;
  const char* at = p;
  if (!TakeRow(pattern, at, On<words::kAddress>([&] { return TakeNumber(at, block.address); }),
               On<words::kSize>([&] { return TakeSize(at, block.size); }),
               On<words::kRequestedSize>([&] { return TakeSize(at, block.requested_size); }),
               On<words::kState>([&] { return TakeText(at, block.state); }),
               On<words::kFrames>([&] { return TakeStack(at, block.stack); }))) {
    return false;
  }
  row = BareRow(Object::kBlock, static_cast<uint32_t>(snapshot_.blocks.size()));
  snapshot_.blocks.Push(block);
  p = at;
  return true;
}

bool PickleMachine::PatternedSegment(const RowPattern& pattern, const char*& p, Value& row) {
  Segment segment;
  segment.shape = pattern.shape;
  uint64_t device = 0;
  uint64_t stream = 0;
  Value blocks;
  const size_t blocks_before = snapshot_.blocks.size();
  const char* at = p;
  // Where it fits no more behind its blocks, their list stays behind as a value that nothing names.
  if (!TakeRow(pattern, at, On<words::kDevice>([&] { return TakeNumber(at, device); }),
               On<words::kAddress>([&] { return TakeNumber(at, segment.address); }),
               On<words::kTotalSize>([&] { return TakeSize(at, segment.total_size); }),
               On<words::kAllocatedSize>([&] { return TakeSize(at, segment.allocated_size); }),
               On<words::kActiveSize>([&] { return TakeSize(at, segment.active_size); }),
               On<words::kRequestedSize>([&] { return TakeSize(at, segment.requested_size); }),
               On<words::kStream>([&] { return TakeNumber(at, stream); }),
               On<words::kSegmentType>([&] { return TakeText(at, segment.type); }),
               On<words::kSegmentPoolId>([&] { return TakePool(at, segment.pool); }),
               On<words::kIsExpandable>([&] { return TakeBool(at, segment.expandable); }),
               On<words::kFrames>([&] { return TakeStack(at, segment.stack); }),
               On<words::kBlocks>([&] { return ReadBlocks(at, blocks); }))) {
    snapshot_.blocks.Truncate(blocks_before);
    return false;
  }
  segment.device = static_cast<int64_t>(device);
  segment.stream = Value(Value::kInteger, stream);
  row = builder_.AddSegment(segment, blocks);
  p = at;
  return true;
}

bool PickleMachine::PatternedEntry(const RowPattern& pattern, const char*& p, Value& row) {
  TraceEntry entry;
  uint64_t time = 0;
  uint64_t stream = 0;
  const char* at = p;
  if (!TakeRow(pattern, at, On<words::kAction>([&] { return TakeText(at, entry.action); }),
               On<words::kAddr>([&] { return TakeNumber(at, entry.addr); }),
               On<words::kSize>([&] { return TakeSize(at, entry.size); }),
               On<words::kStream>([&] { return TakeNumber(at, stream); }),
               On<words::kTimeUs>([&] { return TakeNumber(at, time); }),
               On<words::kCompileContext>([&] { return TakeText(at, entry.compile_context); }),
               On<words::kUserMetadata>([&] { return TakeText(at, entry.user_metadata); }),
               On<words::kPoolId>([&] { return TakePool(at, entry.pool); }),
               On<words::kFrames>([&] { return TakeStack(at, entry.stack); }))) {
    return false;
  }
  entry.time_us = static_cast<int64_t>(time);
  entry.details = snapshot_.details.Intern(pattern.shape, Value(Value::kInteger, stream));
  row = BareRow(Object::kEntry, static_cast<uint32_t>(snapshot_.entries.size()));
  snapshot_.entries.Push(entry);
  p = at;
  return true;
}

// A list of blocks that lies whole in the window; `p` is at it. Python writes a long one in pieces.
bool PickleMachine::ReadBlocks(const char*& p, Value& value) {
  const char* at = SkipPut(p + 1);
  if (ByteAt(p) != kEmptyList || at == nullptr) return false;
  const Number number = Begin(at != p + 1);
  const bool marked = ByteAt(at) == kMark;
  const size_t first = snapshot_.blocks.size();
  bool whole = false;
  do {
    if (marked) ++at;
    while (ReadBlock(at) && marked) continue;
    whole = at < end_ && ByteAt(at) == (marked ? kAppends : kAppend);
    if (whole) ++at;
  } while (whole && marked && at < end_ && ByteAt(at) == kMark);
  const size_t count = snapshot_.blocks.size() - first;
  if (!whole || count == 0) {
    snapshot_.blocks.Truncate(first);
    memo_.Truncate(number.slot());
    return false;
  }
  value = snapshot_.values.NewRun(
      {Object::kBlock, static_cast<uint32_t>(first), static_cast<uint32_t>(count)});
  p = End(number, value, at);
  return true;
}

bool PickleMachine::ReadBlock(const char*& p) {
  if (end_ - p < kPairBytes || ByteAt(p) != kEmptyDict) return false;
  const char* at = SkipPut(p + 1);
  if (at == nullptr || *at != kMark) return false;
  const Number number = Begin(at != p + 1);
  Value row;
  if (!Patterned(++at, Object::kBlock, row)) return false;
  p = End(number, row, at);
  return true;
}

// `p` is behind the mark of the dictionary whose number it is.
bool PickleMachine::PatternedRow(const char* p, Number number) {
  Value row;
  if (!Patterned(p, kAnyRow, row)) return false;
  stack_.Push(row);
  p_ = End(number, row, p);
  return true;
}

// The keys of `pattern` are those of the row that has just been read.
void PickleMachine::LearnPattern(RowPattern& pattern, Value row) {
  if (pattern.key_count > RowPattern::kMostKeys) return;
  pattern.kind = row.is(Value::kRow) ? ObjectOfBareRow(row).kind : Object::kFrameDict;
  for (size_t i = 0; i < pattern.key_count; ++i) {
    if (!HasColumn(pattern.kind, pattern.keys[i].word)) return;
  }
  pattern.keys[pattern.key_count].word = RowPattern::kNoWord;
  switch (pattern.kind) {
    case Object::kFrameDict: pattern.shape = snapshot_.frames[row.id()].shape; break;
    case Object::kBlock: pattern.shape = snapshot_.blocks.back().shape; break;
    case Object::kSegment: pattern.shape = builder_.segments().back().shape; break;
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
    memo_.Truncate(number.slot());
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
