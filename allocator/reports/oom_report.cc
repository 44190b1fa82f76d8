// An out-of-memory report as text and as JSON, and its advice.
#include "allocator/reports/oom_report.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "device/base/json_writer.h"

namespace graphtree {

std::string FormatBytes(uint64_t bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  int unit = 0;
  while (value >= 1024 && unit < 4) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? absl::StrFormat("%d B", bytes)
                   : absl::StrFormat("%.2f %s", value, units[unit]);
}

void Advise(OomReport* report) {
  const OomReport& r = *report;
  const auto say = [report](std::string sentence) {
    report->advice.push_back(std::move(sentence));
  };
  if (r.device_total > 0 && r.requested > r.device_total) {
    say(absl::StrCat("The device has ", FormatBytes(r.device_total),
                     " in all: no setting makes this request fit. Ask for less at a time."));
    return;
  }
  if (r.addresses > 0 && r.addresses_used + r.requested > r.addresses) {
    const uint64_t to_be_had = r.device_free + r.mapped - std::min(r.live, r.mapped);
    if (r.device_total > 0 && r.requested > to_be_had) {
      say(absl::StrCat("Memory would not suffice either: ", FormatBytes(to_be_had),
                       " are free on the device or in the pool. Free something first."));
      return;
    }
    say("Addresses are used up, not memory: make the pool with a larger address_bytes.");
    return;
  }
  if (r.limit > 0 && r.device_free > r.missing) {
    say(absl::StrCat("The pool's limit is ", FormatBytes(r.limit), " while the device has ",
                     FormatBytes(r.device_free), " free: raise limit_bytes."));
  }
  if (r.free.queued_frees >= r.requested) {
    say("Other threads have freed enough, but their frees were still queued: call again.");
  }
  if (r.free.parked > 0) say("Part of the pool is parked: Wake brings that memory back.");
  if (r.free.held_by_checkpoints >= r.missing && r.missing > 0) {
    say("Recordings hold free memory: drop checkpoints, or trim with break_checkpoints.");
  }
  if (r.free.between_blocks >= r.requested && r.free.largest_run < r.requested) {
    say(absl::StrCat("Free memory is scattered: ", FormatBytes(r.free.between_blocks),
                     " lie between live blocks, ", FormatBytes(r.free.largest_run),
                     " at most in one run. Allocate what lives long first, or as kept."));
  }
  if (r.free.other_region >= r.missing && r.missing > 0) {
    say("The other region has free pieces: trim the pool.");
  }
  if (r.device_total > 0 && r.held_by_others > r.device_total / 4) {
    say(absl::StrCat("Others hold ", FormatBytes(r.held_by_others),
                     " of the device: this process's other memory, or other processes."));
  }
  if (report->advice.empty() && !r.holders.empty()) {
    say(absl::StrCat("Memory is really in use; the largest holder is \"", r.holders.front().tag,
                     "\" with ", FormatBytes(r.holders.front().bytes), "."));
  }
}

std::string OomReport::Text() const {
  std::string text = absl::StrCat("pool \"", pool, "\" is out of memory: ", FormatBytes(requested),
                                  " asked for in the ", region, " region, ", why, ".");
  if (!cause.empty()) absl::StrAppend(&text, " Tried: ", cause, ".");
  absl::StrAppend(&text, "\n  live ", FormatBytes(live), ", mapped ", FormatBytes(mapped));
  if (limit > 0) absl::StrAppend(&text, ", limit ", FormatBytes(limit));
  absl::StrAppend(&text, "; addresses ", FormatBytes(addresses_used), " of ",
                  FormatBytes(addresses));
  absl::StrAppend(&text, "\n  free: largest run ", FormatBytes(free.largest_run),
                  ", between blocks ", FormatBytes(free.between_blocks), ", behind them ",
                  FormatBytes(free.behind_blocks), ", held by checkpoints ",
                  FormatBytes(free.held_by_checkpoints), ", queued frees ",
                  FormatBytes(free.queued_frees), ", parked ", FormatBytes(free.parked),
                  ", other region ", FormatBytes(free.other_region));
  if (device_total > 0) {
    absl::StrAppend(&text, "\n  device: ", FormatBytes(device_free), " free of ",
                    FormatBytes(device_total), ", held by others ", FormatBytes(held_by_others));
  }
  for (const Holder& holder : holders) {
    absl::StrAppend(&text, "\n  ", FormatBytes(holder.bytes), " in ", holder.blocks,
                    " blocks: ", holder.tag.empty() ? "(no tag)" : holder.tag);
  }
  for (const std::string& line : advice) absl::StrAppend(&text, "\n  advice: ", line);
  return text;
}

std::string OomReport::Json() const {
  JsonWriter json;
  json.BeginObject();
  json.Key("pool").String(pool).Key("region").String(region).Key("why").String(why);
  json.Key("cause").String(cause);
  json.Key("requested_bytes").Unsigned(requested).Key("missing_bytes").Unsigned(missing);
  json.Key("live_bytes").Unsigned(live).Key("mapped_bytes").Unsigned(mapped);
  json.Key("limit_bytes").Unsigned(limit);
  json.Key("address_bytes").Unsigned(addresses);
  json.Key("address_bytes_used").Unsigned(addresses_used);
  json.Key("free").BeginObject();
  json.Key("largest_run").Unsigned(free.largest_run);
  json.Key("between_blocks").Unsigned(free.between_blocks);
  json.Key("behind_blocks").Unsigned(free.behind_blocks);
  json.Key("held_by_checkpoints").Unsigned(free.held_by_checkpoints);
  json.Key("queued_frees").Unsigned(free.queued_frees);
  json.Key("parked").Unsigned(free.parked);
  json.Key("other_region").Unsigned(free.other_region).EndObject();
  json.Key("device").BeginObject().Key("total").Unsigned(device_total);
  json.Key("free").Unsigned(device_free).Key("held_by_others").Unsigned(held_by_others).EndObject();
  json.Key("holders").BeginArray();
  for (const Holder& holder : holders) {
    json.BeginObject().Key("tag").String(holder.tag).Key("bytes").Unsigned(holder.bytes);
    json.Key("blocks").Unsigned(holder.blocks).EndObject();
  }
  json.EndArray().Key("advice").BeginArray();
  for (const std::string& line : advice) json.String(line);
  json.EndArray().EndObject();
  return json.text();
}

}  // namespace graphtree
