// Filters from the command line, and what passes them.
#include <algorithm>
#include <cmath>
#include <limits>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "device/base/json_writer.h"
#include "device/base/status_macros.h"
#include "tools/cli/arguments.h"
#include "tools/cli/registry.h"
#include "tools/memory/load.h"
#include "tools/memory/selection.h"
#include "tools/memory/stack_text.h"
#include "tools/memory/text.h"
#include "tools/memory/verbs.h"
#include "tools/snapshot/analysis/query.h"

namespace graphtree::memory {
namespace {

using snapshot::Block;
using snapshot::Filter;
using snapshot::Found;
using snapshot::FoundBlock;
using snapshot::FoundEntry;
using snapshot::Snapshot;
using snapshot::TraceEntry;

constexpr int64_t kShownByDefault = 50;

bool ParseAddress(absl::string_view text, uint64_t& address) {
  return absl::StartsWith(text, "0x") ? absl::SimpleHexAtoi(text, &address)
                                      : absl::SimpleAtoi(text, &address);
}

// "0x7f00" or "0x7f00-0x8000", the end not included.
absl::Status ParseAddresses(const std::string& text, Filter& filter) {
  const std::vector<std::string> parts = absl::StrSplit(text, '-');
  uint64_t begin = 0, end = 0;
  bool ok = parts.size() <= 2 && ParseAddress(parts[0], begin);
  end = begin + 1;
  if (parts.size() == 2) ok = ok && ParseAddress(parts[1], end) && end > begin;
  if (!ok) {
    return absl::InvalidArgumentError(
        absl::StrCat("--address ", text, " is neither an address nor a range such as "
                     "0x7f0000-0x7f8000"));
  }
  filter.addresses = {begin, end};
  return absl::OkStatus();
}

absl::Status ParsePair(absl::string_view option, const std::string& text, char between,
                       std::pair<uint64_t, uint64_t>& pair) {
  const std::vector<std::string> parts = absl::StrSplit(text, between);
  if (parts.size() == 2 && absl::SimpleAtoi(parts[0], &pair.first) &&
      absl::SimpleAtoi(parts[1], &pair.second)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(option, " takes two numbers, as in 0",
                                                 std::string(1, between), "1, not ", text));
}

absl::Status Reversed(absl::string_view option, absl::string_view range) {
  return absl::InvalidArgumentError(
      absl::StrCat(option, " ", range, ": the range ends before it begins"));
}

absl::StatusOr<Filter> FilterOf(const cli::Arguments& arguments) {
  Filter filter;
  if (arguments.Has("--address")) {
    const absl::Status status = ParseAddresses(arguments.Text("--address"), filter);
    if (!status.ok()) return status;
  }
  if (arguments.Has("--pool")) {
    std::pair<uint64_t, uint64_t> pool;
    const absl::Status status = ParsePair("--pool", arguments.Text("--pool"), ',', pool);
    if (!status.ok()) return status;
    filter.pool = pool;
  }
  if (arguments.Has("--entries")) {
    std::pair<uint64_t, uint64_t> range;
    const absl::Status status = ParsePair("--entries", arguments.Text("--entries"), '-', range);
    if (!status.ok()) return status;
    filter.first_entry = static_cast<uint32_t>(std::min<uint64_t>(range.first, snapshot::kNever));
    filter.last_entry =
        static_cast<uint32_t>(std::min<uint64_t>(range.second, snapshot::kNever - 1));
    if (range.first > range.second) return Reversed("--entries", arguments.Text("--entries"));
  }
  const auto microseconds = [&](const char* option) {
    return static_cast<int64_t>(std::llround(arguments.Number(option, 0) * 1e6));
  };
  if (arguments.Has("--since")) filter.least_time = microseconds("--since");
  if (arguments.Has("--until")) filter.most_time = microseconds("--until");
  filter.least_size = static_cast<uint64_t>(arguments.Bytes("--min-size", 0));
  if (arguments.Has("--max-size")) {
    filter.most_size = static_cast<uint64_t>(arguments.Bytes("--max-size", 0));
  }
  if (filter.least_time > filter.most_time) {
    return Reversed("--since and --until", absl::StrCat(arguments.Number("--since", 0), " and ",
                                                        arguments.Number("--until", 0)));
  }
  if (filter.least_size > filter.most_size) {
    return Reversed("--min-size and --max-size", absl::StrCat(filter.least_size, " and ",
                                                              filter.most_size));
  }
  filter.stack_text = arguments.Text("--stack");
  filter.tag_text = arguments.Text("--tag");
  filter.stream = arguments.Text("--stream");
  filter.state = arguments.Text("--state");
  filter.action = arguments.Text("--action");
  return filter;
}

// A word that nothing in the file has is a slip of the finger, and an empty answer would hide it.
absl::Status CheckWord(absl::string_view option, const std::string& word,
                       std::set<std::string> known) {
  if (word.empty() || known.count(word) != 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(option, " ", word, ": the file has none; it has ",
                   known.empty() ? "nothing of that kind" : absl::StrJoin(known, ", ")));
}

absl::Status CheckWords(const Snapshot& snapshot, const snapshot::Side& side,
                        const Filter& filter) {
  std::set<std::string> states, actions, streams;
  for (const snapshot::Segment& segment : side.segments) {
    streams.insert(IntegerText(snapshot.values, segment.stream));
    for (const Block& block : snapshot.BlocksOf(segment)) {
      states.emplace(snapshot.Text(block.state));
    }
  }
  for (const snapshot::Trace& trace : side.traces) {
    for (const TraceEntry& entry : snapshot.EntriesOf(trace)) {
      actions.emplace(snapshot.Text(entry.action));
      streams.insert(IntegerText(snapshot.values, snapshot.details[entry.details].stream));
    }
  }
  GRAPHTREE_RETURN_IF_ERROR(CheckWord("--state", filter.state, std::move(states)));
  GRAPHTREE_RETURN_IF_ERROR(CheckWord("--action", filter.action, std::move(actions)));
  return CheckWord("--stream", filter.stream, std::move(streams));
}

void WriteBlock(const Snapshot& snapshot, const FoundBlock& found, JsonWriter& json) {
  const Block& block = snapshot.blocks[found.row];
  const auto pool = snapshot.Pool(found.segment->pool);
  json.BeginObject().Key("device").Integer(found.segment->device);
  json.Key("address").Unsigned(block.address).Key("size").Unsigned(block.size);
  json.Key("requested_bytes").Unsigned(block.requested_size);
  json.Key("state").String(snapshot.Text(block.state));
  json.Key("segment").Unsigned(found.segment->address);
  json.Key("pool").BeginArray().Unsigned(pool.first).Unsigned(pool.second).EndArray();
  json.Key("stream").Raw(IntegerText(snapshot.values, found.segment->stream));
  json.Key("tag").String(snapshot.Text(found.tag)).Key("stack");
  WriteStack(snapshot, block.stack, json);
  json.EndObject();
}

void WriteEntry(const Snapshot& snapshot, const FoundEntry& found, JsonWriter& json) {
  const TraceEntry& entry = snapshot.entries[found.row];
  const bool oom = entry.action == snapshot::words::kOom;
  json.BeginObject().Key("device").Integer(found.device).Key("entry").Unsigned(found.event);
  json.Key("time_us").Integer(entry.time_us).Key("action").String(snapshot.Text(entry.action));
  json.Key(oom ? "device_free" : "address").Unsigned(entry.addr);
  json.Key("size").Unsigned(entry.size);
  json.Key("stream").Raw(IntegerText(snapshot.values, snapshot.details[entry.details].stream));
  json.Key("pool");
  if (entry.pool == snapshot::kNoId) {
    json.Null();
  } else {
    const auto pool = snapshot.Pool(entry.pool);
    json.BeginArray().Unsigned(pool.first).Unsigned(pool.second).EndArray();
  }
  json.Key("tag").String(snapshot.Text(entry.user_metadata)).Key("stack");
  WriteStack(snapshot, entry.stack, json);
  json.EndObject();
}

std::string ToJson(const Snapshot& snapshot, const Found& found, size_t limit) {
  JsonWriter json;
  json.BeginObject().Key("blocks").BeginArray();
  for (size_t i = 0; i < found.blocks.size() && i < limit; ++i) {
    WriteBlock(snapshot, found.blocks[i], json);
  }
  json.EndArray().Key("entries").BeginArray();
  for (size_t i = 0; i < found.entries.size() && i < limit; ++i) {
    WriteEntry(snapshot, found.entries[i], json);
  }
  return json.EndArray().EndObject().text();
}

void PrintBlocks(const Snapshot& snapshot, const Found& found, size_t limit, const Look& look,
                 std::ostream& out) {
  uint64_t bytes = 0;
  for (const FoundBlock& one : found.blocks) bytes += snapshot.blocks[one.row].size;
  out << look.Paint(Tone::kStrong, Plural(found.blocks.size(), "block", "blocks")) << ", "
      << Bytes(bytes) << "\n";
  Table table({{"address", Table::Side::kLeft},
               {"size"},
               {"requested"},
               {"state", Table::Side::kLeft},
               {"stack", Table::Side::kLeft}});
  for (size_t i = 0; i < found.blocks.size() && i < limit; ++i) {
    const Block& block = snapshot.blocks[found.blocks[i].row];
    const bool empty = block.stack == 0 && !block.allocated();
    table.Add({Address(block.address), Bytes(block.size),
               block.allocated() ? Bytes(block.requested_size) : "",
               std::string(snapshot.Text(block.state)),
               empty ? "" : StackLine(snapshot, block.stack)});
  }
  if (!table.empty()) out << table.Render(look);
}

void PrintEntries(const Snapshot& snapshot, const Found& found, size_t limit, const Look& look,
                  std::ostream& out) {
  out << look.Paint(Tone::kStrong, Plural(found.entries.size(), "entry", "entries"))
      << " of the history\n";
  Table table({{"entry"},
               {"time"},
               {"action", Table::Side::kLeft},
               {"address", Table::Side::kLeft},
               {"size"},
               {"tag", Table::Side::kLeft},
               {"stack", Table::Side::kLeft}});
  for (size_t i = 0; i < found.entries.size() && i < limit; ++i) {
    const FoundEntry& one = found.entries[i];
    const TraceEntry& entry = snapshot.entries[one.row];
    const bool oom = entry.action == snapshot::words::kOom;
    table.Add({Count(one.event), absl::StrCat("+", Duration(one.time)),
               std::string(snapshot.Text(entry.action)), oom ? "" : Address(entry.addr),
               Bytes(entry.size), Clip(snapshot.Text(entry.user_metadata), 24),
               entry.stack == 0 ? "" : StackLine(snapshot, entry.stack)});
  }
  if (!table.empty()) out << table.Render(look);
}

int Run(const cli::Arguments& arguments, cli::Console& console) {
  const auto filter = FilterOf(arguments);
  if (!filter.ok() || arguments.Integer("--limit", 1) < 1) {
    console.err << "graphtree memory query: "
                << (filter.ok() ? "--limit counts from 1" : filter.status().message()) << "\n";
    return cli::kWrongUse;
  }
  const auto loaded = Load(arguments.OperandAt(0), console);
  if (!loaded.ok()) return cli::BadInput(console, "memory query", loaded.status());
  const Snapshot& snapshot = **loaded;
  const auto selection = Select(snapshot, arguments);
  if (!selection.ok()) return cli::BadInput(console, "memory query", selection.status());
  if (!filter->state.empty() || !filter->action.empty() || !filter->stream.empty()) {
    const absl::Status known = CheckWords(snapshot, selection->side, *filter);
    if (!known.ok()) {
      console.err << "graphtree memory query: " << known.message() << "\n";
      return cli::kWrongUse;
    }
  }
  const Found found = Query(snapshot, selection->side, selection->histories, *filter);
  const bool json = arguments.Has("--json");
  const size_t limit = json && !arguments.Has("--limit")
                           ? std::numeric_limits<size_t>::max()
                           : static_cast<size_t>(arguments.Integer("--limit", kShownByDefault));
  if (json) {
    console.out << ToJson(snapshot, found, limit) << "\n";
    return cli::kFine;
  }
  const Look look = LookOf(arguments, console);
  if (!filter->asks_for_entries_only()) PrintBlocks(snapshot, found, limit, look, console.out);
  if (!filter->asks_for_blocks_only()) {
    if (!filter->asks_for_entries_only()) console.out << "\n";
    PrintEntries(snapshot, found, limit, look, console.out);
  }
  if (found.blocks.size() > limit || found.entries.size() > limit) {
    console.out << "  ... the first " << limit << " of each; --limit shows more\n";
  }
  return cli::kFine;
}

std::vector<cli::Option> Options() {
  const auto text = [](std::string name, std::string value, std::string help) {
    return cli::Option{.name = std::move(name),
                       .kind = cli::ValueKind::kText,
                       .value_name = std::move(value),
                       .help = std::move(help)};
  };
  std::vector<cli::Option> options = {
      text("--address", "A[-B]", "Touches this address, or this range."),
      {.name = "--min-size", .kind = cli::ValueKind::kBytes, .value_name = "BYTES",
       .help = "At least this large."},
      {.name = "--max-size", .kind = cli::ValueKind::kBytes, .value_name = "BYTES",
       .help = "At most this large."},
      text("--stack", "TEXT", "A frame's \"file:line function\" contains this."),
      text("--tag", "TEXT", "The tag that was set contains this."),
      text("--pool", "A,B", "Of this pool."),
      text("--stream", "ID", "Of this stream."),
      text("--state", "STATE", "Blocks in this state: active_allocated, inactive, ..."),
      text("--action", "ACTION", "Entries with this action: alloc, free_requested, oom, ..."),
      {.name = "--since", .kind = cli::ValueKind::kNumber, .value_name = "SECONDS",
       .help = "Entries from this time on, counted from the first one."},
      {.name = "--until", .kind = cli::ValueKind::kNumber, .value_name = "SECONDS",
       .help = "Entries up to this time."},
      text("--entries", "A-B", "Entries with these numbers."),
      {.name = "--limit", .kind = cli::ValueKind::kInteger, .value_name = "N",
       .help = "Show this many of each (default 50; all with --json)."}};
  for (cli::Option& option : SideOptions()) options.push_back(std::move(option));
  options.push_back(cli::JsonOption());
  options.push_back(ColorOption());
  return options;
}

}  // namespace

cli::Verb QueryVerb() {
  return {
      .name = "memory query",
      .summary =
          "Find blocks and entries of the history by address, size, stack, pool, state, "
          "action or time.",
      .description =
          "All filters that are given must pass. A filter that only blocks have (--state) or "
          "only entries (--action, --since, --until, --entries) leaves the other kind out.\n\n"
          "--json writes: blocks (device, address, size, requested_bytes, state, segment, pool, "
          "stream, tag, stack), entries (device, entry, time_us, action, address or "
          "device_free, size, stream, pool, tag, stack).",
      .operands = {SnapshotOperand()},
      .options = Options(),
      .examples = {{"graphtree memory query train.pickle --stack model.py:27 --min-size 1MiB",
                    "large blocks of one line, and their history"},
                   {"graphtree memory query train.pickle --address 0x7f32d1e00000 --action alloc",
                    "who had this address before"}},
      .run = Run};
}

}  // namespace graphtree::memory
