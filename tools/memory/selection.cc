// Reads --host, --device and --at.
#include "tools/memory/selection.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"

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

bool Moment::In(const DeviceHistory& history, uint32_t& event) const {
  event = kind == kPeak ? history.allocated_peak.event : kind == kEntry ? entry : snapshot::kNever;
  return kind != kEntry || entry < history.rows.size();
}

absl::StatusOr<Moment> MomentOf(const Selection& selection, const cli::Arguments& arguments) {
  const std::string at = arguments.Text("--at", "end");
  if (at == "end") return Moment{Moment::kEnd};
  if (at == "peak") return Moment{Moment::kPeak};
  if (at == "start") return Moment{Moment::kStart};
  Moment moment{Moment::kEntry};
  if (!absl::SimpleAtoi(at, &moment.entry)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--at ", at, " is neither end, peak, start nor the number of an entry"));
  }
  size_t entries = 0;
  for (const DeviceHistory& history : selection.histories) {
    entries = std::max(entries, history.rows.size());
  }
  if (moment.entry < entries) return moment;
  return absl::InvalidArgumentError(
      entries == 0 ? absl::StrCat("--at ", at, ": there is no history, so end is the only moment")
                   : absl::StrCat("--at ", at, " is beyond the history, whose entries are 0 to ",
                                  entries - 1));
}

absl::StatusOr<HeldAt> HoldingsOf(const Snapshot& snapshot, const Selection& selection,
                                  const cli::Arguments& arguments) {
  GRAPHTREE_ASSIGN_OR_RETURN(const Moment moment, MomentOf(selection, arguments));
  HeldAt held;
  if (moment.kind == Moment::kEnd) {
    held.holdings = HoldingsAtEnd(snapshot, selection.side, selection.histories);
    held.moment = "at the end";
    return held;
  }
  for (const DeviceHistory& history : selection.histories) {
    uint32_t event = 0;
    if (!moment.In(history, event)) continue;
    for (snapshot::Holding& holding : HoldingsAfter(snapshot, history, event)) {
      held.holdings.push_back(std::move(holding));
    }
  }
  held.moment = moment.kind == Moment::kPeak    ? "at the peak"
                : moment.kind == Moment::kStart ? "before the first entry"
                                                : absl::StrCat("after entry ", moment.entry);
  return held;
}

}  // namespace graphtree::memory
