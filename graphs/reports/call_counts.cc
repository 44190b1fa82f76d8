// Adds counts up, and writes them as text.
#include "graphs/reports/call_counts.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace graphtree {

void CallCounts::Add(const CallCounts& other) {
  replays += other.replays;
  recordings += other.recordings;
  warm_ups += other.warm_ups;
  eager += other.eager;
  for (size_t i = 0; i < reasons.size(); ++i) reasons[i] += other.reasons[i];
}

void CallTally::Forget(uint32_t function) {
  absl::erase_if(counts_, [function](const auto& entry) {
    return entry.first.from == function || entry.first.to == function;
  });
}

std::string ToString(const CallCounts& counts) {
  std::string text;
  const auto add = [&text](uint64_t count, const char* what) {
    if (count > 0) absl::StrAppend(&text, text.empty() ? "" : ", ", count, " ", what);
  };
  add(counts.replays, counts.replays == 1 ? "replay" : "replays");
  add(counts.recordings, "recorded");
  add(counts.warm_ups, counts.warm_ups == 1 ? "warm-up" : "warm-ups");
  add(counts.eager, "eager");
  std::string reasons;
  for (size_t i = 0; i < counts.reasons.size(); ++i) {
    if (counts.reasons[i] == 0) continue;
    absl::StrAppend(&reasons, reasons.empty() ? "" : ", ", ReasonName(static_cast<Reason>(i)), " ",
                    counts.reasons[i]);
  }
  if (text.empty()) text = "no calls";
  return reasons.empty() ? text : absl::StrCat(text, ": ", reasons);
}

std::string DrawEdges(const std::vector<EdgeStats>& edges) {
  const auto named = [](const EdgeStats& edge) {
    const bool begins = edge.edge.from == kPathBegin;
    return absl::StrCat(begins ? "(begin)" : edge.from, " -> ", edge.to);
  };
  size_t width = 0;
  for (const EdgeStats& edge : edges) width = std::max(width, named(edge).size());
  std::string text;
  for (const EdgeStats& edge : edges) {
    absl::StrAppendFormat(&text, "%-*s  %s\n", static_cast<int>(width), named(edge),
                          ToString(edge.counts));
  }
  return text;
}

}  // namespace graphtree
