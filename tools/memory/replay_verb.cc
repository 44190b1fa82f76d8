// A table of policies beside what was recorded.
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device/base/json_writer.h"
#include "tools/cli/arguments.h"
#include "tools/cli/registry.h"
#include "tools/memory/history_text.h"
#include "tools/memory/load.h"
#include "tools/memory/selection.h"
#include "tools/memory/text.h"
#include "tools/memory/verbs.h"
#include "tools/snapshot/replay/bfc_policy.h"
#include "tools/snapshot/replay/caching_policy.h"
#include "tools/snapshot/replay/expandable_policy.h"
#include "tools/snapshot/replay/graphtree_policy.h"
#include "tools/snapshot/replay/replay.h"

namespace graphtree::memory {
namespace {

using snapshot::DeviceHistory;
using snapshot::Policy;
using snapshot::ReplayResult;
using snapshot::Snapshot;

std::vector<std::unique_ptr<Policy>> Policies(const cli::Arguments& arguments) {
  const uint64_t limit = static_cast<uint64_t>(arguments.Bytes("--limit", 0));
  std::vector<std::unique_ptr<Policy>> policies;
  policies.push_back(snapshot::MakeGraphtreePolicy(limit));
  policies.push_back(snapshot::MakeCachingPolicy(limit));
  policies.push_back(snapshot::MakeExpandablePolicy(limit));
  if (arguments.Has("--max-split")) {
    const uint64_t size = static_cast<uint64_t>(arguments.Bytes("--max-split", 0));
    policies.push_back(snapshot::MakeCachingPolicy(limit, {.max_split_size = size}));
  }
  policies.push_back(snapshot::MakeBfcPolicy(limit));
  return policies;
}

std::vector<ReplayResult> RunAll(const Snapshot& snapshot, const Selection& selection,
                                 const DeviceHistory& history, const cli::Arguments& arguments) {
  std::vector<ReplayResult> results = {AsRecorded(snapshot, selection.side, history)};
  for (const std::unique_ptr<Policy>& policy : Policies(arguments)) {
    results.push_back(Replay(snapshot, selection.side, history, *policy));
  }
  return results;
}

std::string FailedText(const ReplayResult& result) {
  if (result.failed != 0) return Plural(result.failed, "allocation", "allocations");
  if (result.fits_failed_request.has_value()) {
    return *result.fits_failed_request ? "none; what failed fits" : "what failed fails";
  }
  return "none";
}

void PrintDevice(const Snapshot& snapshot, const DeviceHistory& history,
                 const std::vector<ReplayResult>& results, const Look& look, std::ostream& out) {
  out << look.Paint(Tone::kStrong, absl::StrCat("Device ", history.device, ": ",
                                                Plural(history.rows.size(), "entry", "entries"),
                                                " replayed"))
      << ", peak of what was requested " << Bytes(history.allocated_peak.bytes) << "\n\n";
  Table table({{"policy", Table::Side::kLeft},
               {"peak reserved"},
               {"fragmentation"},
               {"largest hole"},
               {"driver calls"},
               {"failed", Table::Side::kLeft}});
  for (const ReplayResult& result : results) {
    table.Add({result.policy, Bytes(result.peak_reserved), Percent(result.fragmentation()),
               Bytes(result.largest_hole_at_end), Count(result.driver_calls),
               FailedText(result)});
  }
  out << table.Render(look);
  if (history.pools.unknown != 0) {
    out << Paragraph(
        absl::StrCat("The pool of ", Plural(history.pools.unknown, "allocation", "allocations"),
                     " is not known; they were replayed in the default pool."), look);
  }
  out << LossesText(snapshot, history, look);
}

void WriteDevice(const DeviceHistory& history, const std::vector<ReplayResult>& results,
                 JsonWriter& json) {
  json.BeginObject().Key("device").Integer(history.device);
  json.Key("peak_requested_bytes").Unsigned(history.allocated_peak.bytes);
  json.Key("policies").BeginArray();
  for (const ReplayResult& result : results) {
    json.BeginObject().Key("policy").String(result.policy);
    json.Key("peak_requested_bytes").Unsigned(result.peak_requested);
    json.Key("peak_reserved_bytes").Unsigned(result.peak_reserved);
    json.Key("fragmentation").Number(result.fragmentation());
    json.Key("reserved_bytes").Unsigned(result.reserved_at_end);
    json.Key("held_bytes").Unsigned(result.held_at_end);
    json.Key("largest_free_bytes").Unsigned(result.largest_hole_at_end);
    json.Key("driver_calls").Unsigned(result.driver_calls);
    json.Key("failed").Unsigned(result.failed).Key("fits_failed_request");
    if (result.fits_failed_request.has_value()) {
      json.Bool(*result.fits_failed_request);
    } else {
      json.Null();
    }
    json.EndObject();
  }
  json.EndArray();
  WriteLosses(history, json);
  json.EndObject();
}

int Run(const cli::Arguments& arguments, cli::Console& console) {
  if (arguments.Bytes("--limit", 0) < 0 || arguments.Bytes("--max-split", 0) < 0) {
    console.err << "graphtree memory replay: sizes are not negative\n";
    return cli::kWrongUse;
  }
  const auto loaded = Load(arguments.OperandAt(0), console);
  if (!loaded.ok()) return cli::BadInput(console, "memory replay", loaded.status());
  const Snapshot& snapshot = **loaded;
  const auto selection = Select(snapshot, arguments);
  if (!selection.ok()) return cli::BadInput(console, "memory replay", selection.status());
  const Look look = LookOf(arguments, console);
  JsonWriter json;
  json.BeginObject().Key("devices").BeginArray();
  bool any = false;
  for (const DeviceHistory& history : selection->histories) {
    if (history.rows.empty()) continue;
    any = true;
    const std::vector<ReplayResult> results = RunAll(snapshot, *selection, history, arguments);
    if (arguments.Has("--json")) {
      WriteDevice(history, results, json);
    } else {
      PrintDevice(snapshot, history, results, look, console.out);
    }
  }
  json.EndArray().EndObject();
  if (arguments.Has("--json")) console.out << json.text() << "\n";
  if (!any) {
    return cli::BadInput(console, "memory replay",
                         absl::NotFoundError("the snapshot has no history to replay"));
  }
  return cli::kFine;
}

}  // namespace

cli::Verb ReplayVerb() {
  cli::Verb verb = {
      .name = "memory replay",
      .summary = "Run the history through our pool and other allocators' policies.",
      .description =
          "Every allocation and free of the recording is put to each policy in its order, and the "
          "table shows what each would have taken from the driver. The policy \"PyTorch caching\" "
          "takes what PyTorch takes, to the byte, on a recording that is whole; \"Graphtree\" "
          "places blocks with the placement of our own pool, in one range for all streams and "
          "pools. Fragmentation is 1 - requested / reserved, each at its peak.\n\n"
          "--limit refuses more than that from the driver, to see which policy would have fitted. "
          "--json writes: devices, a list of device, peak_requested_bytes and policies (policy, "
          "peak_requested_bytes, peak_reserved_bytes, fragmentation, reserved_bytes, held_bytes, "
          "largest_free_bytes, driver_calls, failed, fits_failed_request).",
      .operands = {SnapshotOperand()},
      .options = {{.name = "--limit",
                   .kind = cli::ValueKind::kBytes,
                   .value_name = "BYTES",
                   .help = "What may be taken from the driver; without it there is no limit."},
                  {.name = "--max-split",
                   .kind = cli::ValueKind::kBytes,
                   .value_name = "BYTES",
                   .help = "Also try PyTorch with max_split_size_mb set to this."},
                  cli::JsonOption(),
                  ColorOption()},
      .examples = {{"graphtree memory replay oom.pickle --limit 2.8GiB",
                    "who would have fitted into 2.8 GiB"}},
      .run = Run};
  for (cli::Option& option : SideOptions()) verb.options.push_back(std::move(option));
  return verb;
}

}  // namespace graphtree::memory
