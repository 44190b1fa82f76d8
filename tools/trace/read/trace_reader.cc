// The frame around the events: the top of the file, the list, and the window over the file.
#include "tools/trace/read/trace_reader.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "profiler/trace/json_keys.h"
#include "tools/trace/read/event_parser.h"
#include "tools/trace/read/json_cursor.h"
#include "tools/trace/read/record_maker.h"

namespace graphtree::trace {
namespace {

using snapshot::ByteSource;

constexpr uint64_t kMostEventBytes = 16 << 20;
constexpr int64_t kMostBase = int64_t{1} << 61;
constexpr size_t kMostExtras = 64;  // members of the top that are kept

absl::Status NoTrace(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("this is no trace in JSON: ", what));
}

// What a file that begins so is, where that is known and it is no JSON.
const char* OtherKind(absl::string_view head) {
  if (absl::StartsWith(head, "\x1f\x8b")) {
    return "it is compressed by gzip";
  }
  if (absl::StartsWith(head, "SQLite format 3")) return "it is an SQLite database";
  if (absl::StartsWith(head, "\x80")) {
    return "it is a pickle, such as a memory snapshot: see `graphtree memory`";
  }
  // A list of packets, where JSON may begin with the same byte, a line break.
  const size_t first = head.find_first_not_of(" \n\r\t");
  if (!head.empty() && head[0] == '\n' && first != head.npos && head[first] != '{' &&
      head[first] != '[') {
    return "it looks like Perfetto's protobuf, which Perfetto opens; what is read here is JSON";
  }
  return nullptr;
}

class TraceReader {
 public:
  TraceReader(ByteSource& source, TraceTables& tables, TraceListener& listener)
      : source_(source), p_(source.begin()), listener_(listener), maker_(tables, listener) {}

  absl::Status Run();

 private:
  enum class Step { kDone, kEnd, kCut };

  absl::Status OpenTop();
  template <typename Parse>
  Step Piece(const Parse& parse);
  void ReadTop();
  Step Member(absl::string_view key);
  void KeepExtra(absl::string_view name, absl::string_view json);
  Step Events();
  Step ReadBase();
  Step ReadNotes();
  void BeginOnce();
  Step Cut(absl::string_view why);

  ByteSource& source_;
  const char* p_;
  TraceListener& listener_;
  RecordMaker maker_;
  RawEvent event_;
  TraceHeader header_;
  TraceNotes notes_;
  bool is_array_ = false;    // the list of events alone
  bool has_events_ = false;  // `traceEvents` was there
  bool has_begun_ = false;
  bool is_cut_ = false;  // this file; the notes may tell of the one that it was made from
  uint64_t events_ = 0;
  absl::Status status_;  // of reading the file
};

TraceReader::Step TraceReader::Cut(absl::string_view why) {
  is_cut_ = true;
  notes_.cut = std::string(why);
  return Step::kCut;
}

// Runs the parser over the window; reads more, and runs it again from where it began, as long as
// the window ends too early. kDone moves on.
template <typename Parse>
TraceReader::Step TraceReader::Piece(const Parse& parse) {
  for (;;) {
    JsonCursor cursor(p_, source_.end());
    if (parse(cursor)) {
      p_ = cursor.p();
      return Step::kDone;
    }
    const uint64_t have = static_cast<uint64_t>(source_.end() - p_);
    if (cursor.bad() != nullptr) {
      return Cut(absl::StrCat("the file is damaged at byte ", source_.Offset(cursor.p()), ": ",
                              cursor.bad()));
    }
    if (have > kMostEventBytes) {
      return Cut(absl::StrCat("an event at byte ", source_.Offset(p_), " is longer than ",
                              kMostEventBytes >> 20, " MiB"));
    }
    status_ = source_.Fill(p_, 2 * have + 1);
    if (!status_.ok()) return Cut(status_.message());
    if (static_cast<uint64_t>(source_.end() - p_) == have) {
      return Cut(absl::StrCat("the file ends after ", source_.Offset(source_.end()),
                              " bytes, before its trace does"));
    }
  }
}

absl::Status TraceReader::OpenTop() {
  constexpr uint64_t kLookAt = 16;
  GRAPHTREE_RETURN_IF_ERROR(source_.Fill(p_, kLookAt));
  const absl::string_view head(p_, static_cast<size_t>(source_.end() - p_));
  const char* const other = OtherKind(head);
  if (other != nullptr) return NoTrace(other);
  char c = 0;
  if (Piece([&c](JsonCursor& cursor) { return cursor.Peek(c); }) != Step::kDone) {
    return status_.ok() ? NoTrace("the file is empty") : status_;
  }
  if (c != '{' && c != '[') return NoTrace("it does not begin with { or [");
  is_array_ = c == '[';
  ++p_;
  return absl::OkStatus();
}

void TraceReader::BeginOnce() {
  if (has_begun_) return;
  has_begun_ = true;
  if (header_.made_by.empty()) header_.made_by = "PyTorch's profiler, or another";
  maker_.set_base(header_.base_ns);
  listener_.Begin(header_);
}

TraceReader::Step TraceReader::Events() {
  has_events_ = true;
  BeginOnce();
  bool is_first = true;
  for (;;) {
    bool at_end = false;
    const Step step = Piece([&](JsonCursor& cursor) {
      bool first = is_first;
      return cursor.NextItem(first, at_end) && (at_end || ParseEvent(cursor, event_));
    });
    if (step != Step::kDone) return step;
    if (at_end) return Step::kDone;
    is_first = false;
    ++events_;
    maker_.Take(event_);
  }
}

TraceReader::Step TraceReader::ReadBase() {
  absl::string_view word;
  const Step step = Piece([&](JsonCursor& cursor) { return cursor.Value(word); });
  // So far from the ends of the numbers that a time after or before it cannot wrap.
  if (step == Step::kDone) header_.base_ns = std::clamp(IntegerOf(word), -kMostBase, kMostBase);
  return step;
}

TraceReader::Step TraceReader::ReadNotes() {
  TraceNotes notes;
  const Step step = Piece([&notes](JsonCursor& cursor) {
    notes = TraceNotes();
    bool is_first = true;
    bool at_end = false;
    absl::string_view key;
    if (!cursor.Expect('{', "the notes are no object")) return false;
    while (cursor.NextKey(is_first, key, at_end)) {
      if (at_end) return true;
      absl::string_view value;
      if (!cursor.Value(value)) return false;
      if (key == "dropped records") notes.dropped_records = UnsignedOf(value);
      if (key == "unmatched ops") notes.unmatched_ops = UnsignedOf(value);
      if (key == "left out") notes.left_out = UnsignedOf(value);
      if (key == "clock drift (ppm)") notes.drift_ppm = DoubleOf(value);
      if (key == "cut" && value.size() > 2 && value[0] == '"') {
        notes.cut = Unescaped(value.substr(1, value.size() - 2));
      }
      if (key != "remarks" || value[0] != '[') continue;
      JsonCursor list(value.data() + 1, value.data() + value.size());
      bool first = true;
      bool end = false;
      JsonText text;
      while (list.NextItem(first, end) && !end && list.Text(text)) {
        notes.remarks.push_back(Unescaped(text.raw));
      }
    }
    return false;
  });
  if (step == Step::kDone) notes_ = std::move(notes);
  return step;
}

TraceReader::Step TraceReader::Member(absl::string_view key) {
  if (key == "traceEvents") {
    bool is_list = false;
    const Step step = Piece([&is_list](JsonCursor& cursor) {
      char c;
      if (!cursor.Peek(c)) return false;
      is_list = c == '[';
      return is_list ? cursor.Expect('[', "") : cursor.Skip();
    });
    return step == Step::kDone && is_list ? Events() : step;
  }
  if (key == "baseTimeNanoseconds") return ReadBase();
  if (key == json_keys::kNotes) return ReadNotes();
  absl::string_view value;
  const Step step = Piece([&value](JsonCursor& cursor) { return cursor.Value(value); });
  if (step != Step::kDone) return step;
  if (key == "deviceProperties") {
    header_.devices.clear();
    AppendClean(value, header_.devices);
  } else if (key == json_keys::kMadeBy && value.size() > 2 && value[0] == '"') {
    header_.made_by = Unescaped(value.substr(1, value.size() - 2));
  } else if (key != "schemaVersion" && key != "displayTimeUnit" && key != "traceName") {
    KeepExtra(key, value);
  }
  return step;
}

// Of members with one name the last counts, as for other readers.
void TraceReader::KeepExtra(absl::string_view name, absl::string_view json) {
  auto found = std::find_if(header_.extras.begin(), header_.extras.end(),
                            [&](const auto& extra) { return extra.first == name; });
  if (found == header_.extras.end()) {
    if (header_.extras.size() == kMostExtras) return;
    found = header_.extras.insert(found, {std::string(name), ""});
  }
  found->second.clear();
  AppendClean(json, found->second);
}

void TraceReader::ReadTop() {
  bool is_first = true;
  for (;;) {
    std::string key;
    bool at_end = false;
    Step step = Piece([&](JsonCursor& cursor) {
      bool first = is_first;
      absl::string_view view;
      if (!cursor.NextKey(first, view, at_end)) return false;
      key = Unescaped(view);
      return true;
    });
    is_first = false;
    if (step == Step::kDone && !at_end) step = Member(key);
    if (step != Step::kDone || at_end) return;
  }
}

absl::Status TraceReader::Run() {
  GRAPHTREE_RETURN_IF_ERROR(OpenTop());
  if (is_array_) {
    Events();
  } else {
    ReadTop();
  }
  if (!status_.ok()) return status_;
  if (!has_events_) {
    return absl::InvalidArgumentError(absl::StrCat(
        "this is no trace: ", notes_.cut.empty() ? "its JSON has no `traceEvents`" : notes_.cut));
  }
  if (events_ == 0 && is_cut_) {
    return absl::InvalidArgumentError(absl::StrCat("there is no event to show: ", notes_.cut));
  }
  BeginOnce();
  notes_.left_out += maker_.left_out();
  if (maker_.forgotten() != 0) {
    notes_.remarks.push_back(absl::StrCat(
        "the files and shapes of ", maker_.forgotten(), " launches found no room while reading"));
  }
  listener_.End(notes_);
  return absl::OkStatus();
}

}  // namespace

absl::Status ReadTrace(const std::string& path, TraceTables& tables, TraceListener& listener,
                       const ByteSource::Progress& progress) {
  GRAPHTREE_ASSIGN_OR_RETURN(ByteSource source, ByteSource::Open(path));
  source.set_progress(progress);
  source.UnpackGzip();
  return TraceReader(source, tables, listener).Run();
}

absl::Status ParseTrace(absl::string_view text, TraceTables& tables, TraceListener& listener) {
  ByteSource source = ByteSource::Of(text);
  return TraceReader(source, tables, listener).Run();
}

}  // namespace graphtree::trace
