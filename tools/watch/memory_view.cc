// Sums by kind, and what of them is new.
#include "tools/watch/memory_view.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "device/base/json_writer.h"
#include "tools/memory/text.h"

namespace graphtree::watch {
namespace {

using memory::Bytes;
using memory::Clip;
using memory::SignedBytes;

constexpr size_t kMostChanges = 12;

struct Totals {
  uint64_t device = 0;
  uint64_t executables = 0;
  uint64_t graphs = 0;  // of pools: what recordings use
  uint64_t idle = 0;    // of pools
  uint64_t slots = 0;
  uint64_t code = 0;
  uint64_t workspaces = 0;
  uint64_t host = 0;
};

uint64_t Whole(double value) { return value < 0 ? 0 : static_cast<uint64_t>(std::llround(value)); }

Totals TotalsOf(const Samples& samples) {
  const auto lanes = [&](absl::string_view kind) {
    return Whole(samples.Sum("graphtree_ledger_lane_bytes", "kind", kind));
  };
  const auto sum = [&](absl::string_view kind) {
    return Whole(samples.Sum("graphtree_ledger_sum_bytes", "kind", kind));
  };
  return {.device = Whole(samples.Sum("graphtree_ledger_device_bytes")),
          .executables = sum("executables"),
          .graphs = lanes("alone") + lanes("shared"),
          .idle = lanes("idle"),
          .slots = sum("slots"),
          .code = sum("code"),
          .workspaces = sum("workspaces"),
          .host = sum("host")};
}

// By function: what is its own.
std::map<std::string, int64_t> OwnBytes(const Samples& samples) {
  std::map<std::string, int64_t> bytes;
  for (const Sample& sample : samples.all()) {
    if (sample.name != "graphtree_ledger_bytes") continue;
    int64_t& own = bytes[std::string(sample.Label("function"))];
    const absl::string_view kind = sample.Label("kind");
    if (kind == "alone" || kind == "executables") own += std::llround(sample.value);
  }
  return bytes;
}

// The largest first.
std::vector<std::pair<int64_t, std::string>> Changes(const Samples& before, const Samples& after) {
  std::map<std::string, int64_t> changes = OwnBytes(after);
  for (const auto& [function, bytes] : OwnBytes(before)) changes[function] -= bytes;
  std::vector<std::pair<int64_t, std::string>> sorted;
  for (const auto& [function, bytes] : changes) {
    if (bytes != 0) sorted.emplace_back(bytes, function);
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return std::llabs(a.first) > std::llabs(b.first);
  });
  return sorted;
}

constexpr char kLine[] = "%-8s %10s %11s %11s %10s %10s %10s %10s %10s %10s\n";

}  // namespace

std::string MemoryHeading() {
  return absl::StrFormat(kLine, "time", "device", "change", "executables", "graphs", "idle",
                         "slots", "code", "workspaces", "host");
}

std::string MemoryLine(const Samples* before, const Samples& after, const std::string& clock) {
  const Totals now = TotalsOf(after);
  const int64_t change =
      before == nullptr ? 0 : static_cast<int64_t>(now.device - TotalsOf(*before).device);
  std::string text = absl::StrFormat(
      kLine, clock, Bytes(now.device), change == 0 ? "-" : SignedBytes(change),
      Bytes(now.executables), Bytes(now.graphs), Bytes(now.idle), Bytes(now.slots),
      Bytes(now.code), Bytes(now.workspaces), Bytes(now.host));
  if (before == nullptr) return text;
  const std::vector<std::pair<int64_t, std::string>> changes = Changes(*before, after);
  for (size_t i = 0; i < std::min(changes.size(), kMostChanges); ++i) {
    absl::StrAppendFormat(&text, "%31s  %s\n", SignedBytes(changes[i].first),
                          Clip(changes[i].second, 66));
  }
  if (changes.size() > kMostChanges) {
    absl::StrAppendFormat(&text, "%31s  %d more functions\n", "...", changes.size() - kMostChanges);
  }
  return text;
}

std::string MemoryJson(const Samples& after) {
  const Totals now = TotalsOf(after);
  JsonWriter json;
  json.BeginObject().Key("device").Unsigned(now.device);
  json.Key("executables").Unsigned(now.executables).Key("graphs").Unsigned(now.graphs);
  json.Key("idle").Unsigned(now.idle).Key("slots").Unsigned(now.slots);
  json.Key("code").Unsigned(now.code).Key("workspaces").Unsigned(now.workspaces);
  json.Key("host").Unsigned(now.host).Key("functions").BeginObject();
  for (const auto& [function, bytes] : OwnBytes(after)) json.Key(function).Integer(bytes);
  return json.EndObject().EndObject().text();
}

}  // namespace graphtree::watch
