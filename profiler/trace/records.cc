// The names of kinds.
#include "profiler/trace/records.h"

namespace graphtree::trace {

const char* NameOf(OpKind kind) {
  switch (kind) {
    case OpKind::kKernel: return "kernel";
    case OpKind::kCopy: return "copy";
    case OpKind::kFill: return "fill";
    case OpKind::kHostCall: return "host call";
    case OpKind::kWholeGraph: return "whole graph";
    case OpKind::kEvent: return "event";
    case OpKind::kSync: return "sync";
    case OpKind::kScope: return "scope";
    case OpKind::kOther: return "other";
  }
  return "other";
}

const char* NameOf(SpanKind kind) {
  switch (kind) {
    case SpanKind::kOther: return "other";
    case SpanKind::kMatch: return "match";
    case SpanKind::kPatch: return "patch";
    case SpanKind::kLaunch: return "launch";
    case SpanKind::kRecord: return "record";
    case SpanKind::kRestore: return "restore";
    case SpanKind::kEvict: return "evict";
    case SpanKind::kPark: return "park";
    case SpanKind::kPlan: return "plan";
    case SpanKind::kStage: return "stage";
    case SpanKind::kApiCall: return "api call";
    case SpanKind::kRequest: return "request";
    case SpanKind::kScope: return "scope";
    case SpanKind::kPython: return "python";
    case SpanKind::kOverhead: return "overhead";
  }
  return "other";
}

}  // namespace graphtree::trace
