// Names of op kinds.
#include "device/graph.h"

namespace graphtree {

const char* OpKindName(OpKind kind) {
  switch (kind) {
    case OpKind::kKernel: return "kernel";
    case OpKind::kCopy: return "copy";
    case OpKind::kFill: return "fill";
    case OpKind::kHost: return "host call";
    case OpKind::kEmpty: return "empty";
    case OpKind::kEventRecord: return "event record";
    case OpKind::kEventWait: return "event wait";
    case OpKind::kChildGraph: return "child graph";
    case OpKind::kAllocate: return "allocate";
    case OpKind::kFree: return "free";
    case OpKind::kConditional: return "conditional";
    case OpKind::kOther: return "other";
  }
  return "other";
}

}  // namespace graphtree
