// The loop over values and containers; texts and numbers are in json_scalars.cc.
#include "tools/snapshot/read/json_reader.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "allocator/snapshot/json_marks.h"

namespace graphtree::snapshot {
namespace {

constexpr size_t kMaxNesting = 1000;
constexpr uint64_t kFreeBytes = 256 << 20;
// In the place of a key, which is a text otherwise.
const Value kBytesMark(Value::kBool, 0);
const Value kTupleMark(Value::kBool, 1);
const Value kDictMark(Value::kBool, 2);
constexpr uint64_t kBytesPerByte = 16;  // an empty list and its comma are two bytes

}  // namespace

JsonReader::JsonReader(ByteSource& source, const char* p, RecordBuilder& builder,
                       Snapshot& snapshot)
    : source_(source), builder_(builder), snapshot_(snapshot), p_(p), end_(source.end()) {}

bool JsonReader::Fail(absl::string_view what) {
  status_ = absl::InvalidArgumentError(
      absl::StrCat("not a snapshot, or damaged, at byte ", source_.Offset(p_), ": ", what));
  return false;
}

bool JsonReader::CutOff() {
  if (!status_.ok()) return false;
  status_ = absl::InvalidArgumentError(
      absl::StrCat("the file is cut off: it ends after ", source_.Offset(end_),
                   " bytes, in the middle of its JSON; write or copy the snapshot again"));
  return false;
}

bool JsonReader::Peek(char& c) {
  if (__builtin_expect(p_ == end_, false)) {
    status_ = source_.Fill(p_, 1);
    end_ = source_.end();
    if (!status_.ok() || p_ == end_ || !CheckMemory()) return false;
  }
  c = *p_;
  return true;
}

bool JsonReader::CheckMemory() {
  const uint64_t held = snapshot_.bytes() + stack_.bytes();
  if (held <= kFreeBytes + kBytesPerByte * source_.Offset(end_)) return true;
  status_ = absl::ResourceExhaustedError(
      absl::StrCat("reading the first ", source_.Offset(p_), " bytes took ", held,
                   " bytes of memory, more than any snapshot needs: the file is made to exhaust "
                   "memory, or is not a snapshot"));
  return false;
}

bool JsonReader::SkipSpace(char& c) {
  while (Peek(c)) {
    if (c != ' ' && c != '\n' && c != '\t' && c != '\r') return true;
    ++p_;
  }
  return false;
}

absl::StatusOr<Value> JsonReader::Run() {
  char c;
  do {
    // A value is due, or the end of a container that has just been opened.
    if (!SkipSpace(c)) return CutOff(), status_;
    const bool ok = c == '{' || c == '[' ? StepInto(c)
                    : (c == '}' || c == ']') && !levels_.empty() &&
                            levels_.back().first == stack_.size()
                        ? Close(c)
                        : Scalar(c);
    if (!ok) return status_;
    // What follows a finished value: a comma, or the end of one or more containers.
    while (!levels_.empty() && levels_.back().first < stack_.size()) {
      const bool is_key_due = levels_.back().is_object &&
                              (stack_.size() - levels_.back().first) % 2 == 1;
      if (is_key_due) break;  // only the key of a fresh pair has been read
      if (!SkipSpace(c)) return CutOff(), status_;
      if (!AfterValue(c)) return status_;
      if (c == ',') break;
    }
  } while (!levels_.empty());
  if (SkipSpace(c)) return Fail("more text after the end of the JSON"), status_;
  if (!status_.ok()) return status_;
  return stack_[0];
}

bool JsonReader::StepInto(char c) {
  if (levels_.size() == kMaxNesting) {
    return Fail(absl::StrCat("lists and dictionaries nested more than ", kMaxNesting, " deep"));
  }
  ++p_;
  levels_.Push({stack_.size(), c == '{'});
  if (c == '[') return true;
  char next;
  if (!SkipSpace(next)) return CutOff();
  return next == '}' || Key();
}

bool JsonReader::AfterValue(char c) {
  if (c == '}' || c == ']') return Close(c);
  if (c != ',') return Fail("a comma or the end of a list is missing");
  ++p_;
  if (levels_.back().is_object) return Key();
  char next;
  if (!SkipSpace(next)) return CutOff();
  return next != ']' || Fail("a comma before the end of a list");
}

bool JsonReader::Key() {
  char c;
  if (!SkipSpace(c)) return CutOff();
  if (c != '"') return Fail("a key in quotes is missing");
  if (!String(scratch_)) return false;
  absl::string_view key = scratch_;
  const bool marks_tuple = with_tuples_ && key == kTupleKey;
  if (marks_tuple || key == kBytesKey || key == kDictKey) {
    stack_.Push(marks_tuple ? kTupleMark : key == kBytesKey ? kBytesMark : kDictMark);
    ++marks_;
  } else {
    if (absl::StartsWith(key, "((") && IsEscapedKey(key, with_tuples_)) {
      key.remove_prefix(kEscape.size());
    }
    stack_.Push(Value(Value::kString, snapshot_.strings.Intern(key)));
  }
  if (!SkipSpace(c)) return CutOff();
  if (c != ':') return Fail("a colon after a key is missing");
  ++p_;
  return true;
}

bool JsonReader::Close(char c) {
  const Level level = levels_.back();
  if (level.is_object != (c == '}')) return Fail("a bracket that closes nothing");
  ++p_;
  Value value;
  if (marks_ != 0 && level.is_object && Marked(level, value)) {
    stack_.Truncate(level.first);
    levels_.Truncate(levels_.size() - 1);
    stack_.Push(value);
    return true;
  }
  const Value* items = stack_.data() + level.first;
  const size_t count = stack_.size() - level.first;
  value = snapshot_.values.NewObject(level.is_object ? Object::kNewDict : Object::kNewList);
  if (level.is_object && count != 0) {
    value = builder_.FillDict(value, items, count / 2);
  } else if (count != 0) {
    builder_.FillList(value, items, count);
  }
  stack_.Truncate(level.first);
  levels_.Truncate(levels_.size() - 1);
  stack_.Push(value);
  return true;
}

// True where the object is one that stands for something else; where it only looks so, its marks
// become the keys that they are.
bool JsonReader::Marked(const Level& level, Value& value) {
  Value* const items = stack_.data() + level.first;
  const size_t count = stack_.size() - level.first;
  bool is_one = false;
  for (size_t i = 0; i < count; i += 2) {
    if (!items[i].is(Value::kBool)) continue;
    --marks_;
    is_one = is_one || IsTuple(items, count, value) || IsBytes(items, count, value) ||
             IsDict(items, count, value);
    const absl::string_view key = items[i] == kTupleMark   ? kTupleKey
                                  : items[i] == kBytesMark ? kBytesKey
                                                           : kDictKey;
    if (!is_one) items[i] = Value(Value::kString, snapshot_.strings.Intern(key));
  }
  return is_one;
}

// {"(bytes)": "..."}, and nothing else in it.
bool JsonReader::IsBytes(const Value* items, size_t count, Value& bytes) {
  if (count != 2 || !(items[0] == kBytesMark) || !items[1].is(Value::kString)) return false;
  const absl::string_view text = snapshot_.strings[items[1].id()];
  std::string decoded;
  if (!absl::Base64Unescape(text, &decoded) || absl::Base64Escape(decoded) != text) return false;
  bytes = Value(Value::kBytes, snapshot_.strings.Intern(decoded));
  return true;
}

// {"(tuple)": [...]}, and nothing else in it.
bool JsonReader::IsTuple(const Value* items, size_t count, Value& tuple) {
  if (count != 2 || !(items[0] == kTupleMark)) return false;
  ValueStore& values = snapshot_.values;
  std::vector<Value> parts;
  if (const std::vector<Value>* list = values.ListItems(items[1])) {
    parts = *list;
  } else if (items[1].is(Value::kObject) && values.object(items[1]).kind == Object::kStack) {
    for (FrameId frame : snapshot_.stacks[values.object(items[1]).index]) {
      parts.push_back(Value(Value::kFrame, frame));
    }
  } else {
    return false;
  }
  tuple = TupleOf(parts);
  return true;
}

Value JsonReader::TupleOf(const std::vector<Value>& parts) {
  const auto is_small = [](Value part) {
    return part.is(Value::kInteger) && part.small_integer() >= 0;
  };
  return parts.size() == 2 && is_small(parts[0]) && is_small(parts[1])
             ? snapshot_.values.Pair(parts[0].payload(), parts[1].payload())
             : snapshot_.values.Tuple(parts.data(), parts.size());
}

// {"(dict)": [[key, value], ...]}, and nothing else in it; at least one key is no text.
bool JsonReader::IsDict(const Value* items, size_t count, Value& dict) {
  if (count != 2 || !(items[0] == kDictMark)) return false;
  const std::vector<Value>* const pairs = snapshot_.values.ListItems(items[1]);
  if (pairs == nullptr) return false;
  std::vector<Value> flat;
  bool only_texts = true;
  for (const Value pair : *pairs) {
    const std::vector<Value>* const both = snapshot_.values.ListItems(pair);
    if (both == nullptr || both->size() != 2) return false;
    flat.insert(flat.end(), both->begin(), both->end());
    only_texts = only_texts && both->front().is(Value::kString);
  }
  if (only_texts) return false;
  for (size_t i = 0; i < flat.size(); i += 2) flat[i] = HashableKey(flat[i]);
  dict = builder_.FillDict(snapshot_.values.NewObject(Object::kNewDict), flat.data(),
                           flat.size() / 2);
  return true;
}

// No deeper than the text itself, which has a limit.
Value JsonReader::HashableKey(Value key) {
  const std::vector<Value>* const list = snapshot_.values.ListItems(key);
  if (list == nullptr) return key;
  std::vector<Value> parts = *list;  // the lists may move
  for (Value& part : parts) part = HashableKey(part);
  return TupleOf(parts);
}

absl::StatusOr<Value> ParseJsonValue(absl::string_view text, RecordBuilder& builder,
                                     Snapshot& snapshot, bool with_tuples) {
  ByteSource source = ByteSource::Of(text);
  JsonReader reader(source, source.begin(), builder, snapshot);
  if (with_tuples) reader.ExpectTuples();
  return reader.Run();
}

}  // namespace graphtree::snapshot
