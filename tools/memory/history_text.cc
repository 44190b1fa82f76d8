// Says in sentences what cannot be known.
#include "tools/memory/history_text.h"

#include "absl/strings/str_cat.h"

namespace graphtree::memory {

using snapshot::DeviceHistory;
using snapshot::kNever;
using snapshot::Losses;
using snapshot::Snapshot;

std::string WhenText(const Snapshot& snapshot, const DeviceHistory& history, uint32_t event) {
  if (event == kNever) return "before the first entry";
  const int64_t first = history.Entry(snapshot, 0).time_us;
  const int64_t time = history.Entry(snapshot, event).time_us;
  return absl::StrCat("+", Duration(time - first), " (entry ", event, ")");
}

std::string LossesText(const Snapshot& snapshot, const DeviceHistory& history, const Look& look) {
  if (history.rows.empty() || !history.losses.any()) return "";
  const Losses& lost = history.losses;
  std::string text;
  const auto say = [&](const std::string& what) {
    absl::StrAppend(&text, Paragraph(what, look, 4));
  };
  if (lost.blocks_without_alloc != 0) {
    say(absl::StrCat(Plural(lost.blocks_without_alloc, "live block", "live blocks"), " (",
                     Bytes(lost.blocks_without_alloc_bytes),
                     ") were allocated before its first entry"));
  }
  if (lost.frees_without_alloc != 0) {
    say(absl::StrCat(Plural(lost.frees_without_alloc, "free", "frees"),
                     " of memory whose allocation it does not have"));
  }
  if (lost.allocs_over_live != 0) {
    say(absl::StrCat(Plural(lost.allocs_over_live, "allocation", "allocations"),
                     " at an address that it still has as allocated: frees are missing"));
  }
  if (lost.segments_without_alloc != 0) {
    say(absl::StrCat(Plural(lost.segments_without_alloc, "segment", "segments"),
                     " that it never saw come"));
  }
  if (lost.notes_without_alloc != 0) {
    say(absl::StrCat(Plural(lost.notes_without_alloc, "note", "notes"),
                     " on allocations that it does not have"));
  }
  if (lost.out_of_order) say("entries were not in the order of their time, and were sorted");
  return absl::StrCat(
      "\n  ",
      look.Paint(Tone::kWarning,
                 absl::StrCat("The history of device ", history.device, " is not complete")),
      "\n  (recording began late, or its ring was full):\n", text,
      Paragraph("So peaks are lower bounds where memory came and went before the first entry.",
                look, 4));
}

void WriteLosses(const DeviceHistory& history, JsonWriter& json) {
  const Losses& lost = history.losses;
  json.Key("lost").BeginObject();
  json.Key("frees_without_alloc").Unsigned(lost.frees_without_alloc);
  json.Key("blocks_without_alloc").Unsigned(lost.blocks_without_alloc);
  json.Key("blocks_without_alloc_bytes").Unsigned(lost.blocks_without_alloc_bytes);
  json.Key("allocs_over_live").Unsigned(lost.allocs_over_live);
  json.Key("segments_without_alloc").Unsigned(lost.segments_without_alloc);
  json.Key("notes_without_alloc").Unsigned(lost.notes_without_alloc);
  json.EndObject();
  json.Key("out_of_order").Bool(lost.out_of_order);
  json.Key("pools_known_from").BeginObject();
  json.Key("entry").Unsigned(history.pools.from_entry);
  json.Key("address").Unsigned(history.pools.from_address);
  json.Key("unknown").Unsigned(history.pools.unknown);
  json.EndObject();
}

}  // namespace graphtree::memory
