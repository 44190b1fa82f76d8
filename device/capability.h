// What a device can do, and why it cannot do the rest.
//
// Newer CUDA entry points are looked up at run time, so one binary tells the truth on every driver.
// Some capabilities are listed for people who want to know what their driver would allow: this
// library does not use them (IsUsed).
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
  // The library uses none of the following so far.
  kConditionalNodes,       // if, while and switch inside a graph
  kGraphIdentity,          // ids of graphs and nodes without CUPTI (driver 13.1)
  kKernelParameterCount,   // a kernel's parameters counted by the driver (driver 13.2)
  kRecapture,              // record again into a graph of equal shape (driver 13.3)
  kBatchCopyNode,          // one node for many copies (driver 13.5)
};

// "virtual memory", ...
const char* CapabilityName(Capability capability);

// Whether this library uses it.
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
