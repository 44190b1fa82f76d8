// What a device can do, and for what it cannot, why.
//
// Newer CUDA entry points are looked up at run time, so one binary tells the truth on every driver.
// Some are told for people alone, who want to know what their driver would allow: nothing of this
// library makes use of them (IsUsed).
#ifndef GRAPHTREE_DEVICE_CAPABILITY_H_
#define GRAPHTREE_DEVICE_CAPABILITY_H_

#include <cstdint>
#include <string>
#include <vector>

namespace graphtree {

enum class Capability : uint8_t {
  kVirtualMemory,          // reserve, map and unmap apart
  kWishedBase,             // reserve at an address of the caller's choice
  kCapture,                // record streams into graphs
  kPatchOps,               // new arguments for one op of an executable
  kProgrammaticEdges,      // a kernel may start before its predecessor ends
  kCompileSource,          // CUDA source at run time, through NVRTC
  // Unused so far, from here on.
  kConditionalNodes,       // if, while and switch inside a graph
  kGraphIdentity,          // ids of graphs and nodes without CUPTI (driver 13.1)
  kKernelParameterCount,   // a kernel's parameters counted by the driver (driver 13.2)
  kRecapture,              // record again into a graph of equal shape (driver 13.3)
  kBatchCopyNode,          // one node for many copies (driver 13.5)
};

// "virtual memory", ...
const char* CapabilityName(Capability capability);

// Whether anything of this library makes use of it.
bool IsUsed(Capability capability);

struct CapabilityState {
  Capability capability;
  bool present = false;
  std::string reason;  // why it is missing; empty if present
};

// Every Capability once, in the order of the enum.
using Capabilities = std::vector<CapabilityState>;

// All capabilities there are, in order, for whoever fills in a Capabilities.
const std::vector<Capability>& AllCapabilities();

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_CAPABILITY_H_
