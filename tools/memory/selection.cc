// Reads --host, --device and --at.
#include "tools/memory/selection.h"

#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace graphtree::memory {

using snapshot::DeviceHistory;
using snapshot::Snapshot;

std::vector<cli::Option> SideOptions() {
  return {{.name = "--host", .help = "Look at pinned host memory instead of the GPUs."},
          {.name = "--device",
           .kind = cli::ValueKind::kInteger,
           .value_name = "N",
           .help = "Look at this GPU only."}};
}

cli::Option AtOption() {
  return {.name = "--at",
          .kind = cli::ValueKind::kText,
          .value_name = "MOMENT",
          .help = "The moment to look at: end (the default), peak, start, or the number of an "
                  "entry of the history. Before the end, bytes are what was requested."};
}

absl::StatusOr<Selection> Select(const Snapshot& snapshot, const cli::Arguments& arguments) {
  Selection selection;
  selection.host = arguments.Has("--host");
  const snapshot::Side& all = selection.host ? snapshot.host : snapshot.gpu;
  if (!arguments.Has("--device")) {
    selection.side = all;
  } else {
    const int64_t device = arguments.Integer("--device", 0);
    for (const snapshot::Segment& segment : all.segments) {
      if (segment.device == device) selection.side.segments.push_back(segment);
    }
    for (const snapshot::Trace& trace : all.traces) {
      if (trace.device == device) selection.side.traces.push_back(trace);
    }
    if (selection.side.segments.empty() && selection.side.traces.empty()) {
      return absl::NotFoundError(absl::StrCat("the snapshot has no device ", device));
    }
  }
  selection.histories = BuildHistories(snapshot, selection.side);
  return selection;
}

absl::StatusOr<HeldAt> HoldingsOf(const Snapshot& snapshot, const Selection& selection,
                                  const cli::Arguments& arguments) {
  const std::string at = arguments.Text("--at", "end");
  HeldAt held;
  if (at == "end") {
    held.holdings = HoldingsAtEnd(snapshot, selection.side, selection.histories);
    held.moment = "at the end";
    return held;
  }
  uint32_t event = 0;
  const bool number = absl::SimpleAtoi(at, &event);
  if (at != "peak" && at != "start" && !number) {
    return absl::InvalidArgumentError(
        absl::StrCat("--at ", at, " is neither end, peak, start nor the number of an entry"));
  }
  for (const DeviceHistory& history : selection.histories) {
    if (number && event >= history.rows.size()) continue;
    const uint32_t moment = at == "peak"    ? history.allocated_peak.event
                            : at == "start" ? snapshot::kNever
                                            : event;
    for (snapshot::Holding& holding : HoldingsAfter(snapshot, history, moment)) {
      held.holdings.push_back(std::move(holding));
    }
  }
  held.moment = at == "peak"    ? "at the peak"
                : at == "start" ? "before the first entry"
                                : absl::StrCat("after entry ", event);
  return held;
}

}  // namespace graphtree::memory
