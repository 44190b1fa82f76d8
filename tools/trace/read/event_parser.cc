// Keys are told apart by their length first, then by comparing them whole.
#include "tools/trace/read/event_parser.h"

#include <cstring>
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
  bool is_of_ops = false;       // of a span it is somebody else's
  bool is_of_metadata = false;  // likewise, of all but metadata
};

constexpr Field OfOps(absl::string_view key, Words word, Texts text = nullptr) {
  return {key, word, text, false, true};
}

constexpr Field kArguments[] = {
    {json_keys::kExternal, &RawEvent::external},
    {json_keys::kCorrelation, &RawEvent::correlation},
    OfOps(json_keys::kDevice, &RawEvent::device),
    OfOps(json_keys::kContext, &RawEvent::context),
    {json_keys::kStream, &RawEvent::stream},
    OfOps(json_keys::kGraph, &RawEvent::graph),
    OfOps(json_keys::kGraphNode, &RawEvent::graph_node),
    OfOps(json_keys::kBytes, &RawEvent::bytes),
    OfOps(json_keys::kSharedMemory, &RawEvent::shared_memory),
    OfOps(json_keys::kTreeNode, &RawEvent::tree_node),
    OfOps(json_keys::kBytesRead, &RawEvent::bytes_read),
    OfOps(json_keys::kBytesWritten, &RawEvent::bytes_written),
    OfOps(json_keys::kGrid, &RawEvent::grid),
    OfOps(json_keys::kBlock, &RawEvent::block),
    {json_keys::kInputDims, &RawEvent::input_dims, nullptr, true},
    {json_keys::kInputTypes, &RawEvent::input_types},
    {json_keys::kBackend, nullptr, &RawEvent::backend, true},
    {json_keys::kFile, nullptr, &RawEvent::file, true},
    {json_keys::kHash, nullptr, &RawEvent::hash, true},
    {json_keys::kArguments, nullptr, &RawEvent::arguments, true},
    {json_keys::kKernelName, nullptr, &RawEvent::kernel_name},
    OfOps(json_keys::kFunction, nullptr, &RawEvent::function),
    OfOps(json_keys::kProgram, nullptr, &RawEvent::program),
    OfOps(json_keys::kShape, nullptr, &RawEvent::shape),
    OfOps(json_keys::kScope, nullptr, &RawEvent::scope),
    {json_keys::kSpanKind, nullptr, &RawEvent::span_kind},
    {"name", nullptr, &RawEvent::lane_name, false, false, true},
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

// Keys of one length, at most kMostKeyLength: two words that may overlap are all of them.
bool SameKey(absl::string_view a, absl::string_view b) {
  const auto same = [&](auto word, size_t at) {
    auto other = word;
    std::memcpy(&word, a.data() + at, sizeof(word));
    std::memcpy(&other, b.data() + at, sizeof(word));
    return word == other;
  };
  const size_t size = a.size();
  if (size >= 8) return same(uint64_t{}, 0) && same(uint64_t{}, size - 8);
  return size >= 4 ? same(uint32_t{}, 0) && same(uint32_t{}, size - 4) : a == b;
}

// Compared with a constant, which takes no call.
template <size_t kSize>
bool Is(absl::string_view key, const char (&name)[kSize]) {
  return key.size() == kSize - 1 && __builtin_memcmp(key.data(), name, kSize - 1) == 0;
}

const Field* FieldOf(absl::string_view key) {
  if (key.empty() || key.size() > kMostKeyLength) return nullptr;
  for (const Field* const field : kByLength.fields[key.size()]) {
    if (field == nullptr) return nullptr;
    if (SameKey(field->key, key)) return field;
  }
  return nullptr;
}

bool IsOfEvent(const Field& field, const RawEvent& event) {
  if (event.phase.raw == "C") return false;
  if (field.is_of_metadata) return event.phase.raw == "M";
  if (!field.is_of_ops || event.category.raw.empty()) return true;
  return json_keys::IsOpCategory(event.category.raw);
}

bool Argument(JsonCursor& cursor, absl::string_view key, RawEvent& event) {
  const char* const begin = key.data() - 1;  // its quote
  const Field* const field = FieldOf(key);
  char c;
  if (!cursor.Peek(c)) return false;
  if (field != nullptr && (field->word != nullptr || c == '"') && IsOfEvent(*field, event)) {
    event.has_launch_facts |= field->is_launch_fact;
    return field->word != nullptr ? cursor.NumberOrValue(event.*(field->word))
                                  : cursor.Text(event.*(field->text));
  }
  absl::string_view value;
  if (!cursor.Value(value)) return false;
  if (event.phase.raw == "C") {
    if (c != '"' && c != '{' && c != '[') event.series.emplace_back(key, value);
    return true;
  }
  if (key == "memory bandwidth (GB/s)") return true;  // is computed again
  if (!event.extras.empty()) event.extras.push_back(',');
  AppendClean({begin, static_cast<size_t>(value.data() + value.size() - begin)}, event.extras);
  return true;
}

void ClearArguments(RawArguments& arguments) {
  std::string extras = std::move(arguments.extras);  // keep their memory
  auto series = std::move(arguments.series);
  extras.clear();
  series.clear();
  arguments = RawArguments();
  arguments.extras = std::move(extras);
  arguments.series = std::move(series);
}

bool Arguments(JsonCursor& cursor, RawEvent& event) {
  event.has_arguments = true;
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
  // The first letter tells nearly all apart.
  switch (key.empty() ? '\0' : key[0]) {
    case 'a': return Is(key, "args") ? Arguments(cursor, event) : cursor.Skip();
    case 'b': return Is(key, "bp") ? cursor.Value(event.binding) : cursor.Skip();
    case 'c': return Is(key, "cat") ? TextOrSkip(cursor, event.category) : cursor.Skip();
    case 'd': return Is(key, "dur") ? cursor.NumberOrValue(event.duration) : cursor.Skip();
    case 'i': return Is(key, "id") ? cursor.NumberOrValue(event.id) : cursor.Skip();
    case 'n': return Is(key, "name") ? TextOrSkip(cursor, event.name) : cursor.Skip();
    case 'p':
      if (Is(key, "pid")) return cursor.NumberOrValue(event.process);
      return Is(key, "ph") ? TextOrSkip(cursor, event.phase) : cursor.Skip();
    case 't':
      if (Is(key, "tid")) return cursor.NumberOrValue(event.thread);
      return Is(key, "ts") ? cursor.NumberOrValue(event.time) : cursor.Skip();
    default: return cursor.Skip();
  }
}

}  // namespace

bool ParseEvent(JsonCursor& cursor, RawEvent& event) {
  if (event.has_arguments) ClearArguments(event);
  event.phase = event.category = event.name = JsonText();
  event.process = event.thread = event.time = event.duration = absl::string_view();
  event.id = event.binding = absl::string_view();
  event.has_arguments = false;
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
