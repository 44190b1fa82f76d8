// Totals and settings as text.
#include "tools/memory/html_facts.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tools/memory/text.h"
#include "tools/snapshot/analysis/stats.h"

namespace graphtree::memory {
namespace {

using snapshot::DictItem;
using snapshot::SideStats;
using snapshot::Snapshot;
using snapshot::Value;

void WriteFact(absl::string_view name, const std::string& text, JsonWriter& json) {
  json.BeginArray().String(name).String(text).EndArray();
}

void WriteSide(absl::string_view which, const SideStats& stats, JsonWriter& json) {
  const auto name = [&](absl::string_view what) { return absl::StrCat(which, what); };
  WriteFact(name("Reserved"), Bytes(stats.all.reserved), json);
  WriteFact(name("Allocated"), Bytes(stats.all.allocated), json);
  WriteFact(name("Requested"), Bytes(stats.all.requested), json);
  WriteFact(name("Segments"), Count(stats.all.segments), json);
  WriteFact(name("Blocks"), Count(stats.all.blocks), json);
  WriteFact(name("Trace entries"), Count(stats.trace_entries), json);
}

std::string ScalarText(const Snapshot& snapshot, Value value) {
  switch (value.tag()) {
    case Value::kNone: return "none";
    case Value::kBool: return value.payload() != 0 ? "true" : "false";
    case Value::kString: return std::string(snapshot.Text(value.id()));
    case Value::kDouble: return absl::StrCat(snapshot.values.AsDouble(value));
    case Value::kInteger:
    case Value::kWideInteger:
    case Value::kWideUnsigned: return snapshot::IntegerText(snapshot.values, value);
    default: return TypeName(snapshot.values, value);
  }
}

// Dictionaries of scalars are written out; what lies deeper is named only.
std::string SettingText(const Snapshot& snapshot, Value value) {
  const std::vector<DictItem>* items = snapshot.values.DictItems(value);
  if (items == nullptr) return ScalarText(snapshot, value);
  std::vector<std::string> parts;
  for (const DictItem& item : *items) {
    parts.push_back(absl::StrCat(ScalarText(snapshot, item.key), ": ",
                                 ScalarText(snapshot, item.value)));
  }
  return absl::StrJoin(parts, ", ");
}

}  // namespace

void WriteHtmlFacts(const Snapshot& snapshot, JsonWriter& json) {
  const SideStats host = StatsOf(snapshot, snapshot.host);
  json.Key("facts").BeginArray();
  if (snapshot.pickle_protocol >= 0) {
    WriteFact("Format", absl::StrCat("pickle, protocol ", snapshot.pickle_protocol), json);
  }
  WriteSide("", StatsOf(snapshot, snapshot.gpu), json);
  if (host.all.segments != 0 || host.trace_entries != 0) WriteSide("Host: ", host, json);
  json.EndArray().Key("settings").BeginArray();
  const auto settings = snapshot.Get(snapshot::words::kAllocatorSettings);
  const std::vector<DictItem>* items =
      settings.has_value() ? snapshot.values.DictItems(*settings) : nullptr;
  for (const DictItem& item : items != nullptr ? *items : std::vector<DictItem>()) {
    WriteFact(ScalarText(snapshot, item.key), SettingText(snapshot, item.value), json);
  }
  json.EndArray();
}

}  // namespace graphtree::memory
