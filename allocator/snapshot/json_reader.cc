// The loop over values and containers; texts and numbers are in json_scalars.cc.
#include "allocator/snapshot/json_reader.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace graphtree::snapshot {
namespace {

constexpr size_t kMaxNesting = 1000;
constexpr uint64_t kFreeBytes = 256 << 20;
const Value kTupleMark(Value::kBool, 1);  // in the place of a key, which is a text otherwise
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
  if (with_tuples_ && absl::StartsWith(key, "((")) key.remove_prefix(kEscape.size());
  const bool marks_tuple = with_tuples_ && scratch_ == kTupleKey;
  stack_.Push(marks_tuple ? kTupleMark : Value(Value::kString, snapshot_.strings.Intern(key)));
  if (!SkipSpace(c)) return CutOff();
  if (c != ':') return Fail("a colon after a key is missing");
  ++p_;
  return true;
}

bool JsonReader::Close(char c) {
  const Level level = levels_.back();
  if (level.is_object != (c == '}')) return Fail("a bracket that closes nothing");
  ++p_;
  Value* items = stack_.data() + level.first;
  const size_t count = stack_.size() - level.first;
  Value value;
  if (with_tuples_ && level.is_object && IsTuple(items, count, value)) {
    stack_.Truncate(level.first);
    levels_.Truncate(levels_.size() - 1);
    stack_.Push(value);
    return true;
  }
  for (size_t i = 0; with_tuples_ && level.is_object && i < count; i += 2) {
    if (items[i] == kTupleMark) {  // not ours: a key like any other
      items[i] = Value(Value::kString, snapshot_.strings.Intern(kTupleKey));
    }
  }
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
  const auto is_small = [](Value part) {
    return part.is(Value::kInteger) && part.small_integer() >= 0;
  };
  tuple = parts.size() == 2 && is_small(parts[0]) && is_small(parts[1])
              ? values.Pair(parts[0].payload(), parts[1].payload())
              : values.Tuple(parts.data(), parts.size());
  return true;
}

absl::StatusOr<Value> ParseJsonValue(absl::string_view text, RecordBuilder& builder,
                                     Snapshot& snapshot, bool with_tuples) {
  ByteSource source = ByteSource::Of(text);
  JsonReader reader(source, source.begin(), builder, snapshot);
  if (with_tuples) reader.ExpectTuples();
  return reader.Run();
}

}  // namespace graphtree::snapshot
