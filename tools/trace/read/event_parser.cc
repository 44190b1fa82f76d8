// Keys are told apart by their length first, then by comparing them whole.
#include "tools/trace/read/event_parser.h"

#include <utility>

#include "profiler/trace/json_keys.h"

namespace graphtree::trace {
namespace {

using Words = absl::string_view RawEvent::*;
using Texts = JsonText RawEvent::*;

struct Field {
  absl::string_view key;
  Words word = nullptr;   // any value, as it stands there
  Texts text = nullptr;   // a text
  bool is_launch_fact = false;
};

constexpr Field kArguments[] = {
    {json_keys::kExternal, &RawEvent::external},
    {json_keys::kCorrelation, &RawEvent::correlation},
    {json_keys::kDevice, &RawEvent::device},
    {json_keys::kContext, &RawEvent::context},
    {json_keys::kStream, &RawEvent::stream},
    {json_keys::kGraph, &RawEvent::graph},
    {json_keys::kGraphNode, &RawEvent::graph_node},
    {json_keys::kBytes, &RawEvent::bytes},
    {json_keys::kSharedMemory, &RawEvent::shared_memory},
    {json_keys::kTreeNode, &RawEvent::tree_node},
    {json_keys::kBytesRead, &RawEvent::bytes_read},
    {json_keys::kBytesWritten, &RawEvent::bytes_written},
    {json_keys::kGrid, &RawEvent::grid},
    {json_keys::kBlock, &RawEvent::block},
    {json_keys::kInputDims, &RawEvent::input_dims, nullptr, true},
    {json_keys::kInputTypes, &RawEvent::input_types},
    {json_keys::kBackend, nullptr, &RawEvent::backend, true},
    {json_keys::kFile, nullptr, &RawEvent::file, true},
    {json_keys::kHash, nullptr, &RawEvent::hash, true},
    {json_keys::kArguments, nullptr, &RawEvent::arguments, true},
    {json_keys::kKernelName, nullptr, &RawEvent::kernel_name},
    {json_keys::kFunction, nullptr, &RawEvent::function},
    {json_keys::kProgram, nullptr, &RawEvent::program},
    {json_keys::kShape, nullptr, &RawEvent::shape},
    {json_keys::kScope, nullptr, &RawEvent::scope},
    {json_keys::kSpanKind, nullptr, &RawEvent::span_kind},
    {"name", nullptr, &RawEvent::lane_name},
    {"labels", nullptr, &RawEvent::lane_name},
};

constexpr int kMostKeys = 8;        // of one length
constexpr size_t kMostKeyLength = 16;

// The fields by the length of their key.
struct ByLength {
  const Field* fields[kMostKeyLength + 1][kMostKeys] = {};

  constexpr ByLength() {
    for (const Field& field : kArguments) {
      const Field** slot = fields[field.key.size()];
      while (*slot != nullptr) ++slot;
      *slot = &field;
    }
  }
};

constexpr ByLength kByLength;

const Field* FieldOf(absl::string_view key) {
  if (key.size() > kMostKeyLength) return nullptr;
  for (const Field* const field : kByLength.fields[key.size()]) {
    if (field == nullptr) return nullptr;
    if (field->key == key) return field;
  }
  return nullptr;
}

bool Argument(JsonCursor& cursor, absl::string_view key, RawEvent& event) {
  const char* const begin = key.data() - 1;  // its quote
  const Field* const field = FieldOf(key);
  char c;
  if (!cursor.Peek(c)) return false;
  if (field != nullptr && (field->word != nullptr || c == '"')) {
    event.has_launch_facts |= field->is_launch_fact;
    return field->word != nullptr ? cursor.Value(event.*(field->word))
                                  : cursor.Text(event.*(field->text));
  }
  absl::string_view value;
  if (!cursor.Value(value)) return false;
  const bool is_number = c == '-' || (c >= '0' && c <= '9');
  if (is_number && event.first_word.empty()) {
    event.first_key = key;
    event.first_word = value;
  }
  if (key == "memory bandwidth (GB/s)") return true;  // is computed again
  if (!event.extras.empty()) event.extras.push_back(',');
  event.extras.append(begin, static_cast<size_t>(value.data() + value.size() - begin));
  return true;
}

bool Arguments(JsonCursor& cursor, RawEvent& event) {
  char c;
  if (!cursor.Peek(c)) return false;
  if (c != '{') return cursor.Skip();
  bool is_first = true;
  bool at_end = false;
  absl::string_view key;
  cursor.Expect('{', "");
  while (cursor.NextKey(is_first, key, at_end)) {
    if (at_end) return true;
    if (!Argument(cursor, key, event)) return false;
  }
  return false;
}

bool TextOrSkip(JsonCursor& cursor, JsonText& text) {
  char c;
  if (!cursor.Peek(c)) return false;
  return c == '"' ? cursor.Text(text) : cursor.Skip();
}

bool Member(JsonCursor& cursor, absl::string_view key, RawEvent& event) {
  if (key == "args") return Arguments(cursor, event);
  if (key == "ts") return cursor.Value(event.time);
  if (key == "dur") return cursor.Value(event.duration);
  if (key == "pid") return cursor.Value(event.process);
  if (key == "tid") return cursor.Value(event.thread);
  if (key == "ph") return TextOrSkip(cursor, event.phase);
  if (key == "cat") return TextOrSkip(cursor, event.category);
  if (key == "name") return TextOrSkip(cursor, event.name);
  return cursor.Skip();
}

}  // namespace

bool ParseEvent(JsonCursor& cursor, RawEvent& event) {
  std::string extras = std::move(event.extras);  // keeps its memory
  extras.clear();
  event = RawEvent();
  event.extras = std::move(extras);
  if (!cursor.Expect('{', "an event is no object")) return false;
  bool is_first = true;
  bool at_end = false;
  absl::string_view key;
  while (cursor.NextKey(is_first, key, at_end)) {
    if (at_end) return true;
    if (!Member(cursor, key, event)) return false;
  }
  return false;
}

}  // namespace graphtree::trace
