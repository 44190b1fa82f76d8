// The facts of a failure, its holders and the experiments.
#include "tools/memory/oom_json.h"

#include "device/base/json_writer.h"
#include "tools/memory/history_text.h"
#include "tools/memory/stack_text.h"
#include "tools/snapshot/analysis/holdings.h"
#include "tools/snapshot/analysis/top.h"

namespace graphtree::memory {
namespace {

using snapshot::Experiment;
using snapshot::OomCase;
using snapshot::OomCause;
using snapshot::Snapshot;

const char* NameOf(OomCause cause) {
  switch (cause) {
    case OomCause::kTooLarge: return "request_too_large";
    case OomCause::kTooMuchHeld: return "too_much_held";
    case OomCause::kPending: return "waiting_for_streams";
    case OomCause::kOtherPools: return "free_elsewhere";
    case OomCause::kFragmented: return "fragmented";
  }
  return "";
}

const char* NameOf(Experiment::Verdict verdict) {
  switch (verdict) {
    case Experiment::kFits: return "fits";
    case Experiment::kMayFit: return "may_fit";
    case Experiment::kDoesNotFit: return "does_not_fit";
  }
  return "";
}

void WriteFacts(const OomCase& oom, JsonWriter& json) {
  json.Key("asked_bytes").Unsigned(oom.asked);
  json.Key("segment_bytes").Unsigned(oom.answer.new_segment);
  json.Key("device_free_bytes").Unsigned(oom.device_free);
  json.Key("limited").Bool(oom.limited).Key("cause").String(NameOf(oom.cause));
  json.Key("reserved_bytes").Unsigned(oom.reserved);
  json.Key("held_bytes").Unsigned(oom.held).Key("requested_bytes").Unsigned(oom.requested);
  json.Key("pending_bytes").Unsigned(oom.pending);
  json.Key("free_bytes").Unsigned(oom.free_in_default_pool);
  json.Key("free_in_private_pools").Unsigned(oom.free_elsewhere);
  json.Key("largest_hole_bytes").Unsigned(oom.answer.largest_hole);
  json.Key("holes_in_other_pools").Unsigned(oom.answer.other_pool_holes);
  json.Key("holes_of_other_streams").Unsigned(oom.answer.other_stream_holes);
  json.Key("holes_of_other_kinds").Unsigned(oom.answer.other_kind_holes);
}

void WriteSettings(const OomCase& oom, JsonWriter& json) {
  json.Key("settings").BeginObject().Key("known").Bool(oom.settings.known);
  json.Key("PYTORCH_CUDA_ALLOC_CONF").String(oom.settings.config);
  json.Key("expandable_segments").Bool(oom.settings.expandable_segments);
  json.Key("max_split_size").Integer(oom.settings.max_split_size);
  json.Key("garbage_collection_threshold").Number(oom.settings.garbage_collection_threshold);
  json.EndObject().Key("experiments").BeginArray();
  for (const Experiment& experiment : oom.experiments) {
    json.BeginObject().Key("setting").String(experiment.setting);
    json.Key("policy").String(experiment.name);
    json.Key("verdict").String(NameOf(experiment.verdict));
    json.Key("reserved_bytes").Unsigned(experiment.reserved).EndObject();
  }
  json.EndArray();
}

}  // namespace

std::string OomJson(const Snapshot& snapshot, const std::vector<OomAt>& cases) {
  JsonWriter json;
  json.BeginObject().Key("cases").BeginArray();
  for (const OomAt& one : cases) {
    const snapshot::TraceEntry& entry = one.history->Entry(snapshot, one.oom.event);
    json.BeginObject().Key("device").Integer(one.history->device);
    json.Key("entry").Unsigned(one.oom.event).Key("time_us").Integer(entry.time_us);
    WriteFacts(one.oom, json);
    json.Key("stack");
    WriteStack(snapshot, entry.stack, json);
    json.Key("holders").BeginArray();
    for (const snapshot::Holder& holder :
         GroupHoldings(snapshot, HoldingsAfter(snapshot, *one.history, one.oom.event), {})) {
      json.BeginObject().Key("stack");
      WriteStack(snapshot, holder.stack, json);
      json.Key("bytes").Unsigned(holder.bytes).Key("blocks").Unsigned(holder.blocks).EndObject();
    }
    json.EndArray();
    WriteSettings(one.oom, json);
    WriteLosses(*one.history, json);
    json.EndObject();
  }
  return json.EndArray().EndObject().text();
}

}  // namespace graphtree::memory
