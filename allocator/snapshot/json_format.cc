// The format of TreeWriter that emits JSON.
#include "allocator/snapshot/json_format.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "allocator/snapshot/json_marks.h"
#include "allocator/snapshot/tree_writer.h"
#include "device/base/json_writer.h"

namespace graphtree::snapshot {
namespace {

// Halves of surrogate pairs, which Python's strings may hold, are written as their escape.
std::string QuotedText(absl::string_view text) {
  const auto is_half = [&](size_t i) {
    return i + 2 < text.size() && text[i] == '\xed' && (text[i + 1] & 0xe0) == 0xa0 &&
           (text[i + 2] & 0xc0) == 0x80;
  };
  size_t i = 0;
  while (i < text.size() && !is_half(i)) ++i;
  std::string quoted = JsonQuoted(text.substr(0, i));
  if (i == text.size()) return quoted;
  quoted.pop_back();
  const uint32_t unit = 0xd000u | ((text[i + 1] & 0x3fu) << 6) | (text[i + 2] & 0x3fu);
  absl::StrAppend(&quoted, "\\u", absl::Hex(unit));
  return absl::StrCat(quoted, QuotedText(text.substr(i + 3)).substr(1));
}

class JsonFormat {
 public:
  JsonFormat(const Snapshot& snapshot, ByteSink& sink) : snapshot_(snapshot), sink_(sink) {}
  // JSON has no tuples. What only we read back says them.
  void KeepTuples() { keeps_tuples_ = true; }
  void KeepFrames() { frames_.resize(snapshot_.frames.size()); }

  void BeginDict(size_t) { Begin('{'); }
  void EndDict() { End('}'); }
  void BeginList(size_t) { Begin('['); }
  void EndList() { End(']'); }
  void BeginTuple(size_t) {
    if (keeps_tuples_) sink_.Write(absl::StrCat("{\"", kTupleKey, "\": "));
    Begin('[');
  }
  void EndTuple(size_t) {
    End(']');
    if (keeps_tuples_) sink_.Byte('}');
  }
  void Item() {
    if (!first_) sink_.Write(", ");
    first_ = false;
  }
  absl::Status Key(Value key);
  // Keys that are bytes or tuples, or, where only we read the text, anything but texts.
  bool NeedsPairs(const std::vector<DictItem>& items) const {
    return std::any_of(items.begin(), items.end(), [this](const DictItem& item) {
      return keeps_tuples_ ? !item.key.is(Value::kString)
                           : item.key.is(Value::kBytes) || IsTuple(item.key);
    });
  }
  void BeginPairs() {
    sink_.Write(absl::StrCat("{\"", kDictKey, "\": "));
    Begin('[');
  }
  void EndPairs() {
    End(']');
    sink_.Byte('}');
  }

  void None() { sink_.Write("null"); }
  void Bool(bool value) { sink_.Write(value ? "true" : "false"); }
  void Integer(int64_t value) { Number(value); }
  void Unsigned(uint64_t value) { Number(value); }
  void Double(double value) { sink_.Write(DoubleText(value)); }
  void Text(StringId id) { sink_.Write(Quoted(id)); }
  absl::Status Bytes(StringId id) {
    sink_.Write(absl::StrCat("{\"", kBytesKey, "\": \"",
                             absl::Base64Escape(snapshot_.strings[id]), "\"}"));
    return absl::OkStatus();
  }
  void Pool(PoolId id) {
    const auto [first, second] = snapshot_.Pool(id);
    BeginTuple(2);
    Number(first);
    sink_.Write(", ");
    Number(second);
    EndTuple(2);
  }

  bool FrameIsShared(FrameId id);
  void FrameDone(FrameId) {}
  bool StackIsShared(StackId) { return false; }
  void StackDone(StackId) {}
  bool ObjectIsShared(Value) { return false; }
  void ObjectBegun(Value) {}

 private:
  bool IsTuple(Value value) const {
    return value.is(Value::kPair) || (value.is(Value::kObject) &&
                                      snapshot_.values.object(value).kind == Object::kTuple);
  }
  void Begin(char bracket) {
    sink_.Byte(bracket);
    first_ = true;
  }
  void End(char bracket) {
    sink_.Byte(bracket);
    first_ = false;
  }
  template <typename T>
  void Number(T value) {
    char text[24];
    const auto end = std::to_chars(text, text + sizeof(text), value);
    sink_.Write({text, static_cast<size_t>(end.ptr - text)});
  }
  const std::string& Quoted(StringId id) {
    std::string& quoted = quoted_[id];
    if (quoted.empty()) quoted = QuotedText(snapshot_.strings[id]);
    return quoted;
  }
  static std::string DoubleText(double value);

  const Snapshot& snapshot_;
  ByteSink& sink_;
  absl::flat_hash_map<StringId, std::string> quoted_;
  std::vector<std::string> frames_;  // as text, once each; empty: not kept
  bool keeps_tuples_ = false;
  bool first_ = true;                // nothing yet in the innermost bracket
};

// As Python writes it: the shortest text that reads back as the same number, and always one that
// reads back as a float.
std::string JsonFormat::DoubleText(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  char text[32];
  const auto end = std::to_chars(text, text + sizeof(text), value);
  std::string result(text, end.ptr);
  if (result.find_first_of(".e") == std::string::npos) result += ".0";
  return result;
}

// A frame stands in thousands of stacks; its text is made once.
bool JsonFormat::FrameIsShared(FrameId id) {
  if (id >= frames_.size()) return false;
  if (frames_[id].empty()) {
    auto sink = ByteSink::To(&frames_[id]);
    JsonFormat format(snapshot_, *sink);
    format.keeps_tuples_ = keeps_tuples_;
    TreeWriter<JsonFormat>(snapshot_, format).WriteFrame(id);
    sink->Commit().IgnoreError();  // into a text it cannot fail
  }
  sink_.Write(frames_[id]);
  return true;
}

absl::Status JsonFormat::Key(Value key) {
  Item();
  switch (key.tag()) {
    case Value::kString:
      if (IsEscapedKey(snapshot_.strings[key.id()], keeps_tuples_)) {
        sink_.Write(QuotedText(absl::StrCat(kEscape, snapshot_.strings[key.id()])));
      } else {
        Text(key.id());
      }
      break;
    case Value::kInteger:
    case Value::kWideInteger:
    case Value::kWideUnsigned:
      sink_.Write(absl::StrCat("\"", IntegerText(snapshot_.values, key), "\""));
      break;
    case Value::kBool: sink_.Write(key.payload() != 0 ? "\"true\"" : "\"false\""); break;
    case Value::kNone: sink_.Write("\"null\""); break;
    case Value::kDouble:
      sink_.Write(absl::StrCat("\"", DoubleText(snapshot_.values.AsDouble(key)), "\""));
      break;
    default:
      return absl::InvalidArgumentError(absl::StrCat("a dictionary key that is ",
                                                     TypeName(snapshot_.values, key),
                                                     ", which JSON cannot hold"));
  }
  sink_.Write(": ");
  return absl::OkStatus();
}

}  // namespace

absl::Status WriteJson(const Snapshot& snapshot, ByteSink& sink) {
  JsonFormat format(snapshot, sink);
  format.KeepFrames();
  const absl::Status status = TreeWriter<JsonFormat>(snapshot, format).WriteSnapshot();
  sink.Byte('\n');
  return status;
}

uint64_t JsonStackBytes(const Snapshot& snapshot) {
  std::vector<uint64_t> frames;
  for (FrameId id = 0; id < snapshot.frames.size(); ++id) {
    const Frame& frame = snapshot.frames[id];
    constexpr uint64_t kAround = 45;  // keys, quotes and the line
    frames.push_back(kAround + snapshot.Text(frame.name).size() +
                     snapshot.Text(frame.filename).size());
  }
  std::vector<uint64_t> stacks(snapshot.stacks.size());
  for (StackId id = 0; id < snapshot.stacks.size(); ++id) {
    for (FrameId frame : snapshot.stacks[id]) stacks[id] += frames[frame];
  }
  uint64_t sum = 0;
  const auto add = [&](StackId stack) {
    sum = std::max(sum, sum + stacks[stack]);  // stays at the most where it would wrap
  };
  for (const Block& block : snapshot.blocks) add(block.stack);
  for (const TraceEntry& entry : snapshot.entries) add(entry.stack);
  return sum;
}

absl::StatusOr<std::string> JsonOf(const Snapshot& snapshot, Value value) {
  std::string text;
  auto sink = ByteSink::To(&text);
  JsonFormat format(snapshot, *sink);
  format.KeepTuples();
  absl::Status status = TreeWriter<JsonFormat>(snapshot, format).WriteOne(value);
  if (status.ok()) status = sink->Commit();
  if (!status.ok()) return status;
  return text;
}

}  // namespace graphtree::snapshot
