// A chart in the terminal, the peak, and who held what at it.
#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "device/base/json_writer.h"
#include "tools/cli/arguments.h"
#include "tools/cli/registry.h"
#include "tools/memory/history_text.h"
#include "tools/memory/load.h"
#include "tools/memory/selection.h"
#include "tools/memory/stack_text.h"
#include "tools/memory/text.h"
#include "tools/memory/verbs.h"
#include "tools/snapshot/analysis/timeline.h"
#include "tools/snapshot/analysis/top.h"

namespace graphtree::memory {
namespace {

using snapshot::DeviceHistory;
using snapshot::Holder;
using snapshot::Snapshot;
using snapshot::TimelinePoint;

constexpr int kRows = 12;
constexpr int kLabelColumns = 11;
constexpr int64_t kJsonPoints = 1000;
constexpr size_t kHoldersShown = 10;

std::vector<Holder> HoldersAtPeak(const Snapshot& snapshot, const DeviceHistory& history) {
  return GroupHoldings(
      snapshot, HoldingsAfter(snapshot, history, history.allocated_peak.event), {});
}

// One row of the chart; `top` is its upper edge in rows from the bottom.
std::string ChartRow(const std::vector<TimelinePoint>& line, uint64_t most, int top,
                     const Look& look) {
  static const char* const kEighths[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const auto rows = [&](uint64_t bytes) {
    return static_cast<double>(bytes) / static_cast<double>(most) * kRows;
  };
  std::string held, row;
  const auto flush = [&] {
    row += look.Paint(Tone::kGood, held);
    held.clear();
  };
  for (const TimelinePoint& point : line) {
    const double filled = rows(point.allocated_high) - (top - 1);
    const int eighths = std::clamp(static_cast<int>(filled * 8 + 0.5), 0, 8);
    if (eighths > 0) {
      held += kEighths[eighths];
      continue;
    }
    flush();
    row += rows(point.reserved_high) > top - 1 ? look.Paint(Tone::kDim, "·") : " ";
  }
  flush();
  return row;
}

void PrintChart(const Snapshot& snapshot, const DeviceHistory& history, snapshot::Axis axis,
                const Look& look, std::ostream& out) {
  const size_t columns = static_cast<size_t>(std::max(look.columns - kLabelColumns - 2, 20));
  const std::vector<TimelinePoint> line = Timeline(snapshot, history, axis, columns);
  uint64_t most = 1;
  for (const TimelinePoint& point : line) {
    most = std::max({most, point.reserved_high, point.allocated_high});
  }
  for (int top = kRows; top > 0; --top) {
    const bool labelled = top == kRows || top == kRows / 2;
    const std::string label = labelled ? Bytes(most / kRows * static_cast<uint64_t>(top)) : "";
    out << absl::StrFormat("%*s ", kLabelColumns, label) << ChartRow(line, most, top, look) << "\n";
  }
  const uint32_t last = static_cast<uint32_t>(history.rows.size() - 1);
  out << std::string(kLabelColumns + 1, ' ')
      << look.Paint(Tone::kDim, absl::StrCat("█ requested  · reserved  ",
                                             WhenText(snapshot, history, 0), " to ",
                                             WhenText(snapshot, history, last)))
      << "\n";
}

void PrintDevice(const Snapshot& snapshot, const DeviceHistory& history, bool host,
                 const cli::Arguments& arguments, const Look& look, std::ostream& out) {
  const std::string name =
      host ? "Pinned host memory" : absl::StrCat("Device ", history.device);
  out << look.Paint(Tone::kStrong, name) << "\n";
  if (history.rows.empty()) {
    out << "  No history was recorded: start it with "
           "torch.cuda.memory._record_memory_history().\n";
    return;
  }
  const snapshot::Axis axis = arguments.Text("--axis", "events") == "time"
                                  ? snapshot::Axis::kTime
                                  : snapshot::Axis::kEvents;
  PrintChart(snapshot, history, axis, look, out);
  out << "\n  Peak: " << look.Paint(Tone::kStrong, Bytes(history.allocated_peak.bytes))
      << " requested at " << WhenText(snapshot, history, history.allocated_peak.event) << ",\n"
      << "        " << Bytes(history.reserved_peak.bytes) << " reserved at "
      << WhenText(snapshot, history, history.reserved_peak.event) << "\n  Alive at the peak:\n";
  const std::vector<Holder> holders = HoldersAtPeak(snapshot, history);
  Table table({{"bytes"}, {"share"}, {"blocks"}, {"holder", Table::Side::kLeft}});
  for (size_t i = 0; i < holders.size() && i < kHoldersShown; ++i) {
    const double share = static_cast<double>(holders[i].bytes) /
                         static_cast<double>(std::max<uint64_t>(history.allocated_peak.bytes, 1));
    table.Add({Bytes(holders[i].bytes), Percent(share), Count(holders[i].blocks),
               StackLine(snapshot, holders[i].stack)});
  }
  out << table.Render(look);
  if (holders.size() > kHoldersShown) {
    out << "  ... and " << Plural(holders.size() - kHoldersShown, "holder", "holders")
        << " more; `graphtree memory top --at peak` shows them\n";
  }
  out << LossesText(snapshot, history, look);
}

void WriteDevice(const Snapshot& snapshot, const DeviceHistory& history, snapshot::Axis axis,
                 size_t points, JsonWriter& json) {
  json.BeginObject().Key("device").Integer(history.device);
  json.Key("entries").Unsigned(history.rows.size());
  json.Key("peak").BeginObject().Key("requested_bytes").Unsigned(history.allocated_peak.bytes);
  json.Key("entry");
  if (history.allocated_peak.event == snapshot::kNever) {
    json.Null();
  } else {
    json.Unsigned(history.allocated_peak.event);
  }
  json.Key("reserved_bytes").Unsigned(history.reserved_peak.bytes).EndObject();
  json.Key("points").BeginArray();
  for (const TimelinePoint& point : Timeline(snapshot, history, axis, points)) {
    json.BeginObject().Key("entry").Unsigned(point.last_event);
    json.Key("time_us").Integer(point.time_us);
    json.Key("requested_bytes").Unsigned(point.allocated);
    json.Key("active_bytes").Unsigned(point.active);
    json.Key("reserved_bytes").Unsigned(point.reserved);
    json.Key("requested_low").Unsigned(point.allocated_low);
    json.Key("requested_high").Unsigned(point.allocated_high);
    json.Key("reserved_high").Unsigned(point.reserved_high).EndObject();
  }
  json.EndArray().Key("alive_at_peak").BeginArray();
  for (const Holder& holder : HoldersAtPeak(snapshot, history)) {
    json.BeginObject().Key("stack");
    WriteStack(snapshot, holder.stack, json);
    json.Key("bytes").Unsigned(holder.bytes).Key("blocks").Unsigned(holder.blocks).EndObject();
  }
  json.EndArray();
  WriteLosses(history, json);
  json.EndObject();
}

int Run(const cli::Arguments& arguments, cli::Console& console) {
  const int64_t points = arguments.Integer("--points", kJsonPoints);
  if (points < 1 || points > (1 << 24)) {
    console.err << "graphtree memory timeline: --points counts from 1 to 16777216\n";
    return cli::kWrongUse;
  }
  const auto loaded = Load(arguments.OperandAt(0), console);
  if (!loaded.ok()) return cli::BadInput(console, "memory timeline", loaded.status());
  const Snapshot& snapshot = **loaded;
  const auto selection = Select(snapshot, arguments);
  if (!selection.ok()) return cli::BadInput(console, "memory timeline", selection.status());
  if (!arguments.Has("--json")) {
    const Look look = LookOf(arguments, console);
    for (const DeviceHistory& history : selection->histories) {
      PrintDevice(snapshot, history, selection->host, arguments, look, console.out);
    }
    if (selection->histories.empty()) console.out << "There is no memory of that kind.\n";
    return cli::kFine;
  }
  const snapshot::Axis axis = arguments.Text("--axis", "events") == "time"
                                  ? snapshot::Axis::kTime
                                  : snapshot::Axis::kEvents;
  JsonWriter json;
  json.BeginObject().Key("devices").BeginArray();
  for (const DeviceHistory& history : selection->histories) {
    WriteDevice(snapshot, history, axis, static_cast<size_t>(points), json);
  }
  console.out << json.EndArray().EndObject().text() << "\n";
  return cli::kFine;
}

}  // namespace

cli::Verb TimelineVerb() {
  cli::Verb verb = {
      .name = "memory timeline",
      .summary = "Show requested and reserved bytes over the history, the peak, and who made it.",
      .description =
          "Requested bytes are what live allocations asked for; reserved is what the allocator "
          "took "
          "from the driver. Memory that was there before the first entry is counted from the "
          "start. "
          "Placeholders that PyTorch makes to reach an exact address are in no figure.\n\n"
          "--json writes: devices, a list of device, entries, peak, points (entry, time_us, "
          "requested_bytes, active_bytes, reserved_bytes after the last entry of the point, and "
          "the extremes within it), alive_at_peak (stack, bytes, blocks), lost, out_of_order.",
      .operands = {SnapshotOperand()},
      .options = {{.name = "--axis",
                   .kind = cli::ValueKind::kChoice,
                   .help = "Divide the history by entries (the default) or by time.",
                   .choices = {"events", "time"}},
                  {.name = "--points",
                   .kind = cli::ValueKind::kInteger,
                   .value_name = "N",
                   .help = "With --json: at most this many points (default 1000)."},
                  cli::JsonOption(),
                  ColorOption()},
      .examples = {{"graphtree memory timeline train.pickle", "a chart and the peak"},
                   {"graphtree memory timeline train.pickle --json --points 100000",
                    "every entry, for a plot of your own"}},
      .run = Run};
  for (cli::Option& option : SideOptions()) verb.options.push_back(std::move(option));
  return verb;
}

}  // namespace graphtree::memory
