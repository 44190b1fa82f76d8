// One bar per segment, all to one scale.
#include <algorithm>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device/base/json_writer.h"
#include "device/base/status_macros.h"
#include "tools/cli/arguments.h"
#include "tools/cli/registry.h"
#include "tools/memory/load.h"
#include "tools/memory/selection.h"
#include "tools/memory/stack_text.h"
#include "tools/memory/text.h"
#include "tools/memory/verbs.h"
#include "tools/snapshot/analysis/layout.h"

namespace graphtree::memory {
namespace {

using snapshot::Piece;
using snapshot::PlacedSegment;
using snapshot::Snapshot;

constexpr int kLabelColumns = 44;
constexpr size_t kSegmentsShown = 60;
constexpr uint64_t kSmallestCell = 512;
constexpr uint64_t kMostCells = 100000;  // of one bar

// What a cell of the bar is: how much of it is held.
struct Cell {
  uint64_t held = 0;
  uint64_t pending = 0;
  uint64_t size = 0;
};

std::vector<Cell> CellsOf(const PlacedSegment& segment, uint64_t cell_bytes) {
  std::vector<Cell> cells((segment.size + cell_bytes - 1) / cell_bytes);
  for (size_t i = 0; i < cells.size(); ++i) {
    cells[i].size = std::min(cell_bytes, segment.size - i * cell_bytes);
  }
  for (const Piece& piece : segment.pieces) {
    if (piece.state == Piece::kFree) continue;
    uint64_t at = piece.address - segment.address;
    const uint64_t end = std::min(at + piece.size, segment.size);
    while (at < end) {
      Cell& cell = cells[at / cell_bytes];
      const uint64_t part = std::min(end, (at / cell_bytes + 1) * cell_bytes) - at;
      (piece.state == Piece::kHeld ? cell.held : cell.pending) += part;
      at += part;
    }
  }
  return cells;
}

std::string BarOf(const PlacedSegment& segment, uint64_t cell_bytes, const Look& look) {
  std::string bar;
  Tone tone = Tone::kPlain;
  std::string run;
  const auto add = [&](const char* mark, Tone with) {
    if (with != tone) {
      bar += look.Paint(tone, run);
      run.clear();
      tone = with;
    }
    run += mark;
  };
  for (const Cell& cell : CellsOf(segment, cell_bytes)) {
    const double held = static_cast<double>(cell.held) / static_cast<double>(cell.size);
    if (cell.pending * 2 > cell.size) {
      add("x", Tone::kWarning);
    } else if (held == 0) {
      add("·", Tone::kDim);
    } else if (held > 0.99) {
      add("█", Tone::kGood);
    } else {
      add(held > 0.66 ? "▓" : held > 0.33 ? "▒" : "░", Tone::kGood);
    }
  }
  return bar + look.Paint(tone, run);
}

// The bytes of a cell with which the largest segment fills a line.
uint64_t ScaleFor(const std::vector<PlacedSegment>& layout, const Look& look) {
  uint64_t largest = 1;
  for (const PlacedSegment& segment : layout) largest = std::max(largest, segment.size);
  const uint64_t columns = static_cast<uint64_t>(std::max(look.columns - kLabelColumns, 20));
  uint64_t cell = kSmallestCell;
  while (cell * columns < largest) cell *= 2;
  return cell;
}

void PrintMap(std::vector<PlacedSegment> layout, const cli::Arguments& arguments,
              const Look& look, std::ostream& out) {
  std::stable_sort(layout.begin(), layout.end(),
                   [](const PlacedSegment& a, const PlacedSegment& b) {
                     return std::tie(a.device, a.pool, a.stream) <
                            std::tie(b.device, b.pool, b.stream);
                   });
  uint64_t cell = ScaleFor(layout, look);
  if (arguments.Has("--cell")) {
    // A bar of more cells than this is no picture any more.
    const uint64_t least = cell * static_cast<uint64_t>(look.columns) / kMostCells;
    cell = std::max(static_cast<uint64_t>(arguments.Bytes("--cell", 0)), least);
  }
  out << "  one cell is " << Bytes(cell) << ":  "
      << look.Paint(Tone::kGood, "█ held  ▓▒░ partly held") << "  "
      << look.Paint(Tone::kWarning, "x freed, still in use") << "  "
      << look.Paint(Tone::kDim, "· free") << "\n\n";
  const size_t shown = arguments.Has("--all") ? layout.size()
                                              : std::min(layout.size(), kSegmentsShown);
  std::string last_class;
  for (size_t i = 0; i < shown; ++i) {
    const PlacedSegment& segment = layout[i];
    const std::string of = absl::StrCat(
        "device ", segment.device, ", pool ",
        segment.pool_known ? absl::StrCat("(", segment.pool.first, ", ", segment.pool.second, ")")
                           : "unknown",
        ", stream ", segment.stream, segment.expandable ? ", expandable" : "");
    if (of != last_class) {
      out << (i == 0 ? "" : "\n") << look.Paint(Tone::kStrong, of) << "\n";
      last_class = of;
    }
    const std::string size = Bytes(segment.size);
    const std::string held =
        Percent(static_cast<double>(segment.held()) /
                static_cast<double>(std::max<uint64_t>(segment.size, 1)));
    const std::string address = Address(segment.address);
    out << "  " << address << std::string(address.size() < 16 ? 16 - address.size() : 0, ' ')
        << std::string(size.size() < 9 ? 9 - size.size() : 0, ' ') << size
        << std::string(held.size() < 9 ? 9 - held.size() : 0, ' ') << held << "  "
        << BarOf(segment, cell, look) << "\n";
  }
  if (shown < layout.size()) {
    out << "  ... and " << Plural(layout.size() - shown, "segment", "segments")
        << " more; --all draws them\n";
  }
}

std::string ToJson(const Snapshot& snapshot, const std::vector<PlacedSegment>& layout) {
  static const char* const kStates[] = {"free", "held", "pending"};
  JsonWriter json;
  json.BeginObject().Key("segments").BeginArray();
  for (const PlacedSegment& segment : layout) {
    json.BeginObject().Key("device").Integer(segment.device);
    json.Key("address").Unsigned(segment.address).Key("size").Unsigned(segment.size);
    json.Key("pool");
    if (segment.pool_known) {
      json.BeginArray().Unsigned(segment.pool.first).Unsigned(segment.pool.second).EndArray();
    } else {
      json.Null();
    }
    json.Key("stream").Raw(segment.stream).Key("small").Bool(segment.small);
    json.Key("expandable").Bool(segment.expandable).Key("blocks").BeginArray();
    for (const Piece& piece : segment.pieces) {
      json.BeginObject().Key("address").Unsigned(piece.address).Key("size").Unsigned(piece.size);
      json.Key("state").String(kStates[piece.state]);
      if (piece.state != Piece::kFree) {
        json.Key("requested_bytes").Unsigned(piece.requested).Key("stack");
        WriteStack(snapshot, piece.stack, json);
      }
      json.EndObject();
    }
    json.EndArray().EndObject();
  }
  return json.EndArray().EndObject().text();
}

absl::StatusOr<std::vector<PlacedSegment>> LayoutFor(const Snapshot& snapshot,
                                                     const Selection& selection,
                                                     const cli::Arguments& arguments) {
  GRAPHTREE_ASSIGN_OR_RETURN(const Moment moment, MomentOf(selection, arguments));
  if (moment.kind == Moment::kEnd) return LayoutAtEnd(snapshot, selection.side);
  std::vector<PlacedSegment> layout;
  for (const snapshot::DeviceHistory& history : selection.histories) {
    uint32_t event = 0;
    if (!moment.In(history, event)) continue;
    for (PlacedSegment& segment : LayoutAfter(snapshot, selection.side, history, event)) {
      layout.push_back(std::move(segment));
    }
  }
  return layout;
}

int Run(const cli::Arguments& arguments, cli::Console& console) {
  if (arguments.Has("--cell") && arguments.Bytes("--cell", 0) < 1) {
    console.err << "graphtree memory map: --cell is at least one byte\n";
    return cli::kWrongUse;
  }
  const auto loaded = Load(arguments.OperandAt(0), console);
  if (!loaded.ok()) return cli::BadInput(console, "memory map", loaded.status());
  const auto selection = Select(**loaded, arguments);
  if (!selection.ok()) return cli::BadInput(console, "memory map", selection.status());
  const auto layout = LayoutFor(**loaded, *selection, arguments);
  if (!layout.ok()) {
    console.err << "graphtree memory map: " << layout.status().message() << "\n";
    return cli::kWrongUse;
  }
  if (arguments.Has("--json")) {
    console.out << ToJson(**loaded, *layout) << "\n";
  } else if (layout->empty()) {
    console.out << "No memory was reserved then.\n";
  } else {
    PrintMap(*layout, arguments, LookOf(arguments, console), console.out);
  }
  return cli::kFine;
}

}  // namespace

cli::Verb MapVerb() {
  cli::Verb verb = {
      .name = "memory map",
      .summary = "Draw segments and their blocks to scale in the terminal.",
      .description =
          "One line for each segment, all to one scale, grouped by device, pool and stream. With "
          "--at "
          "the map is drawn as it was at an earlier moment, rebuilt from the history; sizes of "
          "blocks that were gone at the end are then inferred from PyTorch's rounding.\n\n"
          "--json writes: segments, a list of device, address, size, pool, stream, small, "
          "expandable, blocks (address, size, state, requested_bytes, stack).",
      .operands = {SnapshotOperand()},
      .options = {AtOption(),
                  {.name = "--cell",
                   .kind = cli::ValueKind::kBytes,
                   .value_name = "BYTES",
                   .help = "The bytes of one cell; without it the largest segment fills a line."},
                  {.name = "--all", .help = "Draw every segment, not the first sixty."},
                  cli::JsonOption(),
                  ColorOption()},
      .examples = {{"graphtree memory map oom.pickle", "where the holes are"},
                   {"graphtree memory map train.pickle --at peak", "the same when most was held"}},
      .run = Run};
  for (cli::Option& option : SideOptions()) verb.options.push_back(std::move(option));
  return verb;
}

}  // namespace graphtree::memory
