// What one GPU and its driver can do.
#ifndef GRAPHTREE_DEVICE_CUDA_CAPABILITIES_H_
#define GRAPHTREE_DEVICE_CUDA_CAPABILITIES_H_

#include <string>

#include "absl/status/status.h"
#include "device/capability.h"

namespace graphtree {

struct CudaFacts {
  int driver_version = 0;    // 13000 for 13.0
  int compute_major = 0;     // 9 of sm_90
  int compute_minor = 0;
  bool virtual_memory = false;
  absl::Status source_compiler;  // OK, or why source cannot be compiled
};

// Every capability; a missing one with the reason. `has` says whether the driver has an entry point
// in a version.
Capabilities CudaCapabilities(const CudaFacts& facts, bool (*has)(const char* name, int version));

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_CUDA_CAPABILITIES_H_
