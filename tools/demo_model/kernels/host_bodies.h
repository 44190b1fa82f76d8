// The host bodies of the model's kernels; their arguments are in kernels.h.
#ifndef GRAPHTREE_TOOLS_DEMO_MODEL_KERNELS_HOST_BODIES_H_
#define GRAPHTREE_TOOLS_DEMO_MODEL_KERNELS_HOST_BODIES_H_

#include "device/kernel.h"

namespace graphtree::demo {

void PrepareOnHost(const HostCall& call);
void EmbedOnHost(const HostCall& call);
void NormOnHost(const HostCall& call);
void MatmulOnHost(const HostCall& call);
void RopeOnHost(const HostCall& call);
void AppendOnHost(const HostCall& call);
void AttendOnHost(const HostCall& call);
void AddOnHost(const HostCall& call);
void GateOnHost(const HostCall& call);
void GatherOnHost(const HostCall& call);
void SampleOnHost(const HostCall& call);

}  // namespace graphtree::demo

#endif  // GRAPHTREE_TOOLS_DEMO_MODEL_KERNELS_HOST_BODIES_H_
