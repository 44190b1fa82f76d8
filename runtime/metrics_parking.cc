// A row for each tag.
#include "runtime/metrics_parking.h"

#include <cstdint>

#include "absl/strings/str_cat.h"

namespace graphtree {
namespace {

struct TagFamily {
  const char* name;
  const char* type;
  const char* help;
  uint64_t (*value)(const TagMetrics&);
};

constexpr TagFamily kTagFamilies[] = {
    {"graphtree_parked", "gauge", "1 while a tag is parked.",
     [](const TagMetrics& tag) { return uint64_t{tag.is_parked}; }},
    {"graphtree_parked_bytes", "gauge",
     "Device memory that left with a tag, and comes back when it wakes.",
     [](const TagMetrics& tag) { return tag.parked_bytes; }},
    {"graphtree_parked_host_bytes", "gauge", "Contents of a parked tag, on the host.",
     [](const TagMetrics& tag) { return tag.saved_bytes; }},
    {"graphtree_tagged_memory_bytes", "gauge",
     "Device memory that the caller had made under a tag, and that is mapped.",
     [](const TagMetrics& tag) { return tag.memory_bytes; }},
    {"graphtree_parks_total", "counter", "Times a tag was parked.",
     [](const TagMetrics& tag) { return tag.parks; }},
    {"graphtree_wakes_total", "counter", "Times a tag was woken.",
     [](const TagMetrics& tag) { return tag.wakes; }},
    {"graphtree_wakes_failed_total", "counter", "Times a tag could not be woken.",
     [](const TagMetrics& tag) { return tag.failed_wakes; }},
};

}  // namespace

void AddParking(const Metrics& metrics, PrometheusText* text) {
  for (const TagFamily& family : kTagFamilies) {
    text->Family(family.name, family.type, family.help);
    for (const TagMetrics& tag : metrics.tags) text->Sample({{"tag", tag.tag}}, family.value(tag));
  }
  text->Family("graphtree_wake_seconds", "histogram", "Host time of waking a tag.");
  for (const TagMetrics& tag : metrics.tags) {
    text->Histogram({{"tag", tag.tag}}, tag.wake_times);
  }
  text->Family("graphtree_parked_refused_total", "counter",
               "Steps that were begun while their program was parked.");
  for (const LaneMetrics& lane : metrics.lanes) {
    text->Sample({{"device", absl::StrCat(lane.device)}, {"lane", absl::StrCat(lane.lane)}},
                 lane.parked_refused);
  }
  text->Family("graphtree_lent_bytes", "gauge", "Idle memory of a lane that is lent.");
  for (const LaneMetrics& lane : metrics.lanes) {
    text->Sample({{"device", absl::StrCat(lane.device)}, {"lane", absl::StrCat(lane.lane)}},
                 lane.lent_bytes);
  }
}

void WriteTags(const Metrics& metrics, JsonWriter& json) {
  json.BeginArray();
  for (const TagMetrics& tag : metrics.tags) {
    json.BeginObject().Key("tag").String(tag.tag).Key("parked").Bool(tag.is_parked);
    json.Key("contents").String(ContentsName(tag.contents));
    json.Key("parked_bytes").Unsigned(tag.parked_bytes);
    json.Key("host_bytes").Unsigned(tag.saved_bytes);
    json.Key("memory_bytes").Unsigned(tag.memory_bytes);
    json.Key("parks").Unsigned(tag.parks).Key("wakes").Unsigned(tag.wakes);
    json.Key("failed_wakes").Unsigned(tag.failed_wakes);
    json.Key("wake_ns").Unsigned(tag.wake_times.total_ns).EndObject();
  }
  json.EndArray();
}

}  // namespace graphtree
