// Writes rows, field by field.
#include "runtime/ledger_text.h"

#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device/base/json_writer.h"
#include "runtime/watch/prometheus_text.h"

namespace graphtree {
namespace {

struct Kind {
  const char* name;
  uint64_t LedgerBytes::*bytes;
};
constexpr Kind kKinds[] = {{"alone", &LedgerBytes::alone},
                           {"shared", &LedgerBytes::shared},
                           {"executables", &LedgerBytes::executables},
                           {"code", &LedgerBytes::code},
                           {"workspace", &LedgerBytes::workspace},
                           {"host", &LedgerBytes::host}};

void WriteRows(const std::vector<LedgerRow>& rows, JsonWriter& json) {
  json.BeginArray();
  for (const LedgerRow& row : rows) {
    json.BeginObject().Key("program").String(row.program);
    if (!row.function.empty()) json.Key("function").String(row.function);
    for (const Kind& kind : kKinds) json.Key(kind.name).Unsigned(row.bytes.*kind.bytes);
    json.EndObject();
  }
  json.EndArray();
}

void WriteGuess(const char* name, const Guess& guess, JsonWriter& json) {
  json.Key(name).BeginObject().Key("bytes").Number(guess.bytes);
  json.Key("error").Number(guess.error).EndObject();
}

void WriteEstimate(const PlanEstimate& told, JsonWriter& json) {
  json.Key("estimate");
  if (!told.is_known) {
    json.Null();
    return;
  }
  json.BeginObject();
  WriteGuess("pool_alone", told.pool_alone, json);
  WriteGuess("pool_shared", told.pool_shared, json);
  WriteGuess("executables", told.executables, json);
  WriteGuess("code", told.code, json);
  WriteGuess("workspaces", told.workspaces, json);
  WriteGuess("host", told.host, json);
  json.Key("learned_from").Unsigned(told.learned_from).EndObject();
}

}  // namespace

std::string LedgerAsJson(const MemoryLedger& ledger) {
  JsonWriter json;
  json.BeginObject().Key("device_bytes").Unsigned(ledger.device());
  json.Key("slots").Unsigned(ledger.slots).Key("executables").Unsigned(ledger.executables);
  json.Key("code").Unsigned(ledger.code).Key("workspaces").Unsigned(ledger.workspaces);
  json.Key("tagged").Unsigned(ledger.tagged);
  json.Key("host").Unsigned(ledger.host).Key("lanes").BeginArray();
  for (const LaneLedger& lane : ledger.lanes) {
    json.BeginObject().Key("device").Unsigned(lane.device).Key("lane").Unsigned(lane.number);
    json.Key("alone").Unsigned(lane.alone).Key("shared").Unsigned(lane.shared);
    json.Key("idle").Unsigned(lane.idle);
    json.Key("parked").Unsigned(lane.parked).EndObject();
  }
  json.EndArray().Key("programs");
  WriteRows(ledger.programs, json);
  json.Key("functions");
  WriteRows(ledger.functions, json);
  return json.EndObject().text();
}

std::string LedgerAsPrometheus(const MemoryLedger& ledger) {
  PrometheusText text;
  text.Family("graphtree_ledger_program_bytes", "gauge",
              "Memory of each program; shared bytes are others', too.");
  for (const LedgerRow& row : ledger.programs) {
    for (const Kind& kind : kKinds) {
      text.Sample({{"program", row.program}, {"kind", kind.name}}, row.bytes.*kind.bytes);
    }
  }
  text.Family("graphtree_ledger_bytes", "gauge",
              "Memory of each recorded function; shared bytes are others', too.");
  for (const LedgerRow& row : ledger.functions) {
    const LaneLedger& lane = ledger.lanes[row.lane];
    for (const Kind& kind : kKinds) {
      text.Sample({{"program", row.program},
                   {"device", absl::StrCat(lane.device)},
                   {"lane", absl::StrCat(lane.number)},
                   {"function", row.function},
                   {"kind", kind.name}},
                  row.bytes.*kind.bytes);
    }
  }
  text.Family("graphtree_ledger_lane_bytes", "gauge", "The pool of each lane, each byte once.");
  for (const LaneLedger& lane : ledger.lanes) {
    const auto sample = [&](const char* kind, uint64_t bytes) {
      text.Sample({{"device", absl::StrCat(lane.device)},
                   {"lane", absl::StrCat(lane.number)},
                   {"kind", kind}},
                  bytes);
    };
    sample("alone", lane.alone);
    sample("shared", lane.shared);
    sample("idle", lane.idle);
  }
  text.Family("graphtree_ledger_parked_bytes", "gauge",
              "Of the pool of each lane, beside that: what left, to be woken.");
  for (const LaneLedger& lane : ledger.lanes) {
    text.Sample({{"device", absl::StrCat(lane.device)}, {"lane", absl::StrCat(lane.number)}},
                lane.parked);
  }
  text.Family("graphtree_ledger_sum_bytes", "gauge", "Of all programs together, by kind.");
  text.Sample({{"kind", "slots"}}, ledger.slots);
  text.Sample({{"kind", "executables"}}, ledger.executables);
  text.Sample({{"kind", "code"}}, ledger.code);
  text.Sample({{"kind", "workspaces"}}, ledger.workspaces);
  text.Sample({{"kind", "tagged"}}, ledger.tagged);
  text.Sample({{"kind", "host"}}, ledger.host);
  text.Family("graphtree_ledger_device_bytes", "gauge", "All that the devices have given.");
  text.Sample({}, ledger.device());
  return text.text();
}

std::string PlanAsJson(const PlanResult* plan) {
  if (plan == nullptr) return "null";
  JsonWriter json;
  json.BeginObject().Key("recorded").Unsigned(plan->recorded);
  WriteEstimate(plan->estimate, json);
  json.Key("device_bytes").Unsigned(plan->device_bytes);
  json.Key("pool_bytes").Unsigned(plan->pool_bytes);
  json.Key("executable_bytes").Unsigned(plan->executable_bytes);
  json.Key("is_measured").Bool(plan->is_measured).Key("error").Number(plan->error);
  json.Key("bytes_left").Unsigned(plan->bytes_left);
  json.Key("nanoseconds").Integer(plan->nanoseconds).Key("left_out").BeginArray();
  for (const OmittedShape& omitted : plan->left_out) {
    json.BeginObject().Key("key").String(ToString(omitted.shape.key));
    json.Key("mode").String(ModeName(omitted.shape.mode));
    json.Key("reason").String(LeftOutName(omitted.why)).Key("words").String(omitted.words);
    json.EndObject();
  }
  json.EndArray().Key("first_failure").String(plan->first_failure.ToString());
  return json.EndObject().text();
}

}  // namespace graphtree
