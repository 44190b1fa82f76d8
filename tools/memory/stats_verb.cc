// Totals as text for people; stats_json.cc has the same for scripts.
#include <ostream>
#include <string>

#include "absl/strings/str_cat.h"
#include "tools/cli/arguments.h"
#include "tools/cli/registry.h"
#include "tools/memory/history_text.h"
#include "tools/memory/load.h"
#include "tools/memory/stats_json.h"
#include "tools/memory/text.h"
#include "tools/memory/verbs.h"
#include "tools/snapshot/analysis/stats.h"

namespace graphtree::memory {
namespace {

using snapshot::DeviceHistory;
using snapshot::SideStats;
using snapshot::Snapshot;
using snapshot::Totals;

std::string PoolName(const std::pair<uint64_t, uint64_t>& pool) {
  const std::string name = absl::StrCat("(", pool.first, ", ", pool.second, ")");
  return pool == std::pair<uint64_t, uint64_t>{0, 0} ? name + " default" : name;
}

void AddTotals(Table& table, std::string name, const Totals& totals) {
  table.Add({std::move(name), Count(totals.segments), Count(totals.blocks), Bytes(totals.reserved),
             Bytes(totals.allocated), Bytes(totals.requested), Bytes(totals.free()),
             Bytes(totals.largest_free)});
}

Table TotalsTable(const std::string& by) {
  using Side = Table::Side;
  return Table({{by, Side::kLeft},
                {"segments", Side::kRight},
                {"blocks", Side::kRight},
                {"reserved", Side::kRight},
                {"allocated", Side::kRight},
                {"requested", Side::kRight},
                {"free", Side::kRight},
                {"largest hole", Side::kRight}});
}

void PrintGroups(const SideStats& stats, const Look& look, std::ostream& out) {
  Table devices = TotalsTable("device");
  for (const auto& [device, totals] : stats.devices) {
    AddTotals(devices, absl::StrCat(device), totals);
  }
  Table pools = TotalsTable("pool");
  const bool many = stats.devices.size() > 1;
  const auto on = [&](int64_t device) { return many ? absl::StrCat("device ", device, " ") : ""; };
  for (const auto& [key, totals] : stats.pools) {
    AddTotals(pools, absl::StrCat(on(key.first), PoolName(key.second)), totals);
  }
  Table streams = TotalsTable("stream");
  for (const auto& [key, totals] : stats.streams) {
    AddTotals(streams, absl::StrCat(on(key.first), key.second), totals);
  }
  Table types = TotalsTable("segment type");
  for (const auto& [type, totals] : stats.segment_types) AddTotals(types, type, totals);
  if (many) out << devices.Render(look) << "\n";
  if (stats.pools.size() > 1) out << pools.Render(look) << "\n";
  if (stats.streams.size() > 1) out << streams.Render(look) << "\n";
  if (stats.segment_types.size() > 1) out << types.Render(look) << "\n";
}

void PrintTotals(const SideStats& stats, const Look& look, std::ostream& out) {
  const Totals& all = stats.all;
  const snapshot::Fragmentation scattered = snapshot::FragmentationOf(all);
  const auto share = [&](uint64_t bytes) {
    return all.reserved == 0 ? ""
                             : Percent(static_cast<double>(bytes) /
                                       static_cast<double>(all.reserved));
  };
  using Side = Table::Side;
  Table table({{"", Side::kLeft}, {"bytes"}, {"of reserved"}, {"", Side::kLeft}});
  table.Add({"reserved", Bytes(all.reserved), "",
             absl::StrCat(Plural(all.segments, "segment", "segments"), ", ",
                          Plural(all.blocks, "block", "blocks"))});
  table.Add({"allocated", Bytes(all.allocated), share(all.allocated), "held by users"});
  if (all.active != all.allocated) {
    table.Add({"active", Bytes(all.active), share(all.active),
               "allocated, and freed but still in use on another stream"});
  }
  table.Add({"requested", Bytes(all.requested), share(all.requested),
             absl::StrCat("asked for; rounding up costs ", Percent(scattered.rounding),
                          " of allocated")});
  table.Add({"free", Bytes(all.free()), share(all.free()),
             all.free() == 0 ? std::string("no hole")
                             : absl::StrCat("largest hole ", Bytes(all.largest_free), ", ",
                                            Bytes(all.releasable),
                                            " in segments that nobody uses")});
  out << table.Render(look);
  if (all.free() != 0) {
    Table fragments({{"fragmentation"}, {"", Side::kLeft}});
    fragments.Add({Percent(scattered.largest_hole), "1 - largest hole / free"});
    fragments.Add({Percent(scattered.squares), "1 - sum(hole^2) / free^2"});
    fragments.Add({Percent(scattered.stranded), "of reserved is stranded beside live blocks"});
    out << "\n" << fragments.Render(look);
  }
}

void PrintHistory(const Snapshot& snapshot, const SideStats& stats, const Look& look,
                  std::ostream& out) {
  if (stats.trace_entries == 0) {
    out << "  No history was recorded.\n";
    return;
  }
  std::string entries = absl::StrCat(Plural(stats.trace_entries, "entry", "entries"), ":");
  for (const auto& [action, count] : stats.actions) {
    absl::StrAppend(&entries, " ", Safe(action), " ", Count(count));
  }
  out << Paragraph(entries, look) << "\n";
  using Side = Table::Side;
  Table table({{"peak", Side::kLeft}, {"bytes"}, {"at"}, {"", Side::kLeft}});
  for (const DeviceHistory& history : stats.histories) {
    if (history.rows.empty()) continue;
    const std::string device =
        stats.histories.size() > 1 ? absl::StrCat(" on device ", history.device) : "";
    table.Add({absl::StrCat("requested", device), Bytes(history.allocated_peak.bytes),
               WhenText(snapshot, history, history.allocated_peak.event),
               "by live allocations together"});
    table.Add({absl::StrCat("reserved", device), Bytes(history.reserved_peak.bytes),
               WhenText(snapshot, history, history.reserved_peak.event),
               "taken from the driver"});
  }
  out << table.Render(look);
  for (const DeviceHistory& history : stats.histories) {
    out << LossesText(snapshot, history, look);
  }
}

void PrintSide(const Snapshot& snapshot, const SideStats& stats, const Look& look,
               std::ostream& out) {
  PrintTotals(stats, look, out);
  std::string states = "blocks by state:";
  for (const auto& [state, count] : stats.states) {
    absl::StrAppend(&states, " ", Safe(state), " ", Count(count));
  }
  out << "\n" << Paragraph(states, look) << "\n";
  PrintGroups(stats, look, out);
  out << look.Paint(Tone::kStrong, "History") << "\n";
  PrintHistory(snapshot, stats, look, out);
}

int Run(const cli::Arguments& arguments, cli::Console& console) {
  const auto loaded = Load(arguments.OperandAt(0), console);
  if (!loaded.ok()) return cli::BadInput(console, "memory stats", loaded.status());
  const Snapshot& snapshot = **loaded;
  const SideStats gpu = StatsOf(snapshot, snapshot.gpu);
  const SideStats host = StatsOf(snapshot, snapshot.host);
  if (arguments.Has("--json")) {
    console.out << StatsJson(snapshot, gpu, host) << "\n";
    return cli::kFine;
  }
  const Look look = LookOf(arguments, console);
  console.out << look.Paint(Tone::kStrong, "GPU memory") << "\n";
  PrintSide(snapshot, gpu, look, console.out);
  if (HasHost(host)) {
    console.out << "\n"
                << look.Paint(Tone::kStrong, "Pinned host memory") << " (in no total above)\n";
    PrintSide(snapshot, host, look, console.out);
  }
  return cli::kFine;
}

}  // namespace

cli::Verb StatsVerb() {
  return {
      .name = "memory stats",
      .summary = "Show the totals of a memory snapshot.",
      .description =
          "Bytes reserved from the driver, allocated, active and requested: as a whole and by "
          "device, pool, stream and kind of segment; how scattered the free bytes are; and the "
          "peaks of the recorded history. Pinned host memory is counted apart.\n\n"
          "Allocated counts blocks with their rounding, requested what was asked for in those "
          "blocks. Active adds blocks that were freed and that another stream may still use.\n\n"
          "--json writes: segments, blocks, trace_entries, reserved_bytes, allocated_bytes, "
          "active_bytes, requested_bytes, free_bytes, largest_free_bytes, releasable_bytes, "
          "states, actions, fragmentation, host (where there is host memory), pools, devices, "
          "streams, segment_types, histories (peaks and what the history has lost).",
      .operands = {SnapshotOperand()},
      .options = {cli::JsonOption(), ColorOption()},
      .examples = {{"graphtree memory stats oom.pickle", "totals, groups and peaks"},
                   {"graphtree memory stats --json oom.pickle | jq .reserved_bytes",
                    "one figure for a script"}},
      .run = Run};
}

}  // namespace graphtree::memory
