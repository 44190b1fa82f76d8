// Why a capability is missing: the reason for each of them.
#include "device/cuda/capabilities.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace graphtree {
namespace {

std::string Version(int version) {
  return absl::StrCat(version / 1000, ".", version % 1000 / 10);
}

std::string NeedsDriver(int needed, int present) {
  return absl::StrCat("needs a driver for CUDA ", Version(needed), ", this one is for ",
                      Version(present));
}

std::string NeedsCompute(int major, const CudaFacts& facts) {
  if (facts.compute_major >= major) return "";
  return absl::StrCat("needs compute capability ", major, ".0, this GPU has ",
                      facts.compute_major, ".", facts.compute_minor);
}

// Why it is missing; empty if it is there.
std::string Reason(Capability capability, const CudaFacts& facts,
                   bool (*has)(const char*, int)) {
  const auto entry = [&](const char* name, int version) -> std::string {
    if (has(name, version)) return "";
    return NeedsDriver(version, facts.driver_version);
  };
  switch (capability) {
    case Capability::kVirtualMemory:
    case Capability::kWishedBase:
      return facts.virtual_memory ? "" : "this GPU has no virtual memory management";
    case Capability::kCapture:
    case Capability::kPatchOps:
    case Capability::kConditionalNodes:
      return "";  // in every driver that this program accepts
    case Capability::kProgrammaticEdges: return NeedsCompute(9, facts);
    case Capability::kCompileSource: return std::string(facts.source_compiler.message());
    case Capability::kGraphIdentity: return entry("cuGraphNodeGetToolsId", 13010);
    case Capability::kKernelParameterCount: return entry("cuFuncGetParamCount", 13020);
    case Capability::kRecapture: return entry("cuStreamBeginRecaptureToGraph", 13030);
    case Capability::kBatchCopyNode:
      return facts.driver_version >= 13050 ? "" : NeedsDriver(13050, facts.driver_version);
  }
  return "unknown capability";
}

}  // namespace

Capabilities CudaCapabilities(const CudaFacts& facts, bool (*has)(const char* name, int version)) {
  Capabilities all;
  for (Capability capability : AllCapabilities()) {
    std::string reason = Reason(capability, facts, has);
    const bool present = reason.empty();
    all.push_back({capability, present, std::move(reason)});
  }
  return all;
}

}  // namespace graphtree
