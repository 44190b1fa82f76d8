// The list of capabilities and their names.
#include "device/capability.h"

namespace graphtree {

const char* CapabilityName(Capability capability) {
  switch (capability) {
    case Capability::kVirtualMemory: return "virtual memory";
    case Capability::kWishedBase: return "wished base address";
    case Capability::kCapture: return "capture";
    case Capability::kPatchOps: return "patch one op";
    case Capability::kProgrammaticEdges: return "programmatic edges";
    case Capability::kCompileSource: return "compile source";
    case Capability::kConditionalNodes: return "conditional nodes";
    case Capability::kGraphIdentity: return "graph identity";
    case Capability::kKernelParameterCount: return "kernel parameter count";
    case Capability::kRecapture: return "recapture";
    case Capability::kBatchCopyNode: return "batch copy node";
  }
  return "unknown";
}

bool IsUsed(Capability capability) { return capability < Capability::kConditionalNodes; }

const std::vector<Capability>& AllCapabilities() {
  static const std::vector<Capability>* all = new std::vector<Capability>{
      Capability::kVirtualMemory,        Capability::kWishedBase,
      Capability::kCapture,              Capability::kPatchOps,
      Capability::kProgrammaticEdges,    Capability::kCompileSource,
      Capability::kConditionalNodes,     Capability::kGraphIdentity,
      Capability::kKernelParameterCount, Capability::kRecapture,
      Capability::kBatchCopyNode,
  };
  return *all;
}

}  // namespace graphtree
